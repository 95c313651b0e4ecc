//===- AnalyzeSamples.cpp - Proves that samples do not mix ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value of the flat @main is one of
//   free     the same for every division of the batch (parameters, constants, values of other sizes),
//   samples  one dim holds the samples in order, perhaps several rows of each,
//   numbers  one dim counts the samples (arange(batch)): good for picking each sample's own rows, for nothing else,
//   sum      a sum over all samples: on its way to the loss.
// Factor maps say where a dim goes. An op that needs the sample dim whole mixes samples.
//
//===----------------------------------------------------------------------===//

#include "LossSums.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_ANALYZESAMPLES
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
struct SampleState {
  enum Kind { Free, Samples, Numbers, Sum } kind = Free;
  int64_t dim = 0; // of Samples and Numbers
  /// The dim counts outer x samples x inner, as after a view that merged it with its neighbours.
  Expr outer = Expr(1), inner = Expr(1);

  bool isPlain() const { return outer.constant() == 1; }
};

class Analyzer {
public:
  Analyzer(func::FuncOp main, ShapeAnalysis &shapes) : main(main), shapes(shapes) {}

  /// Nothing, or why the batch cannot be divided.
  std::optional<std::string> run() {
    for (unsigned number = 0; number < main.getNumArguments() && batch.getTerms().empty(); ++number)
      if (main.getArgAttr(number, inputAttrName))
        if (FailureOr<TensorShape> shape = shapes.shapeOf(main.getArgument(number));
            succeeded(shape) && shape->rank() && !shape->dims[0].constant())
          batch = shape->dims[0];
    if (batch.getTerms().empty())
      return "no input has a batch dim that may vary";
    for (BlockArgument argument : main.getArguments())
      if (FailureOr<TensorShape> shape = shapes.shapeOf(argument);
          succeeded(shape) && main.getArgAttr(argument.getArgNumber(), inputAttrName) && shape->rank() &&
          shape->dims[0] == batch)
        states[argument] = {SampleState::Samples};
    for (Operation &op : main.getBody().front().without_terminator())
      if (std::optional<std::string> reason = visit(&op))
        return reason;
    Operation *terminator = main.getBody().front().getTerminator();
    Value loss = terminator->getOperand(0);
    // Each micro-batch computes the new state of buffers, so it must be the same in all.
    for (auto [number, state] : llvm::enumerate(terminator->getOperands().drop_front()))
      if (states.lookup(state).kind != SampleState::Free)
        return "the buffer " + main.getResultAttrOfType<FlatSymbolRefAttr>(number + 1, stateAttrName).getValue().str() +
               " is updated with what the samples give";
    if (states.lookup(loss).kind != SampleState::Sum)
      return std::string("the loss is no sum over the samples");
    return std::nullopt;
  }

  /// Says of each op that draws random numbers where its samples are, so that they draw by their numbers.
  void placeDraws(func::FuncOp prologue) {
    llvm::DenseMap<Attribute, Attribute> places; // by stream
    Builder builder(main.getContext());
    for (Operation &op : main.getBody().front()) {
      if (!drawsRandomNumbers(&op))
        continue;
      SampleState state = states.lookup(op.getResult(0));
      FailureOr<TensorShape> shape = shapes.shapeOf(op.getResult(0));
      // The weights of an attention, where it drops, have other entries than its result in their last dim.
      bool apart = isa<ScaledDotProductAttentionOp>(op) && succeeded(shape) && state.dim == shape->rank() - 1;
      if (state.kind != SampleState::Samples || failed(shape) || apart)
        continue;
      Expr before = state.outer;
      for (const Expr &size : ArrayRef(shape->dims).take_front(state.dim))
        before = before * size;
      ArrayAttr place = builder.getStrArrayAttr({before.str(), batch.str()});
      op.setAttr(samplesAttrName, place);
      places[op.getAttr(streamAttrName)] = place;
    }
    if (!prologue)
      return;
    for (Operation &op : prologue.getBody().front())
      if (Attribute place = places.lookup(op.getAttr(streamAttrName)); place && drawsRandomNumbers(&op))
        op.setAttr(samplesAttrName, place);
  }

private:
  /// One entry of the dim is one sample.
  static bool isAlone(const SampleState &state) { return state.isPlain() && state.inner.constant() == 1; }

  bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

  /// Whether a size changes with the number of samples.
  bool dependsOnBatch(const Expr &size) const {
    std::set<std::string> names, batchNames;
    size.collectSymbols(names);
    batch.collectSymbols(batchNames);
    return llvm::any_of(batchNames, [&](const std::string &name) { return names.count(name); });
  }

  std::optional<std::string> visit(Operation *op) {
    if (std::optional<std::string> reason = checkSizes(op))
      return reason;
    if (std::optional<std::string> reason = visitValues(op))
      return reason;
    return checkDims(op);
  }

  /// Sizes are free to say how large a result is; the number of samples as a position, a bound or a value is not.
  std::optional<std::string> checkSizes(Operation *op) {
    auto uses = [&](Value index) {
      FailureOr<Expr> value = shapes.valueOf(index);
      return failed(value) || dependsOnBatch(*value);
    };
    bool sizes = isa<ViewOp, ReshapeOp, ExpandOp, RepeatOp, UnflattenOp, ZerosOp, OnesOp, FullOp, NewZerosOp, NewOnesOp, NewFullOp,
                     ArangeOp, RandOp>(op);
    bool arithmetic = isa<arith::ArithDialect>(op->getDialect());
    if (sizes || arithmetic)
      return std::nullopt;
    for (Value operand : op->getOperands())
      if (isa<IndexType>(operand.getType()) && uses(operand))
        return describe(op) + " uses the number of samples as a value";
    return std::nullopt;
  }

