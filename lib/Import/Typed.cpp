//===- Typed.cpp - ATen operators that braid has an op for ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op's argument specs and the operator's schema carry the same names, so one loop maps every call.
//
//===----------------------------------------------------------------------===//

#include "Aten.h"
#include "Types.h"

using namespace mlir;

namespace braid::torchscript {

/// The argument as the op takes it; nothing if the op cannot hold this item.
std::optional<ArgValue> Aten::toArgument(const ArgSpec &spec, const Item &item) {
  OpBuilder &builder = emitter.builder;
  const c10::IValue *constant = item.constant();
  const ListItem *list = item.list();
  bool needed = spec.kind == ArgKind::Tensor || spec.kind == ArgKind::TensorList ||
                spec.kind == ArgKind::OptionalTensorList || spec.kind == ArgKind::SymIntList;
  if (item.isNone())
    return needed ? std::nullopt : std::optional<ArgValue>(ArgValue());
  auto allInts = [&] { return list && llvm::all_of(list->items, [](const Item &size) { return size.isInt(); }); };
  switch (spec.kind) {
  case ArgKind::Tensor:
  case ArgKind::OptionalTensor:
    if (!item.isTensor())
      return std::nullopt;
    return ArgValue(emitter.read(*item.tensor()));
  case ArgKind::TensorList:
  case ArgKind::OptionalTensorList: {
    if (!list)
      return std::nullopt;
    ArgValue::Tensors tensors;
    for (const Item &element : list->items) {
      if (!element.isTensor() && (spec.kind == ArgKind::TensorList || !element.isNone()))
        return std::nullopt;
      tensors.push_back(element.isTensor() ? emitter.read(*element.tensor()) : Value());
    }
    return ArgValue(tensors);
  }
  case ArgKind::SymInt:
    if (!item.isInt())
      return std::nullopt;
    return ArgValue(emitter.toSize(item));
  case ArgKind::SymIntList: {
    if (!allInts())
      return std::nullopt;
    ArgValue::Sizes sizes;
    for (const Item &size : list->items)
      sizes.push_back(emitter.toSize(size));
    return ArgValue(sizes);
  }
  case ArgKind::Int:
    if (!item.isInt())
      return std::nullopt;
    return ArgValue(Attribute(builder.getI64IntegerAttr(emitter.fixToExample(item))));
  case ArgKind::Float:
    if (item.isIndex())
      return ArgValue(Attribute(builder.getF64FloatAttr(emitter.fixToExample(item))));
    if (!constant || !(constant->isDouble() || constant->isInt()))
      return std::nullopt;
    return ArgValue(Attribute(builder.getF64FloatAttr(constant->toScalar().toDouble())));
  case ArgKind::Bool:
    if (!constant || !constant->isBool())
      return std::nullopt;
    return ArgValue(Attribute(builder.getBoolAttr(constant->toBool())));
  case ArgKind::Str:
    if (!constant || !constant->isString())
      return std::nullopt;
    return ArgValue(Attribute(builder.getStringAttr(constant->toStringRef())));
  case ArgKind::Scalar:
    if (item.isIndex())
      return ArgValue(Attribute(builder.getI64IntegerAttr(emitter.fixToExample(item))));
    if (constant && constant->isInt())
      return ArgValue(Attribute(builder.getI64IntegerAttr(constant->toInt())));
    if (constant && constant->isDouble())
      return ArgValue(Attribute(builder.getF64FloatAttr(constant->toDouble())));
    if (constant && constant->isBool())
      return ArgValue(Attribute(builder.getBoolAttr(constant->toBool())));
    return std::nullopt;
  case ArgKind::Dtype: {
    if (!constant || !constant->isInt())
      return std::nullopt;
    Type type = toMlirType(emitter.getContext(), static_cast<c10::ScalarType>(constant->toInt()));
    if (!type)
      return std::nullopt;
    return ArgValue(Attribute(TypeAttr::get(type)));
  }
  case ArgKind::IntList: {
    if (!allInts())
      return std::nullopt;
    SmallVector<int64_t> values;
    for (const Item &value : list->items)
      values.push_back(emitter.fixToExample(value));
    return ArgValue(Attribute(builder.getDenseI64ArrayAttr(values)));
  }
  case ArgKind::BoolList: {
    if (!list)
      return std::nullopt;
    SmallVector<bool> values;
    for (const Item &value : list->items) {
      if (!value.constant() || !value.constant()->isBool())
        return std::nullopt;
      values.push_back(value.constant()->toBool());
    }
    return ArgValue(Attribute(builder.getDenseBoolArrayAttr(values)));
  }
  }
  return std::nullopt;
}

std::optional<Aten::Results> Aten::runTyped(const Call &call) {
  std::optional<OperationName> name = emitter.lookup(call.name);
  if (!name)
    return std::nullopt;
  ArrayRef<ArgSpec> specs = name->getInterface<AtenOpInterface>()->getArgSpecs();
  auto find = [&](StringRef argument) {
    return llvm::find_if(specs, [&](const ArgSpec &spec) { return spec.name == argument; });
  };
  const std::vector<c10::Argument> &arguments = call.schema->arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (find(arguments[i].name()) == specs.end() && !isIgnorable(arguments[i], call.args[i]))
      return std::nullopt;
  // A size that the op wants as a scalar attribute: the operator's tensor form keeps it symbolic.
  for (const ArgSpec &spec : specs)
    if (spec.kind == ArgKind::Scalar && call.arg(spec.name).isIndex() && StringRef(call.name).ends_with(".Scalar") &&
        emitter.lookup(StringRef(call.name).drop_back(6).str() + "Tensor") && call.args[0].isTensor()) {
      std::vector<Item> args = call.args;
      std::optional<int> index = call.schema->argumentIndexWithName(std::string_view(spec.name));
      args[*index] = scalarFor(args[*index], emitter.shapeOf(*call.args[0].tensor()));
      return Results{this->call(StringRef(call.name).drop_back(6).str() + "Tensor", std::move(args))};
    }
  SmallVector<ArgValue> values;
  for (const ArgSpec &spec : specs) {
    std::optional<ArgValue> value = toArgument(spec, call.arg(spec.name));
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  Operation *op = emitter.create(*name, values);
  std::vector<Item> tensors;
  for (Value result : op->getResults())
    tensors.emplace_back(emitter.makeTensor(result));
  if (call.schema->returns().size() == 1 && call.schema->returns()[0].type()->kind() == c10::TypeKind::ListType)
    return Results{makeList(c10::TensorType::get(), std::move(tensors))};
  return tensors;
}

} // namespace braid::torchscript
