//===- DecomposeAttention.cpp - Attention as kernel or formula ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen's scaled_dot_product_attention picks a kernel at run time. The choice is made here, by the same conditions where
// the compiler can tell: the fused CPU kernel saves one logarithm for each row instead of all scores. It neither checks
// nor handles everything that it is given: it reads vectors as if they lay dense in memory, and dies on sequences of
// length zero.
//
//===----------------------------------------------------------------------===//

#include "DecomposeRules.h"

#include "braid/Dialect/Braid/IR/Random.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace braid::decompositions {
using namespace gradients;

/// Whether any dim may have stride 0: whether the value is a view of something expanded.
static bool mayBeExpanded(Value value) {
  for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (isa<LinearOp, MmOp, BmmOp, AddmmOp, BaddbmmOp, MatmulOp, NativeLayerNormOp, EmbeddingOp, RepeatInterleaveOp,
            RepeatOp, AddOp, SubOp, MulOp, DivOp, CatOp>(op))
      return false;
    if (!isa<TransposeOp, PermuteOp, ViewOp, UnflattenOp, SqueezeOp, SqueezeDimOp, SqueezeDimsOp, SelectOp, UnbindOp,
             UnsqueezeOp, SliceOp, NarrowOp, SplitOp, SplitWithSizesOp, ChunkOp, NegOp, ToOp, AddScalarOp, MulScalarOp,
             DivScalarOp, DropoutOp>(op))
      return true;
  }
  return true;
}

/// Whether elements of the last dim surely lie next to each other in memory, however the others lie.
static bool isLastDimDense(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto rank = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); };
  auto first = [&] { return isLastDimDense(op->getOperand(0)); };
  auto isLast = [&](int64_t dim) { return wrapDim(dim, rank(op->getOperand(0))) == rank(op->getOperand(0)) - 1; };
  return llvm::TypeSwitch<Operation *, bool>(op)
      // Made anew, densely.
      .Case<LinearOp, MmOp, BmmOp, AddmmOp, BaddbmmOp, MatmulOp, NativeLayerNormOp, EmbeddingOp, RepeatInterleaveOp,
            RepeatOp, TriuOp, TrilOp, ZerosOp, OnesOp, FullOp>([](auto) { return true; })
      // The last dim stays the last, whole or cut at its ends.
      .Case([&](TransposeOp transpose) {
        return !isLast(transpose.getDim0()) && !isLast(transpose.getDim1()) && first();
      })
      .Case([&](PermuteOp permute) {
        std::optional<ArrayRef<int64_t>> dims = permute.getDims();
        return dims && !dims->empty() && isLast(dims->back()) && first();
      })
      .Case<ViewOp, ReshapeOp, FlattenOp, UnflattenOp, SqueezeOp, SqueezeDimOp, SqueezeDimsOp>([&](auto) {
        // Strides of a dim of size 1 mean nothing, and such a dim may be split or merged away.
        auto last = cast<RankedTensorType>(op->getOperand(0).getType());
        return last.getRank() > 0 && last.getDimSize(last.getRank() - 1) != 1 && first();
      })
      .Case([&](SelectOp select) { return !isLast(select.getDim()) && first(); })
      .Case([&](UnbindOp unbind) { return !isLast(unbind.getDim()) && first(); })
      .Case([&](UnsqueezeOp unsqueeze) {
        int64_t dim = unsqueeze.getDim(), after = rank(unsqueeze.getResult());
        return wrapDim(dim, after) != after - 1 && first();
      })
      .Case([&](SliceOp slice) {
        bool dense = slice.getStaticStep().value_or(1) == 1 && !slice.getStep();
        return (dense || !isLast(slice.getDim())) && first();
      })
      .Case<NarrowOp, SplitOp, SplitWithSizesOp, ChunkOp>([&](auto) { return first(); })
      .Case([&](ExpandOp expand) {
        auto from = cast<RankedTensorType>(expand.getSelf().getType());
        return from.getRank() > 0 && from.getDimSize(from.getRank() - 1) != 1 && first();
      })
      .Case([&](CatOp cat) { return llvm::all_of(cat.getTensors(), [](Value part) { return isLastDimDense(part); }); })
      // Elementwise results lie as the first operand does if it has every element; else as all do.
      .Case<AddOp, SubOp, MulOp, DivOp>([&](auto) {
        if (op->getOperand(0).getType() == op->getResult(0).getType() && !mayBeExpanded(op->getOperand(0)))
          return first();
        int64_t whole = rank(op->getResult(0));
        bool any = false;
        for (Value operand : op->getOperands()) {
          if (rank(operand) < whole)
            continue;
          any = true;
          if (!isLastDimDense(operand))
            return false;
        }
        return any;
      })
      .Case<NegOp, ToOp, AddScalarOp, MulScalarOp, DivScalarOp, DropoutOp, ZerosLikeOp, OnesLikeOp, FullLikeOp>(
          [&](auto) { return first(); })
      .Case<MaskedFillScalarOp, MaskedFillTensorOp>([&](auto) {
        // Where the mask is larger, it is an expanded tensor that is filled.
        return op->getOperand(0).getType() == op->getResult(0).getType() && first();
      })
      .Default(false);
}

