//===- BraidOps.cpp - Structure of a model graph --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/OpRules.h"
#include "braid/Dialect/Braid/IR/Random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "braid/Dialect/Braid/IR/BraidOps.cpp.inc"

namespace braid {

LogicalResult GetParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (!param)
    return emitOpError() << "reads '" << getParam() << "', which is no braid.param";
  if (param.getTensorType() != getType())
    return (emitOpError() << "reads '" << getParam() << "' as " << getType() << ", but it is " << param.getTensorType())
               .attachNote(param.getLoc())
           << "declared here";
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult SizeOp::fold(FoldAdaptor) {
  auto type = cast<RankedTensorType>(getTensor().getType());
  if (getDim() >= static_cast<uint64_t>(type.getRank()) || type.isDynamicDim(getDim()))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), type.getDimSize(getDim()));
}

LogicalResult ScalarTensorOp::inferShapes(ShapeAnalysis &, SmallVectorImpl<TensorShape> &results) {
  results.push_back({{}, IntegerType::get(getContext(), 64)});
  return success();
}

//===----------------------------------------------------------------------===//
// OpaqueOp
//===----------------------------------------------------------------------===//

LogicalResult OpaqueOp::verify() {
  if (getNames().size() != getKinds().size() || getNames().size() != getCounts().size() ||
      getNames().size() != getConstants().size())
    return emitOpError("needs one name, kind, count and constant for each argument");
  int64_t tensors = 0, indices = 0;
  for (auto [kind, count] : llvm::zip(getKinds(), getCounts())) {
    if (kind < 0 || kind > static_cast<int64_t>(ArgKind::BoolList) || count < 0)
      return emitOpError() << "has an argument of unknown kind " << kind;
    auto argKind = static_cast<ArgKind>(kind);
    (argKind == ArgKind::SymInt || argKind == ArgKind::SymIntList ? indices : tensors) += count;
  }
  if (tensors != static_cast<int64_t>(getTensors().size()) || indices != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "counts " << tensors << " tensors and " << indices << " sizes, but has "
                         << getTensors().size() << " and " << getIndices().size();
  if (getDims().size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results and dims for " << getDims().size();
  return success();
}

LogicalResult OpaqueOp::inferShapes(ShapeAnalysis &analysis, SmallVectorImpl<TensorShape> &results) {
  std::map<std::string, Expr> operandDims;
  for (auto [number, tensor] : llvm::enumerate(getTensors())) {
    FailureOr<TensorShape> shape = analysis.shapeOf(tensor);
    if (failed(shape))
      return failure();
    // a.0, a.1, ... for the first tensor operand, b.0 for the second; past z the letters double.
    std::string letter(1 + number / 26, static_cast<char>('a' + number % 26));
    for (auto [dim, size] : llvm::enumerate(shape->dims))
      operandDims.emplace(letter + "." + std::to_string(dim), size);
  }
  for (auto [attr, type] : llvm::zip(getDims(), getResultTypes())) {
    TensorShape shape;
    shape.elementType = cast<RankedTensorType>(type).getElementType();
    for (Attribute dim : cast<ArrayAttr>(attr)) {
      plan::Result<Expr> size = Expr::parse(cast<StringAttr>(dim).getValue());
      if (!size)
        return emitOpError() << size.error();
      shape.dims.push_back(size->substitute(operandDims));
    }
    results.push_back(shape);
  }
  return success();
}

bool OpaqueOp::isDifferentiable() { return true; }

LogicalResult OpaqueOp::buildGradient(GradientBuilder &g) { return gradients::byAutograd(*this, g); }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Of one element type, with shapes of which one may know more than the other: a gradient's formula may name a size
/// that the value's leaves open.
static bool areCompatible(TypeRange types, TypeRange others) {
  return types.size() == others.size() && llvm::all_of_zip(types, others, [](Type type, Type other) {
           return type == other || (getElementTypeOrSelf(type) == getElementTypeOrSelf(other) &&
                                    succeeded(verifyCompatibleShape(type, other)));
         });
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "calls '" << getCallee() << "', which is no function";
  if (!areCompatible(callee.getArgumentTypes(), getOperandTypes()) ||
      !areCompatible(callee.getResultTypes(), getResultTypes()))
    return (emitOpError() << "does not fit the type of '" << getCallee() << "', " << callee.getFunctionType())
               .attachNote(callee.getLoc())
           << "declared here";
  auto taken = callee->getAttrOfType<IntegerAttr>(streamsAttrName);
  int64_t wanted = taken ? taken.getInt() : 0, given = getStreams() ? getStreams()->size() : 0;
  if (wanted != given)
    return (emitOpError() << "lists " << given << " streams of random numbers, and '" << getCallee() << "' draws from "
                          << wanted << " (" << streamsAttrName << ")")
               .attachNote(callee.getLoc())
           << "declared here";
  return success();
}

LogicalResult DerivativeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (FlatSymbolRefAttr name :
       {getUnitAttr(), getForwardAttr(), getRecomputeAttr(), getInputAttr(), getWeightAttr(), getFullAttr()})
    if (name && !symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, name))
      return emitOpError() << "names '" << name.getValue() << "', which is no function";
  if (auto policy = getPolicy(); policy && *policy != "selective" && *policy != "full")
    return emitOpError() << "has the policy '" << *policy << "'; there are selective and full";
  return success();
}

} // namespace braid
