//===- Scalars.cpp - Python values while running a graph ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators on constants are run by LibTorch itself. Two kinds need more: those on integers that depend on the batch,
// and those on lists, tuples and dicts, which may hold tensors.
//
//===----------------------------------------------------------------------===//

#include "ImportError.h"
#include "Interpreter.h"

#include <torch/csrc/jit/runtime/operator.h>

using namespace mlir;
namespace jit = torch::jit;

namespace braid::torchscript {

std::optional<Interpreter::Results> Interpreter::runOnSizes(const std::string &name, const std::vector<Item> &args) {
  StringRef base = StringRef(name).split('.').first;
  auto yes = [](bool value) { return Results{c10::IValue(value)}; };
  if (args.size() == 1 && args[0].isIndex()) {
    if (base == "aten::neg")
      return Results{emitter.sub(c10::IValue(0), args[0])};
    if (base == "aten::abs")
      return Results{emitter.max(args[0], emitter.sub(c10::IValue(0), args[0]))};
    if (base == "aten::Int" || base == "aten::ScalarImplicit" || base == "aten::floor" || base == "aten::ceil")
      return Results{args[0]};
    if (base == "aten::Float")
      return Results{c10::IValue(static_cast<double>(aten.toInt(args[0])))};
    if (base == "aten::Bool")
      return yes(!emitter.equal(args[0], c10::IValue(0)));
  }
  if (args.size() != 2 || !args[0].isInt() || !args[1].isInt() || !(args[0].isIndex() || args[1].isIndex()))
    return std::nullopt;
  const Item &a = args[0], &b = args[1];
  if (base == "aten::add")
    return Results{emitter.add(a, b)};
  if (base == "aten::sub")
    return Results{emitter.sub(a, b)};
  if (base == "aten::mul")
    return Results{emitter.mul(a, b)};
  if (base == "aten::floordiv")
    return Results{emitter.floorDiv(a, b)};
  if (base == "aten::remainder")
    return Results{emitter.sub(a, emitter.mul(emitter.floorDiv(a, b), b))};
  if (base == "prim::max")
    return Results{emitter.max(a, b)};
  if (base == "prim::min") // min(a, b) = a + b - max(a, b)
    return Results{emitter.sub(emitter.add(a, b), emitter.max(a, b))};
  if (base == "aten::eq")
    return yes(emitter.equal(a, b));
  if (base == "aten::ne")
    return yes(!emitter.equal(a, b));
  if (base == "aten::lt")
    return yes(emitter.less(a, b));
  if (base == "aten::ge")
    return yes(!emitter.less(a, b));
  if (base == "aten::gt")
    return yes(emitter.less(b, a));
  if (base == "aten::le")
    return yes(!emitter.less(b, a));
  return std::nullopt;
}

/// The position that a Python index means; fails outside of the list.
static size_t position(Emitter &emitter, int64_t index, size_t size, bool atEnd = false) {
  if (index < 0)
    index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size + atEnd))
    emitter.fail("takes entry " + std::to_string(index) + " of a list of " + std::to_string(size));
  return index;
}

