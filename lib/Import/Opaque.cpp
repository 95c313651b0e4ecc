//===- Opaque.cpp - ATen operators that braid has no op for ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Aten.h"
#include "Probe.h"
#include "Types.h"

using namespace mlir;

namespace braid::torchscript {

/// The kind that an item is passed as; nothing for kinds that the C ABI lacks.
static std::optional<ArgKind> kindOf(const Item &item, const c10::Argument &argument) {
  c10::TypePtr type = argument.type(), real = argument.real_type();
  bool optional = false;
  if (auto wrapped = type->cast<c10::OptionalType>()) {
    type = wrapped->getElementType();
    optional = true;
  }
  if (auto wrapped = real->cast<c10::OptionalType>())
    real = wrapped->getElementType();
  if (real->kind() == c10::TypeKind::ScalarTypeType)
    return ArgKind::Dtype;
  switch (type->kind()) {
  case c10::TypeKind::TensorType:
    return optional ? ArgKind::OptionalTensor : ArgKind::Tensor;
  case c10::TypeKind::IntType:
  case c10::TypeKind::SymIntType:
    return item.isIndex() ? ArgKind::SymInt : ArgKind::Int;
  case c10::TypeKind::FloatType:
    return ArgKind::Float;
  case c10::TypeKind::BoolType:
    return ArgKind::Bool;
  case c10::TypeKind::StringType:
    return ArgKind::Str;
  case c10::TypeKind::NumberType:
    return ArgKind::Scalar;
  case c10::TypeKind::ListType: {
    c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
    switch (element->kind()) {
    case c10::TypeKind::TensorType:
      return ArgKind::TensorList;
    case c10::TypeKind::OptionalType:
      return ArgKind::OptionalTensorList;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: {
      const ListItem *list = item.list();
      bool symbolic = list && llvm::any_of(list->items, [](const Item &size) { return size.isIndex(); });
      return symbolic ? ArgKind::SymIntList : ArgKind::IntList;
    }
    case c10::TypeKind::BoolType:
      return ArgKind::BoolList;
    default:
      return std::nullopt;
    }
  }
  default:
    return std::nullopt;
  }
}

Aten::Results Aten::runOpaque(const Call &call) {
  OpBuilder &builder = emitter.builder;
  SmallVector<Value> tensors, indices;
  SmallVector<Attribute> names, attributes;
  SmallVector<int64_t> kinds, counts;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const c10::Argument &argument = call.schema->arguments()[i];
    bool mayBeLeftOut = argument.default_value() || argument.type()->kind() == c10::TypeKind::OptionalType;
    if (mayBeLeftOut && isIgnorable(argument, call.args[i]))
      continue;
    std::optional<ArgKind> kind = kindOf(call.args[i], argument);
    std::optional<ArgValue> value;
    if (kind)
      value = toArgument({*kind, llvm::StringLiteral("argument")}, call.args[i]);
    if (!value)
      emitter.fail("braid has no op for " + call.name + ", and cannot pass its argument '" + argument.name() + "', a " +
                   kindName(call.args[i]));
    Attribute attr = builder.getUnitAttr();
    int64_t count = 0;
    auto addSize = [&](OpFoldResult size) -> int64_t {
      if (auto constant = dyn_cast<Attribute>(size))
        return mlir::cast<IntegerAttr>(constant).getInt();
      indices.push_back(mlir::cast<Value>(size));
      ++count;
      return ShapedType::kDynamic;
    };
    if (auto *tensor = std::get_if<Value>(&value->storage)) {
      tensors.push_back(*tensor);
      count = 1;
    } else if (auto *list = std::get_if<ArgValue::Tensors>(&value->storage)) {
      SmallVector<bool> present;
      for (Value element : *list) {
        present.push_back(static_cast<bool>(element));
        if (element)
          tensors.push_back(element);
      }
      count = llvm::count(present, true);
      if (*kind == ArgKind::OptionalTensorList)
        attr = builder.getDenseBoolArrayAttr(present);
    } else if (auto *size = std::get_if<OpFoldResult>(&value->storage)) {
      addSize(*size);
    } else if (auto *sizes = std::get_if<ArgValue::Sizes>(&value->storage)) {
      SmallVector<int64_t> constants;
      for (OpFoldResult size : *sizes)
        constants.push_back(addSize(size));
      attr = builder.getDenseI64ArrayAttr(constants);
    } else if (auto *constant = std::get_if<Attribute>(&value->storage)) {
      attr = *constant;
    }
    names.push_back(builder.getStringAttr(argument.name()));
    kinds.push_back(static_cast<int64_t>(*kind));
    counts.push_back(count);
    attributes.push_back(attr);
  }

  std::vector<ProbedResult> probed = probe(emitter, call, tensors);
  SmallVector<Type> types;
  SmallVector<Attribute> dims;
  for (const ProbedResult &result : probed) {
    Type element = toMlirType(emitter.getContext(), result.dtype);
    if (!element)
      emitter.fail(call.name + " gives a tensor of " + c10::toString(result.dtype) + ", which braid lacks");
    SmallVector<Attribute> texts;
    for (const Expr &dim : result.dims)
      texts.push_back(builder.getStringAttr(dim.str()));
    dims.push_back(builder.getArrayAttr(texts));
    types.push_back(RankedTensorType::get(SmallVector<int64_t>(result.dims.size(), ShapedType::kDynamic), element));
  }
  auto op = OpaqueOp::create(builder, emitter.getLoc(), types, tensors, indices, builder.getStringAttr(call.name),
                             builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(kinds),
                             builder.getDenseI64ArrayAttr(counts), builder.getArrayAttr(attributes),
                             builder.getArrayAttr(dims));
  Results results;
  for (Value result : op->getResults()) {
    result.setType(emitter.shapeOf(result).toType());
    results.emplace_back(emitter.makeTensor(result));
  }
  emitter.finish(op);

  auto known = llvm::find_if(report.opaque, [&](const auto &entry) { return entry.name == call.name; });
  if (known == report.opaque.end())
    known = report.opaque.insert(known, {call.name, {}});
  std::string site;
  if (auto file = emitter.getLoc()->findInstanceOf<FileLineColLoc>())
    site = file.getFilename().str() + ":" + std::to_string(file.getLine());
  known->uses.push_back({emitter.getPath(), site});
  if (call.schema->returns().size() == 1 && call.schema->returns()[0].type()->kind() == c10::TypeKind::ListType)
    return Results{makeList(c10::TensorType::get(), std::move(results))};
  return results;
}

} // namespace braid::torchscript
