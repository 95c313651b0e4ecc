//===- ReductionGradients.cpp - Gradients of reductions and scans ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

/// The number of elements that one result was made of.
static Expr countOf(GradientBuilder &g, Value self, ArrayRef<int64_t> dims) {
  const TensorShape &shape = g.shapeOf(self);
  Expr count = 1;
  for (int64_t dim : dims)
    count = count * shape.dims[dim];
  return count;
}

//===----------------------------------------------------------------------===//
// Sums and means
//===----------------------------------------------------------------------===//

static LogicalResult spread(Value self, std::optional<ArrayRef<int64_t>> dim, bool mean, GradientBuilder &g) {
  SmallVector<int64_t> dims = wrapDims(dim, g.shapeOf(self).rank());
  Value dx = unreduced(g, g.cotangent(), self, dims);
  if (mean)
    dx = divided(g, dx, countOf(g, self, dims));
  g.add(self, expandedTo(g, dx, self));
  return success();
}

LogicalResult sum(SumOp op, GradientBuilder &g) { return spread(op.getSelf(), std::nullopt, false, g); }
LogicalResult sumDim(SumDimOp op, GradientBuilder &g) { return spread(op.getSelf(), op.getDim(), false, g); }
LogicalResult mean(MeanOp op, GradientBuilder &g) { return spread(op.getSelf(), std::nullopt, true, g); }
LogicalResult meanDim(MeanDimOp op, GradientBuilder &g) { return spread(op.getSelf(), op.getDim(), true, g); }

static LogicalResult variance(Value self, std::optional<ArrayRef<int64_t>> dim, double correction, GradientBuilder &g) {
  SmallVector<int64_t> dims = wrapDims(dim, g.shapeOf(self).rank());
  Value mean = g.create<MeanDimOp>({self, g.ints(dims), g.boolean(true)});
  Value centered = g.create<SubOp>({self, mean});
  Value dy = scaled(g, unreduced(g, g.cotangent(), self, dims), 2.0);
  Expr count = countOf(g, self, dims);
  if (correction == static_cast<int64_t>(correction)) {
    dy = divided(g, dy, count - Expr(static_cast<int64_t>(correction)));
  } else {
    std::optional<int64_t> constant = count.constant();
    if (!constant)
      return emitError(g.getLoc()) << "the variance over " << count.str() << " elements with correction " << correction
                                   << ": a fractional correction needs constant sizes to be differentiated";
    dy = g.create<DivScalarOp>({dy, g.f64(*constant - correction)});
  }
  g.add(self, g.create<MulOp>({dy, centered}));
  return success();
}

LogicalResult varCorrection(VarCorrectionOp op, GradientBuilder &g) {
  return variance(op.getSelf(), op.getDim(), toDouble(op.getCorrectionAttr(), 1), g);
}
LogicalResult varDim(VarDimOp op, GradientBuilder &g) {
  return variance(op.getSelf(), op.getDim(), op.getUnbiased() ? 1 : 0, g);
}

LogicalResult logsumexp(LogsumexpOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  SmallVector<int64_t> dims = wrapDims(op.getDim(), g.shapeOf(self).rank());
  Value share = g.create<ExpOp>({g.create<SubOp>({self, unreduced(g, op.getResult(), self, dims)})});
  g.add(self, g.create<MulOp>({unreduced(g, g.cotangent(), self, dims), share}));
  return success();
}

//===----------------------------------------------------------------------===//
// Extrema
//===----------------------------------------------------------------------===//

/// Every element that equals the extremum takes an equal share.
static LogicalResult shareAmongEqual(Operation *op, std::optional<ArrayRef<int64_t>> dim, GradientBuilder &g) {
  Value self = op->getOperand(0);
  SmallVector<int64_t> dims = wrapDims(dim, g.shapeOf(self).rank());
  Value chosen = g.create<EqOp>({self, unreduced(g, op->getResult(0), self, dims)});
  Value mask = castTo(g, chosen, g.shapeOf(self).elementType);
  Value count = dims.empty() ? mask : g.create<SumDimOp>({mask, g.ints(dims), g.boolean(true)});
  Value share = g.create<DivOp>({unreduced(g, g.cotangent(), self, dims), count});
  g.add(self, g.create<MulOp>({mask, share}));
  return success();
}

