//===- LossShapes.cpp - Shapes of losses --------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

/// ATen's numbers of the reductions.
enum class Reduction : int64_t { None, Mean, Sum };
static bool keepsElements(int64_t reduction) { return reduction == static_cast<int64_t>(Reduction::None); }

static bool checkReduction(Reader &in, int64_t reduction) {
  if (!in.failed() && (reduction < 0 || reduction > static_cast<int64_t>(Reduction::Sum)))
    in.error() << "has reduction " << reduction << "; ATen knows 0 (none), 1 (mean) and 2 (sum)";
  return !in.failed();
}

/// Scores [N, C, ...] without the dim of the classes; the weight has one entry a class.
static Dims withoutClasses(Reader &in, const TensorShape &self, Value weight) {
  if (in.failed())
    return {};
  if (self.rank() == 0) {
    in.error() << "takes scores [classes] or [batch, classes, ...], not " << str(self);
    return {};
  }
  int64_t classes = self.rank() == 1 ? 0 : 1;
  if (weight) {
    TensorShape weights = in.shape(weight);
    if (!in.failed() && (weights.rank() != 1 || !in.equal(weights.dims[0], self.dims[classes])))
      in.error() << "has a weight of shape " << str(weights) << " for the classes of " << str(self);
    in.sameElementType({{"self", self}, {"weight", weights}});
  }
  Dims dims = self.dims;
  dims.erase(dims.begin() + classes);
  return dims;
}

LogicalResult crossEntropy(CrossEntropyLossOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), target = in.shape(op.getTarget());
  in.floating("self", self);
  Dims dims = withoutClasses(in, self, op.getWeight());
  if (!checkReduction(in, op.getReduction()))
    return failure();
  if (isFloat(target.elementType)) {
    if (!in.equal(target.dims, self.dims))
      return op.emitOpError() << "has probabilities of shape " << str(target) << " for scores of " << str(self);
  } else if (!target.elementType.isInteger(64) && !target.elementType.isUnsignedInteger(8)) {
    return op.emitOpError() << "takes classes of i64 or probabilities as targets, not " << target.elementType;
  } else if (!in.equal(target.dims, dims)) {
    return op.emitOpError() << "has targets of shape " << str(target) << " for scores of " << str(self)
                            << "; they would be " << str({dims, target.elementType});
  }
  // Probabilities multiply the scores.
  Type type = isFloat(target.elementType) ? resultType({self, target}) : self.elementType;
  results.push_back({keepsElements(op.getReduction()) ? dims : Dims(), type});
  return success();
}

/// Log-probabilities [N, C] or [C], classes [N] or [].
static Dims classTargets(Reader &in, const TensorShape &self, const TensorShape &target, Value weight) {
  in.floating("self", self);
  Dims dims = withoutClasses(in, self, weight);
  if (in.failed())
    return {};
  if (self.rank() > 2)
    in.error() << "takes [batch, classes] or [classes], not " << str(self);
  else if (!target.elementType.isInteger(64) && !target.elementType.isUnsignedInteger(8))
    in.error() << "takes targets of i64, not " << target.elementType;
  else if (!in.equal(target.dims, dims))
    in.error() << "has targets of shape " << str(target) << " for " << str(self) << "; they would be "
               << str({dims, target.elementType});
  return dims;
}

LogicalResult nllLossForward(NllLossForwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), target = in.shape(op.getTarget());
  Dims dims = classTargets(in, self, target, op.getWeight());
  if (!checkReduction(in, op.getReduction()))
    return failure();
  results.push_back({keepsElements(op.getReduction()) ? dims : Dims(), self.elementType});
  results.push_back({{}, self.elementType});
  return success();
}

LogicalResult nllLossBackward(NllLossBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOutput()), self = in.shape(op.getSelf()), target = in.shape(op.getTarget()),
              total = in.shape(op.getTotalWeight());
  Dims dims = classTargets(in, self, target, op.getWeight());
  in.sameElementType({{"self", self}, {"grad_output", gradient}, {"total_weight", total}});
  if (!checkReduction(in, op.getReduction()))
    return failure();
  if (!in.equal(gradient.dims, keepsElements(op.getReduction()) ? ArrayRef<Expr>(dims) : ArrayRef<Expr>()))
    return op.emitOpError() << "has a gradient of shape " << str(gradient) << " for targets of " << str(target)
                            << " under reduction " << op.getReduction();
  results.push_back(self);
  return success();
}

