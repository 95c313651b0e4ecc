//===- Decompose.cpp - Ops in parts that have gradients -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/Transforms/Decompose.h"
#include "DecomposeRules.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_DECOMPOSE
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace decompositions {
using namespace gradients;

Value layerNorm(LayerNormOp op, GradientBuilder &g) {
  return g.create<NativeLayerNormOp>({op.getInput(), argument(op, "normalized_shape"), op.getWeight(), op.getBias(),
                                      g.f64(op.getEps().convertToDouble())});
}

Value rmsNorm(RmsNormOp op, GradientBuilder &g) {
  // ATen computes 16-bit inputs in float32, and takes the smallest step from 1 of the type it computes in as epsilon.
  Type type = g.shapeOf(op.getInput()).elementType, wide = type;
  if (type.getIntOrFloatBitWidth() == 16)
    wide = g.getBuilder().getF32Type();
  double epsilon = wide.isF64() ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  if (op.getEps())
    epsilon = op.getEps()->convertToDouble();
  SmallVector<int64_t> dims;
  for (int64_t dim = -static_cast<int64_t>(op.getStaticNormalizedShape().size()); dim < 0; ++dim)
    dims.push_back(dim);
  Value input = castTo(g, op.getInput(), wide);
  Value square = g.create<MeanDimOp>({g.create<PowScalarOp>({input, g.i64(2)}), g.ints(dims), g.boolean(true)});
  Value scale = g.create<RsqrtOp>({g.create<AddScalarOp>({square, g.f64(epsilon)})});
  Value result = g.create<MulOp>({input, scale});
  if (op.getWeight())
    result = g.create<MulOp>({result, castTo(g, op.getWeight(), wide)});
  return castTo(g, result, type);
}

Value groupNorm(GroupNormOp op, GradientBuilder &g) {
  // A group is a row to normalise. 16-bit inputs are computed in float32, as in ATen.
  TensorShape shape = g.shapeOf(op.getInput());
  Type type = shape.elementType, wide = type.getIntOrFloatBitWidth() == 16 ? g.getBuilder().getF32Type() : type;
  Expr groups(op.getNumGroups()), size = Expr::floorDiv(shape.dims[1], groups);
  for (const Expr &spatial : ArrayRef(shape.dims).drop_front(2))
    size = size * spatial;
  Value rows = reshaped(g, castTo(g, op.getInput(), wide), {shape.dims[0] * groups, size});
  Value normal = g.create<NativeLayerNormOp>(
      {rows, g.sizes({size}), std::nullopt, std::nullopt, g.f64(op.getEps().convertToDouble())});
  Value result = reshaped(g, normal, shape.dims);
  Sizes channels(shape.rank() - 1, Expr(1));
  channels[0] = shape.dims[1];
  if (op.getWeight())
    result = g.create<MulOp>({result, castTo(g, reshaped(g, op.getWeight(), channels), wide)});
  if (op.getBias())
    result = g.create<AddOp>({result, castTo(g, reshaped(g, op.getBias(), channels), wide)});
  return castTo(g, result, type);
}

/// ATen's numbers for the argument `reduction`.
enum Reduction : int64_t { reductionNone = 0, reductionMean = 1, reductionSum = 2 };

/// Targets are probabilities of the classes, in the shape of the scores.
static Value softCrossEntropy(CrossEntropyLossOp op, Value logProbabilities, int64_t classDim, GradientBuilder &g) {
  TensorShape shape = g.shapeOf(op.getSelf());
  double smoothing = op.getLabelSmoothing().convertToDouble();
  Value target = op.getTarget(), loss = logProbabilities;
  if (smoothing > 0) {
    std::optional<int64_t> classes = shape.dims[classDim].constant();
    if (!classes) {
      op.emitOpError("smooths probabilities over a number of classes that is not constant");
      return {};
    }
    target = g.create<AddScalarOp>({scaled(g, target, 1 - smoothing), g.f64(smoothing / *classes)});
  }
  if (op.getWeight()) {
    Sizes sizes(shape.rank(), Expr(1));
    sizes[classDim] = shape.dims[classDim];
    loss = g.create<MulOp>({loss, reshaped(g, op.getWeight(), sizes)});
  }
  loss = g.create<NegOp>({g.create<MulOp>({loss, target})});
  if (op.getReduction() == reductionNone)
    return g.create<SumDimOp>({loss, g.ints({classDim})});
  Value total = g.create<SumOp>({loss});
  if (op.getReduction() == reductionSum)
    return total;
  Expr rows = 1;
  for (auto [dim, size] : llvm::enumerate(shape.dims))
    if (static_cast<int64_t>(dim) != classDim)
      rows = rows * size;
  return divided(g, total, rows);
}

Value crossEntropy(CrossEntropyLossOp op, GradientBuilder &g) {
  TensorShape shape = g.shapeOf(op.getSelf());
  int64_t rank = shape.rank(), classDim = rank == 1 ? 0 : 1;
  Value target = op.getTarget();
  Value logProbabilities = g.create<LogSoftmaxOp>({op.getSelf(), g.i64(classDim)});
  if (isa<FloatType>(g.shapeOf(target).elementType))
    return softCrossEntropy(op, logProbabilities, classDim, g);

  // Scores of more dims become rows of classes.
  TensorShape targets = g.shapeOf(target);
  Expr classes = shape.dims[classDim];
  if (rank > 2) {
    SmallVector<int64_t> order = {0};
    llvm::append_range(order, llvm::seq<int64_t>(2, rank));
    order.push_back(1);
    logProbabilities = g.create<PermuteOp>({logProbabilities, g.ints(order)});
    logProbabilities = reshaped(g, logProbabilities, {targets.numElements(), classes});
    target = reshaped(g, target, {targets.numElements()});
  }
  ArgValue ignored = argument(op, "ignore_index");
  if (std::holds_alternative<std::monostate>(ignored.storage))
    ignored = g.i64(-100);
  int64_t reduction = op.getReduction();
  Value loss = g.create<NllLossForwardOp>({logProbabilities, target, op.getWeight(), g.i64(reduction), ignored});

  if (double smoothing = op.getLabelSmoothing().convertToDouble(); smoothing > 0) {
    std::optional<int64_t> constant = sizeArgument(g, op, "ignore_index", -100).constant();
    if (!constant) {
      op.emitOpError("smooths labels with an ignore_index that is not constant");
      return {};
    }
    Value isIgnored = g.create<EqScalarOp>({target, g.i64(*constant)});
    Value spread = logProbabilities;
    if (op.getWeight())
      spread = g.create<MulOp>({spread, op.getWeight()});
    spread = g.create<NegOp>({g.create<SumDimOp>({spread, g.ints({-1})})});
    spread = maskedOut(g, spread, isIgnored);
    if (reduction != reductionNone)
      spread = g.create<SumOp>({spread});
    if (reduction == reductionMean) {
      // By the number, or the weight, of labels that are not ignored.
      Value weights =
          op.getWeight()
              ? maskedOut(g, g.create<IndexOp>({op.getWeight(), ArgValue::Tensors{maskedOut(g, target, isIgnored)}}),
                          isIgnored)
              : castTo(g, g.create<LogicalNotOp>({isIgnored}), shape.elementType);
      spread = g.create<DivOp>({spread, g.create<SumOp>({weights})});
    }
    loss = g.create<AddOp>({scaled(g, loss, 1 - smoothing), divided(g, scaled(g, spread, smoothing), classes)});
  }
  return reduction == reductionNone ? reshaped(g, loss, targets.dims) : loss;
}

} // namespace decompositions

