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
#include "LossTerms.h"

#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

#include <functional>

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_SPLITLOSS
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
/// ATen's numbers for `reduction`.
enum Reduction : int64_t { none = 0, mean = 1, sum = 2 };

class LossSplitter {
public:
  LossSplitter(func::FuncOp main, LossTerms &loss, ShapeAnalysis &shapes)
      : main(main), loss(loss), shapes(shapes), builder(main.getContext()) {}

  LogicalResult split() {
    auto prologue = makePrologue();
    auto fail = [&] {
      shapes.erase(prologue);
      return failure();
    };
    SmallVector<Count> counts;
    for (Operation *term : loss.terms) {
      auto reduction = term->getAttrOfType<IntegerAttr>("reduction");
      bool isMean = isa<MeanOp>(term) || (!isa<SumOp>(term) && (!reduction || reduction.getInt() == mean));
      if (!isMean)
        continue;
      FailureOr<Value> count = emitCount(term);
      if (failed(count))
        return fail();
      counts.push_back({describe(term), *count, true, [this, term](Value total) { replaceMean(term, total); }});
    }
    for (Operation *divisor : loss.counts) {
      FailureOr<Value> count = emitDivisor(divisor);
      if (failed(count))
        return fail();
      counts.push_back({describe(divisor), *count, loss.needed.contains(divisor),
                        [this, divisor](Value total) { replaceDivisor(divisor, total); }});
    }
    if (!loss.fixed.empty() || !loss.fixedScalars.empty()) {
      Value one = arith::ConstantIndexOp::create(inside, main.getLoc(), 1);
      Value count = ScalarTensorOp::create(inside, main.getLoc(), countType(), one);
      counts.push_back({"the parts of the batch", count, true, [this](Value total) { divideFixed(total); }});
    }
    SmallVector<Value> results;
    SmallVector<Attribute> names, nonzero;
    for (const Count &count : counts) {
      results.push_back(count.ofPart);
      names.push_back(builder.getStringAttr(count.name));
      nonzero.push_back(builder.getBoolAttr(count.nonzero));
      count.replace(addCount(count.ofPart.getType(), results.size() - 1));
    }
    OpBuilder end = OpBuilder::atBlockEnd(&prologue.getBody().front());
    func::ReturnOp::create(end, prologue.getLoc(), results);
    prologue.setFunctionType(FunctionType::get(builder.getContext(), prologue.getArgumentTypes(), TypeRange(results)));
    prologue->setAttr("braid.counts", builder.getArrayAttr(names));
    prologue->setAttr("braid.nonzero", builder.getArrayAttr(nonzero));
    for (unsigned number = 0; number < results.size(); ++number)
      prologue.setResultAttr(number, dimsAttrName, builder.getArrayAttr({}));
    return success();
  }

  std::string reason;

private:
  /// What @prologue gives for a part of the batch; `replace` takes its sum over all parts, an argument of @main.
  struct Count {
    std::string name;
    Value ofPart;
    bool nonzero; // where the sum is 0, the loss is undefined
    std::function<void(Value)> replace;
  };

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
      return ScalarTensorOp::create(inside, loc, countType(), shapes.materializeIndex(inside, loc, size));
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

  RankedTensorType countType() { return RankedTensorType::get({}, builder.getI64Type()); }

  /// A count in a divisor, inside of the prologue. Weights are summed in float64.
  FailureOr<Value> emitDivisor(Operation *divisor) {
    if (auto size = dyn_cast<ScalarTensorOp>(divisor))
      return Value(
          ScalarTensorOp::create(inside, divisor->getLoc(), countType(),
                                 shapes.materializeIndex(inside, divisor->getLoc(), *shapes.valueOf(size.getValue()))));
    Value counted = LossTerms::countedBy(cast<SumOp>(divisor));
    if (failed(cloneSlice(counted, divisor)))
      return failure();
    Type type = LossTerms::isInteger(counted) ? Type(inside.getI64Type()) : inside.getF64Type();
    auto sum = buildAtenOp(inside, divisor->getLoc(), OperationName("braid.sum", inside.getContext()),
                           {slice.lookup(counted), ArgValue(Attribute(TypeAttr::get(type)))}, shapes);
    if (failed(sum))
      return failure();
    return (*sum)->getResult(0);
  }

