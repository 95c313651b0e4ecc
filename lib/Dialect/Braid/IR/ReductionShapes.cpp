//===- ReductionShapes.cpp - Shapes of reductions and scans -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

#include <cmath>

using namespace mlir;

namespace braid::shapes {

/// Whether the op names one dim, a list of them, or reduces all.
static SmallVector<int64_t> getReducedDims(Reader &in, int64_t rank) {
  if (auto list = getArgument<DenseI64ArrayAttr>(in.op, "dim"))
    return in.dims(list.asArrayRef(), rank);
  if (auto dim = getArgument<IntegerAttr>(in.op, "dim"))
    return in.dims(ArrayRef<int64_t>(dim.getInt()), rank);
  return in.dims(std::nullopt, rank);
}

static TensorShape reduce(Reader &in, const TensorShape &self, Type elementType) {
  SmallVector<int64_t> reduced = getReducedDims(in, self.rank());
  bool keep = getFlag(in.op, "keepdim");
  TensorShape result{{}, elementType};
  for (auto [dim, size] : llvm::enumerate(self.dims)) {
    if (!llvm::is_contained(reduced, static_cast<int64_t>(dim)))
      result.dims.push_back(size);
    else if (keep)
      result.dims.push_back(Expr(1));
  }
  return result;
}

/// Maxima of nothing do not exist.
static void checkNotEmpty(Reader &in, const TensorShape &self) {
  for (int64_t dim : getReducedDims(in, self.rank()))
    if (self.dims[dim].constant() == 0) {
      in.error() << "has no result over dim " << dim << " of " << str(self) << ", which is empty";
      return;
    }
}

/// Sums of bools and integers are int64.
static Type sumType(Operation *op, Type self) {
  if (auto dtype = getArgument<TypeAttr>(op, "dtype"))
    return dtype.getValue();
  return isFloat(self) ? self : i64(op);
}

LogicalResult sum(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (!in.failed())
    results.push_back(reduce(in, self, sumType(op, self.elementType)));
  return failure(in.failed());
}

LogicalResult mean(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (in.failed())
    return failure();
  if (auto dtype = getArgument<TypeAttr>(op, "dtype"))
    self.elementType = dtype.getValue();
  if (!isFloat(self.elementType))
    return op->emitOpError() << "takes means of floats, not of " << self.elementType << "; give it a float dtype";
  results.push_back(reduce(in, self, self.elementType));
  return failure(in.failed());
}

LogicalResult variance(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  in.floating("self", self);
  if (!in.failed())
    results.push_back(reduce(in, self, self.elementType));
  return failure(in.failed());
}

LogicalResult vectorNorm(VectorNormOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  in.floating("self", self);
  if (std::optional<Type> dtype = op.getDtype(); dtype && !in.failed()) {
    if (promote(self.elementType, *dtype) != *dtype)
      return op.emitOpError() << "takes the norm of " << self.elementType << " in " << *dtype << ", which is narrower";
    self.elementType = *dtype;
  }
  // The largest or smallest of nothing, and powers below 0 of nothing, do not exist.
  double order = 2;
  if (auto real = dyn_cast_or_null<FloatAttr>(op.getOrdAttr()))
    order = real.getValueAsDouble();
  else if (auto integer = dyn_cast_or_null<IntegerAttr>(op.getOrdAttr()))
    order = static_cast<double>(integer.getInt());
  if (!in.failed() && (order < 0 || std::isinf(order)))
    checkNotEmpty(in, self);
  if (!in.failed())
    results.push_back(reduce(in, self, self.elementType));
  return failure(in.failed());
}

LogicalResult logsumexp(LogsumexpOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  // Elsewhere an empty list means all dims; here ATen fails to drop them.
  bool dropsAll = self.rank() && !op.getKeepdim() && (!op.getDim() || op.getDim()->empty());
  if (!in.failed() && dropsAll && self.numElements().constant() != 0)
    in.error() << "names no dim of " << str(self);
  if (!in.failed())
    results.push_back(reduce(in, self, isFloat(self.elementType) ? self.elementType : defaultFloat(op)));
  return failure(in.failed());
}

LogicalResult extremum(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (!in.failed())
    checkNotEmpty(in, self);
  if (!in.failed())
    results.push_back(reduce(in, self, self.elementType));
  return failure(in.failed());
}

LogicalResult extremumDim(Operation *op, ShapeAnalysis &analysis, Results &results) {
  if (failed(extremum(op, analysis, results)))
    return failure();
  results.push_back({results.front().dims, i64(op)});
  return success();
}

LogicalResult argExtremum(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (!in.failed())
    checkNotEmpty(in, self);
  if (!in.failed() && isBool(self.elementType))
    in.error() << "takes integers or floats, not " << self.elementType;
  if (!in.failed())
    results.push_back(reduce(in, self, i64(op)));
  return failure(in.failed());
}

LogicalResult allAny(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  // uint8 was torch's bool once; all and any still answer in kind.
  bool byte = self.elementType.isUnsignedInteger(8);
  if (!in.failed())
    results.push_back(reduce(in, self, byte ? self.elementType : i1(op)));
  return failure(in.failed());
}

LogicalResult cumsum(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (!in.failed())
    in.dim(getArgument<IntegerAttr>(op, "dim").getInt(), self.rank());
  if (!in.failed())
    results.push_back({self.dims, sumType(op, self.elementType)});
  return failure(in.failed());
}

LogicalResult diff(DiffOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  if (in.failed())
    return failure();
  if (self.rank() == 0)
    return op.emitOpError("takes differences along a dim, but 'self' has rank 0");
  if (op.getN() < 0)
    return op.emitOpError() << "takes differences " << op.getN() << " times";
  if (op.getN() == 0 && !op.getPrepend() && !op.getAppend()) {
    results.push_back(self);
    return success();
  }
  int64_t dim = in.dim(op.getDim(), self.rank());
  if (in.failed())
    return failure();
  TensorShape result = self;
  SmallVector<TensorShape> parts = {self};
  for (Value extra : {op.getPrepend(), op.getAppend()}) {
    if (!extra)
      continue;
    TensorShape more = in.shape(extra);
    if (in.failed())
      return failure();
    Dims expected = self.dims;
    if (more.rank() == self.rank())
      expected[dim] = more.dims[dim];
    if (!in.equal(more.dims, expected))
      return op.emitOpError() << "appends " << str(more) << " to " << str(self) << "; all dims but " << dim
                              << " must be equal";
    result.dims[dim] = result.dims[dim] + more.dims[dim];
    parts.push_back(more);
  }
  // Taken no times, nothing is joined either.
  if (op.getN() == 0) {
    results.push_back(self);
    return success();
  }
  result.elementType = resultType(parts);
  if (!result.elementType)
    return op.emitOpError("joins tensors whose element types have no common type");
  result.dims[dim] = Expr::max(result.dims[dim] - Expr(op.getN()), 0);
  results.push_back(result);
  return success();
}

LogicalResult sort(SortOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  if (!in.failed())
    in.dim(op.getDim(), self.rank());
  if (in.failed())
    return failure();
  results.push_back(self);
  results.push_back({self.dims, i64(op)});
  return success();
}

LogicalResult topk(TopkOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  std::optional<Expr> k = in.size(op.getK(), op.getStaticK());
  if (in.failed())
    return failure();
  if (!k)
    return op.emitOpError("has no k");
  int64_t dim = in.dim(op.getDim(), self.rank());
  if (in.failed())
    return failure();
  std::optional<int64_t> count = k->constant();
  Expr available = self.rank() ? self.dims[dim] : Expr(1);
  if ((count && *count < 0) || (Expr(-1) + *k - available).atLeast(0))
    return op.emitOpError() << "takes the top " << k->str() << " of " << available.str() << " along dim " << dim
                            << " of " << str(self);
  if (self.rank())
    self.dims[dim] = *k;
  results.push_back(self);
  results.push_back({self.dims, i64(op)});
  return success();
}

} // namespace braid::shapes