LogicalResult amax(AmaxOp op, GradientBuilder &g) { return shareAmongEqual(op, op.getDim(), g); }
LogicalResult amin(AminOp op, GradientBuilder &g) { return shareAmongEqual(op, op.getDim(), g); }
LogicalResult max(MaxOp op, GradientBuilder &g) { return shareAmongEqual(op, std::nullopt, g); }
LogicalResult min(MinOp op, GradientBuilder &g) { return shareAmongEqual(op, std::nullopt, g); }

/// The results are elements of `self`, at `indices` along `dim`.
static LogicalResult scatterBack(Value self, Value indices, int64_t dim, bool squeezed, GradientBuilder &g) {
  TensorShape shape = g.shapeOf(self);
  Value dy = g.cotangent();
  if (!dy)
    return success();
  if (shape.rank() == 0) {
    g.add(self, reshaped(g, dy, shape.dims));
    return success();
  }
  dim = wrapDim(dim, shape.rank());
  if (squeezed) {
    dy = g.create<UnsqueezeOp>({dy, g.i64(dim)});
    indices = g.create<UnsqueezeOp>({indices, g.i64(dim)});
  }
  g.add(self, g.create<ScatterAddOp>({zeros(g, shape), g.i64(dim), indices, dy}));
  return success();
}

LogicalResult maxDim(MaxDimOp op, GradientBuilder &g) {
  return scatterBack(op.getSelf(), op.getIndices(), op.getDim(), !op.getKeepdim(), g);
}
LogicalResult minDim(MinDimOp op, GradientBuilder &g) {
  return scatterBack(op.getSelf(), op.getIndices(), op.getDim(), !op.getKeepdim(), g);
}
LogicalResult sort(SortOp op, GradientBuilder &g) {
  return scatterBack(op.getSelf(), op.getIndices(), op.getDim(), false, g);
}
LogicalResult topk(TopkOp op, GradientBuilder &g) {
  return scatterBack(op.getSelf(), op.getIndices(), op.getDim(), false, g);
}

//===----------------------------------------------------------------------===//
// Along a dim
//===----------------------------------------------------------------------===//

LogicalResult cumsum(CumsumOp op, GradientBuilder &g) {
  Value self = op.getSelf(), dx = castTo(g, g.cotangent(), g.shapeOf(self).elementType);
  if (int64_t rank = g.shapeOf(self).rank()) {
    int64_t dim = wrapDim(op.getDim(), rank);
    Value backwards = g.create<CumsumOp>({g.create<FlipOp>({dx, g.ints({dim})}), g.i64(dim)});
    dx = g.create<FlipOp>({backwards, g.ints({dim})});
  }
  g.add(self, dx);
  return success();
}

LogicalResult diff(DiffOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  int64_t rank = g.shapeOf(self).rank(), dim = wrapDim(op.getDim(), rank);
  TensorShape whole = g.shapeOf(self);
  SmallVector<Value> parts;
  if (op.getPrepend())
    parts.push_back(op.getPrepend());
  parts.push_back(self);
  if (op.getAppend())
    parts.push_back(op.getAppend());
  whole.dims[dim] = 0;
  for (Value part : parts)
    whole.dims[dim] = whole.dims[dim] + g.shapeOf(part).dims[dim];
  // Once for each application, from the last one: y = x[1:] - x[:-1].
  Value dx = g.cotangent();
  auto lessBy = [&](int64_t count) {
    Expr size = whole.dims[dim] - Expr(count);
    return size.atLeast(0) ? size : Expr::max(size, 0);
  };
  for (int64_t left = op.getN(); left-- > 0;) {
    TensorShape before = whole;
    before.dims[dim] = lessBy(left);
    auto placed = [&](int64_t start, ArgValue end) {
      return g.create<SliceBackwardOp>({dx, g.sizes(before.dims), g.i64(dim), g.i64(start), end, g.i64(1)});
    };
    Value upper = placed(1, g.i64(std::numeric_limits<int64_t>::max())), lower = placed(0, g.i64(-1));
    dx = g.create<SubOp>({upper, lower});
  }
  Expr start = 0;
  for (Value part : parts) {
    Expr end = start + g.shapeOf(part).dims[dim];
    if (g.needs(part))
      g.add(part, parts.size() == 1 ? dx : g.create<SliceOp>({dx, g.i64(dim), g.size(start), g.size(end), g.i64(1)}));
    start = end;
  }
  return success();
}

} // namespace braid::gradients
