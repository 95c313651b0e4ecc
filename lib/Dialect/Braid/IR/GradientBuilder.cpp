//===- GradientBuilder.cpp - What gradient rules are written with ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"

using namespace mlir;

namespace braid {

void GradientBuilder::startOp(Operation *op, ArrayRef<Value> newCotangents) {
  loc = op->getLoc();
  path = op->getAttr(pathAttrName);
  cotangents.assign(newCotangents.begin(), newCotangents.end());
}

LogicalResult GradientBuilder::checkShapes(Operation *op) {
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (isa<RankedTensorType>(value.getType()) && mlir::failed(shapes.shapeOf(value)))
        failed = true;
  return failure(failed);
}

/// The gradients of two slices that are the whole of a tensor, one after the other; nothing for others.
static std::optional<std::pair<SliceBackwardOp, SliceBackwardOp>> findHalves(Value a, Value b, ShapeAnalysis &shapes) {
  auto first = a.getDefiningOp<SliceBackwardOp>(), second = b.getDefiningOp<SliceBackwardOp>();
  if (!first || !second || first.getDim() != second.getDim() || first.getStaticStep() != 1 ||
      second.getStaticStep() != 1)
    return std::nullopt;
  if (first.getStaticStart() != 0)
    std::swap(first, second);
  FailureOr<TensorShape> shape = shapes.shapeOf(first.getResult());
  std::optional<int64_t> middle = first.getStaticEnd(), end = second.getStaticEnd();
  if (failed(shape) || first.getStaticStart() != 0 || !middle || !end || second.getStaticStart() != middle)
    return std::nullopt;
  int64_t dim = first.getDim() < 0 ? first.getDim() + shape->rank() : first.getDim();
  std::optional<int64_t> size = shape->dims[dim].constant();
  if (!size || *middle < 0 || *middle > *size || *end < *size)
    return std::nullopt;
  return std::pair(first, second);
}

void GradientBuilder::add(Value operand, Value gradient) {
  if (!gradient || !needs(operand))
    return;
  Value &sum = gradients[operand];
  if (!sum)
    sum = gradient;
  else if (auto halves = findHalves(sum, gradient, shapes)) // rotary embeddings cut every query and key in two
    sum = create<CatOp>({ArgValue::Tensors{halves->first.getGradOutput(), halves->second.getGradOutput()},
                         i64(halves->first.getDim())});
  else
    sum = create<AddOp>({sum, gradient});
}

SmallVector<Value> GradientBuilder::createNamed(StringRef opName, ArrayRef<ArgValue> args) {
  FailureOr<Operation *> op = buildAtenOp(builder, loc, OperationName(opName, builder.getContext()), args, shapes);
  if (mlir::failed(op)) {
    failed = true;
    // As many results as a caller may look at.
    return SmallVector<Value>(4);
  }
  if (path)
    (*op)->setAttr(pathAttrName, path);
  return llvm::to_vector_of<Value>((*op)->getResults());
}

const TensorShape &GradientBuilder::shapeOf(Value tensor) {
  static const TensorShape unknown;
  FailureOr<TensorShape> shape = shapes.shapeOf(tensor);
  if (mlir::failed(shape)) {
    failed = true;
    return unknown;
  }
  shapes.setShape(tensor, *shape);
  return scratch[tensor] = *shape;
}

ArgValue GradientBuilder::sizes(Value tensor) { return sizes(shapeOf(tensor).dims); }

ArgValue GradientBuilder::sizes(ArrayRef<Expr> dims) { return shapes.materialize(builder, loc, dims); }

ArgValue GradientBuilder::size(const Expr &size) { return shapes.materialize(builder, loc, size); }

Value GradientBuilder::sumTo(Value gradient, Value like) {
  if (!gradient)
    return {};
  TensorShape from = shapeOf(gradient), to = shapeOf(like);
  SmallVector<int64_t> dims;
  int64_t extra = from.rank() - to.rank();
  for (int64_t dim = 0; dim < from.rank(); ++dim)
    if (dim < extra || (ShapeAnalysis::isOne(to.dims[dim - extra]) && !ShapeAnalysis::isOne(from.dims[dim])))
      dims.push_back(dim);
  if (!dims.empty())
    gradient = create<SumDimOp>({gradient, ints(dims), boolean(true)});
  if (extra > 0)
    gradient = create<ViewOp>({gradient, sizes(to.dims)});
  if (gradient && from.elementType != to.elementType)
    gradient = create<ToOp>({gradient, dtype(to.elementType)});
  return gradient;
}

} // namespace braid
