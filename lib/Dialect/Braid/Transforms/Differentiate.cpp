//===- Differentiate.cpp - Forward and backward functions of units --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is cloned, its gradient ops are emitted behind it, and the whole is cut into functions: what gives input
// gradients is backward-input, what is left for parameter gradients backward-weight. Forward values that a backward
// function reads are residuals, unless they follow from parameters and constants, which are computed again: weights may
// change between forward and backward (staleness), and memory should not hold them twice.
//
//===----------------------------------------------------------------------===//

#include "RecomputePolicies.h"

#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
bool isFloat(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Values of a block that depend differentiably on `active` ones; those are added.
void propagateActivity(Block &block, llvm::DenseSet<Value> &active) {
  for (Operation &op : block.without_terminator()) {
    auto rule = dyn_cast<GradientOpInterface>(op);
    if (!rule || !rule.isDifferentiable() ||
        llvm::none_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    for (Value result : op.getResults())
      if (isFloat(result))
        active.insert(result);
  }
}

unsigned numInputs(func::FuncOp unit) {
  unsigned count = 0;
  while (count < unit.getNumArguments() && !unit.getArgAttr(count, "braid.param"))
    ++count;
  return count;
}

/// What a derivative is made for.
struct Request {
  func::FuncOp unit;
  SmallVector<bool> activeInputs; // the producer of the input needs a gradient
  SmallVector<bool> resultGrads;  // somebody has a cotangent for the result
  StringAttr policy;              // of recomputation; null: none

  std::string key() {
    std::string text = unit.getSymName().str() + ":";
    for (bool flag : llvm::concat<bool>(activeInputs, resultGrads))
      text += flag ? '1' : '0';
    return text + (policy ? policy.str() : "");
  }
};

class UnitDifferentiator {
public:
  UnitDifferentiator(Request request, SymbolTable &symbols, ModuleOp module)
      : request(std::move(request)), symbols(symbols), module(module), shapes(module), builder(module.getContext()) {}

  ~UnitDifferentiator() {
    if (joint)
      joint.erase();
  }

  /// Null if no gradient is needed or reaches anything.
  FailureOr<DerivativeOp> run() {
    func::FuncOp unit = request.unit;
    inputs = numInputs(unit);
    makeJoint();
    if (failed(emitGradients()))
      return failure();
    collectGradients();
    if (inputRoots.empty() && paramRoots.empty())
      return DerivativeOp();
    classify();
    shapes.storeGuards();
    return emitFunctions();
  }

private:
  /// A copy of the unit that also takes the cotangents; gradients are emitted at its end.
  void makeJoint() {
    func::FuncOp unit = request.unit;
    joint = cast<func::FuncOp>(unit->clone());
    Block &body = joint.getBody().front();
    returned = llvm::to_vector(body.getTerminator()->getOperands());
    for (auto [number, value] : llvm::enumerate(unit.getArguments()))
      if (auto shape = shapes.shapeOf(value); succeeded(shape))
        shapes.setShape(body.getArgument(number), *shape);
    for (Operation &op : body.without_terminator())
      forwardOps.insert(&op);
    for (auto [number, wanted] : llvm::enumerate(request.resultGrads))
      if (wanted) {
        Value cotangent = body.addArgument(returned[number].getType(), unit.getLoc());
        cotangents.push_back(cotangent);
      }
    for (auto [number, wanted] : llvm::enumerate(request.activeInputs))
      if (wanted)
        active.insert(body.getArgument(number));
    for (unsigned number = inputs; number < unit.getNumArguments(); ++number)
      if (unit.getArgAttr(number, "braid.requires_grad"))
        active.insert(body.getArgument(number));
    propagateActivity(body, active);
    body.getTerminator()->erase();
  }

  LogicalResult emitGradients() {
    Block &body = joint.getBody().front();
    builder.setInsertionPointToEnd(&body);
    auto needed = [this](Value value) { return active.contains(value); };
    GradientBuilder gradient(builder, shapes, needed);
    unsigned next = 0;
    for (auto [number, wanted] : llvm::enumerate(request.resultGrads)) {
      if (!wanted)
        continue;
      Value cotangent = cotangents[next++];
      FailureOr<TensorShape> shape = shapes.shapeOf(returned[number]);
      if (failed(shape))
        return failure();
      shapes.setShape(cotangent, *shape);
      gradient.startOp(request.unit, {});
      gradient.add(returned[number], cotangent);
    }
    for (Operation *op : llvm::reverse(forwardOps.getArrayRef())) {
      SmallVector<Value> results;
      for (Value result : op->getResults())
        results.push_back(gradient.gradients.lookup(result));
      if (llvm::none_of(results, [](Value cotangent) { return static_cast<bool>(cotangent); }))
        continue;
      auto rule = dyn_cast<GradientOpInterface>(op);
      if (!rule)
        return op->emitOpError("has no gradient rule");
      gradient.startOp(op, results);
      if (failed(gradient.checkShapes(op)) || failed(rule.buildGradient(gradient)) || gradient.hasFailed())
        return failure();
    }
    for (BlockArgument argument : body.getArguments())
      if (Value value = gradient.gradients.lookup(argument))
        argumentGradients[argument.getArgNumber()] = value;
    return success();
  }

  void collectGradients() {
    unsigned arguments = request.unit.getNumArguments();
    for (unsigned number = 0; number < arguments; ++number) {
      auto gradient = argumentGradients.find(number);
      bool there = gradient != argumentGradients.end();
      (number < inputs ? inputGrads : paramGrads).push_back(there);
      if (there)
        (number < inputs ? inputRoots : paramRoots).push_back(gradient->second);
    }
  }

  bool isForward(Value value) {
    Operation *op = value.getDefiningOp();
    if (op)
      return forwardOps.contains(op);
    return cast<BlockArgument>(value).getArgNumber() < request.unit.getNumArguments();
  }

  /// Parameters, constants, symbols and what is computed from them alone.
  void findRecomputed() {
    for (unsigned number = inputs; number < request.unit.getNumArguments(); ++number)
      recomputed.insert(joint.getArgument(number));
    for (Operation *op : forwardOps)
      if (llvm::all_of(op->getOperands(), [&](Value operand) { return recomputed.contains(operand); }))
        recomputed.insert_range(op->getResults());
  }

  void slice(ArrayRef<Value> roots, llvm::SetVector<Operation *> &ops) {
    SmallVector<Value> work(roots.begin(), roots.end());
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || forwardOps.contains(op) || !ops.insert(op))
        continue;
      llvm::append_range(work, op->getOperands());
    }
  }

  void classify() {
    findRecomputed();
    slice(inputRoots, inputOps);
    slice(paramRoots, weightOps);
    // Sizes and constants are made where they are used, so they carry nothing over.
    auto isCheap = [](Operation *op) {
      return isa<ConstantOp, SymbolOp, ScalarTensorOp>(op) || isa<arith::ArithDialect>(op->getDialect());
    };
    weightOps.remove_if([&](Operation *op) { return inputOps.contains(op) && !isCheap(op); });
    auto carry = [&](Value value) {
      Operation *op = value.getDefiningOp();
      bool fromInput = op ? inputOps.contains(op) && !weightOps.contains(op)
                          : cast<BlockArgument>(value).getArgNumber() >= request.unit.getNumArguments();
      if (fromInput)
        carries.insert(value);
    };
    for (Operation *op : weightOps)
      for (Value operand : op->getOperands())
        carry(operand);
    for (Value root : paramRoots)
      carry(root);
    auto residual = [&](Value value) {
      if (isForward(value) && !recomputed.contains(value))
        residuals.insert(value);
    };
    for (Operation *op : llvm::concat<Operation *const>(inputOps, weightOps))
      for (Value operand : op->getOperands())
        residual(operand);
    for (Value root : llvm::concat<Value>(inputRoots, paramRoots))
      residual(root);
    // A dropout of what is kept is drawn again: attention would keep its weights twice.
    residuals.remove_if([&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && isa<DropoutOp>(op) && drawsRandomNumbers(op) && residuals.contains(op->getOperand(0));
    });
  }

  void addDims(func::FuncOp function, unsigned number, Value value, bool result) {
    FailureOr<TensorShape> shape = shapes.shapeOf(value);
    if (failed(shape))
      return;
    ArrayAttr dims = getDimsAttr(builder.getContext(), *shape);
    if (result)
      function.setResultAttr(number, dimsAttrName, dims);
    else
      function.setArgAttr(number, dimsAttrName, dims);
  }

  /// A function of `arguments` (values of the joint function) that computes `results` with `ops`.
  func::FuncOp emitFunction(StringRef suffix, ArrayRef<Value> arguments, ArrayRef<Value> results,
                            llvm::function_ref<bool(Operation *)> allowed) {
    SmallVector<Type> argTypes, resultTypes;
    for (Value value : arguments)
      argTypes.push_back(value.getType());
    for (Value value : results)
      resultTypes.push_back(value.getType());
    auto function = func::FuncOp::create(request.unit.getLoc(), (request.unit.getSymName() + suffix).str(),
                                         FunctionType::get(builder.getContext(), argTypes, resultTypes));
    function.setPrivate();
    if (Attribute streams = request.unit->getAttr(streamsAttrName))
      function->setAttr(streamsAttrName, streams);
    Block *entry = function.addEntryBlock();
    IRMapping mapping;
    for (auto [number, value] : llvm::enumerate(arguments)) {
      mapping.map(value, entry->getArgument(number));
      addDims(function, number, value, false);
      if (auto argument = dyn_cast<BlockArgument>(value))
        if (argument.getArgNumber() >= inputs && argument.getArgNumber() < request.unit.getNumArguments())
          function.setArgAttr(number, "braid.param", builder.getUnitAttr());
    }
    OpBuilder inside = OpBuilder::atBlockEnd(entry);
    // In the joint function's order: what is needed is marked from the results back.
    llvm::DenseSet<Operation *> wanted;
    SmallVector<Value> work(results.begin(), results.end());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (mapping.contains(value) || !op || !allowed(op) || !wanted.insert(op).second)
        continue;
      llvm::append_range(work, op->getOperands());
    }
    for (Operation &op : joint.getBody().front())
      if (wanted.contains(&op))
        inside.clone(op, mapping);
    SmallVector<Value> returnValues;
    for (auto [number, value] : llvm::enumerate(results)) {
      returnValues.push_back(mapping.lookup(value));
      addDims(function, number, value, true);
    }
    func::ReturnOp::create(inside, request.unit.getLoc(), returnValues);
    symbols.insert(function);
    return function;
  }

  FailureOr<DerivativeOp> emitFunctions() {
    Block &body = joint.getBody().front();
    SmallVector<Value> arguments(body.getArguments().begin(),
                                 body.getArguments().begin() + request.unit.getNumArguments());
    SmallVector<Value> params(arguments.begin() + inputs, arguments.end());
    SmallVector<Value> forwardResults = returned;
    llvm::append_range(forwardResults, residuals);
    auto forwardOnly = [&](Operation *op) { return forwardOps.contains(op); };
    auto backwardToo = [&](Operation *op) { return true; };

    SmallVector<Value> backwardArgs = params;
    llvm::append_range(backwardArgs, residuals);
    SmallVector<Value> withCotangents = backwardArgs;
    llvm::append_range(withCotangents, cotangents);
    SmallVector<Value> inputResults = inputRoots;
    llvm::append_range(inputResults, carries);
    SmallVector<Value> withCarries = backwardArgs;
    llvm::append_range(withCarries, carries);
    SmallVector<Value> fullResults = inputRoots;
    llvm::append_range(fullResults, paramRoots);

    auto reference = [&](func::FuncOp function) {
      return FlatSymbolRefAttr::get(builder.getContext(), function.getSymName());
    };
    FlatSymbolRefAttr forward = reference(emitFunction(".forward", arguments, forwardResults, forwardOnly));
    FlatSymbolRefAttr input = reference(emitFunction(".backward_input", withCotangents, inputResults, backwardToo));
    FlatSymbolRefAttr weight, full = input;
    if (!paramRoots.empty()) {
      weight = reference(emitFunction(".backward_weight", withCarries, paramRoots, backwardToo));
      full = reference(emitFunction(".backward", withCotangents, fullResults, backwardToo));
    }
    OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
    return DerivativeOp::create(atEnd, request.unit.getLoc(), reference(request.unit), forward, FlatSymbolRefAttr(),
                                input, weight, full, atEnd.getDenseBoolArrayAttr(inputGrads),
                                atEnd.getDenseBoolArrayAttr(paramGrads),
                                atEnd.getDenseBoolArrayAttr(request.resultGrads), request.policy);
  }

  Request request;
  SymbolTable &symbols;
  ModuleOp module;
  ShapeAnalysis shapes;
  OpBuilder builder;
  func::FuncOp joint;
  unsigned inputs = 0;
  SmallVector<Value> returned, cotangents;
  llvm::SetVector<Operation *> forwardOps;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<unsigned, Value> argumentGradients;
  llvm::DenseSet<Value> recomputed;
  SmallVector<bool> inputGrads, paramGrads;
  SmallVector<Value> inputRoots, paramRoots;
  llvm::SetVector<Operation *> inputOps, weightOps;
  llvm::SetVector<Value> carries, residuals;
};

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || main.getNumResults() == 0) {
      module.emitError("has no @main of unit calls that returns one loss: run braid-outline-units first");
      return signalPassFailure();
    }
    Block &body = main.getBody().front();
    SymbolTable symbols(module);
    SmallVector<CallOp> calls(body.getOps<CallOp>());
    FailureOr<llvm::DenseMap<Operation *, StringRef>> policies = findRecomputePolicies(main, planFile, recompute);
    if (failed(policies))
      return signalPassFailure();

    // Forwards: which values depend on a trainable parameter.
    llvm::DenseSet<Value> active;
    for (CallOp call : calls) {
      auto unit = symbols.lookup<func::FuncOp>(call.getCallee());
      Block &unitBody = unit.getBody().front();
      llvm::DenseSet<Value> inside;
      for (auto [number, operand] : llvm::enumerate(call.getOperands()))
        if (active.contains(operand) || unit.getArgAttr(number, "braid.requires_grad"))
          inside.insert(unitBody.getArgument(number));
      propagateActivity(unitBody, inside);
      for (auto [result, value] : llvm::zip(call.getResults(), unitBody.getTerminator()->getOperands()))
        if (inside.contains(value))
          active.insert(result);
    }
    Value loss = body.getTerminator()->getOperand(0);
    if (!active.contains(loss)) {
      emitError(loss.getLoc()) << "the loss depends on no trainable parameter: is every parameter frozen?";
      return signalPassFailure();
    }

    // Backwards: which of them get a cotangent.
    llvm::DenseSet<Value> wanted = {loss};
    llvm::StringMap<DerivativeOp> derivatives;
    for (CallOp call : llvm::reverse(calls)) {
      Request request{symbols.lookup<func::FuncOp>(call.getCallee()), {}, {}, {}};
      if (StringRef policy = policies->lookup(call); !policy.empty() && policy != "none")
        request.policy = StringAttr::get(&getContext(), policy);
      for (Value input : call.getInputs())
        request.activeInputs.push_back(active.contains(input));
      for (Value result : call.getResults())
        request.resultGrads.push_back(wanted.contains(result) && active.contains(result));
      if (!llvm::is_contained(request.resultGrads, true))
        continue;
      auto [known, isNew] = derivatives.try_emplace(request.key());
      if (isNew) {
        FailureOr<DerivativeOp> derivative = UnitDifferentiator(request, symbols, module).run();
        if (failed(derivative))
          return signalPassFailure();
        known->second = *derivative;
        numDerivatives += *derivative ? 1 : 0;
      }
      DerivativeOp derivative = known->second;
      if (!derivative)
        continue;
      // Calls name their derivative by its forward function, which is its alone.
      call->setAttr("derivative", derivative.getForwardAttr());
      for (auto [input, gradient] : llvm::zip(call.getInputs(), derivative.getInputGrads()))
        if (gradient)
          wanted.insert(input);
    }
  }
};
} // namespace
} // namespace braid
