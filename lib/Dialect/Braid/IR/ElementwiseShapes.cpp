//===- ElementwiseShapes.cpp - Shapes of elementwise operators ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

/// The tensors and numbers that an elementwise op computes with.
static void readArguments(Reader &in, SmallVectorImpl<TensorShape> &tensors, SmallVectorImpl<TypedAttr> &scalars) {
  AtenCall call = *getAtenCall(in.op);
  for (const AtenArg &arg : call.args) {
    if (hasOperands(arg.kind))
      tensors.append(in.shapes(arg.operands));
    else if (arg.kind == ArgKind::Scalar && arg.attr && arg.name != "alpha" && arg.name != "beta")
      scalars.push_back(cast<TypedAttr>(arg.attr));
  }
}

/// Broadcast dims with the promoted element type, which `convert` may change or refuse.
static LogicalResult elementwise(Operation *op, ShapeAnalysis &analysis, Results &results,
                                 function_ref<Type(Reader &, ArrayRef<TensorShape>, Type)> convert) {
  Reader in(op, analysis);
  SmallVector<TensorShape> tensors;
  SmallVector<TypedAttr> scalars;
  readArguments(in, tensors, scalars);
  if (in.failed())
    return failure();
  Type type = resultType(tensors, scalars);
  if (!type)
    return op->emitOpError("takes operands whose element types have no common type");
  Dims dims = in.broadcast(tensors);
  if (in.failed())
    return failure();
  type = convert(in, tensors, type);
  if (in.failed())
    return failure();
  results.push_back({dims, type});
  return success();
}

/// ATen's check of `alpha`, which multiplies `other`.
static void checkAlpha(Reader &in, Type type) {
  auto alpha = getArgument<TypedAttr>(in.op, "alpha");
  if (!alpha)
    return;
  if (isa<FloatAttr>(alpha) && !isFloat(type))
    in.error() << "has a float as alpha, but its result is " << type;
  else if (isBool(alpha.getType()) && !isBool(type))
    in.error() << "has a bool as alpha, but its result is " << type;
}

LogicalResult broadcast(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape>, Type type) {
    checkAlpha(in, type);
    return type;
  });
}

LogicalResult subtract(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape> tensors, Type type) {
    auto other = getArgument<TypedAttr>(in.op, "other");
    if (llvm::any_of(tensors, [](const TensorShape &tensor) { return isBool(tensor.elementType); }) ||
        (other && isBool(other.getType())))
      in.error() << "subtracts bools; logical_not or bitwise_not inverts a mask";
    else
      checkAlpha(in, type);
    return type;
  });
}

LogicalResult broadcastFloat(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape>, Type type) {
    return isFloat(type) ? type : defaultFloat(in.op);
  });
}

LogicalResult unaryFloat(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return broadcastFloat(op, analysis, results);
}

LogicalResult rounded(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape>, Type type) {
    if (isBool(type))
      in.error() << "divides bools";
    return type;
  });
}

LogicalResult divideMode(DivModeOp op, ShapeAnalysis &analysis, Results &results) {
  std::optional<StringRef> mode = op.getRoundingMode();
  if (!mode)
    return broadcastFloat(op, analysis, results);
  if (*mode != "floor" && *mode != "trunc")
    return op.emitOpError() << "has rounding mode \"" << *mode << "\"; ATen knows \"floor\" and \"trunc\"";
  return rounded(op, analysis, results);
}

LogicalResult power(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [&](Reader &in, ArrayRef<TensorShape>, Type type) {
    auto exponent = getArgument<IntegerAttr>(op, "exponent");
    if (exponent && !isFloat(type) && exponent.getValue().isNegative() && !isBool(exponent.getType()))
      in.error() << "raises integers to the power " << exponent.getInt() << "; only floats have negative powers";
    return type;
  });
}

LogicalResult clamp(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape>, Type type) {
    if (!getArgument<TypedAttr>(in.op, "min") && !getArgument<TypedAttr>(in.op, "max"))
      in.error() << "has neither min nor max";
    return type;
  });
}

LogicalResult where(WhereOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape condition = in.shape(op.getCondition());
  SmallVector<TensorShape> values = in.shapes({op.getSelf(), op.getOther()});
  if (in.failed())
    return failure();
  if (!isBool(condition.elementType) && !condition.elementType.isUnsignedInteger(8))
    return op.emitOpError() << "takes a condition of i1, not " << condition.elementType;
  Type type = resultType(values);
  if (!type)
    return op.emitOpError("takes values whose element types have no common type");
  Dims dims = in.broadcast({condition, values[0], values[1]});
  if (in.failed())
    return failure();
  results.push_back({dims, type});
  return success();
}

LogicalResult bitwise(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape>, Type type) {
    if (isFloat(type))
      in.error() << "works on the bits of bools and integers, not of " << type;
    return type;
  });
}

LogicalResult compare(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return elementwise(op, analysis, results, [](Reader &in, ArrayRef<TensorShape>, Type) { return i1(in.op); });
}

/// The first tensor operand's shape and element type.
static LogicalResult unary(Operation *op, ShapeAnalysis &analysis, Results &results, function_ref<bool(Type)> accepts,
                           StringRef accepted) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (in.failed())
    return failure();
  if (!accepts(self.elementType))
    return op->emitOpError() << "takes " << accepted << ", not " << self.elementType;
  results.push_back(self);
  return success();
}

LogicalResult sameAsFirst(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return unary(
      op, analysis, results, [](Type) { return true; }, "any type");
}

LogicalResult number(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return unary(
      op, analysis, results, [](Type type) { return !isBool(type); }, "integers or floats");
}

LogicalResult floating(Operation *op, ShapeAnalysis &analysis, Results &results) {
  return unary(op, analysis, results, isFloat, "floats");
}

LogicalResult shrink(Operation *op, ShapeAnalysis &analysis, Results &results) {
  auto amount = getArgument<TypedAttr>(op, "lambd");
  auto real = dyn_cast_or_null<FloatAttr>(amount);
  auto integer = dyn_cast_or_null<IntegerAttr>(amount);
  bool isInteger = integer && !isBool(integer.getType());
  if ((real && !(real.getValueAsDouble() >= 0)) || (isInteger && integer.getInt() < 0))
    return op->emitOpError() << "shrinks by " << amount << "; the amount is not negative";
  return floating(op, analysis, results);
}

LogicalResult cast(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (in.failed())
    return failure();
  if (auto dtype = getArgument<TypeAttr>(op, "dtype"))
    self.elementType = dtype.getValue();
  results.push_back(self);
  return success();
}

LogicalResult thresholdBackward(ThresholdBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  SmallVector<TensorShape> tensors = in.shapes({op.getGradOutput(), op.getSelf()});
  if (in.failed())
    return failure();
  Dims dims = in.broadcast(tensors);
  Type type = resultType(tensors);
  if (in.failed())
    return failure();
  if (!type)
    return op.emitOpError("takes operands whose element types have no common type");
  results.push_back({dims, type});
  return success();
}

} // namespace braid::shapes
