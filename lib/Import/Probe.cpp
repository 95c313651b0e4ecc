//===- Probe.cpp - Result shapes by running the operator ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Probe.h"
#include "ImportError.h"
#include "Types.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

using namespace mlir;

namespace braid::torchscript {

using Sizes = std::map<std::string, int64_t>; // of symbols

void forEachTensor(const Call &call, llvm::function_ref<void(Tensor &)> fn) {
  for (const Item &item : call.args) {
    if (item.isTensor())
      fn(*item.tensor());
    if (const ListItem *list = item.list())
      for (const Item &element : list->items)
        if (element.isTensor())
          fn(*element.tensor());
  }
}

namespace {
/// Runs one call for several sizes of the symbols.
class Prober {
public:
  Prober(Emitter &emitter, const Call &call) : emitter(emitter), call(call) {
    std::optional<c10::OperatorHandle> found =
        c10::Dispatcher::singleton().findSchema(c10::OperatorName(call.schema->name(), call.schema->overload_name()));
    if (!found)
      emitter.fail(call.name + " is no operator of ATen's dispatcher, so braid cannot run it; write the model without "
                               "it");
    handle.emplace(*found);
    if (handle->hasTag(at::Tag::dynamic_output_shape))
      emitter.fail("the size of the result of " + call.name +
                   " depends on its values: data-dependent control flow and sizes are not supported; compute it in the "
                   "data loader or use torch.where");
  }

  struct Outcome {
    std::vector<std::vector<int64_t>> sizes;
    std::vector<c10::ScalarType> types;
    bool operator==(const Outcome &other) const { return sizes == other.sizes && types == other.types; }
  };

  /// Nothing if the operator refuses; `error` then says why.
  std::optional<Outcome> run(const Sizes &symbols, std::string &error) {
    if (std::optional<Outcome> outcome = runOn(c10::kMeta, 0, symbols, error))
      return outcome;
    std::optional<Outcome> zeros = runOn(c10::kCPU, 0, symbols, error);
    std::string ignored;
    if (zeros && hasFlags)
      if (std::optional<Outcome> ones = runOn(c10::kCPU, 1, symbols, ignored); ones && !(*ones == *zeros)) {
        error = "its result's size depends on its values";
        return std::nullopt;
      }
    return zeros;
  }

private:
  at::Tensor makeTensor(Tensor &tensor, c10::Device device, int fill, const Sizes &symbols) {
    if (tensor.constant.defined() && device.is_cpu())
      return tensor.constant;
    TensorShape shape = emitter.shapeOf(tensor);
    std::vector<int64_t> sizes;
    int64_t count = 1;
    for (const Expr &dim : shape.dims) {
      sizes.push_back(dim.evaluate(symbols).value_or(-1));
      if (sizes.back() < 0)
        throw std::runtime_error("a dim is negative");
      count *= sizes.back();
    }
    c10::ScalarType type = toScalarType(shape.elementType);
    auto options = at::TensorOptions().device(device).dtype(type);
    if (device.is_meta())
      return at::empty(sizes, options);
    if (count > maxElements)
      throw std::runtime_error("it has no meta kernel, and the example is too large to run it on zeros");
    hasFlags |= type == at::kBool || type == at::kByte;
    return at::full(sizes, type == at::kBool || type == at::kByte ? fill : 0, options);
  }

  c10::IValue makeValue(const Item &item, c10::TypePtr type, c10::Device device, int fill, const Sizes &symbols) {
    if (auto optional = type->cast<c10::OptionalType>(); optional && !item.isNone())
      type = optional->getElementType();
    if (item.isTensor())
      return makeTensor(*item.tensor(), device, fill, symbols);
    if (item.isIndex()) {
      std::optional<int64_t> value = emitter.valueOf(item).evaluate(symbols);
      if (!value)
        throw std::runtime_error("a size is unknown");
      return *value;
    }
    if (const ListItem *list = item.list()) {
      auto listType = type->cast<c10::ListType>();
      c10::TypePtr element = listType ? listType->getElementType() : list->elementType;
      c10::impl::GenericList values(element);
      for (const Item &entry : list->items)
        values.push_back(makeValue(entry, element, device, fill, symbols));
      return values;
    }
    if (std::optional<c10::IValue> value = toIValue(item, type))
      return *value;
    throw std::runtime_error("it takes a " + kindName(item));
  }

