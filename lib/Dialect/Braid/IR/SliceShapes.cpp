//===- SliceShapes.cpp - Shapes of parts of tensors, and of tensors joined ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

/// A dim that ops pick from: there must be one.
static int64_t pickedDim(Reader &in, int64_t dim, const TensorShape &self) {
  if (!in.failed() && self.rank() == 0)
    in.error() << "takes a part of a dim, but 'self' has rank 0";
  return in.failed() ? 0 : in.dim(dim, self.rank());
}

static bool below(const Expr &a, const Expr &b) { return (b - a - Expr(1)).atLeast(0); }

//===----------------------------------------------------------------------===//
// Picking
//===----------------------------------------------------------------------===//

static void checkIndex(Reader &in, const Expr &index, int64_t dim, const TensorShape &self) {
  const Expr &size = self.dims[dim];
  if (size.constant() == 0 || (index.constant() && size.constant() &&
                               (*index.constant() < -*size.constant() || *index.constant() >= *size.constant())))
    in.error() << "picks " << index.str() << " of dim " << dim << " of " << str(self);
}

LogicalResult select(SelectOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = pickedDim(in, op.getDim(), self);
  std::optional<Expr> index = in.size(op.getIndex(), op.getStaticIndex());
  if (in.failed())
    return failure();
  if (!index)
    return op.emitOpError("has no index");
  checkIndex(in, *index, dim, self);
  if (in.failed())
    return failure();
  self.dims.erase(self.dims.begin() + dim);
  results.push_back(self);
  return success();
}

/// min(max(bound, 0), size), where a negative bound counts from the end.
static std::optional<Expr> clampBound(Reader &in, Expr bound, const Expr &size) {
  // Python's "to the end" is the largest integer.
  constexpr int64_t huge = int64_t(1) << 62;
  if (bound.constant().value_or(0) >= huge)
    return size;
  if (bound.constant().value_or(0) <= -huge)
    return Expr(0);
  std::optional<bool> positive = in.isNonNegative(bound);
  if (!positive)
    return std::nullopt;
  if (!*positive)
    bound = Expr::max(bound + size, 0);
  // min(a, b) = a + b - max(a, b), which Expr::max resolves where it can.
  return bound + size - Expr::max(bound, size);
}

/// The size of start:end:step of a dim.
static std::optional<Expr> slicedSize(Reader &in, std::optional<Expr> start, std::optional<Expr> end,
                                      std::optional<Expr> step, const Expr &size) {
  Expr by = step.value_or(Expr(1));
  if (by.constant().value_or(1) < 1) {
    in.error() << "has step " << by.str() << "; steps are positive";
    return std::nullopt;
  }
  std::optional<Expr> first = clampBound(in, start.value_or(Expr(0)), size);
  std::optional<Expr> last = clampBound(in, end.value_or(size), size);
  if (!first || !last) {
    in.error() << "has bounds " << (start ? start->str() : "none") << " and " << (end ? end->str() : "none")
               << " of which it is not known whether they are negative; braid.symbols gives example sizes";
    return std::nullopt;
  }
  // Bounds are not negative once clamped.
  Expr length = first->constant() == 0 ? *last : Expr::max(*last - *first, 0);
  return by.constant() == 1 ? length : Expr::floorDiv(length + by - Expr(1), by);
}

/// The part of `whole` that the dim, start, end and step of an op pick.
template <typename OpTy> static std::optional<Dims> slicedPart(OpTy op, Reader &in, const TensorShape &whole) {
  int64_t dim = pickedDim(in, op.getDim(), whole);
  std::optional<Expr> start = in.size(op.getStart(), op.getStaticStart());
  std::optional<Expr> end = in.size(op.getEnd(), op.getStaticEnd());
  std::optional<Expr> step = in.size(op.getStep(), op.getStaticStep());
  if (in.failed())
    return std::nullopt;
  std::optional<Expr> length = slicedSize(in, start, end, step, whole.dims[dim]);
  if (!length)
    return std::nullopt;
  Dims part = whole.dims;
  part[dim] = *length;
  return part;
}

LogicalResult slice(SliceOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  std::optional<Dims> part = slicedPart(op, in, self);
  if (!part)
    return failure();
  results.push_back({*part, self.elementType});
  return success();
}

LogicalResult sliceScatter(SliceScatterOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), src = in.shape(op.getSrc());
  std::optional<Dims> part = slicedPart(op, in, self);
  if (!part)
    return failure();
  if (!in.equal(src.dims, *part)) {
    in.error() << "puts " << str(src) << " where a part of shape " << str({*part, self.elementType}) << " of "
               << str(self) << " is";
    return failure();
  }
  results.push_back(self);
  return success();
}

