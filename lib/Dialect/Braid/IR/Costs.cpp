//===- Costs.cpp - Floating-point operations ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

#include "braid/Dialect/Braid/IR/Random.h"

using namespace mlir;

namespace braid::costs {

/// Elements of a tensor; none where its shape is not known, which the shape rule has reported.
static Expr elements(Value tensor, ShapeAnalysis &analysis) {
  FailureOr<TensorShape> shape = analysis.shapeOf(tensor);
  return succeeded(shape) ? shape->numElements() : Expr(0);
}

static Expr dimOf(Value tensor, int64_t dim, ShapeAnalysis &analysis) {
  FailureOr<TensorShape> shape = analysis.shapeOf(tensor);
  if (failed(shape) || shape->rank() == 0)
    return Expr(1);
  return shape->dims[dim < 0 ? std::max<int64_t>(dim + shape->rank(), 0) : dim];
}

Expr none(Operation *, ShapeAnalysis &) { return Expr(0); }

/// One operation an element of the result.
Expr elementwise(Operation *op, ShapeAnalysis &analysis) { return elements(op->getResult(0), analysis); }

/// One operation an element that is read.
Expr reduction(Operation *op, ShapeAnalysis &analysis) { return elements(op->getOperand(0), analysis); }

/// Maximum, difference, exponential, sum, quotient.
Expr softmax(Operation *op, ShapeAnalysis &analysis) { return Expr(5) * elements(op->getOperand(0), analysis); }

/// Mean, variance, and scale and shift; about twice as much backward, where all results are wanted.
Expr norm(Operation *op, ShapeAnalysis &analysis) {
  int64_t each = isa<NativeLayerNormBackwardOp>(op) ? 14 : 7;
  return Expr(each) * elements(op->getOperand(0), analysis);
}

/// A softmax over the classes and a choice; for pointwise losses the same number of steps is near enough.
Expr batchNorm(Operation *op, ShapeAnalysis &analysis) {
  // With given statistics a multiply and an add, and for the gradients a multiply, and two for each of two sums.
  bool backward = isa<NativeBatchNormBackwardOp>(op);
  bool training = backward ? cast<NativeBatchNormBackwardOp>(op).getTrain() : cast<NativeBatchNormOp>(op).getTraining();
  int64_t each = training ? (backward ? 14 : 7) : (backward ? 5 : 2);
  return Expr(each) * elements(op->getOperand(0), analysis);
}

/// One operation for each element of each window.
Expr pool(Operation *op, ShapeAnalysis &analysis) {
  bool backward = op->getNumOperands() > 1; // then the first is the gradient, with an element for each window
  Expr work = elements(backward ? op->getOperand(0) : op->getResult(0), analysis);
  int64_t spatial = shapes::getSpatialRank(op);
  ArrayRef<int64_t> kernel = cast<DenseI64ArrayAttr>(*op->getInherentAttr("kernel_size")).asArrayRef();
  for (int64_t at = 0; at < spatial; ++at)
    work = work * Expr(kernel.size() == 1 ? kernel.front() : kernel[at]);
  return work;
}

/// A multiply and an add for each element that an output is made of.
Expr upsample(Operation *op, ShapeAnalysis &analysis) {
  bool backward = op->getName().getStringRef().ends_with("_backward");
  StringRef name = op->getName().getStringRef();
  int64_t taps = 1;
  for (int64_t at = 0; at < shapes::getSpatialRank(op) && !name.contains("nearest"); ++at)
    taps *= name.contains("cubic") ? 4 : 2;
  return Expr(2 * taps) * elements(backward ? op->getOperand(0) : op->getResult(0), analysis);
}

Expr loss(Operation *op, ShapeAnalysis &analysis) {
  Value scores = isa<NllLossBackwardOp>(op) ? op->getOperand(1) : op->getOperand(0);
  return Expr(6) * elements(scores, analysis);
}

/// The product of the logits, the bias, and what the loss does with each of them.
Expr linearCrossEntropy(LinearCrossEntropyOp op, ShapeAnalysis &analysis) {
  Expr logits = elements(op.getGradLogits(), analysis);
  return (Expr(2) * dimOf(op.getInput(), -1, analysis) + Expr(op.getBias() ? 7 : 6)) * logits;
}

/// A product with the gradients of the logits, or their sum.
Expr linearCrossEntropyBackward(Operation *op, ShapeAnalysis &analysis) {
  Expr logits = elements(op->getOperand(1), analysis);
  return isa<LinearCrossEntropyBackwardBiasOp>(op) ? logits : Expr(2) * dimOf(op->getOperand(2), -1, analysis) * logits;
}

/// Two operations for each weight, step and sample; what is done to the sums is little beside it.
Expr recurrent(Operation *op, ShapeAnalysis &analysis) {
  Expr weights(0);
  AtenCall call = *getAtenCall(op);
  for (Value parameter : call.args[2].operands)
    if (cast<RankedTensorType>(parameter.getType()).getRank() == 2)
      weights = weights + elements(parameter, analysis);
  Value input = call.args[0].operands.front();
  return Expr(2) * weights * dimOf(input, 0, analysis) * dimOf(input, 1, analysis);
}

/// Two operations for each element of the result and each of the contracted dim.
Expr contraction(Operation *op, ShapeAnalysis &analysis) {
  bool added = isa<AddmmOp, BaddbmmOp>(op);
  Expr inner = dimOf(op->getOperand(added ? 1 : 0), -1, analysis);
  Expr all = elements(op->getResult(0), analysis);
  bool biased = added || (isa<LinearOp>(op) && op->getNumOperands() > 2);
  return Expr(2) * all * inner + (biased ? all : Expr(0));
}

/// Elements of the weight that one output position, or for transposed convolutions one input position, meets.
static Expr convolutionWork(Value input, Value weight, Value output, bool transposed, ShapeAnalysis &analysis) {
  FailureOr<TensorShape> shape = analysis.shapeOf(weight);
  if (failed(shape) || shape->rank() < 2)
    return Expr(0);
  Expr kernel(1);
  for (int64_t dim = 1; dim < shape->rank(); ++dim)
    kernel = kernel * shape->dims[dim];
  return Expr(2) * kernel * elements(transposed ? input : output, analysis);
}

Expr convolution(Operation *op, ShapeAnalysis &analysis) {
  auto conv = cast<ConvolutionOp>(op);
  return convolutionWork(conv.getInput(), conv.getWeight(), conv.getResult(), conv.getTransposed(), analysis);
}

/// One product for each gradient that is wanted.
Expr convolutionBackward(Operation *op, ShapeAnalysis &analysis) {
  auto conv = cast<ConvolutionBackwardOp>(op);
  Expr work = convolutionWork(conv.getInput(), conv.getWeight(), conv.getGradOutput(), conv.getTransposed(), analysis);
  ArrayRef<bool> mask = conv.getOutputMask().value_or(ArrayRef<bool>());
  int64_t products = llvm::count(mask.take_front(2), true);
  return Expr(products) * work;
}

/// Scores and their product with the values: [L, E] x [E, S] and [L, S] x [S, V], and a softmax between.
static Expr attentionWork(Value query, Value key, Value value, ShapeAnalysis &analysis) {
  Expr size = dimOf(query, -1, analysis), keys = dimOf(key, -2, analysis), values = dimOf(value, -1, analysis);
  Expr rows = Expr::floorDiv(elements(query, analysis), size.constant() == 0 ? Expr(1) : size);
  return rows * keys * (Expr(2) * size + Expr(2) * values + Expr(5));
}

Expr attention(Operation *op, ShapeAnalysis &analysis) {
  return attentionWork(op->getOperand(0), op->getOperand(1), op->getOperand(2), analysis);
}

/// Five products instead of two: the scores again, and gradients of values, scores, query and key.
Expr attentionBackward(Operation *op, ShapeAnalysis &analysis) {
  auto flash = cast<FlashAttentionForCpuBackwardOp>(op);
  Expr forward = attentionWork(flash.getQuery(), flash.getKey(), flash.getValue(), analysis);
  return Expr::floorDiv(Expr(5) * forward, Expr(2));
}

/// Ten rounds of about ten operations on integers give four numbers.
Expr random(Operation *op, ShapeAnalysis &analysis) {
  return Expr(drawsRandomNumbers(op) ? 25 : 1) * elements(op->getResult(0), analysis);
}

} // namespace braid::costs
