//===- RaiseLinearCrossEntropy.cpp - A head and its loss as one op --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/GradientRules.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_RAISELINEARCROSSENTROPY
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
/// ATen's number for `reduction`.
constexpr int64_t reductionSum = 2;

/// A linear and what stands between it and its loss, from the loss on.
struct Head {
  LinearOp linear;
  SmallVector<Operation *> between;
};

struct RaiseLinearCrossEntropy : impl::RaiseLinearCrossEntropyBase<RaiseLinearCrossEntropy> {
  void runOnOperation() override {
    ShapeAnalysis shapes(getOperation());
    SmallVector<CrossEntropyLossOp> losses;
    getOperation().walk([&](CrossEntropyLossOp op) { losses.push_back(op); });
    for (CrossEntropyLossOp loss : losses) {
      if (!hasKnownForm(loss))
        continue;
      std::optional<Head> head = findHead(loss.getSelf(), shapes);
      if (!head)
        continue;
      if (failed(raise(loss, *head, shapes)))
        return signalPassFailure();
      ++numRaised;
    }
  }

private:
  static bool hasKnownForm(CrossEntropyLossOp loss) {
    auto scores = cast<RankedTensorType>(loss.getSelf().getType()),
         target = cast<RankedTensorType>(loss.getTarget().getType());
    Type element = scores.getElementType();
    return loss.getReduction() == reductionSum && !loss.getWeight() && loss.getLabelSmoothing().isZero() &&
           !loss.getIgnoreIndex() && scores.getRank() == 2 && (element.isF32() || element.isF64()) &&
           target.getElementType().isInteger(64);
  }

  static std::optional<Head> findHead(Value logits, ShapeAnalysis &shapes) {
    Head head;
    while (logits.hasOneUse()) {
      Operation *op = logits.getDefiningOp();
      if (!op)
        return std::nullopt;
      if (auto linear = dyn_cast<LinearOp>(op)) {
        head.linear = linear;
        return isHead(linear, shapes) ? std::optional(head) : std::nullopt;
      }
      if (!treatsRowsAlike(op, shapes))
        return std::nullopt;
      head.between.push_back(op);
      logits = op->getOperand(0);
    }
    return std::nullopt;
  }

  /// A weight for each class, and no bias or one for each class; ATen takes one for all of them, too.
  static bool isHead(LinearOp linear, ShapeAnalysis &shapes) {
    FailureOr<TensorShape> weight = shapes.shapeOf(linear.getWeight());
    if (failed(weight) || weight->rank() != 2)
      return false;
    if (!linear.getBias())
      return true;
    FailureOr<TensorShape> bias = shapes.shapeOf(linear.getBias());
    return succeeded(bias) && bias->rank() == 1 && bias->dims.front() == weight->dims.front();
  }

  /// Whether an op moves or picks rows, and leaves the last dim alone.
  static bool treatsRowsAlike(Operation *op, ShapeAnalysis &shapes) {
    int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
    if (auto slice = dyn_cast<SliceOp>(op))
      return slice.getDim() != -1 && slice.getDim() != rank - 1;
    if (!isa<ViewOp, ReshapeOp, FlattenOp>(op) || rank == 0)
      return false;
    FailureOr<TensorShape> from = shapes.shapeOf(op->getOperand(0)), to = shapes.shapeOf(op->getResult(0));
    return succeeded(from) && succeeded(to) && to->rank() > 0 && from->dims.back() == to->dims.back();
  }

  static LogicalResult raise(CrossEntropyLossOp loss, const Head &head, ShapeAnalysis &shapes) {
    LinearOp linear = head.linear;
    OpBuilder builder(loss);
    auto nothing = [](Value) { return false; };
    GradientBuilder g(builder, shapes, nothing);
    g.startOp(linear, {});
    Value rows = linear.getInput();
    Expr hidden = g.shapeOf(rows).dims.back();
    for (Operation *op : llvm::reverse(head.between)) {
      if (isa<SliceOp>(op)) {
        rows = g.create<SliceOp>({rows, gradients::argument(op, "dim"), gradients::argument(op, "start"),
                                  gradients::argument(op, "end"), gradients::argument(op, "step")});
        continue;
      }
      SmallVector<Expr> dims = llvm::to_vector(ArrayRef(g.shapeOf(op->getResult(0)).dims));
      dims.back() = hidden;
      rows = g.create<ReshapeOp>({rows, g.sizes(dims)});
    }
    Value sum = g.create<LinearCrossEntropyOp>({rows, linear.getWeight(), linear.getBias(), loss.getTarget(),
                                                g.i64(loss.getStaticIgnoreIndex().value_or(-100))});
    if (g.hasFailed())
      return failure();
    loss.getResult().replaceAllUsesWith(sum);
    shapes.erase(loss);
    for (Operation *op : head.between)
      shapes.erase(op);
    shapes.erase(linear);
    return success();
  }
};
} // namespace
} // namespace braid
