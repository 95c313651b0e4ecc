//===- Item.h - What a TorchScript value stands for ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While import runs a graph, each of its values is an Item: a constant of Python, an integer that depends on the
// batch's sizes (an `index` value), a tensor, or a container of items. Only index values and tensors reach the IR.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_ITEM_H
#define BRAID_LIB_IMPORT_ITEM_H

#include "mlir/IR/Value.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace braid::torchscript {

struct Tensor;
struct ListItem;
struct TupleItem;
struct DictItem;
/// Equal for all names of one tensor, so that an update in place is seen through each of them.
using TensorRef = std::shared_ptr<Tensor>;

class Item {
public:
  Item() = default; // None
  Item(c10::IValue constant) : storage(std::move(constant)) {}
  Item(mlir::Value index) : storage(index) {}
  Item(TensorRef tensor) : storage(std::move(tensor)) {}
  Item(std::shared_ptr<ListItem> list) : storage(std::move(list)) {}
  Item(std::shared_ptr<TupleItem> tuple) : storage(std::move(tuple)) {}
  Item(std::shared_ptr<DictItem> dict) : storage(std::move(dict)) {}

  /// A constant that is no container; null for anything else.
  const c10::IValue *constant() const & { return std::get_if<c10::IValue>(&storage); }
  bool isNone() const { return constant() && constant()->isNone(); }
  bool isIndex() const { return std::holds_alternative<mlir::Value>(storage); }
  /// An int, constant or not.
  bool isInt() const { return isIndex() || (constant() && constant()->isInt()); }
  mlir::Value index() const { return std::get<mlir::Value>(storage); }
  bool isTensor() const { return std::holds_alternative<TensorRef>(storage); }
  const TensorRef &tensor() const & { return std::get<TensorRef>(storage); }
  TensorRef tensor() && { return std::get<TensorRef>(std::move(storage)); }
  ListItem *list() const & {
    auto *list = std::get_if<std::shared_ptr<ListItem>>(&storage);
    return list ? list->get() : nullptr;
  }
  TupleItem *tuple() const & {
    auto *tuple = std::get_if<std::shared_ptr<TupleItem>>(&storage);
    return tuple ? tuple->get() : nullptr;
  }
  DictItem *dict() const & {
    auto *dict = std::get_if<std::shared_ptr<DictItem>>(&storage);
    return dict ? dict->get() : nullptr;
  }
  // A temporary would leave these dangling.
  const c10::IValue *constant() const && = delete;
  ListItem *list() const && = delete;
  TupleItem *tuple() const && = delete;
  DictItem *dict() const && = delete;
  /// Whether both are the same object, as Python's `is`.
  bool isSame(const Item &other) const;

private:
  std::variant<c10::IValue, mlir::Value, TensorRef, std::shared_ptr<ListItem>, std::shared_ptr<TupleItem>,
               std::shared_ptr<DictItem>>
      storage;
};

struct ListItem {
  c10::TypePtr elementType;
  std::vector<Item> items;
};
struct TupleItem {
  std::vector<Item> items;
};
struct DictItem {
  c10::TypePtr keyType, valueType;
  std::vector<std::pair<Item, Item>> entries;
};

/// A tensor of the graph. What it holds is computed, or read from one of three sources where it is first used.
struct Tensor {
  Tensor() = default;
  Tensor(const Tensor &) = default;
  ~Tensor();

  mlir::Value value;     // computed; null if it comes from a source
  Item number;           // source: the value of a 0-dim tensor that import knows (an int, float or bool); else None
  at::Tensor constant;   // source: a constant of the graph; with `number` if it has no dims
  std::string parameter; // source: the symbol of a braid.param
  bool isUpdated = false; // a parameter or buffer that forward() has written to

  /// A view is computed from its base, and a write to it is a write to the base.
  TensorRef base;
  std::function<mlir::Value(mlir::Value base)> view;
  std::function<mlir::Value(mlir::Value base, mlir::Value part)> writeBack; // null: not writable
  bool isPerhapsView = false; // whether it shares memory depends on strides, as for reshape
  unsigned version = 0, baseVersion = 0;
  std::string poison; // why it can no longer be read

  mlir::Value cached; // a source's value in the module call that read it last
  int cachedCall = -1;
};

std::shared_ptr<ListItem> makeList(c10::TypePtr elementType, std::vector<Item> items);
std::shared_ptr<TupleItem> makeTuple(std::vector<Item> items);

/// The constant that an item is, containers included, or nothing if a part of it is no constant or a tensor.
std::optional<c10::IValue> toIValue(const Item &item, const c10::TypePtr &type);

/// "int", "Tensor", "List[Tensor]": for messages.
std::string kindName(const Item &item);

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_ITEM_H
