//===- ViewGradients.cpp - Gradients of views, copies and joins -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

//===----------------------------------------------------------------------===//
// The same elements in another shape or order
//===----------------------------------------------------------------------===//

static LogicalResult reshapeBack(Value self, GradientBuilder &g) {
  g.add(self, reshaped(g, g.cotangent(), g.shapeOf(self).dims));
  return success();
}

LogicalResult view(Operation *op, GradientBuilder &g) { return reshapeBack(op->getOperand(0), g); }
LogicalResult flatten(FlattenOp op, GradientBuilder &g) { return reshapeBack(op.getSelf(), g); }
LogicalResult unflatten(UnflattenOp op, GradientBuilder &g) { return reshapeBack(op.getSelf(), g); }
LogicalResult unsqueeze(UnsqueezeOp op, GradientBuilder &g) { return reshapeBack(op.getSelf(), g); }
LogicalResult squeeze(SqueezeOp op, GradientBuilder &g) { return reshapeBack(op.getSelf(), g); }
LogicalResult squeezeDim(SqueezeDimOp op, GradientBuilder &g) { return reshapeBack(op.getSelf(), g); }
LogicalResult squeezeDims(SqueezeDimsOp op, GradientBuilder &g) { return reshapeBack(op.getSelf(), g); }

LogicalResult permute(PermuteOp op, GradientBuilder &g) {
  ArrayRef<int64_t> dims = op.getDims().value_or(ArrayRef<int64_t>());
  SmallVector<int64_t> inverse(dims.size());
  for (auto [to, from] : llvm::enumerate(dims))
    inverse[wrapDim(from, dims.size())] = to;
  g.add(op.getSelf(), g.create<PermuteOp>({g.cotangent(), g.ints(inverse)}));
  return success();
}

LogicalResult transpose(TransposeOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<TransposeOp>({g.cotangent(), g.i64(op.getDim0()), g.i64(op.getDim1())}));
  return success();
}

LogicalResult t(TOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<TOp>({g.cotangent()}));
  return success();
}

LogicalResult flip(FlipOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<FlipOp>({g.cotangent(), argument(op, "dims")}));
  return success();
}

LogicalResult roll(RollOp op, GradientBuilder &g) {
  Sizes shifts;
  for (const Expr &shift : sizesArgument(g, op, "shifts"))
    shifts.push_back(Expr(0) - shift);
  g.add(op.getSelf(), g.create<RollOp>({g.cotangent(), g.sizes(shifts), argument(op, "dims")}));
  return success();
}

LogicalResult triu(TriuOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<TriuOp>({g.cotangent(), argument(op, "diagonal")}));
  return success();
}

LogicalResult tril(TrilOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<TrilOp>({g.cotangent(), argument(op, "diagonal")}));
  return success();
}

//===----------------------------------------------------------------------===//
// Repeated elements
//===----------------------------------------------------------------------===//

LogicalResult expand(ExpandOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.sumTo(g.cotangent(), op.getSelf()));
  return success();
}

LogicalResult expandAs(ExpandAsOp op, GradientBuilder &g) {
  // `other` gives its shape only.
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(g.cotangent(), op.getSelf()));
  return success();
}

LogicalResult broadcastTensors(BroadcastTensorsOp op, GradientBuilder &g) {
  for (auto [number, tensor] : llvm::enumerate(op.getTensors()))
    if (g.cotangent(number) && g.needs(tensor))
      g.add(tensor, g.sumTo(g.cotangent(number), tensor));
  return success();
}

LogicalResult repeat(RepeatOp op, GradientBuilder &g) {
  // Each dim n that is repeated r times is taken apart into [r, n], and the r summed.
  TensorShape shape = g.shapeOf(op.getSelf());
  Sizes repeats = sizesArgument(g, op, "repeats");
  int64_t leading = static_cast<int64_t>(repeats.size()) - shape.rank();
  Sizes apart;
  SmallVector<int64_t> summed;
  for (auto [dim, count] : llvm::enumerate(repeats)) {
    bool isNew = static_cast<int64_t>(dim) < leading;
    if (isNew || count.constant() != 1) {
      summed.push_back(apart.size());
      apart.push_back(count);
    }
    if (!isNew)
      apart.push_back(shape.dims[dim - leading]);
  }
  Value dx = reshaped(g, g.cotangent(), apart);
  if (!summed.empty())
    dx = g.create<SumDimOp>({dx, g.ints(summed)});
  g.add(op.getSelf(), dx);
  return success();
}

