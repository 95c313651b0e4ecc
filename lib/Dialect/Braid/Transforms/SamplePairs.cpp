//===- SamplePairs.cpp - Tensors over pairs of rows -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores of attention and masks of segments have two dims of rows. A micro-batch computes its block on the diagonal.
// That is enough where what the other blocks hold adds nothing: a mask of equal segments is false there.
//
//===----------------------------------------------------------------------===//

#include "SampleAnalysis.h"

#include <cfloat>

using namespace mlir;

namespace braid {

std::optional<double> constantOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ToOp, ExpandOp, ViewOp, UnsqueezeOp, DetachOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    Attribute attr;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (dense && dense.isSplat())
        attr = dense.getSplatValue<Attribute>();
    } else if (isa<FullOp, NewFullOp, FullLikeOp>(op)) {
      attr = op->getAttr("fill_value");
    } else if (isa<ZerosOp, NewZerosOp, ZerosLikeOp>(op)) {
      return 0;
    } else if (isa<OnesOp, NewOnesOp, OnesLikeOp>(op)) {
      return 1;
    }
    if (auto number = dyn_cast_or_null<FloatAttr>(attr))
      return number.getValueAsDouble();
    if (auto number = dyn_cast_or_null<IntegerAttr>(attr))
      return number.getValue().getBitWidth() == 1 ? number.getValue().getZExtValue() : number.getValue().getSExtValue();
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> scalarOf(Operation *op, StringRef name) {
  if (auto number = op->getAttrOfType<FloatAttr>(name))
    return number.getValueAsDouble();
  if (auto number = op->getAttrOfType<IntegerAttr>(name))
    return number.getValue().getBitWidth() == 1 ? number.getValue().getZExtValue() : number.getValue().getSExtValue();
  return std::nullopt;
}

static Apart apartOf(std::optional<double> value) {
  if (!value)
    return Apart::Unknown;
  return *value == 0 ? Apart::Zero : *value == 1 ? Apart::One : *value <= -FLT_MAX ? Apart::Lowest : Apart::Unknown;
}

static bool isBool(Value value) { return cast<RankedTensorType>(value.getType()).getElementType().isInteger(1); }

bool SampleAnalysis::isZeroApart(ArrayRef<Value> tensors) const {
  return llvm::any_of(tensors, [&](Value value) {
    SampleState state = stateOf(value);
    return state.kind == SampleState::Pairs && state.apart == Apart::Zero;
  });
}