LogicalResult decompose(func::FuncOp function, ShapeAnalysis &shapes) {
  if (function.isExternal())
    return success();
  OpBuilder builder(function.getContext());
  auto nothing = [](Value) { return false; };
  GradientBuilder g(builder, shapes, nothing);
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (!isa<LayerNormOp, RmsNormOp, GroupNormOp, CrossEntropyLossOp, ScaledDotProductAttentionOp>(op))
      continue;
    builder.setInsertionPoint(&op);
    g.startOp(&op, {});
    if (failed(g.checkShapes(&op)))
      return failure();
    Value result =
        llvm::TypeSwitch<Operation *, Value>(&op)
            .Case([&](LayerNormOp norm) { return decompositions::layerNorm(norm, g); })
            .Case([&](RmsNormOp norm) { return decompositions::rmsNorm(norm, g); })
            .Case([&](GroupNormOp norm) { return decompositions::groupNorm(norm, g); })
            .Case([&](CrossEntropyLossOp loss) { return decompositions::crossEntropy(loss, g); })
            .Case([&](ScaledDotProductAttentionOp attention) { return decompositions::attention(attention, g); });
    if (!result || g.hasFailed())
      return failure();
    op.getResult(0).replaceAllUsesWith(result);
    shapes.erase(&op);
  }
  return success();
}

namespace {
struct Decompose : impl::DecomposeBase<Decompose> {
  void runOnOperation() override {
    ShapeAnalysis shapes(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(decompose(function, shapes)))
        return signalPassFailure();
    shapes.storeGuards();
  }
};
} // namespace
} // namespace braid
