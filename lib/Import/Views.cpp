//===- Views.cpp - Updates in place, as values ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An update in place becomes the operator's functional form, and the tensor's later readers read its result. For a
// view, the result is also put back into the base, from which the base's other views are computed anew when they are
// read. PyTorch calls this functionalization.
//
//===----------------------------------------------------------------------===//

#include "Aten.h"
#include "Types.h"

using namespace mlir;

namespace braid::torchscript {

/// Operators that return their own argument or a copy of it, as its strides are.
static bool isPerhapsView(StringRef name) {
  return name.starts_with("aten::reshape") || name.starts_with("aten::flatten") || name.starts_with("aten::contiguous");
}

std::function<Value(Value, Value)> Aten::writeBackOf(const Call &call, const TensorRef &base, size_t result) {
  StringRef name = call.schema->name();
  auto tensor = [this](Value value) { return Item(emitter.makeTensor(value)); };
  auto value = [this](const Item &item) { return emitter.read(*item.tensor()); };
  std::vector<Item> args = call.args;
  auto through = [=, this](StringRef inverse, std::vector<Item> rest) {
    return [=, this, inverse = inverse.str()](Value, Value part) {
      std::vector<Item> all = {tensor(part)};
      all.insert(all.end(), rest.begin(), rest.end());
      return value(this->call(inverse, all));
    };
  };
  auto scatter = [=, this](StringRef op, std::vector<Item> rest) {
    return [=, this, op = op.str()](Value whole, Value part) {
      std::vector<Item> all = {tensor(whole), tensor(part)};
      all.insert(all.end(), rest.begin(), rest.end());
      return value(this->call(op, all));
    };
  };
  if (name == "aten::select")
    return scatter("aten::select_scatter", {args[1], args[2]});
  if (name == "aten::slice")
    return scatter("aten::slice_scatter", {args[1], args[2], args[3], args[4]});
  if (name == "aten::narrow" && args[2].isInt())
    return scatter("aten::slice_scatter", {args[1], args[2], emitter.add(args[2], args[3]), c10::IValue(1)});
  if (name == "aten::unbind")
    return scatter("aten::select_scatter", {args[1], c10::IValue(static_cast<int64_t>(result))});
  if (name == "aten::diagonal")
    return scatter("aten::diagonal_scatter", {args[1], args[2], args[3]});
  if (name == "aten::transpose" || name == "aten::swapaxes" || name == "aten::swapdims")
    return through("aten::transpose.int", {args[1], args[2]});
  if (name == "aten::t")
    return through("aten::t", {});
  if (name == "aten::permute") {
    std::vector<Item> inverse(args[1].list()->items.size());
    for (auto [to, from] : llvm::enumerate(args[1].list()->items)) {
      int64_t dim = toInt(from);
      inverse[dim < 0 ? dim + inverse.size() : dim] = c10::IValue(static_cast<int64_t>(to));
    }
    return through("aten::permute", {makeList(c10::IntType::get(), inverse)});
  }
  if (name == "aten::view" || name == "aten::unflatten" || name == "aten::unsqueeze" || name == "aten::squeeze" ||
      isPerhapsView(name)) {
    TensorShape shape = emitter.shapeOf(*base);
    return [=, this](Value whole, Value part) {
      std::vector<Item> sizes;
      Item base = tensor(whole);
      for (int64_t dim = 0; dim < shape.rank(); ++dim)
        sizes.push_back(emitter.sizeOf(*base.tensor(), dim));
      return value(this->call("aten::view", {tensor(part), makeList(c10::IntType::get(), sizes)}));
    };
  }
  return nullptr;
}

void Aten::attachViews(const Call &call, Results &results) {
  // A view's first argument is its base; its alias set is the result's.
  if (call.args.empty() || !call.args[0].isTensor() || call.schema->returns().size() != 1)
    return;
  const c10::Argument &returned = call.schema->returns()[0];
  const c10::AliasInfo *alias = returned.alias_info();
  if (!alias || alias->isWrite() || (alias->beforeSets().empty() && alias->containedTypes().empty()))
    return;
  TensorRef base = call.args[0].tensor();
  ListItem *list = results[0].list();
  size_t count = list ? list->items.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const Item &item = list ? list->items[i] : results[0];
    if (!item.isTensor() || item.tensor()->base || item.tensor() == base)
      continue;
    Tensor &view = *item.tensor();
    view.base = base;
    view.baseVersion = base->version;
    view.isPerhapsView = isPerhapsView(call.schema->name());
    view.view = [this, call, i, isList = list != nullptr](Value value) {
      Call again = call;
      again.args[0] = emitter.makeTensor(value);
      std::optional<Results> results = runTyped(again);
      if (!results)
        results = runOpaque(again);
      const Item &result = results->at(0);
      return emitter.read(isList ? *result.list()->items[i].tensor() : *result.tensor());
    };
    view.writeBack = writeBackOf(call, base, i);
  }
}

Aten::Results Aten::runInPlace(const Call &call, size_t self) {
  StringRef name = call.schema->name();
  auto refuse = [&](const std::string &why) {
    emitter.fail(call.name + " updates a tensor in place, " + why + "; write the model without it");
  };
  const Item &target = call.args[self];
  if (self != 0 || !target.isTensor())
    refuse("which braid cannot turn into a value");
  refuseRandom(call);
  TensorRef tensor = target.tensor();
  TensorShape shape = emitter.shapeOf(*tensor);
  c10::ScalarType type = toScalarType(shape.elementType);
  auto expandTo = [&](TensorRef source) {
    TensorShape from = emitter.shapeOf(*source);
    if (from.dims == shape.dims)
      return source;
    std::vector<Item> sizes;
    for (int64_t dim = 0; dim < shape.rank(); ++dim)
      sizes.push_back(emitter.sizeOf(*tensor, dim));
    return this->call("aten::expand", {source, makeList(c10::IntType::get(), sizes)}).tensor();
  };

  TensorRef result;
  if (name == "aten::copy_" || call.name == "aten::fill_.Tensor") {
    result = expandTo(cast(call.args[1].tensor(), type));
  } else if (name == "aten::zero_") {
    result = this->call("aten::zeros_like", {target}).tensor();
  } else if (name == "aten::fill_") {
    result = this->call("aten::full_like", {target, call.args[1]}).tensor();
  } else {
    std::string functional = name.str();
    if (name.starts_with("aten::__i") && name.ends_with("__"))
      functional = "aten::__" + name.drop_front(9).str();
    else if (name.ends_with("_"))
      functional.pop_back();
    else
      refuse("which braid cannot turn into a value");
    std::string overload = call.schema->overload_name();
    std::optional<c10::OperatorHandle> handle =
        c10::Dispatcher::singleton().findSchema(c10::OperatorName(functional, overload));
    static constexpr StringLiteral reshaping[] = {"aten::unsqueeze", "aten::squeeze",  "aten::t",
                                                  "aten::transpose", "aten::swapaxes", "aten::swapdims",
                                                  "aten::resize",    "aten::set"};
    if (!handle || llvm::is_contained(reshaping, functional))
      refuse("and has no form without that");
    result = cast(run(Call(handle->schema(), call.args)).at(0).tensor(), type);
  }
  if (emitter.shapeOf(*result).rank() != shape.rank())
    refuse("to another rank");
  emitter.write(*tensor, emitter.read(*result));
  return Results{target};
}

} // namespace braid::torchscript