bool SampleAnalysis::visitPairs(Operation *op) {
  if (auto attention = dyn_cast<ScaledDotProductAttentionOp>(op)) {
    if (!attention.getAttnMask() || attention.getDropoutP().isNonZero())
      return false;
    SampleState query = stateOf(attention.getQuery()), key = stateOf(attention.getKey()),
                value = stateOf(attention.getValue()), mask = stateOf(attention.getAttnMask());
    auto at = [&](const SampleState &state, const Along &along, Value tensor, int64_t fromEnd) {
      return state.kind != SampleState::Free &&
             along.dim == cast<RankedTensorType>(tensor.getType()).getRank() - fromEnd;
    };
    Value maskValue = attention.getAttnMask();
    bool ordered = at(mask, mask.first, maskValue, 2) && at(mask, mask.second, maskValue, 1);
    bool turned = at(mask, mask.second, maskValue, 2) && at(mask, mask.first, maskValue, 1);
    const Along &rows = ordered ? mask.first : mask.second, &columns = ordered ? mask.second : mask.first;
    bool holds = mask.kind == SampleState::Pairs && (ordered || turned) &&
                 mask.apart == (isBool(maskValue) ? Apart::Zero : Apart::Lowest) &&
                 at(query, query.first, attention.getQuery(), 2) && at(key, key.first, attention.getKey(), 2) &&
                 at(value, value.first, attention.getValue(), 2) && query.first.matches(rows) &&
                 key.first.matches(columns) && value.first.matches(columns);
    for (const SampleState &state : {query, key, value})
      holds &= state.kind == SampleState::Samples && !state.counts();
    if (holds) {
      states[op->getResult(0)] = query;
      states[op->getResult(0)].first.dim = cast<RankedTensorType>(op->getResult(0).getType()).getRank() - 2;
    }
    return holds;
  }
  SampleState state = op->getNumOperands() ? stateOf(op->getOperand(0)) : SampleState();
  if (state.kind != SampleState::Pairs)
    return false;
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  auto wrapped = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };

  if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
    int64_t dim = wrapped(softmax.getDim());
    if ((dim != state.first.dim && dim != state.second.dim) || state.apart != Apart::Lowest)
      return false;
    state.apart = Apart::Zero;
    states[op->getResult(0)] = state;
    return true;
  }

  // Counts the earlier rows: those of the micro-batches before, all of them, and of the own.
  if (auto sum = dyn_cast<SumDimOp>(op)) {
    bool firstLater = state.apart == Apart::FirstLater;
    const Along &later = firstLater ? state.first : state.second, &earlier = firstLater ? state.second : state.first;
    if ((!firstLater && state.apart != Apart::SecondLater) || !isBool(op->getOperand(0)) || !sum.getDim() ||
        sum.getDim()->size() != 1 || wrapped(sum.getDim()->front()) != earlier.dim || !earlier.isPlain() ||
        !isa<IntegerType>(cast<RankedTensorType>(op->getResult(0).getType()).getElementType()))
      return false;
    SampleState result;
    result.kind = SampleState::Samples;
    result.first = later;
    result.first.dim -= !sum.getKeepdim() && earlier.dim < later.dim;
    result.shift = earlier.size();
    result.low = state.low;
    result.high = state.high;
    states[op->getResult(0)] = result;
    return true;
  }
  return false;
}

/// Two values that count the same rows, each of its own micro-batch. With `high` and `low` as in SampleState, one of a
/// later micro-batch is at least as large as one of an earlier one if its `low` is at least the other's `high`.
void SampleAnalysis::compare(Operation *op, ArrayRef<Value> tensors, SampleState &result) {
  SampleState a = stateOf(tensors[0]), b = stateOf(tensors[1]);
  if (!(a.shift == b.shift) || !a.counts())
    return;
  if (isa<EqOp, NeOp>(op)) {
    if (a.low > b.high && a.high < b.low)
      result.apart = isa<EqOp>(op) ? Apart::Zero : Apart::One;
    return;
  }
  bool swapped = isa<LeOp, LtOp>(op), strict = isa<GtOp, LtOp>(op);
  if (swapped)
    std::swap(a, b);
  // a >= b or a > b: true where a's micro-batch is the later one, false where b's is.
  bool holds = strict ? a.low > b.high && a.high <= b.low : a.low >= b.high && a.high < b.low;
  if (!holds)
    return;
  result.apart = swapped ? Apart::SecondLater : Apart::FirstLater;
  // How many b of its micro-batch an a may reach.
  result.low = !strict && b.edge == SampleState::Begins && a.low >= 0 ? 1 : 0;
  result.high = b.edge == SampleState::Ends && a.high < 0 ? -1 : 0;
}

