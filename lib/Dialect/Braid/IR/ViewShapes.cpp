//===- ViewShapes.cpp - Shapes of views and rearrangements --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

static Expr product(ArrayRef<Expr> sizes) {
  Expr all(1);
  for (const Expr &size : sizes)
    all = all * size;
  return all;
}

/// Replaces a -1 in `sizes` by what makes their product `total`.
static void inferSize(Reader &in, Dims &sizes, const Expr &total, const TensorShape &self) {
  std::optional<size_t> unknown;
  Expr known(1);
  for (auto [at, size] : llvm::enumerate(sizes)) {
    std::optional<int64_t> constant = size.constant();
    if (constant == -1 && !unknown) {
      unknown = at;
      continue;
    }
    if (constant && *constant < 0) {
      in.error() << (*constant == -1 ? "leaves more than one size open" : "has a negative size") << ": "
                 << str({sizes, self.elementType});
      return;
    }
    known = known * size;
  }
  if (!unknown) {
    if (!in.equal(known, total))
      in.error() << "gives " << str(self) << ", of " << total.str() << " elements, the shape "
                 << str({sizes, self.elementType}) << " of " << known.str();
    return;
  }
  if (known.constant() == 0) {
    in.error() << "leaves a size open that any number fits, since the others have product 0: "
               << str({sizes, self.elementType});
    return;
  }
  Expr quotient = Expr::floorDiv(total, known);
  if (!in.equal(quotient * known, total)) {
    in.error() << "gives " << str(self) << ", of " << total.str() << " elements, the shape "
               << str({sizes, self.elementType}) << ", but they are no multiple of " << known.str();
    return;
  }
  sizes[*unknown] = quotient;
}

LogicalResult view(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  AtenCall call = *getAtenCall(op);
  TensorShape self = in.shape(op->getOperand(0));
  const AtenArg &size = call.args[1];
  Dims sizes = in.sizes(size.operands, llvm::cast<DenseI64ArrayAttr>(size.attr).asArrayRef());
  if (!in.failed())
    inferSize(in, sizes, self.numElements(), self);
  if (!in.failed())
    results.push_back({sizes, self.elementType});
  return failure(in.failed());
}

LogicalResult flatten(FlattenOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t start = in.dim(op.getStartDim(), self.rank()), end = in.dim(op.getEndDim(), self.rank());
  if (in.failed())
    return failure();
  if (start > end)
    return op.emitOpError() << "flattens from dim " << start << " to dim " << end << ", which comes before";
  if (self.rank() == 0) {
    results.push_back({{Expr(1)}, self.elementType});
    return success();
  }
  ArrayRef<Expr> dims = self.dims;
  TensorShape result{Dims(dims.take_front(start)), self.elementType};
  result.dims.push_back(product(dims.slice(start, end - start + 1)));
  llvm::append_range(result.dims, dims.drop_front(end + 1));
  results.push_back(result);
  return success();
}

LogicalResult unflatten(UnflattenOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = in.dim(op.getDim(), self.rank());
  Dims sizes = in.sizes(op.getSizes(), op.getStaticSizes());
  if (in.failed())
    return failure();
  if (sizes.empty())
    return op.emitOpError("has no sizes");
  if (self.rank() == 0)
    return op.emitOpError("divides a dim, but 'self' has rank 0");
  inferSize(in, sizes, self.dims[dim], self);
  if (in.failed())
    return failure();
  ArrayRef<Expr> dims = self.dims;
  TensorShape result{Dims(dims.take_front(dim)), self.elementType};
  llvm::append_range(result.dims, sizes);
  llvm::append_range(result.dims, dims.drop_front(dim + 1));
  results.push_back(result);
  return success();
}

LogicalResult unsqueeze(UnsqueezeOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  int64_t dim = in.dim(op.getDim(), self.rank() + 1);
  if (in.failed())
    return failure();
  self.dims.insert(self.dims.begin() + dim, Expr(1));
  results.push_back(self);
  return success();
}

