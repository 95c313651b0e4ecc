//===- LossTerms.cpp - What a loss is made of ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossTerms.h"

#include "LossSums.h"

#include "braid/Dialect/Braid/IR/Collate.h"
#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/IR/Random.h"

#include "mlir/IR/TypeUtilities.h"

#include <set>

using namespace mlir;

namespace braid {

static bool isTerm(Operation *op) {
  return isa<CrossEntropyLossOp, MseLossOp, BinaryCrossEntropyWithLogitsOp, MeanOp, SumOp>(op);
}

/// Whether losses were stacked here, and perhaps weighted since: a sum or mean of it adds losses, not samples.
static bool holdsLosses(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto stack = dyn_cast_or_null<StackOp>(op))
    return llvm::all_of(stack->getOperands(),
                        [](Value loss) { return cast<RankedTensorType>(loss.getType()).getRank() == 0; });
  return isa_and_nonnull<ToOp, NegOp, ViewOp, ReshapeOp, AddOp, SubOp, MulOp, DivOp, AddScalarOp, SubScalarOp,
                         RsubScalarOp, MulScalarOp, DivScalarOp>(op) &&
         llvm::any_of(op->getOperands(), holdsLosses);
}

bool LossTerms::isInteger(Value value) { return isa<IntegerType>(getElementTypeOrSelf(value.getType())); }

Value LossTerms::countedBy(SumOp sum) {
  Value value = sum.getSelf();
  for (auto to = value.getDefiningOp<ToOp>(); to && !isInteger(value); to = value.getDefiningOp<ToOp>())
    value = to.getSelf();
  return value;
}

bool LossTerms::collect(Value loss) {
  if (isFixed(loss)) {
    reason = "the loss depends on no input";
    return false;
  }
  SmallVector<Value> work = {loss};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      reason = "an input is returned as it came";
      return false;
    }
    SmallVector<OpOperand *, 2> summands = summandsOf(op);
    if (summands.empty() && isTerm(op)) {
      if (!op->hasOneUse()) {
        reason = describe(op) + " is used more than once";
        return false;
      }
      terms.insert(op);
      continue;
    }
    if (auto div = dyn_cast<DivOp>(op); div && summands.empty()) {
      if (!collectCounts(div.getOther(), true))
        return false;
      summands = {&div->getOpOperand(0)};
    }
    if (summands.empty()) {
      reason = describe(op) + " is neither a mean loss (cross_entropy, mse_loss, binary_cross_entropy_with_logits, "
                              "mean), nor a sum of such terms, scaled by values that are the same for all samples or "
                              "divided by counts of the batch";
      return false;
    }
    if (isa<AddScalarOp, SubScalarOp, RsubScalarOp>(op))
      fixedScalars.push_back(op);
    for (OpOperand *summand : llvm::reverse(summands)) {
      if (!keepsSum(summand->get(), value)) {
        reason = describe(op) + " rounds the loss, so what the parts of a batch give does not add up to the loss of "
                                "the whole; convert it to a wider floating-point type, or not at all";
        return false;
      }
      if (isFixed(summand->get()))
        fixed.push_back(summand);
      else
        work.push_back(summand->get());
    }
  }
  return true;
}

/// The operands that an op adds or scales; none if it does something else.
SmallVector<OpOperand *, 2> LossTerms::summandsOf(Operation *op) {
  auto all = [&] { return llvm::map_to_vector<2>(op->getOpOperands(), [](OpOperand &operand) { return &operand; }); };
  if (isa<ToOp, NegOp, ViewOp, ReshapeOp, ExpandOp, MulScalarOp, DivScalarOp, AddScalarOp, SubScalarOp, RsubScalarOp>(
          op))
    return {&op->getOpOperand(0)};
  if (isa<AddOp, SubOp>(op) || (isa<StackOp>(op) && holdsLosses(op->getResult(0))))
    return all();
  if (isa<SumOp, MeanOp>(op) && holdsLosses(op->getOperand(0)))
    return all();
  if (isa<MulOp>(op) && isFixed(op->getOperand(1)))
    return {&op->getOpOperand(0)};
  if (isa<MulOp>(op) && isFixed(op->getOperand(0)))
    return {&op->getOpOperand(1)};
  if (isa<DivOp>(op) && isFixed(op->getOperand(1)))
    return {&op->getOpOperand(0)};
  return {};
}

/// Finds what a divisor counts: elements of the inputs that are summed, and sizes that grow with the batch. `isNeeded`
/// if the divisor is 0 where it is. On failure `reason` says what is no count.
bool LossTerms::collectCounts(Value divisor, bool isNeeded) {
  Operation *op = divisor.getDefiningOp();
  auto type = cast<RankedTensorType>(divisor.getType());
  auto isParam = [](Operation *before) { return isa<GetParamOp>(before); };
  auto insert = [&] {
    counts.insert(op);
    if (isNeeded)
      needed.insert(op);
    return true;
  };
  if (op && type.getRank() == 0) {
    if (isFixed(divisor))
      return true;
    // What is done to the counts of the whole batch.
    bool scales = isa<ToOp, MulOp, MulScalarOp, DivOp, DivScalarOp>(op);
    if (scales || isa<AddOp, AddScalarOp, SubOp, SubScalarOp, ClampOp, ClampMinOp, MaximumOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value operand) { return collectCounts(operand, isNeeded && scales); });
    if (isa<SumOp>(op) && !dependsOn(op, isParam))
      return insert();
    if (auto size = dyn_cast<ScalarTensorOp>(op))
      if (std::optional<bool> grows = growsWithBatch(size.getValue()))
        return !*grows || insert();
  }
  reason = (op ? describe(op) : std::string("an input")) +
           " divides the loss and is no count: a sum over inputs, or over a mask of them, or the batch's size";
  return false;
}

/// Whether a value is the same for all parts of a batch, being made of parameters and constants.
bool LossTerms::isFixed(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !dependsOn(op, [](Operation *before) {
           return isa<SymbolOp>(before) || drawsRandomNumbers(before) ||
                  llvm::any_of(before->getOperands(), [](Value operand) { return isa<BlockArgument>(operand); });
         });
}

/// Whether an op, or one whose result goes into it, is one of these.
bool LossTerms::dependsOn(Operation *op, llvm::function_ref<bool(Operation *)> isOne) {
  llvm::SetVector<Operation *> work;
  work.insert(op);
  for (unsigned at = 0; at < work.size(); ++at) {
    if (isOne(work[at]))
      return true;
    for (Value operand : work[at]->getOperands())
      if (Operation *before = operand.getDefiningOp())
        work.insert(before);
  }
  return false;
}

/// Whether a size counts samples, or rows that divide with them, or is the same for all parts of a batch. Nothing
/// where it is neither.
std::optional<bool> LossTerms::growsWithBatch(Value index) {
  FailureOr<Expr> size = shapes.valueOf(index);
  FailureOr<CollatedInputs> collated = getCollatedInputs(main);
  plan::BatchDivision division;
  if (failed(size) || failed(collated) || plan::divide(collated->inputs, division))
    return std::nullopt;
  std::set<std::string> divided;
  for (const Expr &unit : division.units())
    unit.collectSymbols(divided);
  auto isDivided = [&](const Expr &expr) {
    std::set<std::string> names;
    expr.collectSymbols(names);
    return llvm::any_of(names, [&](const std::string &name) { return divided.count(name); });
  };
  if (!isDivided(*size))
    return false;
  for (const Expr &unit : division.units())
    if (std::optional<Expr> each = size->exactQuotient(unit); each && !isDivided(*each))
      return true;
  return std::nullopt;
}

} // namespace braid
