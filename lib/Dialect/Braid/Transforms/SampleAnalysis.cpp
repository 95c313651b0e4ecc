//===- SampleAnalysis.cpp - Whether samples stay apart --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleAnalysis.h"
#include "LossSums.h"

#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/IR/Random.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace braid {

using Reason = SampleAnalysis::Reason;

Reason SampleAnalysis::run() {
  if (Reason reason = visitAll([](Operation *) { return false; }))
    return reason;
  Operation *terminator = main.getBody().front().getTerminator();
  Value loss = terminator->getOperand(0);
  // Each micro-batch computes the new state of buffers, so it must be the same in all.
  for (auto [number, state] : llvm::enumerate(terminator->getOperands().drop_front()))
    if (stateOf(state).kind != SampleState::Free)
      return "the buffer " + main.getResultAttrOfType<FlatSymbolRefAttr>(number + 1, stateAttrName).getValue().str() +
             " is updated with what the samples give";
  if (stateOf(loss).kind != SampleState::Sum)
    return std::string("the loss is no sum over the samples");
  return std::nullopt;
}

Reason SampleAnalysis::runCounts() {
  Operation *terminator = main.getBody().front().getTerminator();
  // A size that is a count grows with the batch: braid-split-loss has seen to it.
  auto isSize = [&](Operation *op) {
    return isa<ScalarTensorOp>(op) && llvm::all_of(op->getUsers(), [&](Operation *user) { return user == terminator; });
  };
  if (Reason reason = visitAll(isSize))
    return reason;
  for (Value count : terminator->getOperands())
    if (Operation *op = count.getDefiningOp(); op && !isSize(op) && stateOf(count).kind != SampleState::Sum)
      return "what divides the loss, " + describe(op) + ", counts the same in every micro-batch";
  return std::nullopt;
}

Reason SampleAnalysis::visitAll(llvm::function_ref<bool(Operation *)> skips) {
  if (Reason reason = readInputs())
    return reason;
  for (Operation &op : main.getBody().front().without_terminator())
    if (!skips(&op))
      if (Reason reason = visit(&op))
        return reason;
  return std::nullopt;
}

Reason SampleAnalysis::readInputs() {
  FailureOr<CollatedInputs> collated = getCollatedInputs(main);
  if (failed(collated))
    return std::string("the collate rules of the inputs cannot be read");
  if (std::optional<plan::DivisionError> error = plan::divide(collated->inputs, division))
    return error->message;
  if (division.samples.constant())
    return std::string("no input has a batch dim that may vary");
  units = division.units();
  for (const Expr &unit : units)
    unit.collectSymbols(unitNames);
  for (auto [input, place, number] : llvm::zip(collated->inputs, division.inputs, collated->arguments)) {
    bool offsets = input.rule.kind == plan::CollateRule::Kind::Offsets;
    for (auto [dim, size] : llvm::enumerate(input.dims))
      if (static_cast<int>(dim) != place.dim && dependsOnUnits(size))
        return "dim " + std::to_string(dim) + " of input '" + input.name + "' is " + size.str() +
               ", and its collate rule " + input.rule.str() + " does not divide it; collate: concat(" +
               std::to_string(dim) + ") does";
    if (place.dim < 0)
      continue;
    SampleState state;
    state.kind = offsets ? SampleState::Offsets : SampleState::Samples;
    state.first = {place.dim, place.unit, Expr(1), Expr(place.factor)};
    state.shift = place.base;
    if (offsets)
      state.low = state.high = 0;
    else if (state.counts())
      state.low = 0, state.high = -1;
    states[main.getArgument(number)] = state;
  }
  return std::nullopt;
}

/// Whether a size changes with the number of samples, or of the rows that they have.
bool SampleAnalysis::dependsOnUnits(const Expr &size) const {
  std::set<std::string> names;
  size.collectSymbols(names);
  return llvm::any_of(names, [&](const std::string &name) { return unitNames.count(name) != 0; });
}

const Expr *SampleAnalysis::unitOf(const Expr &size) const {
  for (const Expr &unit : units)
    if (std::optional<Expr> inner = size.exactQuotient(unit); inner && !dependsOnUnits(*inner))
      return &unit;
  return nullptr;
}

std::string SampleAnalysis::mixes(Operation *op, ArrayRef<Value> tensors) const {
  for (Value value : tensors)
    if (SampleState state = stateOf(value); state.kind == SampleState::Pairs && state.origin)
      return describe(state.origin) + " mixes samples";
  return describe(op) + " mixes samples";
}