LogicalResult squeeze(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  SmallVector<int64_t> dims;
  if (auto list = getArgument<DenseI64ArrayAttr>(op, "dim")) {
    // Unlike elsewhere, an empty list means no dim.
    if (!list.empty())
      dims = in.dims(list.asArrayRef(), self.rank());
  } else if (auto dim = getArgument<IntegerAttr>(op, "dim")) {
    dims = in.dims(ArrayRef<int64_t>(dim.getInt()), self.rank());
  } else {
    dims = in.dims(std::nullopt, self.rank());
  }
  if (in.failed())
    return failure();
  TensorShape result{{}, self.elementType};
  for (auto [dim, size] : llvm::enumerate(self.dims))
    if (!ShapeAnalysis::isOne(size) || !llvm::is_contained(dims, static_cast<int64_t>(dim)))
      result.dims.push_back(size);
  results.push_back(result);
  return success();
}

SmallVector<int64_t> getPermutation(Operation *op, int64_t rank) {
  auto wrap = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
  SmallVector<int64_t> permutation;
  if (auto permute = dyn_cast<PermuteOp>(op)) {
    for (int64_t dim : permute.getDims().value_or(ArrayRef<int64_t>()))
      permutation.push_back(wrap(dim));
    return permutation;
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    permutation.push_back(dim);
  if (auto transpose = dyn_cast<TransposeOp>(op); transpose && rank)
    std::swap(permutation[wrap(transpose.getDim0())], permutation[wrap(transpose.getDim1())]);
  else if (isa<TOp>(op))
    std::reverse(permutation.begin(), permutation.end());
  return permutation;
}

LogicalResult permute(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    in.dim(transpose.getDim0(), self.rank());
    in.dim(transpose.getDim1(), self.rank());
  }
  if (in.failed())
    return failure();
  if (isa<TOp>(op) && self.rank() > 2)
    return op->emitOpError() << "transposes matrices, not tensors of shape " << str(self)
                             << "; transpose.int takes any two dims";
  SmallVector<int64_t> permutation = getPermutation(op, self.rank());
  SmallVector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  bool valid = static_cast<int64_t>(sorted.size()) == self.rank();
  for (auto [at, dim] : llvm::enumerate(sorted))
    valid &= dim == static_cast<int64_t>(at);
  if (!valid)
    return op->emitOpError() << "needs each dim of " << str(self) << " exactly once";
  TensorShape result{{}, self.elementType};
  for (int64_t dim : permutation)
    result.dims.push_back(self.dims[dim]);
  results.push_back(result);
  return success();
}

LogicalResult flip(FlipOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  if (op.getDims() && !op.getDims()->empty())
    in.dims(op.getDims(), self.rank());
  if (!in.failed())
    results.push_back(self);
  return failure(in.failed());
}

LogicalResult roll(RollOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  Dims shifts = in.sizes(op.getShifts(), op.getStaticShifts());
  ArrayRef<int64_t> dims = op.getDims().value_or(ArrayRef<int64_t>());
  for (int64_t dim : dims)
    in.dim(dim, self.rank());
  if (in.failed())
    return failure();
  if (shifts.empty() || (shifts.size() != dims.size() && (!dims.empty() || shifts.size() != 1)))
    return op.emitOpError() << "has " << shifts.size() << " shifts for " << dims.size() << " dims";
  results.push_back(self);
  return success();
}

LogicalResult expand(ExpandOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  Dims sizes = in.sizes(op.getSize(), op.getStaticSize());
  if (in.failed())
    return failure();
  auto mismatch = [&]() { return op.emitOpError() << "cannot expand " << str(self) << " to " << str({sizes, {}}); };
  int64_t added = static_cast<int64_t>(sizes.size()) - self.rank();
  if (added < 0)
    return mismatch() << ": it has more dims";
  TensorShape result{{}, self.elementType};
  for (auto [at, size] : llvm::enumerate(sizes)) {
    int64_t dim = static_cast<int64_t>(at) - added;
    bool keep = size.constant() == -1;
    if ((keep && dim < 0) || (!keep && size.constant().value_or(0) < 0))
      return mismatch() << ": " << size.str() << " is no size of dim " << at;
    if (!keep && dim >= 0 && !ShapeAnalysis::isOne(self.dims[dim]) && !in.equal(self.dims[dim], size))
      return mismatch() << ": dim " << dim << " is " << self.dims[dim].str() << ", neither 1 nor " << size.str();
    result.dims.push_back(keep ? self.dims[dim] : size);
  }
  results.push_back(result);
  return success();
}