  std::optional<Outcome> runOn(c10::DeviceType type, int fill, const Sizes &symbols, std::string &error) {
    c10::Device device(type);
    try {
      at::NoGradGuard guard;
      torch::jit::Stack stack;
      for (size_t i = 0; i < call.args.size(); ++i) {
        const c10::Argument &argument = call.schema->arguments()[i];
        if (argument.name() == "device")
          stack.emplace_back(device);
        else
          stack.push_back(makeValue(call.args[i], argument.type(), device, fill, symbols));
      }
      handle->callBoxed(stack);
      Outcome outcome;
      auto add = [&](const at::Tensor &tensor) {
        if (!tensor.defined())
          throw std::runtime_error("it returns no tensor");
        outcome.sizes.push_back(tensor.sizes().vec());
        outcome.types.push_back(tensor.scalar_type());
      };
      for (const c10::IValue &result : stack) {
        if (result.isTensor())
          add(result.toTensor());
        else if (result.isTensorList())
          for (const at::Tensor &tensor : result.toTensorVector())
            add(tensor);
        else
          throw std::runtime_error("it returns a " + result.tagKind());
      }
      return outcome;
    } catch (const ImportError &) {
      throw;
    } catch (const std::exception &exception) {
      error = firstLine(exception);
      return std::nullopt;
    }
  }

  static constexpr int64_t maxElements = int64_t(1) << 26;

  Emitter &emitter;
  const Call &call;
  std::optional<c10::OperatorHandle> handle;
  bool hasFlags = false; // a bool or uint8 operand
};

/// Finds expressions for observed numbers, the simplest first.
class Fit {
public:
  Fit(std::vector<std::pair<Expr, std::vector<int64_t>>> bases) : bases(std::move(bases)) {}