std::string SampleAnalysis::countsRows(Operation *op, const SampleState &state) const {
  std::set<std::string> names;
  state.shift.collectSymbols(names);
  bool samples = state.shift.exactQuotient(division.samples).has_value() || names.empty();
  return describe(op) + " computes with the numbers of the samples" +
         (samples ? "" : "' rows, which count " + state.shift.str());
}

Reason SampleAnalysis::visit(Operation *op) {
  if (Reason reason = checkSizes(op))
    return reason;
  if (Reason reason = visitValues(op))
    return reason;
  if (Reason reason = checkDraws(op))
    return reason;
  return checkDims(op);
}

/// Sizes are free to say how large a result is; the number of samples as a position, a bound or a value is not.
Reason SampleAnalysis::checkSizes(Operation *op) {
  auto uses = [&](Value index) {
    FailureOr<Expr> value = shapes.valueOf(index);
    return failed(value) || dependsOnUnits(*value);
  };
  bool sizes = isa<ViewOp, ReshapeOp, ExpandOp, RepeatOp, UnflattenOp, ZerosOp, OnesOp, FullOp, NewZerosOp, NewOnesOp,
                   NewFullOp, ArangeOp, RandOp>(op);
  bool arithmetic = isa<arith::ArithDialect>(op->getDialect());
  if (sizes || arithmetic)
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (isa<IndexType>(operand.getType()) && uses(operand))
      return describe(op) + " uses the number of samples as a value";
  return std::nullopt;
}

/// Numbers are drawn by the number of the sample; rows that samples have more or less of have no such number.
Reason SampleAnalysis::checkDraws(Operation *op) {
  if (!drawsRandomNumbers(op))
    return std::nullopt;
  SampleState state = stateOf(op->getResult(0));
  if (state.kind == SampleState::Samples && state.first.order)
    return describe(op) + " draws random numbers for rows that " + describe(state.first.order) + " has sorted";
  if (state.kind == SampleState::Pairs ||
      (state.kind == SampleState::Samples && !(state.first.unit == division.samples)))
    return describe(op) + " draws random numbers for rows that samples have more or less of (" +
           state.first.unit.str() + ")";
  return std::nullopt;
}

/// What a state says must fit the shape: the samples are along its dims and along no other.
Reason SampleAnalysis::checkDims(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isTensor(result))
      continue;
    FailureOr<TensorShape> shape = shapes.shapeOf(result);
    if (failed(shape))
      return "the shape of " + describe(op) + " is not known";
    SampleState state = stateOf(result);
    auto holds = [&](const Along &along, const Expr &size) {
      return size == along.size() && !dependsOnUnits(along.outer) && !dependsOnUnits(along.inner);
    };
    for (auto [dim, size] : llvm::enumerate(shape->dims)) {
      int64_t here = static_cast<int64_t>(dim);
      bool fits = !dependsOnUnits(size);
      if ((state.kind == SampleState::Samples || state.kind == SampleState::Pairs) && here == state.first.dim)
        fits = holds(state.first, size);
      else if (state.kind == SampleState::Pairs && here == state.second.dim)
        fits = holds(state.second, size);
      else if (state.kind == SampleState::Offsets && here == state.first.dim)
        fits = size == state.first.size() + Expr(1);
      if (!fits)
        return describe(op) + " makes a tensor whose dim " + std::to_string(dim) + " is " + size.str();
    }
  }
  return std::nullopt;
}

Reason SampleAnalysis::visitValues(Operation *op) {
  SmallVector<Value> tensors;
  for (Value operand : op->getOperands())
    if (isTensor(operand))
      tensors.push_back(operand);
  auto isKind = [&](SampleState::Kind kind) {
    return [this, kind](Value value) { return stateOf(value).kind == kind; };
  };
  if (isShare(op)) {
    states[op->getResult(0)].kind = SampleState::Sum;
    return std::nullopt;
  }
  // new_zeros and its kin take nothing but the element type from their operand.
  if (llvm::all_of(tensors, isKind(SampleState::Free)) || isa<NewZerosOp, NewOnesOp, NewFullOp>(op))
    return visitCreation(op);
  if (llvm::any_of(tensors, isKind(SampleState::Sum)))
    return visitSum(op, tensors);
  if (llvm::any_of(tensors, isKind(SampleState::Offsets)))
    return visitOffsets(op);
  if (visitOrdered(op) || visitIndexed(op) || visitPairs(op))
    return std::nullopt;
  if (llvm::any_of(tensors, isKind(SampleState::Groups)))
    return mixes(op, tensors);
  if (isa<MergeRowsOp, MaskedScatterOp>(op))
    return visitMerge(op);
  if (isa<ViewOp, ReshapeOp, FlattenOp, UnflattenOp>(op))
    return visitView(op);
  return visitMapped(op, tensors);
}

