//===- LossGradients.cpp - Gradients of losses ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

/// ATen's numbers for the argument `reduction`.
enum Reduction { reductionNone = 0, reductionMean = 1, reductionSum = 2 };

LogicalResult crossEntropyLoss(CrossEntropyLossOp op, GradientBuilder &) { return undecomposed(op); }

LogicalResult nllLossForward(NllLossForwardOp op, GradientBuilder &g) {
  if (g.needs(op.getWeight()))
    return op.emitOpError("its class weights need a gradient: they have none");
  // The total weight, which is the other result, does not depend on `self`.
  if (g.cotangent() && g.needs(op.getSelf()))
    g.add(op.getSelf(),
          g.create<NllLossBackwardOp>({g.cotangent(), op.getSelf(), op.getTarget(), op.getWeight(),
                                       argument(op, "reduction"), argument(op, "ignore_index"), op.getTotalWeight()}));
  return success();
}

LogicalResult mseLoss(MseLossOp op, GradientBuilder &g) {
  Value self = op.getSelf(), target = op.getTarget(), dx;
  TensorShape a = g.shapeOf(self), b = g.shapeOf(target);
  if (a.dims == b.dims && a.elementType == b.elementType) {
    dx = g.create<MseLossBackwardOp>({g.cotangent(), self, target, g.i64(op.getReduction())});
  } else {
    // The kernel divides by the number of elements of its input, which broadcasting makes too few.
    Value difference = g.create<SubOp>({self, target}), dy = scaled(g, g.cotangent(), 2.0);
    if (op.getReduction() == reductionMean)
      dy = divided(g, dy, g.shapeOf(difference).numElements());
    dx = g.create<MulOp>({dy, difference});
  }
  if (g.needs(self))
    g.add(self, g.sumTo(dx, self));
  if (g.needs(target))
    g.add(target, scaled(g, g.sumTo(dx, target), -1.0));
  return success();
}

LogicalResult binaryCrossEntropyWithLogits(BinaryCrossEntropyWithLogitsOp op, GradientBuilder &g) {
  Value self = op.getSelf(), target = op.getTarget(), positive = op.getPosWeight();
  if (g.needs(op.getWeight()) || g.needs(positive))
    return op.emitOpError("its weights need a gradient: they have none");
  Value dy = g.cotangent();
  if (op.getReduction() == reductionMean)
    dy = divided(g, dy, g.shapeOf(self).numElements());
  if (op.getWeight())
    dy = g.create<MulOp>({dy, op.getWeight()});
  if (g.needs(self)) {
    // loss = (1 - t) x + (1 + (p - 1) t) softplus(-x), with p = 1 where it is absent.
    Value slope = g.create<SigmoidOp>({self}), weighted = target;
    if (positive) {
      weighted = g.create<MulOp>({positive, target});
      Value total = g.create<SubOp>({g.create<AddScalarOp>({weighted, g.i64(1)}), target});
      slope = g.create<MulOp>({total, slope});
    }
    slope = g.create<SubOp>({slope, weighted});
    g.add(self, g.sumTo(g.create<MulOp>({dy, slope}), self));
  }
  if (g.needs(target)) {
    Value slope = g.create<NegOp>({self});
    if (positive) {
      // (p - 1) softplus(-x) - x, where softplus(-x) = relu(-x) + log1p(exp(-|x|)).
      Value tail = g.create<Log1pOp>({g.create<ExpOp>({g.create<NegOp>({g.create<AbsOp>({self})})})});
      Value softplus = g.create<AddOp>({g.create<ReluOp>({slope}), tail});
      Value excess = g.create<SubScalarOp>({positive, g.i64(1)});
      slope = g.create<AddOp>({g.create<MulOp>({excess, softplus}), slope});
    }
    g.add(target, g.sumTo(g.create<MulOp>({dy, slope}), target));
  }
  return success();
}

LogicalResult linearCrossEntropy(LinearCrossEntropyOp op, GradientBuilder &g) {
  if (g.cotangent(1))
    return op.emitOpError("its gradient of the logits is used as a value: it has no gradient");
  if (!g.cotangent())
    return success();
  Value dy = g.cotangent(), logits = op.getGradLogits(), target = op.getTarget();
  ArgValue ignored = g.i64(op.getIgnoreIndex());
  if (g.needs(op.getInput()))
    g.add(op.getInput(), g.create<LinearCrossEntropyBackwardInputOp>({dy, logits, op.getWeight(), target, ignored}));
  if (g.needs(op.getWeight()))
    g.add(op.getWeight(), g.create<LinearCrossEntropyBackwardWeightOp>({dy, logits, op.getInput(), target, ignored}));
  if (g.needs(op.getBias()))
    g.add(op.getBias(), g.create<LinearCrossEntropyBackwardBiasOp>({dy, logits}));
  return success();
}

} // namespace braid::gradients
