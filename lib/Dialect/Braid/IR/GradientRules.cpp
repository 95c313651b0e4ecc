//===- GradientRules.cpp - Shared parts of gradient rules -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

#include <cmath>

using namespace mlir;

namespace braid::gradients {

int64_t wrapDim(int64_t dim, int64_t rank) { return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim; }

SmallVector<int64_t> wrapDims(std::optional<ArrayRef<int64_t>> dims, int64_t rank) {
  SmallVector<int64_t> wrapped;
  if (!dims || dims->empty())
    llvm::append_range(wrapped, llvm::seq<int64_t>(0, rank));
  else if (rank > 0)
    for (int64_t dim : *dims)
      wrapped.push_back(wrapDim(dim, rank));
  llvm::sort(wrapped);
  return wrapped;
}

static AtenArg findArgument(Operation *op, StringRef name) {
  AtenCall call = *getAtenCall(op);
  for (const AtenArg &arg : call.args)
    if (arg.name == name)
      return arg;
  llvm::report_fatal_error("a gradient rule asks " + op->getName().getStringRef() + " for an argument '" + name + "'");
}

static ArgValue::Sizes toSizes(Operation *op, const AtenArg &arg) {
  ArgValue::Sizes sizes;
  Builder builder(op->getContext());
  auto operand = arg.operands.begin();
  if (arg.attr)
    for (int64_t size : cast<DenseI64ArrayAttr>(arg.attr).asArrayRef())
      sizes.push_back(ShapedType::isDynamic(size) ? OpFoldResult(Value(*operand++))
                                                  : OpFoldResult(builder.getI64IntegerAttr(size)));
  return sizes;
}

ArgValue argument(Operation *op, StringRef name) {
  AtenArg arg = findArgument(op, name);
  switch (arg.kind) {
  case ArgKind::TensorList:
    return ArgValue::Tensors(arg.operands.begin(), arg.operands.end());
  case ArgKind::OptionalTensorList: {
    ArgValue::Tensors tensors;
    auto operand = arg.operands.begin();
    for (bool present : cast<DenseBoolArrayAttr>(arg.attr).asArrayRef())
      tensors.push_back(present ? Value(*operand++) : Value());
    return tensors;
  }
  case ArgKind::SymIntList:
    return toSizes(op, arg);
  case ArgKind::SymInt:
    if (!arg.operands.empty())
      return OpFoldResult(arg.operands.front());
    break;
  default:
    if (!arg.operands.empty())
      return Value(arg.operands.front());
  }
  return arg.attr ? ArgValue(arg.attr) : ArgValue();
}

ArgValue argumentOr(Operation *op, StringRef name, ArgValue absent) {
  ArgValue value = argument(op, name);
  return std::holds_alternative<std::monostate>(value.storage) ? absent : value;
}

Expr sizeArgument(GradientBuilder &g, Operation *op, StringRef name, Expr absent) {
  AtenArg arg = findArgument(op, name);
  if (arg.operands.empty())
    return arg.attr ? Expr(cast<IntegerAttr>(arg.attr).getInt()) : absent;
  // The shape rule has asked for the same value before, and stopped the compilation if it has none.
  return g.getShapes().valueOf(arg.operands.front()).value_or(absent);
}

Sizes sizesArgument(GradientBuilder &g, Operation *op, StringRef name) {
  Sizes sizes;
  for (OpFoldResult size : toSizes(op, findArgument(op, name)))
    sizes.push_back(g.getShapes().valueOf(size).value_or(Expr()));
  return sizes;
}

double toDouble(TypedAttr scalar, double absent) {
  if (auto real = dyn_cast_or_null<FloatAttr>(scalar))
    return real.getValueAsDouble();
  if (auto boolean = dyn_cast_or_null<BoolAttr>(scalar))
    return boolean.getValue();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(scalar))
    return static_cast<double>(integer.getInt());
  return absent;
}

Value scaled(GradientBuilder &g, Value value, TypedAttr factor) {
  if (!value || toDouble(factor, 1) == 1)
    return value;
  if (toDouble(factor, 1) == -1)
    return g.create<NegOp>({value});
  return g.create<MulScalarOp>({value, Attribute(factor)});
}

Value scaled(GradientBuilder &g, Value value, double factor) {
  return scaled(g, value, g.getBuilder().getF64FloatAttr(factor));
}

/// A size as a 0-dim int64 tensor.
static Value asTensor(GradientBuilder &g, const Expr &size) {
  Value index = g.getShapes().materializeIndex(g.getBuilder(), g.getLoc(), size);
  auto type = RankedTensorType::get({}, g.getBuilder().getI64Type());
  Value tensor = ScalarTensorOp::create(g.getBuilder(), g.getLoc(), type, index);
  g.getShapes().setShape(tensor, {{}, type.getElementType()});
  return tensor;
}