  /// What a state says must fit the shape: the samples are along one dim and along no other.
  std::optional<std::string> checkDims(Operation *op) {
    for (Value result : op->getResults()) {
      if (!isTensor(result))
        continue;
      FailureOr<TensorShape> shape = shapes.shapeOf(result);
      if (failed(shape))
        return "the shape of " + describe(op) + " is not known";
      SampleState state = states.lookup(result);
      bool along = state.kind == SampleState::Samples || state.kind == SampleState::Numbers;
      for (auto [dim, size] : llvm::enumerate(shape->dims)) {
        bool here = along && static_cast<int64_t>(dim) == state.dim;
        bool fits = here ? size == state.outer * batch * state.inner && !dependsOnBatch(state.outer) &&
                               !dependsOnBatch(state.inner)
                         : !dependsOnBatch(size);
        if (!fits)
          return describe(op) + " makes a tensor whose dim " + std::to_string(dim) + " is " + size.str();
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> visitValues(Operation *op) {
    SmallVector<Value> tensors;
    for (Value operand : op->getOperands())
      if (isTensor(operand))
        tensors.push_back(operand);
    bool any = llvm::any_of(tensors, [&](Value value) { return states.lookup(value).kind != SampleState::Free; });
    // new_zeros and its kin take nothing but the element type from their operand.
    if (!any || isa<NewZerosOp, NewOnesOp, NewFullOp>(op))
      return visitCreation(op);
    if (llvm::any_of(tensors, [&](Value value) { return states.lookup(value).kind == SampleState::Sum; }))
      return visitSum(op, tensors);
    if (auto index = dyn_cast<IndexOp>(op))
      if (visitIndex(index))
        return std::nullopt;
    if (isa<MergeRowsOp, MaskedScatterOp>(op))
      return visitMerge(op);
    if (isa<ViewOp, ReshapeOp, FlattenOp, UnflattenOp>(op))
      return visitView(op);
    return visitMapped(op, tensors);
  }

  /// A tensor that is made with a size of the batch: the same for each sample, or the samples' numbers.
  std::optional<std::string> visitCreation(Operation *op) {
    for (Value result : op->getResults()) {
      if (!isTensor(result))
        continue;
      FailureOr<TensorShape> shape = shapes.shapeOf(result);
      if (failed(shape))
        return "the shape of " + describe(op) + " is not known";
      for (auto [dim, size] : llvm::enumerate(shape->dims)) {
        if (!dependsOnBatch(size))
          continue;
        bool numbers = isa<ArangeOp>(op); // from 0 in steps of 1
        // What rand gives a sample depends on the sample's number in the step, so dividing the batch changes nothing.
        bool equal = isa<ZerosOp, OnesOp, FullOp, NewZerosOp, NewOnesOp, NewFullOp, ExpandOp, RepeatOp, RandOp>(op);
        std::optional<Expr> inner = size.exactQuotient(batch);
        if (!inner || !(numbers ? size == batch : equal))
          return describe(op) + " makes a tensor whose dim " + std::to_string(dim) + " is " + size.str();
        states[result] = {numbers ? SampleState::Numbers : SampleState::Samples, static_cast<int64_t>(dim), Expr(1),
                          *inner};
        break;
      }
    }
    return std::nullopt;
  }

  /// What the loss is made of: sums are added to each other and scaled by values that are the same for all parts.
  std::optional<std::string> visitSum(Operation *op, ArrayRef<Value> tensors) {
    auto isSum = [&](Value value) { return states.lookup(value).kind == SampleState::Sum; };
    auto isFree = [&](Value value) { return states.lookup(value).kind == SampleState::Free; };
    bool linear = isa<ToOp, DetachOp, NegOp, ViewOp, ReshapeOp, ExpandOp, MulScalarOp, DivScalarOp>(op) ||
                  (isa<AddOp, SubOp>(op) && llvm::all_of(tensors, isSum)) ||
                  (isa<MulOp>(op) && llvm::count_if(tensors, isSum) == 1 && llvm::count_if(tensors, isFree) == 1) ||
                  (isa<DivOp>(op) && isSum(tensors[0]) && isFree(tensors[1]));
    linear &= llvm::all_of(tensors, [&](Value value) { return !isSum(value) || keepsSum(value, op->getResult(0)); });
    if (!linear)
      return describe(op) + " uses a sum over the samples in another way than for the loss";
    states[op->getResult(0)] = {SampleState::Sum};
    return std::nullopt;
  }

  /// A view keeps the order of elements, so the samples are where as many elements as before stand outside of them.
  std::optional<std::string> visitView(Operation *op) {
    SampleState state = states.lookup(op->getOperand(0));
    FailureOr<TensorShape> from = shapes.shapeOf(op->getOperand(0)), to = shapes.shapeOf(op->getResult(0));
    if (failed(from) || failed(to))
      return "the shape of " + describe(op) + " is not known";
    Expr outside = state.outer;
    for (int64_t dim = 0; dim < state.dim; ++dim)
      outside = outside * from->dims[dim];
    Expr prefix(1);
    for (int64_t dim = 0; dim < to->rank(); ++dim) {
      std::optional<Expr> outer = outside.exactQuotient(prefix);
      std::optional<Expr> inner = outer ? to->dims[dim].exactQuotient(*outer * batch) : std::nullopt;
      if (inner) {
        states[op->getResult(0)] = {state.kind, dim, *outer, *inner};
        return std::nullopt;
      }
      prefix = prefix * to->dims[dim];
    }
    return describe(op) + " mixes samples";
  }

  /// x[arange(batch), ...] picks each sample's own rows.
  bool visitIndex(IndexOp op) {
    SampleState self = states.lookup(op.getSelf());
    ArrayRef<bool> present = op.getPresentIndices();
    if (present.empty() || !present.front() || op.getIndices().empty())
      return false;
    SampleState first = states.lookup(op.getIndices().front());
    if (first.kind != SampleState::Numbers || self.kind != SampleState::Samples || self.dim != 0 || !isAlone(self))
      return false;
    // Indices broadcast; the others must be free or stand along the same dim.
    FailureOr<TensorShape> shape = shapes.shapeOf(op.getIndices().front()), result = shapes.shapeOf(op.getResult());
    if (failed(shape) || failed(result) || !llvm::all_of(present, [](bool there) { return there; }))
      return false;
    int64_t rank = 0;
    for (Value index : op.getIndices())
      if (FailureOr<TensorShape> other = shapes.shapeOf(index); succeeded(other))
        rank = std::max(rank, other->rank());
    int64_t dim = first.dim + rank - shape->rank();
    for (Value index : op.getIndices().drop_front()) {
      SampleState other = states.lookup(index);
      if (other.kind == SampleState::Numbers || other.kind == SampleState::Sum)
        return false;
      FailureOr<TensorShape> otherShape = shapes.shapeOf(index);
      if (other.kind == SampleState::Samples && (failed(otherShape) || !isAlone(other) ||
                                                 other.dim + rank - otherShape->rank() != dim))
        return false;
    }
    states[op.getResult()] = {SampleState::Samples, dim, first.outer, first.inner};
    return true;
  }

  /// Rows of the source go, in order, where the mask is true: a sample's own, since braid.merge_rows checks their number
  /// in every micro-batch.
  std::optional<std::string> visitMerge(Operation *op) {
    SampleState self = states.lookup(op->getOperand(0)), mask = states.lookup(op->getOperand(1)),
                source = states.lookup(op->getOperand(2));
    bool aligned = self.kind == SampleState::Samples && mask.kind == SampleState::Samples &&
                   source.kind == SampleState::Samples && self.dim == 0 && source.dim == 0 && self.isPlain() &&
                   mask.isPlain() && source.isPlain();
    FailureOr<TensorShape> maskShape = shapes.shapeOf(op->getOperand(1)), selfShape = shapes.shapeOf(op->getOperand(0));
    aligned &= succeeded(maskShape) && succeeded(selfShape) && mask.dim + selfShape->rank() - maskShape->rank() == 0;
    if (!aligned || !isa<MergeRowsOp>(op))
      return describe(op) + " takes rows from other samples";
    states[op->getResult(0)] = self;
    return std::nullopt;
  }

  std::optional<std::string> visitMapped(Operation *op, ArrayRef<Value> tensors) {
    auto layout = dyn_cast<LayoutOpInterface>(op);
    std::optional<FactorMap> map = layout ? layout.getFactorMap(shapes) : std::nullopt;
    if (!map || map->operands.size() != tensors.size())
      return "how " + describe(op) + " treats samples is not known";
    std::optional<int> factor;
    SampleState first;
    bool numbers = false;
    for (auto [value, factors] : llvm::zip(tensors, map->operands)) {
      SampleState state = states.lookup(value);
      if (state.kind == SampleState::Free)
        continue;
      numbers |= state.kind == SampleState::Numbers;
      int at = state.dim < static_cast<int64_t>(factors.size()) ? factors[state.dim] : FactorMap::whole;
      if (at == FactorMap::whole || (factor && (*factor != at || !(state.outer == first.outer) ||
                                                !(state.inner == first.inner))))
        return describe(op) + " mixes samples";
      if (!factor)
        first = state;
      factor = at;
    }
    if (numbers && !isa<ExpandOp, UnsqueezeOp, SqueezeDimOp, SliceOp, ToOp, DetachOp, PermuteOp, TransposeOp>(op))
      return describe(op) + " computes with the numbers of the samples";
    bool kept = false;
    for (auto [value, factors] : llvm::zip(op->getResults(), map->results)) {
      auto at = llvm::find(factors, *factor);
      if (at == factors.end())
        continue;
      kept = true;
      states[value] = {numbers ? SampleState::Numbers : SampleState::Samples, at - factors.begin(), first.outer,
                       first.inner};
    }
    if (isa<LinearCrossEntropyOp>(op))
      states[op->getResult(0)] = {SampleState::Sum};
    if (kept)
      return std::nullopt;
    // The samples are summed away: good for the loss only, which SplitLoss has made a sum.
    auto reduction = op->getAttrOfType<IntegerAttr>("reduction");
    bool sums = isa<SumOp>(op) || (isa<CrossEntropyLossOp, MseLossOp, BinaryCrossEntropyWithLogitsOp>(op) &&
                                   reduction && reduction.getInt() == 2);
    if (!sums)
      return describe(op) + " reduces over the samples";
    states[op->getResult(0)] = {SampleState::Sum};
    return std::nullopt;
  }

  func::FuncOp main;
  ShapeAnalysis &shapes;
  Expr batch;
  llvm::DenseMap<Value, SampleState> states; // free where absent
};

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
    Analyzer analyzer(main, shapes);
    if (std::optional<std::string> reason = analyzer.run())
      module->setAttr("braid.whole_loss", StringAttr::get(&getContext(), *reason));
    else
      analyzer.placeDraws(module.lookupSymbol<func::FuncOp>("prologue"));
  }
};
} // namespace
} // namespace braid
