//===- NormAttentionGradients.cpp - Gradients of softmax, normalisation, attention -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Softmax computes in the element type of its result, whatever that of its input.
template <typename BackwardOp> static LogicalResult fromOutput(Operation *op, int64_t dim, GradientBuilder &g) {
  Value self = op->getOperand(0), result = op->getResult(0);
  Value dx = g.create<BackwardOp>({g.cotangent(), result, g.i64(dim), g.dtype(g.shapeOf(result).elementType)});
  g.add(self, castTo(g, dx, g.shapeOf(self).elementType));
  return success();
}

LogicalResult softmax(SoftmaxOp op, GradientBuilder &g) {
  return fromOutput<SoftmaxBackwardDataOp>(op, op.getDim(), g);
}
LogicalResult logSoftmax(LogSoftmaxOp op, GradientBuilder &g) {
  return fromOutput<LogSoftmaxBackwardDataOp>(op, op.getDim(), g);
}
LogicalResult nativeSoftmax(NativeSoftmaxOp op, GradientBuilder &g) {
  return fromOutput<SoftmaxBackwardDataOp>(op, op.getDim(), g);
}
LogicalResult nativeLogSoftmax(NativeLogSoftmaxOp op, GradientBuilder &g) {
  return fromOutput<LogSoftmaxBackwardDataOp>(op, op.getDim(), g);
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

LogicalResult layerNorm(LayerNormOp op, GradientBuilder &) { return undecomposed(op); }
LogicalResult rmsNorm(RmsNormOp op, GradientBuilder &) { return undecomposed(op); }
LogicalResult groupNorm(GroupNormOp op, GradientBuilder &) { return undecomposed(op); }

/// Adds the gradients of a norm's input, weight and bias. `backward` calls the backward operator for those of the three
/// that it is asked for; `ofBias` is the bias's alone.
static void addNormGradients(GradientBuilder &g, Value input, Value weight, Value bias,
                             llvm::function_ref<SmallVector<Value>(bool, bool, bool)> backward,
                             llvm::function_ref<Value()> ofBias) {
  if (g.needs(input))
    g.add(input, backward(true, false, false)[0]);
  // The parameters' gradients need no gradient of the input and can wait.
  if (g.needs(weight)) {
    SmallVector<Value> ofParameters = backward(false, true, g.needs(bias));
    g.add(weight, ofParameters[1]);
    if (g.needs(bias))
      g.add(bias, ofParameters[2]);
  } else if (g.needs(bias)) {
    g.add(bias, ofBias());
  }
}

LogicalResult nativeLayerNorm(NativeLayerNormOp op, GradientBuilder &g) {
  if (g.cotangent(1) || g.cotangent(2))
    return op.emitOpError("the mean and the reciprocal deviation are used as values: they have no gradient");
  if (!g.cotangent())
    return success();
  Value input = op.getInput(), weight = op.getWeight(), bias = op.getBias();
  auto backward = [&](bool ofInput, bool ofWeight, bool ofBias) {
    return g.createMany<NativeLayerNormBackwardOp>({g.cotangent(), input, argument(op, "normalized_shape"),
                                                    op.getMean(), op.getRstd(), weight, bias,
                                                    g.bools({ofInput, ofWeight, ofBias})});
  };
  addNormGradients(g, input, weight, bias, backward, [&] { return g.sumTo(g.cotangent(), bias); });
  return success();
}

LogicalResult nativeBatchNorm(NativeBatchNormOp op, GradientBuilder &g) {
  if (g.cotangent(1) || g.cotangent(2))
    return op.emitOpError("the mean and the reciprocal deviation are used as values: they have no gradient");
  if (!g.cotangent())
    return success();
  Value input = op.getInput(), weight = op.getWeight(), bias = op.getBias();
  for (Value statistic : {op.getRunningMean(), op.getRunningVar()})
    if (g.needs(statistic))
      return op.emitOpError("has statistics that are trained: they have no gradient, in ATen neither");
  bool training = op.getTraining();
  auto backward = [&](bool ofInput, bool ofWeight, bool ofBias) {
    return g.createMany<NativeBatchNormBackwardOp>({g.cotangent(), input, weight, op.getRunningMean(),
                                                    op.getRunningVar(), training ? op.getMean() : Value(),
                                                    training ? op.getRstd() : Value(), g.boolean(training),
                                                    argument(op, "eps"), g.bools({ofInput, ofWeight, ofBias})});
  };
  addNormGradients(g, input, weight, bias, backward, [&] {
    SmallVector<int64_t> dims = {0};
    llvm::append_range(dims, llvm::seq<int64_t>(2, g.shapeOf(input).rank()));
    return castTo(g, g.create<SumDimOp>({g.cotangent(), g.ints(dims)}), g.shapeOf(bias).elementType);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

LogicalResult scaledDotProductAttention(ScaledDotProductAttentionOp op, GradientBuilder &) { return undecomposed(op); }

/// The kernel has no gradient for an additive mask: that of the scores, before softmax, from its logsumexp.
static Value scoreGradient(FlashAttentionForCpuOp op, Value dy, GradientBuilder &g) {
  Value key = g.create<TransposeOp>({op.getKey(), g.i64(-2), g.i64(-1)});
  Value scores = g.create<MatmulOp>({op.getQuery(), key});
  std::optional<double> scale;
  if (op.getScale())
    scale = op.getScale()->convertToDouble();
  scores = scaledForSize(g, scores, scale, g.shapeOf(op.getQuery()).dims.back());
  scores = g.create<AddOp>({scores, op.getAttnMask()});
  Type elementType = g.shapeOf(op.getAttnMask()).elementType;
  Value normalizer = g.create<UnsqueezeOp>({castTo(g, op.getLogsumexp(), elementType), g.i64(-1)});
  Value shares = g.create<ExpOp>({g.create<SubOp>({scores, normalizer})});
  Value value = g.create<TransposeOp>({op.getValue(), g.i64(-2), g.i64(-1)});
  Value ofShares = g.create<MatmulOp>({dy, value});
  Value mean = g.create<SumDimOp>({g.create<MulOp>({dy, op.getOutput()}), g.ints({-1}), g.boolean(true)});
  return g.create<MulOp>({shares, g.create<SubOp>({ofShares, mean})});
}

LogicalResult flashAttentionForCpu(FlashAttentionForCpuOp op, GradientBuilder &g) {
  if (g.cotangent(1))
    return op.emitOpError("its logsumexp is used as a value: it has no gradient");
  Value dy = g.cotangent(), mask = op.getAttnMask();
  if (!dy)
    return success();
  if (g.needs(op.getQuery()) || g.needs(op.getKey()) || g.needs(op.getValue())) {
    SmallVector<Value> gradients = g.createMany<FlashAttentionForCpuBackwardOp>(
        {dy, op.getQuery(), op.getKey(), op.getValue(), op.getOutput(), op.getLogsumexp(), argument(op, "dropout_p"),
         argument(op, "is_causal"), mask, argument(op, "scale")});
    // Named: a range of a temporary list would outlive the list.
    const Value operands[] = {op.getQuery(), op.getKey(), op.getValue()};
    for (auto [operand, gradient] : llvm::zip_first(operands, gradients))
      if (g.needs(operand))
        g.add(operand, gradient);
  }
  if (g.needs(mask))
    g.add(mask, g.sumTo(scoreGradient(op, dy, g), mask));
  return success();
}

} // namespace braid::gradients
