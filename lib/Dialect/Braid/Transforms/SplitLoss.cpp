//===- SplitLoss.cpp - Loss terms as sums divided by counts ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mean over the batch is no sum over its parts: parts differ in how many labels count. With loss = sum / count, and
// the count known before compute, the losses and gradients of micro-batches simply add.
//
//===----------------------------------------------------------------------===//

#include "LossSums.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Collate.h"
#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_SPLITLOSS
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
/// ATen's numbers for `reduction`.
enum Reduction : int64_t { none = 0, mean = 1, sum = 2 };

class LossSplitter {
public:
  LossSplitter(func::FuncOp main, ShapeAnalysis &shapes) : main(main), shapes(shapes), builder(main.getContext()) {}

  /// Collects the terms of the loss. On failure `reason` says which op is of no known form.
  bool collect(Value loss) {
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
      if (isTerm(op)) {
        if (!op->hasOneUse()) {
          reason = describe(op) + " is used more than once";
          return false;
        }
        terms.insert(op);
        continue;
      }
      SmallVector<Value, 2> summands = summandsOf(op);
      if (auto div = dyn_cast<DivOp>(op); div && summands.empty()) {
        if (!collectCounts(div.getOther()))
          return false;
        summands = {div.getSelf()};
      }
      if (summands.empty()) {
        reason = describe(op) + " is neither a mean loss (cross_entropy, mse_loss, binary_cross_entropy_with_logits, "
                                "mean), nor a sum of such terms, scaled by constants or divided by counts of the batch";
        return false;
      }
      for (Value summand : llvm::reverse(summands)) {
        if (!keepsSum(summand, value)) {
          reason = describe(op) + " rounds the loss, so what the parts of a batch give does not add up to the loss of "
                                  "the whole; convert it to a wider floating-point type, or not at all";
          return false;
        }
        work.push_back(summand);
      }
    }
    return true;
  }

  /// The operands that an op adds or scales; none if it does something else.
  static SmallVector<Value, 2> summandsOf(Operation *op) {
    if (isa<ToOp, NegOp, ViewOp, ReshapeOp, ExpandOp, MulScalarOp, DivScalarOp>(op))
      return {op->getOperand(0)};
    if (isa<AddOp, SubOp>(op))
      return {op->getOperand(0), op->getOperand(1)};
    if (auto mul = dyn_cast<MulOp>(op)) {
      if (isConstant(mul.getOther()))
        return {mul.getSelf()};
      if (isConstant(mul.getSelf()))
        return {mul.getOther()};
    }
    if (auto div = dyn_cast<DivOp>(op); div && isConstant(div.getOther()))
      return {div.getSelf()};
    return {};
  }

  /// Finds what a divisor counts: elements of the inputs that are summed as integers, and sizes that grow with the
  /// batch. What the whole batch gives is the sum of what its parts give. On failure `reason` says what is no count.
  bool collectCounts(Value divisor) {
    Operation *op = divisor.getDefiningOp();
    auto type = cast<RankedTensorType>(divisor.getType());
    if (op && type.getRank() == 0) {
      if (isa<ConstantOp>(op))
        return true;
      // What is done to the counts of the whole batch.
      if (isa<ToOp, AddOp, AddScalarOp, SubOp, SubScalarOp, MulOp, MulScalarOp, DivOp, DivScalarOp, ClampOp, ClampMinOp,
              MaximumOp>(op))
        return llvm::all_of(op->getOperands(), [&](Value operand) { return collectCounts(operand); });
      if (auto sum = dyn_cast<SumOp>(op); sum && isInteger(countedBy(sum)) && !parameterBehind(sum))
        return counts.insert(op), true;
      if (auto size = dyn_cast<ScalarTensorOp>(op))
        if (std::optional<bool> grows = growsWithBatch(size.getValue())) {
          if (*grows)
            counts.insert(op);
          return true;
        }
    }
    reason = (op ? describe(op) : std::string("an input")) +
             " divides the loss and is no count: a sum over integers or a mask of the batch, or its size";
    return false;
  }

  /// What becomes a sum divided by a count; sums need no count.
  static bool isTerm(Operation *op) {
    return isa<CrossEntropyLossOp, MseLossOp, BinaryCrossEntropyWithLogitsOp, MeanOp, SumOp>(op);
  }

  LogicalResult split() {
    SmallVector<std::pair<Operation *, Value>> counted; // each mean with its count inside of the prologue
    auto prologue = makePrologue();
    for (Operation *term : terms) {
      auto reduction = term->getAttrOfType<IntegerAttr>("reduction");
      bool isMean = isa<MeanOp>(term) || (!isa<SumOp>(term) && (!reduction || reduction.getInt() == mean));
      if (!isMean)
        continue;
      FailureOr<Value> count = emitCount(term);
      if (failed(count)) {
        shapes.erase(prologue);
        return failure();
      }
      counted.push_back({term, *count});
    }
    for (Operation *divisor : counts) {
      FailureOr<Value> count = emitDivisor(divisor);
      if (failed(count)) {
        shapes.erase(prologue);
        return failure();
      }
      counted.push_back({divisor, *count});
    }
    SmallVector<Value> results;
    SmallVector<Type> types;
    SmallVector<Attribute> names;
    for (auto &[op, count] : counted) {
      results.push_back(count);
      types.push_back(count.getType());
      names.push_back(builder.getStringAttr(describe(op)));
      Value argument = addCount(op, count.getType(), results.size() - 1);
      if (counts.contains(op))
        replaceDivisor(op, argument);
      else
        replaceMean(op, argument);
    }
    OpBuilder end = OpBuilder::atBlockEnd(&prologue.getBody().front());
    func::ReturnOp::create(end, prologue.getLoc(), results);
    prologue.setFunctionType(FunctionType::get(builder.getContext(), prologue.getArgumentTypes(), types));
    prologue->setAttr("braid.counts", builder.getArrayAttr(names));
    for (unsigned number = 0; number < types.size(); ++number)
      prologue.setResultAttr(number, dimsAttrName, builder.getArrayAttr({}));
    return success();
  }

  std::string reason;
  llvm::SetVector<Operation *> terms;
  llvm::SetVector<Operation *> counts; // in divisors

