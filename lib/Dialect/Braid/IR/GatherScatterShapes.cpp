//===- GatherScatterShapes.cpp - Shapes of reads and writes by index or mask ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

/// uint8 was torch's bool once.
static bool isMask(Type type) { return isBool(type) || type.isUnsignedInteger(8); }

/// Indices are int32 or int64.
static void checkIndices(Reader &in, StringRef name, const TensorShape &indices) {
  if (!in.failed() && !indices.elementType.isInteger(64) && !indices.elementType.isInteger(32))
    in.error() << "takes '" << name << "' of i64 or i32, not " << indices.elementType;
}

LogicalResult embedding(EmbeddingOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape weight = in.shape(op.getWeight()), indices = in.shape(op.getIndices());
  checkIndices(in, "indices", indices);
  if (!in.failed() && weight.rank() != 2)
    in.error() << "takes a weight [rows, size], not " << str(weight);
  if (in.failed())
    return failure();
  indices.dims.push_back(weight.dims[1]);
  results.push_back({indices.dims, weight.elementType});
  return success();
}

LogicalResult embeddingDenseBackward(EmbeddingDenseBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOutput()), indices = in.shape(op.getIndices());
  std::optional<Expr> rows = in.size(op.getNumWeights(), op.getStaticNumWeights());
  checkIndices(in, "indices", indices);
  if (in.failed())
    return failure();
  if (!rows)
    return op.emitOpError("has no num_weights");
  if (gradient.rank() == 0 || !in.equal(ArrayRef(gradient.dims).drop_back(), indices.dims))
    return op.emitOpError() << "has a gradient of shape " << str(gradient) << " for indices of " << str(indices);
  results.push_back({{*rows, gradient.dims.back()}, gradient.elementType});
  return success();
}

//===----------------------------------------------------------------------===//
// x[i, :, j]
//===----------------------------------------------------------------------===//

/// The shape of self[indices]: indexed dims become the broadcast dims of the indices, in their place if they are
/// neighbours, in front otherwise.
static FailureOr<TensorShape> indexed(Reader &in, const TensorShape &self, OperandRange indices,
                                      ArrayRef<bool> present) {
  if (static_cast<int64_t>(present.size()) > self.rank())
    return in.error() << "has " << present.size() << " indices for " << str(self);
  SmallVector<TensorShape> shapes = in.shapes(indices);
  for (const TensorShape &shape : shapes)
    if (!in.failed() && !shape.elementType.isInteger(64) && !shape.elementType.isInteger(32))
      return in.error() << "indexes by " << shape.elementType
                        << (isMask(shape.elementType) ? ", so that the number of results depends on data; "
                                                      : ", not an integer type; ")
                        << "indices are i64 or i32";
  if (in.failed())
    return failure();
  if (shapes.empty())
    return self;
  Dims taken = in.broadcast(shapes);
  if (in.failed())
    return failure();
  auto isPresent = [](bool there) { return there; };
  const bool *first = llvm::find_if(present, isPresent);
  const bool *next = std::find_if_not(first, present.end(), isPresent);
  bool adjacent = std::none_of(next, present.end(), isPresent);
  TensorShape result{{}, self.elementType};
  if (!adjacent)
    result.dims = taken;
  for (auto [dim, size] : llvm::enumerate(self.dims)) {
    if (adjacent && static_cast<int64_t>(dim) == first - present.begin())
      llvm::append_range(result.dims, taken);
    if (dim >= present.size() || !present[dim])
      result.dims.push_back(size);
  }
  return result;
}

/// A mask takes the place of as many dims as it has, and has their sizes.
static void checkMasks(Reader &in, const TensorShape &self, ArrayRef<TensorShape> indices, ArrayRef<bool> present) {
  int64_t dim = 0;
  for (bool there : present) {
    bool masks = there && isMask(indices.front().elementType);
    int64_t taken = masks ? indices.front().rank() : 1;
    if (dim + taken > self.rank()) {
      in.error() << "has more indices than " << str(self) << " has dims";
      return;
    }
    if (masks && !in.equal(indices.front().dims, ArrayRef(self.dims).slice(dim, taken))) {
      in.error() << "has a mask of shape " << str(indices.front()) << " at dim " << dim << " of " << str(self);
      return;
    }
    dim += taken;
    if (there)
      indices = indices.drop_front();
  }
}

LogicalResult index(IndexOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  if (in.failed())
    return failure();
  FailureOr<TensorShape> result = indexed(in, self, op.getIndices(), op.getPresentIndices());
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

LogicalResult indexPut(IndexPutOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), values = in.shape(op.getValues());
  in.sameElementType({{"self", self}, {"values", values}});
  if (in.failed())
    return failure();
  results.push_back(self);
  SmallVector<TensorShape> indices = in.shapes(op.getIndices());
  if (llvm::any_of(indices, [](const TensorShape &shape) { return isMask(shape.elementType); })) {
    // A mask selects as many elements as it has true ones; ATen compares that with the values.
    checkMasks(in, self, indices, op.getPresentIndices());
    return failure(in.failed());
  }
  FailureOr<TensorShape> target = indexed(in, self, op.getIndices(), op.getPresentIndices());
  if (failed(target))
    return failure();
  if (!in.fits(values.dims, target->dims))
    return op.emitOpError() << "cannot write values of shape " << str(values) << " to " << str(*target)
                            << ", which the indices name";
  return success();
}

//===----------------------------------------------------------------------===//
// Along one dim
//===----------------------------------------------------------------------===//