LogicalResult expandAs(ExpandAsOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), other = in.shape(op.getOther());
  if (in.failed())
    return failure();
  if (!in.fits(self.dims, other.dims))
    return op.emitOpError() << "cannot expand " << str(self) << " to " << str(other);
  results.push_back({other.dims, self.elementType});
  return success();
}

LogicalResult broadcastTensors(BroadcastTensorsOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  SmallVector<TensorShape> tensors = in.shapes(op.getTensors());
  if (in.failed())
    return failure();
  Dims dims = in.broadcast(tensors);
  for (const TensorShape &tensor : tensors)
    results.push_back({dims, tensor.elementType});
  return failure(in.failed());
}

LogicalResult repeat(RepeatOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  Dims repeats = in.sizes(op.getRepeats(), op.getStaticRepeats());
  if (in.failed())
    return failure();
  int64_t added = static_cast<int64_t>(repeats.size()) - self.rank();
  if (added < 0)
    return op.emitOpError() << "has " << repeats.size() << " repeats for " << str(self) << ", which has more dims";
  TensorShape result{{}, self.elementType};
  for (auto [at, count] : llvm::enumerate(repeats)) {
    if (count.constant().value_or(0) < 0)
      return op.emitOpError() << "repeats dim " << at << " " << count.str() << " times";
    int64_t dim = static_cast<int64_t>(at) - added;
    result.dims.push_back(dim < 0 ? count : self.dims[dim] * count);
  }
  results.push_back(result);
  return success();
}

LogicalResult repeatInterleave(RepeatInterleaveOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  std::optional<Expr> repeats = in.size(op.getRepeats(), op.getStaticRepeats());
  if (in.failed())
    return failure();
  if (!repeats || repeats->constant().value_or(0) < 0)
    return op.emitOpError() << "repeats each element " << (repeats ? repeats->str() : "an unknown number of")
                            << " times";
  // Without a dim, and where there is none, the elements come out in one row.
  if (!op.getDim() || self.rank() == 0)
    self.dims = {self.numElements()};
  int64_t dim = op.getDim() ? in.dim(*op.getDim(), self.rank()) : 0;
  if (in.failed())
    return failure();
  self.dims[dim] = self.dims[dim] * *repeats;
  results.push_back(self);
  return success();
}

LogicalResult pad(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  AtenCall call = *getAtenCall(op);
  TensorShape self = in.shape(op->getOperand(0));
  Dims pads = in.sizes(call.args[1].operands, llvm::cast<DenseI64ArrayAttr>(call.args[1].attr).asArrayRef());
  if (in.failed())
    return failure();
  if (pads.size() % 2 || static_cast<int64_t>(pads.size() / 2) > self.rank())
    return op->emitOpError() << "has " << pads.size() << " pads for " << str(self)
                             << "; they come in pairs, the last dim's first";
  for (size_t pair = 0; pair < pads.size() / 2; ++pair) {
    Expr &size = self.dims[self.rank() - 1 - pair];
    Expr padded = size, cut = size;
    for (const Expr &by : {pads[2 * pair], pads[2 * pair + 1]}) {
      padded = padded + by;
      // Negative pads cut first; there must be as much to cut.
      if (by.constant().value_or(0) < 0)
        cut = cut + by;
    }
    if (padded.constant().value_or(0) < 0 || cut.constant().value_or(0) < 0)
      return op->emitOpError() << "pads dim " << self.rank() - 1 - pair << " of " << str(self) << " to a size of "
                               << (cut.constant().value_or(0) < 0 ? cut : padded).str();
    size = padded;
  }
  results.push_back(self);
  return success();
}

LogicalResult triangle(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (in.failed())
    return failure();
  if (self.rank() < 2)
    return op->emitOpError() << "takes matrices, not a tensor of shape " << str(self);
  results.push_back(self);
  return success();
}

} // namespace braid::shapes
