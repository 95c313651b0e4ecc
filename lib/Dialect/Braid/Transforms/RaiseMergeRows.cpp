//===- RaiseMergeRows.cpp - Recognises the merge of image features --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/GradientBuilder.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_RAISEMERGEROWS
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
struct RaiseMergeRows : impl::RaiseMergeRowsBase<RaiseMergeRows> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ShapeAnalysis shapes(module);
    SmallVector<MaskedScatterOp> scatters;
    module.walk([&](MaskedScatterOp op) { scatters.push_back(op); });
    for (MaskedScatterOp op : scatters) {
      FailureOr<TensorShape> self = shapes.shapeOf(op.getSelf()), mask = shapes.shapeOf(op.getMask()),
                             source = shapes.shapeOf(op.getSource());
      if (failed(self) || failed(mask) || failed(source))
        return signalPassFailure();
      if (self->rank() < 2 || source->rank() < 2 || !(source->dims.back() == self->dims.back()) ||
          !hasEntryForEachRow(*self, *mask) || !takesWholeRows(op.getMask(), *mask, shapes))
        continue;
      OpBuilder builder(op);
      auto nothing = [](Value) { return false; };
      GradientBuilder g(builder, shapes, nothing);
      g.startOp(op, {});
      // Features of samples with as many tokens each, [samples, tokens, width], are rows too.
      Value rows = op.getSource();
      if (source->rank() > 2) {
        Expr count = 1;
        for (const Expr &size : ArrayRef(source->dims).drop_back())
          count = count * size;
        rows = g.create<ReshapeOp>({rows, g.sizes({count, source->dims.back()})});
      }
      Value merged = g.create<MergeRowsOp>({op.getSelf(), op.getMask(), rows});
      if (g.hasFailed())
        return signalPassFailure();
      op.getResult().replaceAllUsesWith(merged);
      shapes.erase(op);
      ++numRaised;
    }
  }

private:
  /// Whether the mask speaks of each row apart, so that true entries and rows of the source are the same in number.
  static bool hasEntryForEachRow(const TensorShape &self, const TensorShape &mask) {
    if (self.rank() != mask.rank())
      return false;
    for (int64_t dim = 0; dim + 1 < self.rank(); ++dim)
      if (ShapeAnalysis::isOne(mask.dims[dim]) && !ShapeAnalysis::isOne(self.dims[dim]))
        return false;
    return true;
  }

  /// Whether the mask is the same along the last dim.
  static bool takesWholeRows(Value mask, const TensorShape &shape, ShapeAnalysis &shapes) {
    if (shape.rank() == 0 || ShapeAnalysis::isOne(shape.dims.back()))
      return true;
    while (auto cast = mask.getDefiningOp<ToOp>())
      mask = cast.getSelf();
    Operation *expand = mask.getDefiningOp();
    if (!isa_and_present<ExpandOp, ExpandAsOp>(expand))
      return false;
    FailureOr<TensorShape> from = shapes.shapeOf(expand->getOperand(0));
    return succeeded(from) && from->rank() > 0 && ShapeAnalysis::isOne(from->dims.back());
  }
};
} // namespace
} // namespace braid