/// A vector of indices, or a single one.
static void checkIndexVector(Reader &in, const TensorShape &index) {
  checkIndices(in, "index", index);
  if (!in.failed() && index.rank() > 1)
    in.error() << "takes a vector of indices, not " << str(index);
}

LogicalResult indexSelect(IndexSelectOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), index = in.shape(op.getIndex());
  checkIndexVector(in, index);
  int64_t dim = in.failed() ? 0 : in.dim(op.getDim(), self.rank());
  if (in.failed())
    return failure();
  if (self.rank())
    self.dims[dim] = index.numElements();
  else if (!in.equal(index.numElements(), Expr(1)))
    return op.emitOpError() << "selects " << str(index) << " elements of a tensor of rank 0, which has one";
  results.push_back(self);
  return success();
}

LogicalResult indexAdd(IndexAddOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), index = in.shape(op.getIndex()), source = in.shape(op.getSource());
  checkIndexVector(in, index);
  in.sameElementType({{"self", self}, {"source", source}});
  int64_t dim = in.failed() ? 0 : in.dim(op.getDim(), self.rank());
  if (in.failed())
    return failure();
  Dims expected = self.dims;
  if (self.rank())
    expected[dim] = index.numElements();
  if (!in.equal(source.dims, expected))
    return op.emitOpError() << "has a source of shape " << str(source) << "; for " << str(index) << " indices of dim "
                            << dim << " of " << str(self) << " it is " << str({expected, self.elementType});
  results.push_back(self);
  return success();
}

/// `index` is at most as large as `shape`, except in `dim`.
static void checkContained(Reader &in, const TensorShape &index, StringRef name, const TensorShape &shape,
                           std::optional<int64_t> except) {
  if (in.failed())
    return;
  // A tensor of rank 0 counts as one element in a row.
  auto row = [](const TensorShape &shape) { return shape.rank() ? shape.dims : Dims{Expr(1)}; };
  Dims inner = row(index), outer = row(shape);
  bool fits = inner.size() == outer.size();
  for (size_t at = 0; fits && at < inner.size(); ++at)
    if (static_cast<int64_t>(at) != except)
      fits &= !(inner[at] - outer[at] - Expr(1)).atLeast(0);
  if (!fits)
    in.error() << "has an index of shape " << str(index) << " that is larger than " << name << ", " << str(shape);
}

LogicalResult gather(GatherAlongOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), index = in.shape(op.getIndex());
  checkIndices(in, "index", index);
  int64_t dim = in.failed() ? 0 : in.dim(op.getDim(), self.rank());
  // An empty index reads nothing.
  if (index.numElements().constant() != 0)
    checkContained(in, index, "self", self, dim);
  if (!in.failed())
    results.push_back({index.dims, self.elementType});
  return failure(in.failed());
}

LogicalResult scatter(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0)), index = in.shape(op->getOperand(1));
  checkIndices(in, "index", index);
  int64_t dim = in.failed() ? 0 : in.dim(getArgument<IntegerAttr>(op, "dim").getInt(), self.rank());
  // An empty index writes nothing.
  bool empty = index.numElements().constant() == 0;
  if (!empty)
    checkContained(in, index, "self", self, dim);
  if (op->getNumOperands() > 2 && !in.failed()) {
    TensorShape src = in.shape(op->getOperand(2));
    in.sameElementType({{"self", self}, {"src", src}});
    if (!empty)
      checkContained(in, index, "src", src, std::nullopt);
  }
  if (!in.failed())
    results.push_back(self);
  return failure(in.failed());
}

LogicalResult oneHot(OneHotOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  if (in.failed())
    return failure();
  if (!self.elementType.isInteger(64))
    return op.emitOpError() << "takes i64, not " << self.elementType;
  if (op.getNumClasses() < 1)
    return op.emitOpError("needs num_classes: taken from the data, the result's size depends on them");
  self.dims.push_back(Expr(op.getNumClasses()));
  results.push_back(self);
  return success();
}

//===----------------------------------------------------------------------===//
// By mask
//===----------------------------------------------------------------------===//

static void checkMask(Reader &in, const TensorShape &mask) {
  if (!in.failed() && !isBool(mask.elementType))
    in.error() << "takes a mask of i1, not " << mask.elementType;
}

LogicalResult maskedFill(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0)), mask = in.shape(op->getOperand(1));
  checkMask(in, mask);
  if (in.failed())
    return failure();
  if (op->getNumOperands() > 2) {
    TensorShape value = in.shape(op->getOperand(2));
    if (!in.failed() && value.rank() != 0)
      in.error() << "fills with one value, a tensor of rank 0, not " << str(value);
  }
  Dims dims = in.broadcast({self, mask});
  if (!in.failed())
    results.push_back({dims, self.elementType});
  return failure(in.failed());
}

LogicalResult maskedScatter(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0)), mask = in.shape(op->getOperand(1)),
              source = in.shape(op->getOperand(2));
  checkMask(in, mask);
  in.sameElementType({{"self", self}, {"source", source}});
  if (in.failed())
    return failure();
  Dims dims = in.broadcast({self, mask});
  if (!in.failed())
    results.push_back({dims, self.elementType});
  return failure(in.failed());
}

LogicalResult maskedScatterBackward(MaskedScatterBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOutput()), mask = in.shape(op.getMask());
  Dims sizes = in.sizes(op.getSizes(), op.getStaticSizes());
  checkMask(in, mask);
  if (!in.failed() && !in.fits(mask.dims, gradient.dims))
    in.error() << "cannot expand the mask, " << str(mask) << ", to the gradient's " << str(gradient);
  if (!in.failed())
    results.push_back({sizes, gradient.elementType});
  return failure(in.failed());
}

} // namespace braid::shapes