/// Whether an op divides what is the same for all parts of a batch by their number, so that the parts add up to it.
bool SampleAnalysis::isShare(Operation *op) {
  auto div = dyn_cast<DivOp>(op);
  auto parts = div ? dyn_cast<BlockArgument>(div.getOther()) : BlockArgument();
  return parts && main.getArgAttr(parts.getArgNumber(), partsAttrName) &&
         stateOf(div.getSelf()).kind == SampleState::Free;
}

/// A tensor that is made with a size of the batch: the same for each sample, or the numbers of rows.
Reason SampleAnalysis::visitCreation(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isTensor(result))
      continue;
    FailureOr<TensorShape> shape = shapes.shapeOf(result);
    if (failed(shape))
      return "the shape of " + describe(op) + " is not known";
    for (auto [dim, size] : llvm::enumerate(shape->dims)) {
      if (!dependsOnUnits(size))
        continue;
      bool numbers = isa<ArangeOp>(op); // from 0 in steps of 1
      // What rand gives a sample depends on the sample's number in the step, so dividing the batch changes nothing.
      bool equal = isa<ZerosOp, OnesOp, FullOp, NewZerosOp, NewOnesOp, NewFullOp, ExpandOp, RepeatOp, RandOp>(op);
      const Expr *unit = unitOf(size);
      if (!unit || !(numbers || equal))
        return describe(op) + " makes a tensor whose dim " + std::to_string(dim) + " is " + size.str();
      SampleState state;
      state.kind = SampleState::Samples;
      state.first = {static_cast<int64_t>(dim), *unit, Expr(1), *size.exactQuotient(*unit)};
      if (numbers) {
        state.shift = size;
        state.low = 0;
        state.high = -1;
      }
      states[result] = state;
      break;
    }
  }
  return std::nullopt;
}

/// What the loss is made of: sums are added to each other and scaled by values that are the same for all parts.
Reason SampleAnalysis::visitSum(Operation *op, ArrayRef<Value> tensors) {
  auto isSum = [&](Value value) { return stateOf(value).kind == SampleState::Sum; };
  auto isFree = [&](Value value) { return stateOf(value).kind == SampleState::Free; };
  bool linear = isa<ToOp, DetachOp, NegOp, ViewOp, ReshapeOp, ExpandOp, MulScalarOp, DivScalarOp>(op) ||
                (isa<AddOp, SubOp, StackOp, SumOp, MeanOp>(op) && llvm::all_of(tensors, isSum)) ||
                (isa<MulOp>(op) && llvm::count_if(tensors, isSum) == 1 && llvm::count_if(tensors, isFree) == 1) ||
                (isa<DivOp>(op) && isSum(tensors[0]) && isFree(tensors[1]));
  linear &= llvm::all_of(tensors, [&](Value value) { return !isSum(value) || keepsSum(value, op->getResult(0)); });
  if (!linear)
    return describe(op) + " uses a sum over the samples in another way than for the loss";
  states[op->getResult(0)].kind = SampleState::Sum;
  return std::nullopt;
}

/// A view keeps the order of elements, so the samples are where as many elements as before stand outside of them.
Reason SampleAnalysis::visitView(Operation *op) {
  SampleState state = stateOf(op->getOperand(0));
  FailureOr<TensorShape> from = shapes.shapeOf(op->getOperand(0)), to = shapes.shapeOf(op->getResult(0));
  if (failed(from) || failed(to))
    return "the shape of " + describe(op) + " is not known";
  auto move = [&](Along &along) {
    Expr outside = along.outer;
    for (int64_t dim = 0; dim < along.dim; ++dim)
      outside = outside * from->dims[dim];
    Expr prefix(1);
    for (int64_t dim = 0; dim < to->rank(); ++dim) {
      std::optional<Expr> outer = outside.exactQuotient(prefix);
      std::optional<Expr> inner = outer ? to->dims[dim].exactQuotient(*outer * along.unit) : std::nullopt;
      // Rows that a sort has moved do not split.
      if (inner && along.order && !(*outer == along.outer && *inner == along.inner))
        return false;
      if (inner) {
        along.dim = dim;
        along.outer = *outer;
        along.inner = *inner;
        return true;
      }
      prefix = prefix * to->dims[dim];
    }
    return false;
  };
  bool pairs = state.kind == SampleState::Pairs;
  if (!move(state.first) || (pairs && (!move(state.second) || state.first.dim == state.second.dim)))
    return mixes(op, op->getOperand(0));
  states[op->getResult(0)] = state;
  return std::nullopt;
}