Value divided(GradientBuilder &g, Value value, const Expr &count) {
  if (!value || count.constant() == 1)
    return value;
  if (std::optional<int64_t> constant = count.constant())
    return g.create<DivScalarOp>({value, g.i64(*constant)});
  return g.create<DivOp>({value, asTensor(g, count)});
}

Value scaledForSize(GradientBuilder &g, Value value, std::optional<double> scale, const Expr &size) {
  if (scale)
    return scaled(g, value, *scale);
  if (std::optional<int64_t> constant = size.constant())
    return scaled(g, value, 1 / std::sqrt(static_cast<double>(*constant)));
  if (!value)
    return {};
  Value root = g.create<SqrtOp>({castTo(g, asTensor(g, size), g.shapeOf(value).elementType)});
  return g.create<DivOp>({value, root});
}

Value castTo(GradientBuilder &g, Value value, Type elementType) {
  if (!value || cast<RankedTensorType>(value.getType()).getElementType() == elementType)
    return value;
  return g.create<ToOp>({value, g.dtype(elementType)});
}

Value reshaped(GradientBuilder &g, Value value, Sizes sizes) {
  if (!value || g.shapeOf(value).dims == sizes)
    return value;
  return g.create<ReshapeOp>({value, g.sizes(sizes)});
}

Value expandedTo(GradientBuilder &g, Value value, Value like) {
  Sizes sizes(g.shapeOf(like).dims);
  if (!value || g.shapeOf(value).dims == sizes)
    return value;
  return g.create<ExpandOp>({value, g.sizes(sizes)});
}

Value maskedOut(GradientBuilder &g, Value value, Value mask) {
  if (!value || !mask)
    return {};
  return g.create<MaskedFillScalarOp>({value, mask, g.i64(0)});
}

Value unreduced(GradientBuilder &g, Value result, Value self, ArrayRef<int64_t> dims) {
  TensorShape shape = g.shapeOf(self);
  for (int64_t dim : dims)
    shape.dims[dim] = 1;
  return castTo(g, reshaped(g, result, shape.dims), shape.elementType);
}

Value zeros(GradientBuilder &g, const TensorShape &shape) {
  Value zero = g.create<ZerosOp>({ArgValue::Sizes(), g.dtype(shape.elementType)});
  if (!zero || shape.dims.empty())
    return zero;
  return g.create<ExpandOp>({zero, g.sizes(shape.dims)});
}

LogicalResult byAutograd(Operation *op, GradientBuilder &g) {
  AtenCall call = *getAtenCall(op);
  Builder builder(op->getContext());
  SmallVector<Value> tensors, indices, cotangents;
  SmallVector<Attribute> names, constants;
  SmallVector<int64_t> kinds, counts, wanted;
  SmallVector<bool> present;
  SmallVector<Type> types;
  for (const AtenArg &arg : call.args) {
    names.push_back(builder.getStringAttr(arg.name));
    kinds.push_back(static_cast<int64_t>(arg.kind));
    counts.push_back(arg.operands.size());
    constants.push_back(arg.attr ? arg.attr : builder.getUnitAttr());
    bool sizes = arg.kind == ArgKind::SymInt || arg.kind == ArgKind::SymIntList;
    llvm::append_range(sizes ? indices : tensors, arg.operands);
  }
  for (auto [number, tensor] : llvm::enumerate(tensors))
    if (g.needs(tensor)) {
      wanted.push_back(number);
      types.push_back(tensor.getType());
    }
  for (unsigned number = 0; number < op->getNumResults(); ++number) {
    present.push_back(static_cast<bool>(g.cotangent(number)));
    if (present.back())
      cotangents.push_back(g.cotangent(number));
  }
  auto gradient = AtenGradientOp::create(
      g.getBuilder(), op->getLoc(), types, tensors, indices, cotangents, builder.getStringAttr(call.name),
      builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(kinds), builder.getDenseI64ArrayAttr(counts),
      builder.getArrayAttr(constants), builder.getDenseBoolArrayAttr(present), builder.getDenseI64ArrayAttr(wanted));
  for (auto [number, value] : llvm::zip(wanted, gradient.getResults())) {
    g.getShapes().setShape(value, g.shapeOf(tensors[number]));
    g.add(tensors[number], value);
  }
  return success();
}

LogicalResult undecomposed(Operation *op) {
  return op->emitOpError("has no gradient of its own: run braid-decompose before braid-differentiate");
}

} // namespace braid::gradients
