//===- Einsum.cpp - Sums of products as matrix products ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// einsum("bhqd,bhkd->bhqk", q, k) is a batched product: labels of both operands that are kept are its batch, those that
// are not are contracted, and labels of one operand are its rows or columns. Operands are taken from left to right.
//
//===----------------------------------------------------------------------===//

#include "Rewrites.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace braid::torchscript {

namespace {
/// A tensor with a label for each dim. An ellipsis has become labels from '0' on, of which '0' is the last dim's.
struct Labelled {
  Item tensor;
  std::string labels;
};

class Einsum {
public:
  explicit Einsum(Aten &aten) : aten(aten) {}

  /// Nothing where an operand repeats a label (a diagonal), sizes of 1 broadcast, or the equation is none.
  std::optional<Item> run(StringRef equation, const std::vector<Item> &tensors) {
    std::string text;
    llvm::copy_if(equation, std::back_inserter(text), [](char letter) { return letter != ' '; });
    auto [left, right] = StringRef(text).split("->");
    SmallVector<StringRef> parts;
    left.split(parts, ',');
    if (parts.size() != tensors.size())
      return std::nullopt;
    std::vector<Labelled> operands;
    for (auto [part, tensor] : llvm::zip(parts, tensors)) {
      std::optional<std::string> labels = spell(part, aten.emitter.shapeOf(*tensor.tensor()).rank());
      if (!labels || !collect(*labels, aten.emitter.shapeOf(*tensor.tensor())))
        return std::nullopt;
      operands.push_back({tensor, *labels});
    }
    std::optional<std::string> output;
    if (StringRef(text).contains("->"))
      output = spell(right, right.contains("...") ? right.size() - 3 + ellipsis : right.size());
    else
      output = implicitOutput();
    if (!output || llvm::any_of(*output, [&](char label) { return !sizes.count(label); }))
      return std::nullopt;

    Labelled result = operands.front();
    for (size_t number = 1; number < operands.size(); ++number) {
      std::string needed = *output;
      for (size_t later = number + 1; later < operands.size(); ++later)
        needed += operands[later].labels;
      result = multiply(sumUnused(result, operands[number].labels + needed),
                        sumUnused(operands[number], result.labels + needed), needed);
    }
    return permuted(sumUnused(result, *output), *output).tensor;
  }

private:
  static bool contains(StringRef labels, char label) { return labels.contains(label); }

  /// The labels of a tensor of that rank, each once.
  std::optional<std::string> spell(StringRef part, int64_t rank) {
    auto [before, after] = part.split("...");
    std::string labels = before.str();
    int64_t extra = rank - static_cast<int64_t>(before.size() + after.size());
    if (part.contains("...") ? extra < 0 || extra > 9 : extra != 0)
      return std::nullopt;
    for (int64_t dim = extra; dim-- > 0;)
      labels += static_cast<char>('0' + dim);
    labels += after.str();
    ellipsis = std::max(ellipsis, extra);
    std::set<char> distinct(labels.begin(), labels.end());
    bool letters = llvm::all_of(before, llvm::isAlpha) && llvm::all_of(after, llvm::isAlpha);
    return letters && distinct.size() == labels.size() ? std::optional(labels) : std::nullopt;
  }

  /// Notes the sizes of the labels; false where one broadcasts.
  bool collect(StringRef labels, const TensorShape &shape) {
    for (auto [label, size] : llvm::zip(labels, shape.dims)) {
      auto [known, isNew] = sizes.try_emplace(label, size);
      if (!isNew && (known->second.constant() == 1) != (size.constant() == 1))
        return false;
      ++uses[label];
    }
    return true;
  }

  /// The ellipsis, then the letters that stand once, in the alphabet's order.
  std::string implicitOutput() {
    std::string output;
    for (int64_t dim = ellipsis; dim-- > 0;)
      output += static_cast<char>('0' + dim);
    for (const auto &[label, count] : uses)
      if (count == 1 && llvm::isAlpha(label))
        output += label;
    return output;
  }

  Labelled permuted(const Labelled &operand, StringRef labels) {
    if (operand.labels == labels)
      return operand;
    std::vector<int64_t> order;
    for (char label : labels)
      order.push_back(operand.labels.find(label));
    return {aten.call("aten::permute", {operand.tensor, makeInts(order)}), labels.str()};
  }

  Labelled sumUnused(const Labelled &operand, StringRef used) {
    std::vector<int64_t> dims;
    std::string kept;
    for (auto [dim, label] : llvm::enumerate(operand.labels))
      if (contains(used, label))
        kept += label;
      else
        dims.push_back(dim);
    if (dims.empty())
      return operand;
    return {aten.call("aten::sum.dim_IntList", {operand.tensor, makeInts(dims)}), kept};
  }

  /// The sizes of labels, one by one or as a product.
  std::vector<Item> sizesOfLabels(const Labelled &operand, StringRef labels) {
    std::vector<Item> list;
    for (char label : labels)
      list.push_back(aten.emitter.sizeOf(*operand.tensor.tensor(), operand.labels.find(label)));
    return list;
  }
  Item product(const Labelled &operand, StringRef labels) {
    Item all = c10::IValue(1);
    for (const Item &size : sizesOfLabels(operand, labels))
      all = aten.emitter.mul(all, size);
    return all;
  }
  Item reshaped(const Item &tensor, std::vector<Item> sizes) {
    return aten.call("aten::reshape", {tensor, makeList(c10::IntType::get(), std::move(sizes))});
  }

  Labelled multiply(const Labelled &a, const Labelled &b, StringRef needed) {
    std::string batch, rows, columns, inner;
    for (char label : a.labels)
      (!contains(b.labels, label) ? rows : contains(needed, label) ? batch : inner) += label;
    for (char label : b.labels)
      if (!contains(a.labels, label))
        columns += label;
    Labelled left = permuted(a, batch + rows + inner), right = permuted(b, batch + inner + columns);
    Item x = reshaped(left.tensor, {product(left, batch), product(left, rows), product(left, inner)});
    Item y = reshaped(right.tensor, {product(right, batch), product(right, inner), product(right, columns)});
    std::vector<Item> result = sizesOfLabels(left, batch + rows), last = sizesOfLabels(right, columns);
    result.insert(result.end(), last.begin(), last.end());
    return {reshaped(aten.call("aten::bmm", {x, y}), result), batch + rows + columns};
  }

  Aten &aten;
  int64_t ellipsis = 0; // the most dims that an ellipsis stands for
  std::map<char, Expr> sizes;
  std::map<char, int> uses;
};
} // namespace

Answer einsum(Aten &aten, const Call &call) {
  const ListItem *tensors = call.args[1].list();
  const c10::IValue *equation = call.args[0].constant();
  if (!tensors || tensors->items.empty() || !equation || !equation->isString())
    return std::nullopt;
  std::optional<Item> result = Einsum(aten).run(equation->toStringRef(), tensors->items);
  return result ? Answer(Aten::Results{*result}) : std::nullopt;
}

} // namespace braid::torchscript