/// The value itself where its last dim is known to be dense, else a dense copy: repeated once.
static Value dense(Value value, GradientBuilder &g) {
  if (isLastDimDense(value))
    return value;
  return g.create<RepeatOp>({value, g.sizes(Sizes(g.shapeOf(value).rank(), Expr(1)))});
}

/// The mask with 0 for true and -infinity for false; an additive mask as it is.
static Value additive(Value mask, Type elementType, GradientBuilder &g) {
  if (!g.shapeOf(mask).elementType.isInteger(1))
    return mask;
  auto number = [&](double value) -> Value {
    auto type = RankedTensorType::get({}, elementType);
    OpBuilder &builder = g.getBuilder();
    return ConstantOp::create(builder, g.getLoc(), type,
                              DenseElementsAttr::get(type, builder.getFloatAttr(elementType, value)));
  };
  return g.create<WhereOp>({mask, number(0), number(-std::numeric_limits<double>::infinity())});
}

namespace {
struct Attention {
  Value query, key, value, mask;
  bool causal;
  std::optional<double> scale;
  ScaledDotProductAttentionOp dropping; // null unless weights are dropped
};
} // namespace

/// What ATen asks of operands before it takes the fused kernel, as far as shapes and types tell.
static bool fitsKernel(const Attention &parts, GradientBuilder &g) {
  if (parts.dropping) // the kernel has no dropout
    return false;
  TensorShape query = g.shapeOf(parts.query), key = g.shapeOf(parts.key), value = g.shapeOf(parts.value);
  Type type = query.elementType;
  if (!type.isF64() && !type.isF32() && !type.isBF16() && !type.isF16())
    return false;
  if (key.elementType != type || value.elementType != type || query.rank() != 4 || key.rank() != 4 || value.rank() != 4)
    return false;
  for (int dim : {0, 1})
    if (!(query.dims[dim] == key.dims[dim]) || !(query.dims[dim] == value.dims[dim]))
      return false;
  if (!(query.dims[3] == key.dims[3]) || !(query.dims[3] == value.dims[3]) || !query.dims[3].atLeast(1))
    return false;
  if (!query.dims[1].atLeast(1) || !query.dims[2].atLeast(1) || !key.dims[2].atLeast(1))
    return false;
  if (!parts.mask)
    return true;
  TensorShape mask = g.shapeOf(parts.mask);
  Sizes scores = {query.dims[0], query.dims[1], query.dims[2], key.dims[2]};
  if (mask.rank() != 4 && mask.rank() != 2)
    return false;
  for (int64_t dim = 1; dim <= mask.rank(); ++dim) {
    const Expr &size = mask.dims[mask.rank() - dim];
    if (!ShapeAnalysis::isOne(size) && !(size == scores[4 - dim]))
      return false;
  }
  return true;
}