LogicalResult pointwiseLoss(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  SmallVector<TensorShape> tensors = in.shapes(op->getOperands());
  auto reduction = getArgument<IntegerAttr>(op, "reduction");
  int64_t kind = reduction ? reduction.getInt() : static_cast<int64_t>(Reduction::Mean);
  if (!checkReduction(in, kind))
    return failure();
  in.floating("self", tensors[0]);
  Dims dims = in.broadcast(tensors);
  if (in.failed())
    return failure();
  // Only mse_loss lets the target broadcast; with pos_weight not even the scores may.
  auto entropy = dyn_cast<BinaryCrossEntropyWithLogitsOp>(op);
  if (entropy &&
      (!in.equal(dims, tensors[1].dims) || (entropy.getPosWeight() && !in.equal(tensors[0].dims, tensors[1].dims))))
    return op->emitOpError() << "compares " << str(tensors[0]) << " with " << str(tensors[1])
                             << "; scores and weights must fit the target";
  Type type = resultType(tensors);
  if (!isa<MseLossOp>(op)) {
    // Computed in place of the target.
    in.floating("target", tensors[1]);
    if (in.failed())
      return failure();
    type = tensors[1].elementType;
  }
  results.push_back({keepsElements(kind) ? dims : Dims(), type ? type : tensors[0].elementType});
  return success();
}

LogicalResult linearCrossEntropy(LinearCrossEntropyOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape input = in.shape(op.getInput()), weight = in.shape(op.getWeight()), target = in.shape(op.getTarget());
  in.sameElementType({{"input", input}, {"weight", weight}});
  if (!in.failed() && !input.elementType.isF32() && !input.elementType.isF64())
    in.error() << "takes an input of f32 or f64, not " << input.elementType;
  if (in.failed())
    return failure();
  if (input.rank() != 2 || weight.rank() != 2 || !in.equal(input.dims[1], weight.dims[1]))
    return op.emitOpError() << "takes an input [rows, hidden] and a weight [classes, hidden], not " << str(input)
                            << " and " << str(weight);
  if (op.getBias()) {
    TensorShape bias = in.shape(op.getBias());
    in.sameElementType({{"input", input}, {"bias", bias}});
    if (!in.failed() && (bias.rank() != 1 || !in.equal(bias.dims[0], weight.dims[0])))
      in.error() << "has a bias of shape " << str(bias) << " for the classes of " << str(weight);
  }
  if (!in.failed() &&
      (!target.elementType.isInteger(64) || target.rank() != 1 || !in.equal(target.dims[0], input.dims[0])))
    in.error() << "has targets of shape " << str(target) << "; they would be " << str({{input.dims[0]}, i64(op)});
  results.push_back({{}, input.elementType});
  results.push_back({{input.dims[0], weight.dims[0]}, input.elementType});
  return failure(in.failed());
}

LogicalResult linearCrossEntropyBackward(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op->getOperand(0)), logits = in.shape(op->getOperand(1));
  in.floating("grad_logits", logits);
  in.sameElementType({{"grad_logits", logits}, {"grad_output", gradient}});
  if (in.failed())
    return failure();
  if (gradient.rank() != 0 || logits.rank() != 2)
    return op->emitOpError() << "takes the gradient of a sum and gradients [rows, classes], not " << str(gradient)
                             << " and " << str(logits);
  if (isa<LinearCrossEntropyBackwardBiasOp>(op)) {
    results.push_back({{logits.dims[1]}, logits.elementType});
    return success();
  }
  // The gradient of the input comes from the weight, and that of the weight from the input.
  bool ofInput = isa<LinearCrossEntropyBackwardInputOp>(op);
  TensorShape other = in.shape(op->getOperand(2)), target = in.shape(op->getOperand(3));
  in.sameElementType({{"grad_logits", logits}, {ofInput ? "weight" : "input", other}});
  if (in.failed())
    return failure();
  if (other.rank() != 2 || !in.equal(other.dims[0], logits.dims[ofInput ? 1 : 0]) || target.rank() != 1 ||
      !target.elementType.isInteger(64) || !in.equal(target.dims[0], logits.dims[0]))
    return op->emitOpError() << "has a factor of shape " << str(other) << " and targets of shape " << str(target)
                             << " for gradients " << str(logits);
  results.push_back({{logits.dims[ofInput ? 0 : 1], other.dims[1]}, logits.elementType});
  return success();
}