LogicalResult repeatInterleave(RepeatInterleaveOp op, GradientBuilder &g) {
  TensorShape shape = g.shapeOf(op.getSelf());
  Expr repeats = sizeArgument(g, op, "repeats");
  Sizes apart(shape.dims);
  int64_t at = 1;
  if (std::optional<int64_t> dim = op.getDim(); dim && shape.rank() > 0) {
    at = wrapDim(*dim, shape.rank()) + 1;
    apart.insert(apart.begin() + at, repeats);
  } else {
    apart = {shape.numElements(), repeats};
  }
  Value dx = g.create<SumDimOp>({reshaped(g, g.cotangent(), apart), g.ints({at})});
  g.add(op.getSelf(), reshaped(g, dx, shape.dims));
  return success();
}

//===----------------------------------------------------------------------===//
// More elements
//===----------------------------------------------------------------------===//

/// Padding by a negative amount takes away what was added, and the other way round.
static LogicalResult unpad(Operation *op, GradientBuilder &g) {
  Sizes amounts;
  for (const Expr &amount : sizesArgument(g, op, "pad"))
    amounts.push_back(Expr(0) - amount);
  g.add(op->getOperand(0), g.create<ConstantPadNdOp>({g.cotangent(), g.sizes(amounts), g.i64(0)}));
  return success();
}

LogicalResult pad(PadOp op, GradientBuilder &g) {
  if (op.getMode().value_or("constant") != "constant")
    return byAutograd(op, g);
  return unpad(op, g);
}

LogicalResult constantPadNd(ConstantPadNdOp op, GradientBuilder &g) { return unpad(op, g); }

LogicalResult cat(CatOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  int64_t rank = g.shapeOf(op.getResult()).rank(), dim = wrapDim(op.getDim(), rank);
  Expr start = 0;
  for (Value tensor : op.getTensors()) {
    TensorShape shape = g.shapeOf(tensor);
    // An empty tensor of rank 1 may stand among tensors of any rank; it adds nothing.
    if (shape.rank() != rank)
      continue;
    Expr end = start + shape.dims[dim];
    if (g.needs(tensor)) {
      Value part = g.create<SliceOp>({dy, g.i64(dim), g.size(start), g.size(end), g.i64(1)});
      g.add(tensor, castTo(g, part, shape.elementType));
    }
    start = end;
  }
  return success();
}

