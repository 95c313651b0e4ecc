//===- CreationShapes.cpp - Shapes of tensors made from sizes -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

LogicalResult arange(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  AtenCall call = *getAtenCall(op);
  auto read = [&](StringRef name, int64_t ifAbsent) {
    for (const AtenArg &arg : call.args)
      if (arg.name == name)
        if (std::optional<Expr> size =
                in.size(arg.operands.empty() ? Value() : arg.operands.front(),
                        arg.attr ? std::optional(llvm::cast<IntegerAttr>(arg.attr).getInt()) : std::nullopt))
          return *size;
    return Expr(ifAbsent);
  };
  Expr start = read("start", 0), end = read("end", 0), step = read("step", 1);
  if (in.failed())
    return failure();
  std::optional<int64_t> by = step.constant();
  if (!by || *by == 0)
    return op->emitOpError() << "needs a constant step that is not 0, not " << step.str();
  Expr range = *by > 0 ? end - start : start - end;
  Expr stride(std::abs(*by));
  if (range.constant().value_or(0) < 0)
    return op->emitOpError() << "counts from " << start.str() << " to " << end.str() << " in steps of " << *by;
  auto dtype = getArgument<TypeAttr>(op, "dtype");
  results.push_back({{Expr::floorDiv(range + stride - Expr(1), stride)}, dtype ? dtype.getValue() : i64(op)});
  return success();
}

LogicalResult filled(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  AtenCall call = *getAtenCall(op);
  TensorShape result;
  auto value = getArgument<TypedAttr>(op, "fill_value");
  result.elementType = value ? scalarType(value) : defaultFloat(op);
  for (const AtenArg &arg : call.args) {
    if (arg.kind == ArgKind::SymIntList)
      result.dims = in.sizes(arg.operands, llvm::cast<DenseI64ArrayAttr>(arg.attr).asArrayRef());
    else if (arg.kind == ArgKind::Tensor)
      result.elementType = in.shape(arg.operands.front()).elementType; // new_zeros and the like
  }
  if (in.failed())
    return failure();
  if (auto dtype = getArgument<TypeAttr>(op, "dtype"))
    result.elementType = dtype.getValue();
  for (const Expr &size : result.dims)
    if (size.constant().value_or(0) < 0)
      return op->emitOpError() << "has a negative size: " << str(result);
  if (isa<RandOp>(op) && !isFloat(result.elementType))
    return op->emitOpError() << "draws floating-point numbers, and its result is " << str(result);
  results.push_back(result);
  return success();
}

} // namespace braid::shapes
