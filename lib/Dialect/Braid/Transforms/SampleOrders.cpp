//===- SampleOrders.cpp - Rows in another order ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expert layers sort rows by expert, multiply each group by its expert's weights, and put the rows back. A micro-batch
// sorts its own rows: they stand in another order than in the sorted batch, and each goes through the same.
//
//===----------------------------------------------------------------------===//

#include "SampleAnalysis.h"

using namespace mlir;

namespace braid {

/// Values that name the micro-batches' own rows stand in the order of the micro-batches when they are sorted. Others
/// change the order of the rows.
bool SampleAnalysis::sort(SortOp op) {
  SampleState state = stateOf(op.getSelf());
  int64_t rank = cast<RankedTensorType>(op.getSelf().getType()).getRank(), dim = op.getDim();
  if (state.kind != SampleState::Samples || state.first.dim != (dim < 0 ? dim + rank : dim) || rank != 1 ||
      !state.first.isPlain() || state.first.order || (state.counts() && (!state.isWithin() || op.getDescending())))
    return false;
  if (!state.counts())
    state.first.order = op;
  state.edge = SampleState::None;
  states[op->getResult(0)] = state;
  state.shift = state.first.size();
  state.low = 0;
  state.high = -1;
  states[op->getResult(1)] = state;
  return true;
}

/// The tensor operands of an operator without a typed op, if it is of this name.
static bool isOpaque(Operation *op, StringRef name) {
  auto opaque = dyn_cast<OpaqueOp>(op);
  return opaque && opaque.getName() == name;
}

bool SampleAnalysis::visitOrdered(Operation *op) {
  if (auto sort = dyn_cast<SortOp>(op))
    return this->sort(sort);
  SampleState first = op->getNumOperands() ? stateOf(op->getOperand(0)) : SampleState();

  // Rows of each key: whole numbers from 0, sorted, are counted one by one.
  if (isOpaque(op, "aten::histc")) {
    std::optional<AtenCall> call = getAtenCall(op);
    auto number = [&](StringRef name) -> std::optional<double> {
      for (const AtenArg &arg : call->args)
        if (arg.name == name) {
          if (auto attr = dyn_cast_or_null<IntegerAttr>(arg.attr))
            return attr.getInt();
          if (auto attr = dyn_cast_or_null<FloatAttr>(arg.attr))
            return attr.getValueAsDouble();
        }
      return std::nullopt;
    };
    auto cast = op->getOperand(0).getDefiningOp<ToOp>();
    Operation *source = cast ? cast.getSelf().getDefiningOp() : op->getOperand(0).getDefiningOp();
    if (first.kind != SampleState::Samples || !first.first.order || source != first.first.order ||
        !isa<IntegerType>(mlir::cast<RankedTensorType>(source->getResult(0).getType()).getElementType()) ||
        mlir::cast<SortOp>(source).getDescending() || number("min").value_or(0) != 0 || !number("bins") ||
        number("max") != *number("bins") - 1)
      return false;
    first.kind = SampleState::Groups;
    states[op->getResult(0)] = first;
    return true;
  }
  if (first.kind == SampleState::Groups && isa<CumsumOp, ToOp>(op)) {
    states[op->getResult(0)] = first;
    return true;
  }
  if (isOpaque(op, "aten::_grouped_mm")) {
    SmallVector<Value> operands(op->getOperands());
    if (operands.size() != 3)
      return false;
    SampleState groups = stateOf(operands[2]);
    bool holds = first.kind == SampleState::Samples && first.first.dim == 0 && first.first.order &&
                 first.first.isPlain() && !first.counts() && stateOf(operands[1]).kind == SampleState::Free &&
                 groups.kind == SampleState::Groups && groups.first.matches(first.first);
    if (holds)
      states[op->getResult(0)] = first;
    return holds;
  }

  // inverse[permutation] = arange(rows)
  if (auto put = dyn_cast<IndexPutOp>(op)) {
    if (put.getIndices().size() != 1)
      return false;
    Value index = put.getIndices().front();
    SampleState at = stateOf(index), numbers = stateOf(put.getValues());
    auto sort = index.getDefiningOp<SortOp>();
    bool holds = sort && index == sort->getResult(1) && at.first.order == sort && at.shift == at.first.size() &&
                 put.getValues().getDefiningOp<ArangeOp>() && numbers.shift == at.shift &&
                 first.kind == SampleState::Samples && !first.counts() && !first.first.order &&
                 first.first.size() == at.first.size() && !put.getAccumulate();
    if (!holds)
      return false;
    first.inverseOf = sort;
    states[op->getResult(0)] = first;
    return true;
  }
  if (isa<IndexOp, IndexSelectOp>(op) && first.kind == SampleState::Samples && first.first.order &&
      first.first.dim == 0) {
    SmallVector<Value> operands(op->getOperands());
    if (operands.size() != 2)
      return false;
    SampleState index = stateOf(operands[1]);
    bool rows = isa<IndexSelectOp>(op) ? true : cast<IndexOp>(op).getPresentIndices().front();
    if (!rows || index.inverseOf != first.first.order || !(index.first.size() == first.first.size()))
      return false;
    first.first = index.first;
    states[op->getResult(0)] = first;
    return true;
  }
  return false;
}

} // namespace braid
