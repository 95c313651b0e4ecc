//===- GatherScatterGradients.cpp - Gradients of reads and writes by index or mask -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

LogicalResult embedding(EmbeddingOp op, GradientBuilder &g) {
  Value weight = op.getWeight();
  ArgValue padding = argument(op, "padding_idx");
  if (std::holds_alternative<std::monostate>(padding.storage))
    padding = g.i64(-1);
  g.add(weight, g.create<EmbeddingDenseBackwardOp>({g.cotangent(), op.getIndices(), g.size(g.shapeOf(weight).dims[0]),
                                                    padding, g.boolean(op.getScaleGradByFreq())}));
  return success();
}

LogicalResult index(IndexOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  g.add(self,
        g.create<IndexPutOp>({zeros(g, g.shapeOf(self)), argument(op, "indices"), g.cotangent(), g.boolean(true)}));
  return success();
}

LogicalResult indexPut(IndexPutOp op, GradientBuilder &g) {
  Value dy = g.cotangent(), self = op.getSelf(), values = op.getValues();
  if (g.needs(self)) {
    TensorShape scalar{{}, g.shapeOf(self).elementType};
    g.add(self, op.getAccumulate()
                    ? dy
                    : g.create<IndexPutOp>({dy, argument(op, "indices"), zeros(g, scalar), g.boolean(false)}));
  }
  if (g.needs(values))
    g.add(values, g.sumTo(g.create<IndexOp>({dy, argument(op, "indices")}), values));
  return success();
}

LogicalResult indexSelect(IndexSelectOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  g.add(self, g.create<IndexAddOp>({zeros(g, g.shapeOf(self)), g.i64(op.getDim()), op.getIndex(), g.cotangent()}));
  return success();
}

LogicalResult indexAdd(IndexAddOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.cotangent());
  if (g.needs(op.getSource())) {
    Value rows = g.create<IndexSelectOp>({g.cotangent(), g.i64(op.getDim()), op.getIndex()});
    g.add(op.getSource(), scaled(g, reshaped(g, rows, g.shapeOf(op.getSource()).dims), op.getAlphaAttr()));
  }
  return success();
}

LogicalResult gather(GatherAlongOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  g.add(self, g.create<ScatterAddOp>({zeros(g, g.shapeOf(self)), g.i64(op.getDim()), op.getIndex(), g.cotangent()}));
  return success();
}

/// What was written is read back; where the index has fewer elements than `src`, the rest of `src` was not used.
static void addWritten(Operation *op, Value src, Value index, int64_t dim, GradientBuilder &g) {
  Value read = g.create<GatherAlongOp>({g.cotangent(), g.i64(dim), index});
  TensorShape from = g.shapeOf(read), to = g.shapeOf(src);
  Sizes amounts;
  bool smaller = false;
  for (int64_t at = from.rank(); at-- > 0;) {
    amounts.push_back(0);
    amounts.push_back(to.dims[at] - from.dims[at]);
    smaller |= !(to.dims[at] == from.dims[at]);
  }
  g.add(src, smaller ? g.create<ConstantPadNdOp>({read, g.sizes(amounts), g.i64(0)}) : read);
}

LogicalResult scatterAdd(ScatterAddOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.cotangent());
  if (g.needs(op.getSrc()))
    addWritten(op, op.getSrc(), op.getIndex(), op.getDim(), g);
  return success();
}

static void addUnwritten(Value self, Value index, int64_t dim, GradientBuilder &g) {
  if (g.needs(self))
    g.add(self, g.create<ScatterValueOp>({g.cotangent(), g.i64(dim), index, g.i64(0)}));
}

LogicalResult scatter(ScatterOp op, GradientBuilder &g) {
  addUnwritten(op.getSelf(), op.getIndex(), op.getDim(), g);
  if (g.needs(op.getSrc()))
    addWritten(op, op.getSrc(), op.getIndex(), op.getDim(), g);
  return success();
}

LogicalResult scatterValue(ScatterValueOp op, GradientBuilder &g) {
  addUnwritten(op.getSelf(), op.getIndex(), op.getDim(), g);
  return success();
}

//===----------------------------------------------------------------------===//
// By mask
//===----------------------------------------------------------------------===//

LogicalResult maskedFillScalar(MaskedFillScalarOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.sumTo(maskedOut(g, g.cotangent(), op.getMask()), op.getSelf()));
  return success();
}

LogicalResult maskedFillTensor(MaskedFillTensorOp op, GradientBuilder &g) {
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(maskedOut(g, g.cotangent(), op.getMask()), op.getSelf()));
  if (g.needs(op.getValue())) {
    Value filled = maskedOut(g, g.cotangent(), g.create<LogicalNotOp>({op.getMask()}));
    g.add(op.getValue(), g.sumTo(filled, op.getValue()));
  }
  return success();
}

static LogicalResult replaceByMask(Value self, Value mask, Value source, GradientBuilder &g) {
  if (g.needs(self))
    g.add(self, g.sumTo(maskedOut(g, g.cotangent(), mask), self));
  if (g.needs(source))
    g.add(source, g.create<MaskedScatterBackwardOp>({g.cotangent(), mask, g.sizes(source)}));
  return success();
}

LogicalResult maskedScatter(MaskedScatterOp op, GradientBuilder &g) {
  return replaceByMask(op.getSelf(), op.getMask(), op.getSource(), g);
}
LogicalResult mergeRows(MergeRowsOp op, GradientBuilder &g) {
  return replaceByMask(op.getSelf(), op.getMask(), op.getSource(), g);
}

} // namespace braid::gradients