LogicalResult stack(StackOp op, GradientBuilder &g) {
  int64_t dim = wrapDim(op.getDim(), g.shapeOf(op.getResult()).rank());
  for (auto [number, tensor] : llvm::enumerate(op.getTensors()))
    if (g.needs(tensor)) {
      Value part = g.create<SelectOp>({g.cotangent(), g.i64(dim), g.i64(number)});
      g.add(tensor, castTo(g, part, g.shapeOf(tensor).elementType));
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Fewer elements
//===----------------------------------------------------------------------===//

LogicalResult select(SelectOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  g.add(self, g.create<SelectBackwardOp>({g.cotangent(), g.sizes(self), g.i64(op.getDim()), argument(op, "index")}));
  return success();
}

LogicalResult slice(SliceOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  g.add(self,
        g.create<SliceBackwardOp>({g.cotangent(), g.sizes(self), g.i64(op.getDim()), argumentOr(op, "start", g.i64(0)),
                                   argumentOr(op, "end", g.i64(std::numeric_limits<int64_t>::max())),
                                   argumentOr(op, "step", g.i64(1))}));
  return success();
}

LogicalResult sliceScatter(SliceScatterOp op, GradientBuilder &g) {
  ArgValue dim = g.i64(op.getDim()), start = argument(op, "start"), end = argument(op, "end"),
           step = argumentOr(op, "step", g.i64(1));
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(),
          g.create<SliceScatterOp>({g.cotangent(), zeros(g, g.shapeOf(op.getSrc())), dim, start, end, step}));
  if (g.needs(op.getSrc()))
    g.add(op.getSrc(),
          castTo(g, g.create<SliceOp>({g.cotangent(), dim, start, end, step}), g.shapeOf(op.getSrc()).elementType));
  return success();
}

LogicalResult narrow(NarrowOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  TensorShape shape = g.shapeOf(self);
  int64_t dim = wrapDim(op.getDim(), shape.rank());
  Expr start = sizeArgument(g, op, "start");
  if (std::optional<int64_t> constant = start.constant(); constant && *constant < 0)
    start = start + shape.dims[dim];
  Expr end = start + sizeArgument(g, op, "length");
  g.add(self, g.create<SliceBackwardOp>(
                  {g.cotangent(), g.sizes(shape.dims), g.i64(dim), g.size(start), g.size(end), g.i64(1)}));
  return success();
}

/// Results are consecutive pieces of `self`. Pieces that have no cotangent count as zero.
static LogicalResult joinPieces(Operation *op, Value self, int64_t dim, GradientBuilder &g) {
  TensorShape shape = g.shapeOf(self);
  dim = wrapDim(dim, shape.rank());
  SmallVector<Value> present;
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    if (g.cotangent(number))
      present.push_back(g.cotangent(number));
  ArgValue::Tensors pieces;
  Expr start = 0;
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    Expr end = start + g.shapeOf(result).dims[dim];
    Value dy = g.cotangent(number);
    if (dy && present.size() == 1) {
      g.add(self, op->getNumResults() == 1 ? dy
                                           : g.create<SliceBackwardOp>({dy, g.sizes(shape.dims), g.i64(dim),
                                                                        g.size(start), g.size(end), g.i64(1)}));
      return success();
    }
    pieces.push_back(dy ? dy : zeros(g, g.shapeOf(result)));
    start = end;
  }
  g.add(self, g.create<CatOp>({pieces, g.i64(dim)}));
  return success();
}

LogicalResult split(SplitOp op, GradientBuilder &g) { return joinPieces(op, op.getSelf(), op.getDim(), g); }
LogicalResult splitWithSizes(SplitWithSizesOp op, GradientBuilder &g) {
  return joinPieces(op, op.getSelf(), op.getDim(), g);
}
LogicalResult chunk(ChunkOp op, GradientBuilder &g) { return joinPieces(op, op.getSelf(), op.getDim(), g); }

LogicalResult unbind(UnbindOp op, GradientBuilder &g) {
  TensorShape shape = g.shapeOf(op.getSelf());
  int64_t dim = wrapDim(op.getDim(), shape.rank());
  ArgValue::Tensors pieces;
  SmallVector<unsigned> present;
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    if (g.cotangent(number))
      present.push_back(number);
  if (present.size() == 1 && op->getNumResults() > 1) {
    g.add(op.getSelf(), g.create<SelectBackwardOp>(
                            {g.cotangent(present.front()), g.sizes(shape.dims), g.i64(dim), g.i64(present.front())}));
    return success();
  }
  for (auto [number, result] : llvm::enumerate(op->getResults()))
    pieces.push_back(g.cotangent(number) ? g.cotangent(number) : zeros(g, g.shapeOf(result)));
  g.add(op.getSelf(), g.create<StackOp>({pieces, g.i64(dim)}));
  return success();
}

LogicalResult unfold(UnfoldOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<UnfoldBackwardOp>({g.cotangent(), g.sizes(op.getSelf()), g.i64(op.getDimension()),
                                                  g.i64(op.getSize()), g.i64(op.getStep())}));
  return success();
}

LogicalResult sliceBackward(SliceBackwardOp op, GradientBuilder &g) {
  g.add(op.getGradOutput(), g.create<SliceOp>({g.cotangent(), g.i64(op.getDim()), argument(op, "start"),
                                               argument(op, "end"), argument(op, "step")}));
  return success();
}

LogicalResult selectBackward(SelectBackwardOp op, GradientBuilder &g) {
  g.add(op.getGradOutput(), g.create<SelectOp>({g.cotangent(), g.i64(op.getDim()), argument(op, "index")}));
  return success();
}

} // namespace braid::gradients