/// Rows of the source go, in order, where the mask is true: a sample's own, since braid.merge_rows checks their number
/// in every micro-batch.
Reason SampleAnalysis::visitMerge(Operation *op) {
  SampleState self = stateOf(op->getOperand(0)), mask = stateOf(op->getOperand(1)), source = stateOf(op->getOperand(2));
  bool aligned = true;
  for (const SampleState &state : {self, mask, source})
    aligned &= state.kind == SampleState::Samples && state.first.isPlain() && !state.first.order && !state.counts();
  aligned &= self.first.dim == 0 && source.first.dim == 0 && self.first.matches(mask.first);
  FailureOr<TensorShape> maskShape = shapes.shapeOf(op->getOperand(1)), selfShape = shapes.shapeOf(op->getOperand(0));
  aligned &=
      succeeded(maskShape) && succeeded(selfShape) && mask.first.dim + selfShape->rank() - maskShape->rank() == 0;
  if (!aligned || !isa<MergeRowsOp>(op))
    return describe(op) + " takes rows from other samples";
  states[op->getResult(0)] = self;
  return std::nullopt;
}

Reason SampleAnalysis::visitMapped(Operation *op, ArrayRef<Value> tensors) {
  auto layout = dyn_cast<LayoutOpInterface>(op);
  std::optional<FactorMap> map = layout ? layout.getFactorMap(shapes) : std::nullopt;
  if (!map || map->operands.size() != tensors.size())
    return "how " + describe(op) + " treats samples is not known";
  // The factors that are divided, in the order of the operands' dims.
  SmallVector<std::pair<int, Along>, 2> divided;
  for (auto [value, factors] : llvm::zip(tensors, map->operands)) {
    SampleState state = stateOf(value);
    if (state.kind == SampleState::Free)
      continue;
    for (const Along &along : {state.first, state.second}) {
      int at = along.dim < static_cast<int64_t>(factors.size()) ? factors[along.dim] : FactorMap::whole;
      if (at == FactorMap::whole)
        return mixes(op, tensors);
      auto known = llvm::find_if(divided, [&](auto &entry) { return entry.first == at; });
      if (known == divided.end())
        divided.push_back({at, along});
      else if (!known->second.matches(along))
        return mixes(op, tensors);
      if (state.kind != SampleState::Pairs)
        break;
    }
  }
  bool moved = llvm::any_of(divided, [](auto &entry) { return entry.second.order != nullptr; });
  if (divided.size() > (moved ? 1 : 2))
    return mixes(op, tensors);
  for (auto [value, factors] : llvm::zip(op->getResults(), map->results)) {
    SampleState result;
    for (auto &[factor, along] : divided) {
      auto at = llvm::find(factors, factor);
      if (at == factors.end())
        continue;
      Along &place = result.kind == SampleState::Free ? result.first : result.second;
      result.kind = result.kind == SampleState::Free ? SampleState::Samples : SampleState::Pairs;
      place = along;
      place.dim = at - factors.begin();
    }
    if (result.kind == SampleState::Free && value.use_empty() && op->getNumResults() > 1)
      continue;
    size_t kept = result.kind == SampleState::Free ? 0 : result.kind == SampleState::Samples ? 1 : 2;
    if (kept == 0) {
      // The samples are summed away: good for the loss only, which SplitLoss has made a sum.
      auto reduction = op->getAttrOfType<IntegerAttr>("reduction");
      bool sums = isa<SumOp, LinearCrossEntropyOp>(op) ||
                  (isa<CrossEntropyLossOp, MseLossOp, BinaryCrossEntropyWithLogitsOp>(op) && reduction &&
                   reduction.getInt() == 2);
      for (Value tensor : tensors)
        if (SampleState state = stateOf(tensor); state.counts())
          return countsRows(op, state);
      if (divided.size() > 1 && !(isa<SumOp>(op) && isZeroApart(tensors)))
        return mixes(op, tensors);
      if (!sums)
        return describe(op) + " reduces over the samples";
      result.kind = SampleState::Sum;
    } else if (kept < divided.size()) {
      // A sum over one of two divided dims: exact where what it adds from other micro-batches is nothing.
      if (!isa<MmOp, BmmOp, MatmulOp, SumDimOp>(op) || !isZeroApart(tensors))
        return mixes(op, tensors);
    } else if (kept == 2) {
      setApart(op, tensors, result);
    }
    if (kept)
      if (Reason reason = setValues(op, tensors, result))
        return reason;
    states[value] = result;
  }
  return std::nullopt;
}

} // namespace braid