private:
  static bool isInteger(Value value) { return isa<IntegerType>(getElementTypeOrSelf(value.getType())); }

  /// The values that a sum adds, before they became floats.
  static Value countedBy(SumOp sum) {
    Value value = sum.getSelf();
    for (auto to = value.getDefiningOp<ToOp>(); to && !isInteger(value); to = value.getDefiningOp<ToOp>())
      value = to.getSelf();
    return value;
  }

  /// A parameter that the op's result depends on; null if there is none.
  static GetParamOp parameterBehind(Operation *op) {
    llvm::SetVector<Operation *> work;
    work.insert(op);
    for (unsigned at = 0; at < work.size(); ++at) {
      if (auto param = dyn_cast<GetParamOp>(work[at]))
        return param;
      for (Value operand : work[at]->getOperands())
        if (Operation *before = operand.getDefiningOp())
          work.insert(before);
    }
    return {};
  }

  /// Whether a size counts samples, or rows that divide with them, or is the same for all parts of a batch. Nothing
  /// where it is neither.
  std::optional<bool> growsWithBatch(Value index) {
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

  static bool isConstant(Value value) {
    Operation *op = value.getDefiningOp();
    return op && isa<ConstantOp>(op);
  }

  func::FuncOp makePrologue() {
    OpBuilder after(main);
    after.setInsertionPointAfter(main);
    auto prologue = func::FuncOp::create(after, main.getLoc(), "prologue",
                                         FunctionType::get(builder.getContext(), main.getArgumentTypes(), {}));
    for (unsigned number = 0; number < main.getNumArguments(); ++number)
      prologue.setArgAttrs(number, main.getArgAttrDict(number));
    Block *entry = prologue.addEntryBlock();
    slice.map(main.getArguments(), entry->getArguments());
    inside = OpBuilder::atBlockEnd(entry);
    return prologue;
  }

  /// Clones what `value` is computed from into the prologue; it may hold inputs and constants only.
  LogicalResult cloneSlice(Value value, Operation *term) {
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Operation *op = work.back().getDefiningOp();
      if (slice.contains(work.back())) {
        work.pop_back();
        continue;
      }
      if (isa<GetParamOp>(op)) {
        reason = "the count of " + describe(term) + " depends on parameter " + cast<GetParamOp>(op).getParam().str() +
                 ", so it is not known before compute";
        return failure();
      }
      size_t before = work.size();
      llvm::copy_if(op->getOperands(), std::back_inserter(work),
                    [&](Value operand) { return !slice.contains(operand); });
      if (work.size() == before)
        inside.clone(*op, slice);
    }
    return success();
  }

  FailureOr<Value> emitCount(Operation *term) {
    Location loc = term->getLoc();
    auto scalar = [&](const Expr &size) -> Value {
      return ScalarTensorOp::create(inside, loc, RankedTensorType::get({}, inside.getI64Type()),
                                    shapes.materializeIndex(inside, loc, size));
    };
    auto sizeOf = [&](Value value) -> FailureOr<Value> {
      FailureOr<TensorShape> shape = shapes.shapeOf(value);
      if (failed(shape))
        return failure();
      return scalar(shape->numElements());
    };
    if (auto loss = dyn_cast<CrossEntropyLossOp>(term)) {
      FailureOr<TensorShape> logits = shapes.shapeOf(loss.getSelf()), target = shapes.shapeOf(loss.getTarget());
      if (failed(logits) || failed(target))
        return failure();
      if (loss.getWeight()) {
        reason = "class weights make the count of " + describe(term) + " a sum of weights";
        return failure();
      }
      if (isa<FloatType>(target->elementType)) { // class probabilities: the mean is over the rows
        if (std::optional<Expr> rows = logits->numElements().exactQuotient(logits->dims[logits->rank() > 1 ? 1 : 0]))
          return scalar(*rows);
        reason = "the rows of " + describe(term) + " cannot be counted";
        return failure();
      }
      if (failed(cloneSlice(loss.getTarget(), term)))
        return failure();
      int64_t ignored = -100;
      if (auto attr = term->getAttrOfType<IntegerAttr>("static_ignore_index"))
        ignored = attr.getInt();
      auto kept = buildAtenOp(inside, loc, OperationName("braid.ne_scalar", inside.getContext()),
                              {slice.lookup(loss.getTarget()), Attribute(inside.getI64IntegerAttr(ignored))}, shapes);
      if (failed(kept))
        return failure();
      auto count =
          buildAtenOp(inside, loc, OperationName("braid.sum", inside.getContext()), {(*kept)->getResult(0)}, shapes);
      if (failed(count))
        return failure();
      return (*count)->getResult(0);
    }
    if (isa<MseLossOp, BinaryCrossEntropyWithLogitsOp>(term)) {
      // Both broadcast their operands: the larger one has the elements of the mean.
      FailureOr<TensorShape> a = shapes.shapeOf(term->getOperand(0)), b = shapes.shapeOf(term->getOperand(1));
      if (failed(a) || failed(b))
        return failure();
      Expr product(1);
      for (int64_t dim = 1; dim <= std::max(a->rank(), b->rank()); ++dim) {
        Expr left = dim <= a->rank() ? a->dims[a->rank() - dim] : Expr(1);
        Expr right = dim <= b->rank() ? b->dims[b->rank() - dim] : Expr(1);
        product = product * (ShapeAnalysis::isOne(left) ? right : left);
      }
      return scalar(product);
    }
    return sizeOf(term->getOperand(0));
  }

  /// A count in a divisor, inside of the prologue.
  FailureOr<Value> emitDivisor(Operation *divisor) {
    if (auto size = dyn_cast<ScalarTensorOp>(divisor))
      return Value(
          ScalarTensorOp::create(inside, divisor->getLoc(), RankedTensorType::get({}, inside.getI64Type()),
                                 shapes.materializeIndex(inside, divisor->getLoc(), *shapes.valueOf(size.getValue()))));
    Value counted = countedBy(cast<SumOp>(divisor));
    if (failed(cloneSlice(counted, divisor)))
      return failure();
    auto sum = buildAtenOp(inside, divisor->getLoc(), OperationName("braid.sum", inside.getContext()),
                           {slice.lookup(counted), ArgValue(Attribute(TypeAttr::get(inside.getI64Type())))}, shapes);
    if (failed(sum))
      return failure();
    return (*sum)->getResult(0);
  }

  /// The count as an argument of @main.
  Value addCount(Operation *op, Type type, unsigned number) {
    unsigned argument = main.getNumArguments();
    auto attrs = builder.getDictionaryAttr({builder.getNamedAttr("braid.count", builder.getI64IntegerAttr(number)),
                                            builder.getNamedAttr(dimsAttrName, builder.getArrayAttr({}))});
    (void)main.insertArgument(argument, type, attrs, op->getLoc());
    return main.getArgument(argument);
  }

  void replaceDivisor(Operation *divisor, Value count) {
    Type wanted = getElementTypeOrSelf(divisor->getResult(0).getType());
    if (wanted != getElementTypeOrSelf(count.getType())) {
      builder.setInsertionPoint(divisor);
      auto to = buildAtenOp(builder, divisor->getLoc(), OperationName("braid.to", builder.getContext()),
                            {count, ArgValue(Attribute(TypeAttr::get(wanted)))}, shapes);
      if (Attribute path = divisor->getAttr(pathAttrName))
        (*to)->setAttr(pathAttrName, path);
      count = (*to)->getResult(0);
    }
    divisor->getResult(0).replaceAllUsesWith(count);
    shapes.erase(divisor);
  }

  void replaceMean(Operation *term, Value count) {
    builder.setInsertionPoint(term);
    Operation *total;
    if (isa<MeanOp>(term)) {
      auto sumOp = buildAtenOp(builder, term->getLoc(), OperationName("braid.sum", builder.getContext()),
                               {term->getOperand(0), ArgValue(term->getAttr("dtype"))}, shapes);
      total = *sumOp;
    } else {
      total = builder.clone(*term);
      total->setAttr("reduction", builder.getI64IntegerAttr(sum));
      shapes.setShape(total->getResult(0), *shapes.shapeOf(term->getResult(0)));
    }
    auto path = term->getAttr(pathAttrName);
    auto quotient = buildAtenOp(builder, term->getLoc(), OperationName("braid.div", builder.getContext()),
                                {total->getResult(0), count}, shapes);
    if (path)
      for (Operation *op : {total, *quotient})
        op->setAttr(pathAttrName, path);
    term->getResult(0).replaceAllUsesWith((*quotient)->getResult(0));
    shapes.erase(term);
  }

  func::FuncOp main;
  ShapeAnalysis &shapes;
  OpBuilder builder;
  OpBuilder inside{builder.getContext()};
  IRMapping slice;
};

struct SplitLoss : impl::SplitLossBase<SplitLoss> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || main.getNumResults() == 0) {
      module.emitError("has no @main that returns one loss: import a model first (braid-import)");
      return signalPassFailure();
    }
    ShapeAnalysis shapes(module);
    LossSplitter splitter(main, shapes);
    Value loss = main.getBody().front().getTerminator()->getOperand(0);
    if (!splitter.collect(loss) || failed(splitter.split())) {
      if (splitter.reason.empty())
        return signalPassFailure();
      module->setAttr("braid.whole_loss", StringAttr::get(&getContext(), splitter.reason));
      return;
    }
    numTerms = splitter.terms.size();
  }
};
} // namespace
} // namespace braid