LogicalResult narrow(NarrowOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = pickedDim(in, op.getDim(), self);
  std::optional<Expr> start = in.size(op.getStart(), op.getStaticStart());
  std::optional<Expr> length = in.size(op.getLength(), op.getStaticLength());
  if (in.failed())
    return failure();
  if (!start || !length)
    return op.emitOpError("has no start or no length");
  const Expr &size = self.dims[dim];
  Expr first = start->constant().value_or(0) < 0 ? *start + size : *start;
  if (below(*length, 0) || below(first, 0) || below(size, first + *length))
    return op.emitOpError() << "takes " << length->str() << " from " << start->str() << " on of dim " << dim << " of "
                            << str(self);
  self.dims[dim] = *length;
  results.push_back(self);
  return success();
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// How many results a split has: what the op has, where it has some, else what the example says.
static std::optional<int64_t> countResults(Reader &in, const Expr &count) {
  int64_t results = in.op->getNumResults();
  if (results && in.equal(count, Expr(results)))
    return results;
  if (std::optional<int64_t> fixed = in.fixed(count); fixed && !results)
    return fixed;
  if (results)
    in.error() << "has " << results << " results, but splits into " << count.str();
  else
    in.error() << "splits into " << count.str() << " parts, a number that is not known here";
  return std::nullopt;
}

/// Parts of `each`, of which the last may be smaller.
static LogicalResult splitEvenly(Reader &in, const TensorShape &self, int64_t dim, const Expr &each, Results &results) {
  const Expr &size = self.dims[dim];
  std::optional<int64_t> constant = each.constant();
  if (constant && (*constant < 0 || (*constant == 0 && size.constant() != 0))) {
    in.error() << "splits dim " << dim << " of " << str(self) << " into parts of " << each.str();
    return failure();
  }
  // An empty dim is one empty part.
  std::optional<int64_t> count =
      size.constant() == 0 ? std::optional<int64_t>(1) : countResults(in, Expr::floorDiv(size + each - Expr(1), each));
  if (!count)
    return failure();
  for (int64_t part = 0; part < *count; ++part) {
    TensorShape result = self;
    result.dims[dim] = part + 1 < *count ? each : size - each * Expr(*count - 1);
    results.push_back(result);
  }
  return success();
}

LogicalResult split(SplitOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = pickedDim(in, op.getDim(), self);
  std::optional<Expr> each = in.size(op.getSplitSize(), op.getStaticSplitSize());
  if (in.failed())
    return failure();
  if (!each)
    return op.emitOpError("has no split_size");
  return splitEvenly(in, self, dim, *each, results);
}

LogicalResult chunk(ChunkOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = pickedDim(in, op.getDim(), self);
  if (in.failed())
    return failure();
  Expr chunks(op.getChunks());
  if (op.getChunks() < 1)
    return op.emitOpError() << "splits into " << op.getChunks() << " chunks";
  const Expr &size = self.dims[dim];
  if (size.constant() == 0) {
    results.append(op.getChunks(), self);
    return success();
  }
  return splitEvenly(in, self, dim, Expr::floorDiv(size + chunks - Expr(1), chunks), results);
}

LogicalResult splitWithSizes(SplitWithSizesOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = pickedDim(in, op.getDim(), self);
  Dims sizes = in.sizes(op.getSplitSizes(), op.getStaticSplitSizes());
  if (in.failed())
    return failure();
  Expr sum(0);
  for (const Expr &size : sizes) {
    if (size.constant().value_or(0) < 0)
      return op.emitOpError() << "has a part of " << size.str();
    sum = sum + size;
  }
  if (!in.equal(sum, self.dims[dim]))
    return op.emitOpError() << "splits dim " << dim << " of " << str(self) << " into parts of "
                            << str({sizes, self.elementType}) << ", which add up to " << sum.str();
  for (const Expr &size : sizes) {
    TensorShape result = self;
    result.dims[dim] = size;
    results.push_back(result);
  }
  return success();
}

LogicalResult unbind(UnbindOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = pickedDim(in, op.getDim(), self);
  if (in.failed())
    return failure();
  std::optional<int64_t> count = countResults(in, self.dims[dim]);
  if (!count)
    return failure();
  self.dims.erase(self.dims.begin() + dim);
  results.append(*count, self);
  return success();
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

LogicalResult cat(CatOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  SmallVector<TensorShape> tensors = in.shapes(op.getTensors());
  if (in.failed())
    return failure();
  if (tensors.empty())
    return op.emitOpError("joins no tensors");
  Type type = resultType(tensors);
  if (!type)
    return op.emitOpError("joins tensors whose element types have no common type");
  // ATen passes over empty tensors of rank 1, whatever the rank of the others is.
  auto skipped = [](const TensorShape &tensor) { return tensor.rank() == 1 && tensor.dims[0].constant() == 0; };
  const TensorShape *first = llvm::find_if_not(tensors, skipped);
  if (first == tensors.end()) {
    results.push_back({{Expr(0)}, type});
    return success();
  }
  if (first->rank() == 0)
    return op.emitOpError("joins along a dim, but a tensor has rank 0; stack joins such");
  int64_t dim = in.dim(op.getDim(), first->rank());
  if (in.failed())
    return failure();
  Dims joined = first->dims;
  joined[dim] = Expr(0);
  for (const TensorShape &tensor : tensors) {
    if (skipped(tensor))
      continue;
    Dims expected = first->dims;
    if (tensor.rank() == first->rank())
      expected[dim] = tensor.dims[dim];
    if (!in.equal(tensor.dims, expected))
      return op.emitOpError() << "cannot join " << str(*first) << " and " << str(tensor) << " along dim " << dim
                              << "; all other dims must be equal";
    joined[dim] = joined[dim] + tensor.dims[dim];
  }
  results.push_back({joined, type});
  return success();
}

LogicalResult stack(StackOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  SmallVector<TensorShape> tensors = in.shapes(op.getTensors());
  if (in.failed())
    return failure();
  if (tensors.empty())
    return op.emitOpError("stacks no tensors");
  Type type = resultType(tensors);
  if (!type)
    return op.emitOpError("stacks tensors whose element types have no common type");
  TensorShape result = tensors.front();
  for (const TensorShape &tensor : tensors)
    if (!in.equal(tensor.dims, result.dims))
      return op.emitOpError() << "cannot stack " << str(result) << " and " << str(tensor) << "; all must be equal";
  int64_t dim = in.dim(op.getDim(), result.rank() + 1);
  if (in.failed())
    return failure();
  result.dims.insert(result.dims.begin() + dim, Expr(tensors.size()));
  results.push_back({result.dims, type});
  return success();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Every `step` elements of a dim a window of `size` of them, which becomes the last dim.
static LogicalResult unfolded(Reader &in, int64_t dim, int64_t size, int64_t step, TensorShape &shape) {
  dim = in.failed() ? 0 : in.dim(dim, shape.rank());
  if (in.failed())
    return failure();
  Expr length = shape.rank() ? shape.dims[dim] : Expr(1);
  if (size < 0 || step < 1 || !in.isNonNegative(length - Expr(size)).value_or(false))
    return in.error() << "takes windows of " << size << " at every " << step << " of dim " << dim << " of "
                      << str(shape);
  if (shape.rank())
    shape.dims[dim] = Expr::floorDiv(length - Expr(size), Expr(step)) + Expr(1);
  shape.dims.push_back(Expr(size));
  return success();
}

LogicalResult unfold(UnfoldOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  results.push_back(in.shape(op.getSelf()));
  return unfolded(in, op.getDimension(), op.getSize(), op.getStep(), results.back());
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Checks that the gradient fits the part, and gives the shape of the whole.
static LogicalResult wholeOf(Reader &in, const TensorShape &gradient, const Dims &part, const Dims &whole,
                             Results &results) {
  if (!in.fits(gradient.dims, part)) {
    in.error() << "has a gradient of shape " << str(gradient) << " for a part of shape "
               << str({part, gradient.elementType}) << " of " << str({whole, gradient.elementType});
    return failure();
  }
  results.push_back({whole, gradient.elementType});
  return success();
}

LogicalResult sliceBackward(SliceBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOutput());
  Dims whole = in.sizes(op.getInputSizes(), op.getStaticInputSizes());
  std::optional<Dims> part = slicedPart(op, in, {whole, gradient.elementType});
  return part ? wholeOf(in, gradient, *part, whole, results) : failure();
}

LogicalResult unfoldBackward(UnfoldBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradIn());
  Dims whole = in.sizes(op.getInputSizes(), op.getStaticInputSizes());
  TensorShape windows{whole, gradient.elementType};
  if (failed(unfolded(in, op.getDim(), op.getSize(), op.getStep(), windows)))
    return failure();
  return wholeOf(in, gradient, windows.dims, whole, results);
}

LogicalResult selectBackward(SelectBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOutput());
  Dims whole = in.sizes(op.getInputSizes(), op.getStaticInputSizes());
  int64_t dim = pickedDim(in, op.getDim(), {whole, gradient.elementType});
  std::optional<Expr> index = in.size(op.getIndex(), op.getStaticIndex());
  if (in.failed())
    return failure();
  if (!index)
    return op.emitOpError("has no index");
  checkIndex(in, *index, dim, {whole, gradient.elementType});
  if (in.failed())
    return failure();
  Dims part = whole;
  part.erase(part.begin() + dim);
  return wholeOf(in, gradient, part, whole, results);
}

} // namespace braid::shapes
