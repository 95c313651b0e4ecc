//===- Item.cpp - What a TorchScript value stands for ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Item.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

namespace braid::torchscript {

/// One after the other: views of views may be many. What a view is computed with holds its base too.
Tensor::~Tensor() {
  view = nullptr;
  writeBack = nullptr;
  for (TensorRef last = std::move(base); last && last.use_count() == 1;) {
    last->view = nullptr;
    last->writeBack = nullptr;
    last = TensorRef(std::move(last->base));
  }
}

bool Item::isSame(const Item &other) const {
  if (storage.index() != other.storage.index())
    return false;
  if (constant())
    return constant()->is(*other.constant());
  return std::visit(
      [&](const auto &mine) {
        using Held = std::decay_t<decltype(mine)>;
        if constexpr (std::is_same_v<Held, c10::IValue>)
          return false;
        else
          return mine == std::get<Held>(other.storage);
      },
      storage);
}

std::shared_ptr<ListItem> makeList(c10::TypePtr elementType, std::vector<Item> items) {
  return std::make_shared<ListItem>(ListItem{std::move(elementType), std::move(items)});
}

std::shared_ptr<TupleItem> makeTuple(std::vector<Item> items) {
  return std::make_shared<TupleItem>(TupleItem{std::move(items)});
}

std::optional<c10::IValue> toIValue(const Item &item, const c10::TypePtr &type) {
  if (const c10::IValue *constant = item.constant())
    return *constant;
  if (const ListItem *list = item.list()) {
    c10::impl::GenericList result(list->elementType);
    for (const Item &element : list->items) {
      std::optional<c10::IValue> value = toIValue(element, list->elementType);
      if (!value)
        return std::nullopt;
      result.push_back(*value);
    }
    return c10::IValue(result);
  }
  if (const TupleItem *tuple = item.tuple()) {
    std::vector<c10::IValue> elements;
    for (const Item &element : tuple->items) {
      std::optional<c10::IValue> value = toIValue(element, nullptr);
      if (!value)
        return std::nullopt;
      elements.push_back(*value);
    }
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (const DictItem *dict = item.dict()) {
    c10::impl::GenericDict result(dict->keyType, dict->valueType);
    for (const auto &[key, value] : dict->entries) {
      std::optional<c10::IValue> keyValue = toIValue(key, dict->keyType), valueValue = toIValue(value, dict->valueType);
      if (!keyValue || !valueValue)
        return std::nullopt;
      result.insert(*keyValue, *valueValue);
    }
    return c10::IValue(result);
  }
  return std::nullopt;
}

std::string kindName(const Item &item) {
  if (const c10::IValue *constant = item.constant())
    return constant->isInt() ? "int" : constant->isObject() ? "object" : constant->tagKind();
  if (item.isIndex())
    return "int";
  if (item.isTensor())
    return "Tensor";
  if (const ListItem *list = item.list())
    return "List[" + list->elementType->str() + "]";
  if (const TupleItem *tuple = item.tuple()) {
    std::string text = "Tuple[";
    for (const Item &element : tuple->items)
      text += (&element == tuple->items.data() ? "" : ", ") + kindName(element);
    return text + "]";
  }
  return "Dict";
}

} // namespace braid::torchscript