  std::optional<Expr> operator()(const std::vector<int64_t> &seen) const {
    auto constantBy = [&](auto value) -> std::optional<int64_t> {
      int64_t first = value(0);
      for (size_t i = 1; i < seen.size(); ++i)
        if (value(i) != first)
          return std::nullopt;
      return first;
    };
    auto fits = [&](auto value) { return constantBy([&](size_t i) { return int64_t(value(i) == seen[i]); }) == 1; };
    for (const auto &[expr, values] : bases)
      if (values == seen)
        return expr;
    if (auto constant = constantBy([&](size_t i) { return seen[i]; }))
      return Expr(*constant);
    for (const auto &[expr, values] : bases)
      if (auto offset = constantBy([&, &v = values](size_t i) { return seen[i] - v[i]; }))
        return expr + Expr(*offset);
    for (const auto &[expr, values] : bases) {
      if (auto factor = constantBy(
              [&, &v = values](size_t i) { return v[i] && seen[i] % v[i] == 0 ? seen[i] / v[i] : -1 - int64_t(i); });
          factor && *factor > 0)
        return expr * Expr(*factor);
      for (int64_t divisor = 2; divisor <= 64; ++divisor)
        for (int64_t offset : {int64_t(0), divisor - 1, int64_t(1)})
          for (int64_t more : {0, 1})
            if (fits([&, &v = values](size_t i) { return (v[i] + offset) / divisor + more; }))
              return Expr::floorDiv(expr + Expr(offset), Expr(divisor)) + Expr(more);
    }
    for (const auto &[a, av] : bases)
      for (const auto &[b, bv] : bases) {
        if (auto offset = constantBy([&, &x = av, &y = bv](size_t i) { return seen[i] - x[i] * y[i]; }))
          return a * b + Expr(*offset);
        if (auto offset = constantBy([&, &x = av, &y = bv](size_t i) { return seen[i] - x[i] - y[i]; }))
          return a + b + Expr(*offset);
        if (auto offset = constantBy([&, &x = av, &y = bv](size_t i) { return seen[i] - x[i] + y[i]; }))
          return a - b + Expr(*offset);
      }
    for (const auto &[a, av] : bases)
      for (const auto &[b, bv] : bases)
        for (const auto &[c, cv] : bases)
          if (fits([&, &x = av, &y = bv, &z = cv](size_t i) { return x[i] * y[i] * z[i]; }))
            return a * b * c;
    return std::nullopt;
  }

private:
  std::vector<std::pair<Expr, std::vector<int64_t>>> bases;
};
} // namespace

std::vector<ProbedResult> probe(Emitter &emitter, const Call &call, ArrayRef<Value> tensors) {
  // The symbols that the call can depend on.
  std::set<std::string> names;
  for (Value tensor : tensors)
    for (const Expr &dim : emitter.shapeOf(tensor).dims)
      dim.collectSymbols(names);
  for (const Item &item : call.args) {
    if (item.isIndex())
      emitter.valueOf(item).collectSymbols(names);
    if (const ListItem *list = item.list())
      for (const Item &element : list->items)
        if (element.isIndex())
          emitter.valueOf(element).collectSymbols(names);
  }
  Sizes example;
  for (const std::string &name : names)
    example[name] = emitter.shapes.example(Expr::symbol(name)).value_or(1);

  Prober prober(emitter, call);
  std::string error;
  std::optional<Prober::Outcome> first = prober.run(example, error);
  if (!first)
    emitter.fail("braid has no op for " + call.name + ", and ATen refuses it for the example's sizes: " + error);
  std::vector<Sizes> assignments = {example};
  std::vector<Prober::Outcome> outcomes = {*first};
  static constexpr int64_t steps[] = {1, 2, 5, 11};
  for (size_t round = 0; round < std::size(steps) && !names.empty(); ++round) {
    Sizes sizes = example;
    size_t number = 0;
    for (auto &[name, size] : sizes)
      size += steps[round] + 3 * static_cast<int64_t>(number++ * (round + 1)); // no two grow alike
    std::optional<Prober::Outcome> outcome = prober.run(sizes, error);
    if (outcome && outcome->sizes.size() == first->sizes.size()) {
      assignments.push_back(std::move(sizes));
      outcomes.push_back(std::move(*outcome));
    }
  }
  if (!names.empty() && outcomes.size() < 3)
    emitter.fail("braid has no op for " + call.name +
                 ", and ATen takes it for the example's sizes but not for others (" + error +
                 "); give these sizes as constants with --input");

  std::vector<std::pair<Expr, std::vector<int64_t>>> bases;
  auto addBasis = [&](Expr expr, const Expr &value) {
    std::vector<int64_t> values;
    for (const Sizes &sizes : assignments)
      values.push_back(value.evaluate(sizes).value_or(-1));
    bases.emplace_back(std::move(expr), std::move(values));
  };
  for (auto [number, tensor] : llvm::enumerate(tensors)) {
    std::string letter(1 + number / 26, static_cast<char>('a' + number % 26));
    for (auto [dim, size] : llvm::enumerate(emitter.shapeOf(tensor).dims))
      if (!size.constant())
        addBasis(Expr::symbol(letter + "." + std::to_string(dim)), size);
  }
  for (const std::string &name : names)
    addBasis(Expr::symbol(name), Expr::symbol(name));

  Fit fit(std::move(bases));
  std::vector<ProbedResult> results;
  for (size_t result = 0; result < first->sizes.size(); ++result) {
    ProbedResult &probed = results.emplace_back();
    probed.dtype = first->types[result];
    for (size_t dim = 0; dim < first->sizes[result].size(); ++dim) {
      std::vector<int64_t> seen;
      for (const Prober::Outcome &outcome : outcomes) {
        if (outcome.sizes[result].size() != first->sizes[result].size())
          emitter.fail("braid has no op for " + call.name +
                       ", and the rank of its result changes with the batch's sizes");
        seen.push_back(outcome.sizes[result][dim]);
      }
      std::optional<Expr> expr = fit(seen);
      if (!expr)
        emitter.fail("braid has no op for " + call.name + ", and finds no expression for dim " + std::to_string(dim) +
                     " of its result; give the sizes that it depends on as constants with --input");
      probed.dims.push_back(*expr);
    }
  }
  return results;
}

} // namespace braid::torchscript
