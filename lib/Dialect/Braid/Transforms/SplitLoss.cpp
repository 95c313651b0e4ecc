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
#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

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
      if (summands.empty()) {
        reason = describe(op) + " is neither a mean loss (cross_entropy, mse_loss, binary_cross_entropy_with_logits, "
                                "mean), nor a sum of such terms scaled by constants";
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
    SmallVector<Value> results;
    SmallVector<Type> types;
    SmallVector<Attribute> names;
    for (auto &[term, count] : counted) {
      results.push_back(count);
      types.push_back(count.getType());
      names.push_back(builder.getStringAttr(describe(term)));
      replaceMean(term, count.getType(), results.size() - 1);
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

private:
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
      auto count = buildAtenOp(inside, loc, OperationName("braid.sum", inside.getContext()),
                               {(*kept)->getResult(0)}, shapes);
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

  void replaceMean(Operation *term, Type countType, unsigned number) {
    unsigned argument = main.getNumArguments();
    auto attrs = builder.getDictionaryAttr({builder.getNamedAttr("braid.count", builder.getI64IntegerAttr(number)),
                                            builder.getNamedAttr(dimsAttrName, builder.getArrayAttr({}))});
    (void)main.insertArgument(argument, countType, attrs, term->getLoc());
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
                                {total->getResult(0), main.getArgument(argument)}, shapes);
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