  /// The count as an argument of @main.
  Value addCount(Type type, unsigned number) {
    unsigned argument = main.getNumArguments();
    auto attrs = builder.getDictionaryAttr({builder.getNamedAttr("braid.count", builder.getI64IntegerAttr(number)),
                                            builder.getNamedAttr(dimsAttrName, builder.getArrayAttr({}))});
    (void)main.insertArgument(argument, type, attrs, main.getLoc());
    return main.getArgument(argument);
  }

  void replaceDivisor(Operation *divisor, Value count) {
    Type wanted = getElementTypeOrSelf(divisor->getResult(0).getType());
    if (wanted != getElementTypeOrSelf(count.getType())) {
      builder.setInsertionPoint(divisor);
      count = build<ToOp>(divisor, {count, ArgValue(Attribute(TypeAttr::get(wanted)))});
    }
    divisor->getResult(0).replaceAllUsesWith(count);
    shapes.erase(divisor);
  }

  /// Each part adds its share of what is the same for all of them.
  void divideFixed(Value parts) {
    main.setArgAttr(cast<BlockArgument>(parts).getArgNumber(), partsAttrName, builder.getUnitAttr());
    auto share = [&](Value value, Operation *user) {
      builder.setInsertionPoint(user);
      return build<DivOp>(user, {value, parts});
    };
    for (OpOperand *summand : loss.fixed)
      summand->set(share(summand->get(), summand->getOwner()));
    for (Operation *op : loss.fixedScalars) {
      auto type = RankedTensorType::get({}, getElementTypeOrSelf(op->getResult(0).getType()));
      builder.setInsertionPoint(op);
      Value number = ConstantOp::create(builder, op->getLoc(), splat(type, op->getAttr("other")));
      shapes.setShape(number, {{}, type.getElementType()});
      Value self = op->getOperand(0), other = share(number, op);
      if (isa<RsubScalarOp>(op))
        std::swap(self, other);
      ArgValue alpha = op->getAttr("alpha") ? ArgValue(op->getAttr("alpha")) : ArgValue();
      Value sum =
          isa<AddScalarOp>(op) ? build<AddOp>(op, {self, other, alpha}) : build<SubOp>(op, {self, other, alpha});
      op->getResult(0).replaceAllUsesWith(sum);
      shapes.erase(op);
    }
  }

  /// A 0-dim tensor of a floating-point type.
  static ElementsAttr splat(RankedTensorType type, Attribute number) {
    auto real = dyn_cast<FloatAttr>(number);
    double value = real ? real.getValueAsDouble() : static_cast<double>(cast<IntegerAttr>(number).getInt());
    return DenseElementsAttr::get(type, FloatAttr::get(type.getElementType(), value));
  }

  /// Builds an op of the path of `like`, in whose place it stands.
  template <typename Op> Value build(Operation *like, ArrayRef<ArgValue> values) {
    auto op = buildAtenOp(builder, like->getLoc(), OperationName(Op::getOperationName(), builder.getContext()), values,
                          shapes);
    if (Attribute path = like->getAttr(pathAttrName))
      (*op)->setAttr(pathAttrName, path);
    return (*op)->getResult(0);
  }

  void replaceMean(Operation *term, Value count) {
    builder.setInsertionPoint(term);
    Value total;
    if (isa<MeanOp>(term)) {
      total = build<SumOp>(term, {term->getOperand(0), ArgValue(term->getAttr("dtype"))});
    } else {
      Operation *summed = builder.clone(*term);
      summed->setAttr("reduction", builder.getI64IntegerAttr(sum));
      total = summed->getResult(0);
      shapes.setShape(total, *shapes.shapeOf(term->getResult(0)));
    }
    term->getResult(0).replaceAllUsesWith(build<DivOp>(term, {total, count}));
    shapes.erase(term);
  }

  func::FuncOp main;
  LossTerms &loss;
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
    LossTerms terms(main, shapes);
    LossSplitter splitter(main, terms, shapes);
    bool isKnown = terms.collect(main.getBody().front().getTerminator()->getOperand(0));
    if (!isKnown || failed(splitter.split())) {
      const std::string &reason = isKnown ? splitter.reason : terms.reason;
      if (reason.empty())
        return signalPassFailure();
      module->setAttr("braid.whole_loss", StringAttr::get(&getContext(), reason));
      return;
    }
    numTerms = terms.terms.size();
  }
};
} // namespace
} // namespace braid