std::optional<Interpreter::Results> Interpreter::runOnContainers(jit::Node *node, const std::string &name,
                                                                 const std::vector<Item> &args) {
  StringRef base = StringRef(name).split('.').first;
  if (base == "aten::__is__")
    return Results{c10::IValue(args[0].isSame(args[1]))};
  if (base == "aten::__isnot__")
    return Results{c10::IValue(!args[0].isSame(args[1]))};
  if (args.empty())
    return std::nullopt;

  if (DictItem *dict = args[0].dict()) {
    auto find = [&](const Item &key) {
      return llvm::find_if(dict->entries, [&](const auto &entry) {
        return entry.first.constant() && key.constant() && *entry.first.constant() == *key.constant();
      });
    };
    if (base == "aten::__getitem__" || base == "aten::get") {
      auto found = find(args[1]);
      if (found != dict->entries.end())
        return Results{found->second};
      if (base == "aten::get")
        return Results{args.size() > 2 ? args[2] : Item()};
      emitter.fail("takes an entry of a dict that it does not have");
    }
    if (base == "aten::__contains__")
      return Results{c10::IValue(find(args[1]) != dict->entries.end())};
    if (base == "aten::len")
      return Results{c10::IValue(static_cast<int64_t>(dict->entries.size()))};
    if (base == "aten::_set_item") {
      auto found = find(args[1]);
      if (found == dict->entries.end())
        dict->entries.emplace_back(args[1], args[2]);
      else
        found->second = args[2];
      return Results{};
    }
    std::vector<Item> keys, values, pairs;
    for (const auto &[key, value] : dict->entries) {
      keys.push_back(key);
      values.push_back(value);
      pairs.push_back(makeTuple({key, value}));
    }
    if (base == "aten::keys")
      return Results{makeList(dict->keyType, keys)};
    if (base == "aten::values")
      return Results{makeList(dict->valueType, values)};
    if (base == "aten::items")
      return Results{makeList(c10::TupleType::create({dict->keyType, dict->valueType}), pairs)};
    emitter.fail(name + " on a dict is not supported");
  }

  if (TupleItem *tuple = args[0].tuple(); tuple && base == "aten::len")
    return Results{c10::IValue(static_cast<int64_t>(tuple->items.size()))};

  ListItem *list = args[0].list();
  if (!list)
    return std::nullopt;
  std::vector<Item> &items = list->items;
  if (base == "aten::len")
    return Results{c10::IValue(static_cast<int64_t>(items.size()))};
  if (base == "aten::__getitem__")
    return Results{items[position(emitter, aten.toInt(args[1]), items.size())]};
  if (base == "aten::_set_item") {
    items[position(emitter, aten.toInt(args[1]), items.size())] = args[2];
    return Results{args[0]};
  }
  if (base == "aten::append") {
    items.push_back(args[1]);
    return Results{args[0]};
  }
  if (base == "aten::extend") {
    std::vector<Item> more = args[1].list()->items;
    items.insert(items.end(), more.begin(), more.end());
    return Results{};
  }
  if (base == "aten::insert") {
    items.insert(items.begin() + position(emitter, aten.toInt(args[1]), items.size(), true), args[2]);
    return Results{};
  }
  if (base == "aten::pop") {
    size_t at = position(emitter, args.size() > 1 ? aten.toInt(args[1]) : -1, items.size());
    Item taken = items[at];
    items.erase(items.begin() + at);
    return Results{taken};
  }
  if (base == "aten::Delete") {
    items.erase(items.begin() + position(emitter, aten.toInt(args[1]), items.size()));
    return Results{};
  }
  if (base == "aten::clear") {
    items.clear();
    return Results{};
  }
  if (base == "aten::reverse") {
    std::reverse(items.begin(), items.end());
    return Results{};
  }
  if (base == "aten::list" || base == "aten::copy")
    return Results{makeList(list->elementType, items)};
  if ((base == "aten::add" || base == "aten::add_") && args[1].list()) {
    std::vector<Item> joined = items;
    joined.insert(joined.end(), args[1].list()->items.begin(), args[1].list()->items.end());
    if (base == "aten::add")
      return Results{makeList(list->elementType, std::move(joined))};
    items = std::move(joined);
    return Results{args[0]};
  }
  if (base == "aten::mul" && args[1].isInt()) {
    std::vector<Item> repeated;
    for (int64_t i = aten.toInt(args[1]); i > 0; --i)
      repeated.insert(repeated.end(), items.begin(), items.end());
    return Results{makeList(list->elementType, std::move(repeated))};
  }
  if (base == "aten::slice") {
    int64_t size = static_cast<int64_t>(items.size()), step = aten.toInt(args[3]);
    auto bound = [&](const Item &item, int64_t standard) {
      int64_t value = item.isNone() ? standard : aten.toInt(item);
      return std::clamp<int64_t>(value < 0 ? value + size : value, 0, size);
    };
    if (step < 1)
      emitter.fail("slices a list backwards, which is not supported");
    std::vector<Item> part;
    for (int64_t i = bound(args[1], 0), end = bound(args[2], size); i < end; i += step)
      part.push_back(items[i]);
    return Results{makeList(list->elementType, std::move(part))};
  }
  // Comparison of shapes, entry by entry.
  bool sizes = llvm::all_of(items, [](const Item &item) { return item.isInt(); });
  if ((base == "aten::eq" || base == "aten::ne") && sizes && args[1].list()) {
    const std::vector<Item> &other = args[1].list()->items;
    bool equal = items.size() == other.size();
    for (size_t i = 0; equal && i < items.size(); ++i)
      equal = emitter.equal(items[i], other[i]);
    return Results{c10::IValue(equal == (base == "aten::eq"))};
  }
  if ((base == "prim::max" || base == "prim::min") && args.size() == 1 && sizes && !items.empty()) {
    Item best = items[0];
    for (const Item &item : items)
      best =
          base == "prim::max" ? emitter.max(best, item) : emitter.sub(emitter.add(best, item), emitter.max(best, item));
    return Results{best};
  }
  if (base == "aten::sum" && sizes) {
    Item total = c10::IValue(0);
    for (const Item &item : items)
      total = emitter.add(total, item);
    return Results{total};
  }
  return std::nullopt;
}

Interpreter::Results Interpreter::runScalars(jit::Node *node, const std::vector<Item> &args) {
  std::string name = Call(*node->maybeSchema(), {}).name;
  if (std::optional<Results> results = runOnSizes(name, args))
    return *results;
  jit::Stack stack;
  for (size_t i = 0; i < args.size(); ++i) {
    Item item = args[i];
    if (item.isIndex())
      item = c10::IValue(aten.toInt(item)); // fixed to the example by a guard
    std::optional<c10::IValue> value = toIValue(item, node->inputs()[i]->type());
    if (!value)
      emitter.fail(name + " on a " + kindName(item) + " is not supported");
    stack.push_back(*value);
  }
  jit::Operation operation = node->getOperation();
  operation(stack);
  Results results;
  for (const c10::IValue &value : stack)
    results.push_back(fromIValue(value));
  return results;
}

} // namespace braid::torchscript
