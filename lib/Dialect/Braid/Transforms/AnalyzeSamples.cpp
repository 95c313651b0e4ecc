//===- AnalyzeSamples.cpp - Proves that samples do not mix ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleAnalysis.h"

#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_ANALYZESAMPLES
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
/// Says of each op that draws random numbers where its samples are, so that they draw by their numbers.
void placeDraws(func::FuncOp main, func::FuncOp prologue, ShapeAnalysis &shapes, const SampleAnalysis &analysis) {
  llvm::DenseMap<Attribute, Attribute> places; // by stream
  Builder builder(main.getContext());
  for (Operation &op : main.getBody().front()) {
    if (!drawsRandomNumbers(&op))
      continue;
    SampleState state = analysis.stateOf(op.getResult(0));
    FailureOr<TensorShape> shape = shapes.shapeOf(op.getResult(0));
    // The weights of an attention, where it drops, have other entries than its result in their last dim.
    bool apart = isa<ScaledDotProductAttentionOp>(op) && succeeded(shape) && state.first.dim == shape->rank() - 1;
    if (state.kind != SampleState::Samples || failed(shape) || apart)
      continue;
    Expr before = state.first.outer;
    for (const Expr &size : ArrayRef(shape->dims).take_front(state.first.dim))
      before = before * size;
    ArrayAttr place = builder.getStrArrayAttr({before.str(), analysis.getSamples().str()});
    op.setAttr(samplesAttrName, place);
    places[op.getAttr(streamAttrName)] = place;
  }
  if (!prologue)
    return;
  for (Operation &op : prologue.getBody().front())
    if (Attribute place = places.lookup(op.getAttr(streamAttrName)); place && drawsRandomNumbers(&op))
      op.setAttr(samplesAttrName, place);
}

struct AnalyzeSamples : impl::AnalyzeSamplesBase<AnalyzeSamples> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !llvm::hasSingleElement(main.getBody())) {
      module.emitError("has no flat @main: run braid-resolve-shapes first");
      return signalPassFailure();
    }
    if (module->hasAttr("braid.whole_loss"))
      return;
    ShapeAnalysis shapes(module);
    SampleAnalysis analysis(main, shapes);
    auto prologue = module.lookupSymbol<func::FuncOp>("prologue");
    std::optional<std::string> reason = analysis.run();
    if (!reason && prologue)
      reason = SampleAnalysis(prologue, shapes).runCounts();
    if (reason)
      module->setAttr("braid.whole_loss", StringAttr::get(&getContext(), *reason));
    else
      placeDraws(main, prologue, shapes, analysis);
  }
};
} // namespace
} // namespace braid