void SampleAnalysis::setApart(Operation *op, ArrayRef<Value> tensors, SampleState &result) {
  for (Value tensor : tensors)
    if (SampleState state = stateOf(tensor); state.kind == SampleState::Pairs && !result.origin)
      result.origin = state.origin;
  if (!result.origin)
    result.origin = op;
  // In the order of the result's dims.
  auto of = [&](unsigned number) {
    SampleState state = stateOf(tensors[number]);
    if (state.kind != SampleState::Pairs)
      return state.kind == SampleState::Free ? apartOf(constantOf(tensors[number])) : Apart::Unknown;
    // Where both dims count the same rows, which is which is not known.
    if (state.first.matches(state.second))
      return tensors.size() == 1 || flip(state.apart) == state.apart ? state.apart : Apart::Unknown;
    return state.first.matches(result.first) ? state.apart : flip(state.apart);
  };
  auto choose = [&](Apart mask, Apart yes, Apart no) {
    return mask == Apart::One ? yes : mask == Apart::Zero ? no : yes == no ? yes : Apart::Unknown;
  };
  bool bothPairs = tensors.size() == 2 && stateOf(tensors[0]).kind == SampleState::Pairs &&
                   stateOf(tensors[1]).kind == SampleState::Pairs;
  Apart first = of(0), second = tensors.size() > 1 ? of(1) : Apart::Unknown;
  bool moved = isa<ExpandOp, UnsqueezeOp, SqueezeDimOp, DetachOp, PermuteOp, TransposeOp, TOp, SliceOp>(op);
  if (isa<EqOp, NeOp, LtOp, LeOp, GtOp, GeOp>(op) && !bothPairs && tensors.size() == 2) {
    compare(op, tensors, result);
  } else if (moved) {
    SampleState state = stateOf(tensors[0]);
    result.apart = state.apart;
    result.low = state.low;
    result.high = state.high;
  } else if (isa<ToOp>(op)) {
    // A bool becomes 0 or 1; the lowest of a type need not be that of another.
    result.apart = first == Apart::Zero || first == Apart::One || isBool(op->getResult(0)) == isBool(tensors[0])
                       ? first
                       : Apart::Unknown;
  } else if (isa<LogicalNotOp>(op) || (isa<BitwiseNotOp>(op) && isBool(tensors[0]))) {
    result.apart = first == Apart::Zero ? Apart::One : first == Apart::One ? Apart::Zero : flip(first);
  } else if (isa<LogicalAndOp, AndOp, BitwiseAndOp, MulOp>(op)) {
    if (first == Apart::Zero || second == Apart::Zero)
      result.apart = Apart::Zero;
    else if (first == Apart::One && second == Apart::One)
      result.apart = Apart::One;
  } else if (isa<LogicalOrOp, BitwiseOrOp>(op)) {
    bool flags = isBool(op->getResult(0));
    if (first == Apart::Zero && second == Apart::Zero)
      result.apart = Apart::Zero;
    else if (flags && (first == Apart::One || second == Apart::One))
      result.apart = Apart::One;
  } else if (isa<AddOp>(op) && isUnscaled(op)) {
    if (first == Apart::Lowest || second == Apart::Lowest)
      result.apart = Apart::Lowest;
    else if (first == Apart::Zero && second == Apart::Zero)
      result.apart = Apart::Zero;
  } else if (isa<MaskedFillScalarOp>(op)) {
    result.apart = choose(second, apartOf(scalarOf(op, "value")), first);
  } else if (isa<MaskedFillTensorOp>(op)) {
    result.apart = choose(second, of(2), first);
  } else if (isa<WhereOp>(op)) {
    result.apart = choose(first, second, of(2));
  } else if (isa<RsubScalarOp>(op) && scalarOf(op, "other") == 1.0 && isUnscaled(op)) {
    result.apart = first == Apart::Zero ? Apart::One : first == Apart::One ? Apart::Zero : Apart::Unknown;
  } else if (isa<MulScalarOp>(op)) {
    std::optional<double> by = scalarOf(op, "other");
    if (first == Apart::Zero)
      result.apart = Apart::Zero;
    else if (first == Apart::One && by)
      result.apart = apartOf(by);
    else if (first == Apart::Lowest && by && *by >= 1)
      result.apart = Apart::Lowest;
  } else if (isa<DivOp, DivScalarOp>(op)) {
    if (first == Apart::Zero)
      result.apart = Apart::Zero;
  } else if (isa<ExpOp>(op)) {
    result.apart = first == Apart::Lowest ? Apart::Zero : Apart::Unknown;
  }
}

} // namespace braid