LogicalResult binaryCrossEntropy(BinaryCrossEntropyOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf()), target = in.shape(op.getTarget());
  in.floating("self", self);
  in.sameElementType({{"self", self}, {"target", target}});
  if (!checkReduction(in, op.getReduction()))
    return failure();
  if (!in.equal(self.dims, target.dims))
    return op.emitOpError() << "compares " << str(self) << " with " << str(target) << "; they have the same shape";
  if (op.getWeight())
    if (TensorShape weight = in.shape(op.getWeight()); !in.failed() && !in.fits(weight.dims, self.dims))
      return op.emitOpError() << "has a weight of shape " << str(weight) << " for " << str(self);
  results.push_back({keepsElements(op.getReduction()) ? self.dims : Dims(), self.elementType});
  return failure(in.failed());
}

/// Scores [batch, classes] or [classes]; a class, or a list of classes as long as the scores, for each row.
LogicalResult marginLoss(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0)), target = in.shape(op->getOperand(1));
  auto multi = dyn_cast<MultiMarginLossOp>(op);
  in.floating("self", self);
  Dims rows = withoutClasses(in, self, multi ? multi.getWeight() : Value());
  auto reduction = getArgument<IntegerAttr>(op, "reduction");
  int64_t kind = reduction ? reduction.getInt() : static_cast<int64_t>(Reduction::Mean);
  if (!checkReduction(in, kind))
    return failure();
  if (self.rank() > 2 || !target.elementType.isInteger(64) || !in.equal(target.dims, multi ? rows : self.dims))
    return op->emitOpError() << "has targets " << str(target) << " of " << target.elementType << " for scores of "
                             << str(self) << "; they would be " << str({multi ? rows : self.dims, target.elementType})
                             << " of i64";
  results.push_back({keepsElements(kind) ? rows : Dims(), self.elementType});
  return failure(in.failed());
}

LogicalResult ctcLoss(CtcLossOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape scores = in.shape(op.getLogProbs()), targets = in.shape(op.getTargets()),
              inputs = in.shape(op.getInputLengths()), lengths = in.shape(op.getTargetLengths());
  in.floating("log_probs", scores);
  if (!checkReduction(in, op.getReduction()))
    return failure();
  bool batched = scores.rank() == 3;
  Dims batch;
  if (batched)
    batch.push_back(scores.dims[1]);
  bool fits = (batched || scores.rank() == 2) && (targets.rank() == 1 || targets.rank() == 2);
  if (fits && batched && targets.rank() == 2)
    fits = in.equal(targets.dims[0], batch[0]);
  for (const TensorShape *length : {&inputs, &lengths})
    fits = fits && (batched ? in.equal(length->dims, batch) : length->numElements().constant() == 1);
  if (!fits)
    return op.emitOpError() << "takes log_probs [steps, batch, classes], targets [batch, labels] or one list of all "
                            << "labels, and two lengths a sample, not " << str(scores) << ", " << str(targets) << ", "
                            << str(inputs) << " and " << str(lengths);
  for (const TensorShape *integers : {&targets, &inputs, &lengths})
    if (isFloat(integers->elementType) || isBool(integers->elementType))
      return op.emitOpError() << "takes labels and lengths as integers, not " << integers->elementType;
  results.push_back({keepsElements(op.getReduction()) ? batch : Dims(), scores.elementType});
  return success();
}

} // namespace braid::shapes