static Value fused(const Attention &parts, GradientBuilder &g) {
  Value mask = parts.mask;
  if (mask) {
    mask = additive(mask, g.shapeOf(parts.query).elementType, g);
    // One column for all keys has nothing to lie next to.
    if (mask == parts.mask && !ShapeAnalysis::isOne(g.shapeOf(mask).dims.back()))
      mask = dense(mask, g);
  }
  ArgValue scale = parts.scale ? g.f64(*parts.scale) : ArgValue();
  return g.create<FlashAttentionForCpuOp>({dense(parts.query, g), dense(parts.key, g), dense(parts.value, g), g.f64(0),
                                           g.boolean(parts.causal), mask, scale});
}

/// The weights of an attention, some of them dropped where it drops any.
static Value dropped(const Attention &parts, Value weights, GradientBuilder &g) {
  if (!parts.dropping)
    return weights;
  ScaledDotProductAttentionOp op = parts.dropping;
  Value result = g.create<DropoutOp>({weights, g.f64(op.getDropoutP().convertToDouble()), g.boolean(true)});
  if (result)
    copyDraw(op, result.getDefiningOp());
  return result;
}

static Value formula(const Attention &parts, GradientBuilder &g) {
  TensorShape query = g.shapeOf(parts.query), key = g.shapeOf(parts.key);
  double infinity = std::numeric_limits<double>::infinity();
  Value transposed = g.create<TransposeOp>({parts.key, g.i64(-2), g.i64(-1)});
  Value scores = g.create<MatmulOp>({scaledForSize(g, parts.query, parts.scale, query.dims.back()), transposed});
  if (parts.causal) {
    Sizes sizes = {query.dims[query.rank() - 2], key.dims[key.rank() - 2]};
    Value past = g.create<TrilOp>({g.create<OnesOp>({g.sizes(sizes), g.dtype(g.getBuilder().getI1Type())}), g.i64(0)});
    scores = g.create<MaskedFillScalarOp>({scores, g.create<LogicalNotOp>({past}), g.f64(-infinity)});
  }
  if (!parts.mask)
    return g.create<MatmulOp>({dropped(parts, g.create<SoftmaxOp>({scores, g.i64(-1)}), g), parts.value});

  if (g.shapeOf(parts.mask).elementType.isInteger(1))
    scores = g.create<MaskedFillScalarOp>({scores, g.create<LogicalNotOp>({parts.mask}), g.f64(-infinity)});
  else
    scores = g.create<AddOp>({scores, parts.mask});
  scores = castTo(g, scores, query.elementType);
  // A row that attends to nothing gives zeros, and so do its gradients: it is kept away from softmax's 0 / 0.
  Value nowhere = g.create<AllDimOp>({g.create<EqScalarOp>({scores, g.f64(-infinity)}), g.i64(-1), g.boolean(true)});
  Value shares = g.create<SoftmaxOp>({maskedOut(g, scores, nowhere), g.i64(-1)});
  return g.create<MatmulOp>({dropped(parts, maskedOut(g, shares, nowhere), g), parts.value});
}

Value attention(ScaledDotProductAttentionOp op, GradientBuilder &g) {
  Attention parts{op.getQuery(), op.getKey(), op.getValue(), op.getAttnMask(), op.getIsCausal(), std::nullopt, {}};
  if (drawsRandomNumbers(op))
    parts.dropping = op;
  if (op.getScale())
    parts.scale = op.getScale()->convertToDouble();
  if (op.getEnableGqa()) {
    // Each head of key and value serves a group of the query's heads.
    TensorShape query = g.shapeOf(parts.query);
    Expr heads = query.dims[query.rank() - 3];
    for (Value *shared : {&parts.key, &parts.value}) {
      TensorShape shape = g.shapeOf(*shared);
      Expr count = Expr::floorDiv(heads, shape.dims[shape.rank() - 3]);
      if (!(count == Expr(1)))
        *shared = g.create<RepeatInterleaveOp>({*shared, g.size(count), g.i64(shape.rank() - 3)});
    }
  }
  return fitsKernel(parts, g) ? fused(parts, g) : formula(parts, g);
}

} // namespace braid::decompositions
