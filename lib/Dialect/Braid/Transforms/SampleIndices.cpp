//===- SampleIndices.cpp - Values that count rows -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets, indices and the numbers of rows are smaller in a micro-batch, by the rows before it. They are good for
// picking the micro-batch's own rows, for their differences, and for comparing them with each other.
//
//===----------------------------------------------------------------------===//

#include "SampleAnalysis.h"

#include "braid/Dialect/Braid/IR/Describe.h"

#include <cmath>

using namespace mlir;

namespace braid {

using Reason = SampleAnalysis::Reason;

static int64_t wrap(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

/// The integer of a Scalar argument.
static std::optional<int64_t> integerOf(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? std::optional<int64_t>(attr.getInt()) : std::nullopt;
}

/// The integer that all elements of a constant are.
static std::optional<int64_t> integerOf(Value value) {
  std::optional<double> number = constantOf(value);
  return number && *number == std::floor(*number) && std::abs(*number) < SampleState::unbounded
             ? std::optional<int64_t>(static_cast<int64_t>(*number))
             : std::nullopt;
}

/// The ends of the segments, their beginnings, or their lengths.
Reason SampleAnalysis::visitOffsets(Operation *op) {
  SampleState state = stateOf(op->getOperand(0));
  auto refuse = [&] {
    return describe(op) + " takes cumulative lengths otherwise than as x[1:], x[:-1] and their differences";
  };
  if (state.kind != SampleState::Offsets)
    return refuse();
  Value result = op->getResult(0);
  if (isa<ToOp, DetachOp>(op) && !cast<RankedTensorType>(result.getType()).getElementType().isInteger(1)) {
    states[result] = state;
    return std::nullopt;
  }
  FailureOr<TensorShape> shape = shapes.shapeOf(result);
  if (failed(shape) || shape->rank() != 1 || !(shape->dims[0] == state.first.unit))
    return refuse();
  std::optional<int64_t> start;
  if (auto slice = dyn_cast<SliceOp>(op); slice && !slice.getStart() && !slice.getStep())
    start = slice.getStaticStart().value_or(0);
  else if (auto narrow = dyn_cast<NarrowOp>(op); narrow && !narrow.getStart())
    start = narrow.getStaticStart();
  state.kind = SampleState::Samples;
  if (auto diff = dyn_cast<DiffOp>(op); diff && !diff.getPrepend() && !diff.getAppend())
    state.forgetValues();
  else if (start == 0 || start == 1)
    state.edge = *start ? SampleState::Ends : SampleState::Begins;
  else
    return refuse();
  states[result] = state;
  return std::nullopt;
}

bool SampleAnalysis::visitIndexed(Operation *op) {
  auto layout = dyn_cast<LayoutOpInterface>(op);
  if (!layout || !isa<IndexOp, IndexSelectOp, GatherAlongOp, EmbeddingOp, IndexAddOp, IndexPutOp>(op))
    return false;
  Value self = op->getOperand(0);
  SampleState read = stateOf(self);
  auto names = [&](const SampleState &index, int64_t dim) {
    return index.kind == SampleState::Samples && read.kind == SampleState::Samples && read.first.dim == dim &&
           read.first.isPlain() && !read.first.order && index.shift == read.first.size() && index.isWithin();
  };

  // Rows are added or written where the indices say.
  if (isa<IndexAddOp, IndexPutOp>(op)) {
    int64_t dim = 0;
    Value index, source;
    if (auto add = dyn_cast<IndexAddOp>(op)) {
      dim = wrap(add.getDim(), cast<RankedTensorType>(self.getType()).getRank());
      index = add.getIndex();
      source = add.getSource();
    } else {
      auto put = cast<IndexPutOp>(op);
      if (put.getIndices().size() != 1 || put.getPresentIndices().empty() || !put.getPresentIndices().front())
        return false;
      index = put.getIndices().front();
      source = put.getValues();
    }
    SampleState from = stateOf(source), at = stateOf(index);
    bool aligned =
        names(at, dim) && at.first.dim == 0 && cast<RankedTensorType>(index.getType()).getRank() == 1 &&
        from.kind == SampleState::Samples && from.first.dim == dim && from.first.matches(at.first) &&
        cast<RankedTensorType>(source.getType()).getRank() == cast<RankedTensorType>(self.getType()).getRank() &&
        !from.counts() && !read.counts();
    if (aligned)
      states[op->getResult(0)] = read;
    return aligned;
  }

  std::optional<FactorMap> map = layout.getFactorMap(shapes);
  if (!map)
    return false;
  // One index counts rows; the others are the same for all samples, or stand along the same dim.
  SmallVector<std::pair<Value, int64_t>> indices; // with the dim that each indexes
  if (auto index = dyn_cast<IndexOp>(op)) {
    auto next = index.getIndices().begin();
    for (auto [dim, present] : llvm::enumerate(index.getPresentIndices()))
      if (present)
        indices.push_back({*next++, static_cast<int64_t>(dim)});
  } else {
    auto attr = op->getAttrOfType<IntegerAttr>("dim");
    indices.push_back(
        {op->getOperand(1), attr ? wrap(attr.getInt(), cast<RankedTensorType>(self.getType()).getRank()) : 0});
  }
  if (map->operands.size() != indices.size() + 1)
    return false;
  std::optional<int> factor;
  Along along;
  bool found = false;
  for (auto [number, entry] : llvm::enumerate(indices)) {
    SampleState index = stateOf(entry.first);
    if (index.kind == SampleState::Free)
      continue;
    bool own = names(index, entry.second);
    if (index.kind != SampleState::Samples || (index.counts() && (!own || found)))
      return false;
    int at = map->operands[number + 1][index.first.dim];
    if (isa<GatherAlongOp>(op) && index.first.dim == entry.second) // whole there, as any row may be read
      at = -2;
    if (at == FactorMap::whole || (factor && (at != *factor || !along.matches(index.first))))
      return false;
    factor = at;
    along = index.first;
    found |= own;
  }
  if (!found)
    return false;
  if (*factor != -2) {
    ArrayRef<int> result = map->results[0];
    auto at = llvm::find(result, *factor);
    if (at == result.end())
      return false;
    along.dim = at - result.begin();
  }
  read.first = along;
  read.edge = SampleState::None;
  states[op->getResult(0)] = read;
  return true;
}

Reason SampleAnalysis::setValues(Operation *op, ArrayRef<Value> tensors, SampleState &result) {
  SampleState first = stateOf(tensors[0]);
  SmallVector<SampleState, 2> counting;
  for (Value tensor : tensors)
    if (SampleState state = stateOf(tensor); state.kind == SampleState::Samples && state.counts())
      counting.push_back(state);
  if (counting.empty())
    return std::nullopt;
  if (isa<ZerosLikeOp, OnesLikeOp, FullLikeOp>(op)) {
    result.first.order = nullptr;
    return std::nullopt;
  }
  if (llvm::any_of(counting, [](const SampleState &state) { return state.inverseOf != nullptr; }))
    return countsRows(op, counting[0]);
  bool comparison = isa<EqOp, NeOp, LtOp, LeOp, GtOp, GeOp>(op);
  if (result.kind == SampleState::Pairs) {
    // compare() has said what is known.
    if (comparison && counting.size() == 2 && counting[0].shift == counting[1].shift)
      return std::nullopt;
    return countsRows(op, counting[0]);
  }
  auto take = [&](const SampleState &from) {
    result.shift = from.shift;
    result.low = from.low;
    result.high = from.high;
    result.edge = from.edge;
  };
  auto elementType = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  bool views = isa<ExpandOp, UnsqueezeOp, SqueezeDimOp, SliceOp, DetachOp, PermuteOp, TransposeOp, TOp>(op) ||
               (isa<ToOp>(op) && !elementType.isInteger(1));
  if (views) {
    take(first);
    return std::nullopt;
  }
  if (isa<AddScalarOp, SubScalarOp>(op) && isUnscaled(op))
    if (std::optional<int64_t> more = integerOf(op, "other"); more && std::abs(*more) < SampleState::unbounded) {
      take(first);
      int64_t by = isa<SubScalarOp>(op) ? -*more : *more;
      result.low += by;
      result.high += by;
      result.edge = SampleState::None;
      return std::nullopt;
    }
  bool divides = isa<FloorDivideScalarOp, FloorDivideOp>(op);
  if ((divides || isa<MulScalarOp, RemainderScalarOp>(op)) && isa<IntegerType>(elementType))
    if (std::optional<int64_t> by = isa<FloorDivideOp>(op) ? integerOf(tensors[1]) : integerOf(op, "other");
        by && *by > 0 && *by < SampleState::unbounded) {
      std::optional<Expr> parts = first.shift.exactQuotient(Expr(*by));
      bool bounded = first.low > -SampleState::unbounded / 2 && first.high < SampleState::unbounded / 2;
      auto floor = [&](int64_t value) { return value >= 0 ? value / *by : -((-value + *by - 1) / *by); };
      if (isa<MulScalarOp>(op)) {
        result.shift = first.shift * Expr(*by);
        if (bounded)
          result.low = first.low * *by, result.high = first.high * *by;
        return std::nullopt;
      }
      if (divides && parts) {
        result.shift = *parts;
        if (bounded)
          result.low = floor(first.low), result.high = floor(first.high);
        return std::nullopt;
      }
      if (isa<RemainderScalarOp>(op) && parts)
        return std::nullopt;
    }
  if (isa<AddOp, SubOp>(op) && isUnscaled(op)) {
    SampleState second = stateOf(tensors[1]);
    result.shift = isa<AddOp>(op) ? first.shift + second.shift : first.shift - second.shift;
    return std::nullopt;
  }
  if (comparison && counting.size() == 2 && counting[0].shift == counting[1].shift)
    return std::nullopt;
  return countsRows(op, counting[0]);
}

} // namespace braid
