//===- ContractionGradients.cpp - Gradients of matrix products and convolutions -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of the left factor and that of the right one are separate ops throughout, so that those of parameters
// can wait while those of inputs go on.
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

/// The last two dims exchanged.
static Value transposed(GradientBuilder &g, Value matrix) {
  if (g.shapeOf(matrix).rank() == 2)
    return g.create<TOp>({matrix});
  return g.create<TransposeOp>({matrix, g.i64(-2), g.i64(-1)});
}

/// All dims but the last one folded into one.
static Value asRows(GradientBuilder &g, Value tensor) {
  TensorShape shape = g.shapeOf(tensor);
  if (!tensor || shape.rank() == 2)
    return tensor;
  Expr last = shape.dims.pop_back_val();
  return reshaped(g, tensor, {shape.numElements(), last});
}

//===----------------------------------------------------------------------===//
// Matrices and batches of matrices
//===----------------------------------------------------------------------===//

/// y = a b, with as many batch dims in each.
template <typename ProductOp>
static void product(GradientBuilder &g, Value dy, Value a, Value b, TypedAttr factor = {}) {
  if (g.needs(a))
    g.add(a, scaled(g, g.create<ProductOp>({dy, transposed(g, b)}), factor));
  if (g.needs(b))
    g.add(b, scaled(g, g.create<ProductOp>({transposed(g, a), dy}), factor));
}

LogicalResult mm(MmOp op, GradientBuilder &g) {
  product<MmOp>(g, g.cotangent(), op.getSelf(), op.getMat2());
  return success();
}

LogicalResult bmm(BmmOp op, GradientBuilder &g) {
  product<BmmOp>(g, g.cotangent(), op.getSelf(), op.getMat2());
  return success();
}

LogicalResult addmm(AddmmOp op, GradientBuilder &g) {
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), scaled(g, g.sumTo(g.cotangent(), op.getSelf()), op.getBetaAttr()));
  product<MmOp>(g, g.cotangent(), op.getMat1(), op.getMat2(), op.getAlphaAttr());
  return success();
}

LogicalResult baddbmm(BaddbmmOp op, GradientBuilder &g) {
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), scaled(g, g.sumTo(g.cotangent(), op.getSelf()), op.getBetaAttr()));
  product<BmmOp>(g, g.cotangent(), op.getBatch1(), op.getBatch2(), op.getAlphaAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

/// The gradient of one factor, in the shape of the factor: `gradient` may have more batch dims.
static void addFactor(GradientBuilder &g, Value factor, bool isRow, Value gradient) {
  TensorShape shape = g.shapeOf(factor), given = g.shapeOf(gradient), matrix = shape;
  if (isRow)
    matrix.dims.insert(matrix.dims.begin(), Expr(1));
  // Batch dims over which the factor was repeated.
  SmallVector<int64_t> summed;
  int64_t extra = given.rank() - matrix.rank();
  for (int64_t dim = 0; dim < given.rank() - 2; ++dim)
    if (dim < extra || (ShapeAnalysis::isOne(matrix.dims[dim - extra]) && !ShapeAnalysis::isOne(given.dims[dim])))
      summed.push_back(dim);
  if (!summed.empty())
    gradient = g.create<SumDimOp>({gradient, g.ints(summed), g.boolean(true)});
  g.add(factor, reshaped(g, gradient, shape.dims));
}

LogicalResult matmul(MatmulOp op, GradientBuilder &g) {
  Value self = op.getSelf(), other = op.getOther(), dy = g.cotangent();
  int64_t selfRank = g.shapeOf(self).rank(), otherRank = g.shapeOf(other).rank();
  if (selfRank == 1 && otherRank == 1) {
    if (g.needs(self))
      g.add(self, g.create<MulOp>({dy, other}));
    if (g.needs(other))
      g.add(other, g.create<MulOp>({dy, self}));
    return success();
  }
  // A vector on the left is a row, one on the right a column; the result lacks that dim.
  auto row = [&] { return selfRank == 1 ? g.create<UnsqueezeOp>({self, g.i64(0)}) : self; };
  auto column = [&] { return otherRank == 1 ? g.create<UnsqueezeOp>({other, g.i64(-1)}) : other; };
  if (selfRank == 1)
    dy = g.create<UnsqueezeOp>({dy, g.i64(-2)});
  if (otherRank == 1)
    dy = g.create<UnsqueezeOp>({dy, g.i64(-1)});
  if (g.needs(self))
    addFactor(g, self, selfRank == 1, g.create<MatmulOp>({dy, transposed(g, column())}));
  if (!g.needs(other))
    return success();
  if (otherRank <= 2) {
    // One matrix on the right for all batches: its gradient is one product, not a sum of many.
    Value product = g.create<MmOp>({transposed(g, asRows(g, row())), asRows(g, dy)});
    g.add(other, reshaped(g, product, g.shapeOf(other).dims));
  } else {
    addFactor(g, other, false, g.create<MatmulOp>({transposed(g, row()), dy}));
  }
  return success();
}

LogicalResult linear(LinearOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  TensorShape input = g.shapeOf(op.getInput());
  if (g.needs(op.getInput()))
    g.add(op.getInput(), g.create<MatmulOp>({dy, op.getWeight()}));
  if (g.needs(op.getWeight())) {
    Value rows = asRows(g, dy);
    g.add(op.getWeight(), g.create<MmOp>({transposed(g, rows), asRows(g, op.getInput())}));
  }
  if (op.getBias() && g.needs(op.getBias()))
    g.add(op.getBias(), g.sumTo(dy, op.getBias()));
  return success();
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

LogicalResult convolution(ConvolutionOp op, GradientBuilder &g) {
  Value dy = g.cotangent(), input = op.getInput(), weight = op.getWeight(), bias = op.getBias();
  TensorShape result = g.shapeOf(op.getResult());
  auto backward = [&](Value inputOrShape, unsigned number) {
    SmallVector<bool> mask(3);
    mask[number] = true;
    return g.createMany<ConvolutionBackwardOp>(
        {dy, inputOrShape, weight, g.sizes({result.dims[1]}), argument(op, "stride"), argument(op, "padding"),
         argument(op, "dilation"), argument(op, "transposed"), argument(op, "output_padding"), argument(op, "groups"),
         g.bools(mask)})[number];
  };
  // The input's gradient asks of the input for its shape alone: the input itself need not be kept for it.
  if (g.needs(input))
    g.add(input, backward(zeros(g, g.shapeOf(input)), 0));
  if (g.needs(weight))
    g.add(weight, backward(input, 1));
  if (bias && g.needs(bias)) {
    SmallVector<int64_t> dims = {0};
    llvm::append_range(dims, llvm::seq<int64_t>(2, result.rank()));
    g.add(bias, g.create<SumDimOp>({dy, g.ints(dims)}));
  }
  return success();
}

} // namespace braid::gradients
