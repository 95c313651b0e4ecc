//===- VerifyContract.cpp - What may be assumed after a phase -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/Architecture.md states the contracts. A broken one is an error at the op that breaks it: passes of the next phase
// then rely on it without asking again, also for IR that a person wrote or changed.
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_VERIFYCONTRACT
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
class ContractVerifier {
public:
  explicit ContractVerifier(ModuleOp module) : module(module), symbols(module), shapes(module) {}

  LogicalResult run(StringRef phase) {
    main = symbols.lookup<func::FuncOp>("main");
    if (!main || main.isExternal() || !llvm::hasSingleElement(main.getBody()))
      return module.emitError("has no @main of one block: import a model first (braid-import)");
    if (main.getNumResults() == 0 || !isScalarFloat(main.getResultTypes().front()))
      return main.emitOpError("does not return a scalar loss");
    if (failed(verifyStates()))
      return failure();
    if (phase == "import")
      return success(verifyOps(main) & verifyModules());
    if (phase == "shapes")
      return success(verifyOps(main) & verifyFlat());
    if (phase == "units")
      return success(verifyCalls());
    if (phase == "differentiate")
      return success(verifyCalls() && verifyDerivatives());
    return module.emitError() << "there is no contract of phase '" << phase
                              << "'; there are import, shapes, units and differentiate";
  }

private:
  /// What @main returns behind the loss are new values of buffers.
  LogicalResult verifyStates() {
    for (unsigned number = 1; number < main.getNumResults(); ++number) {
      auto name = main.getResultAttrOfType<FlatSymbolRefAttr>(number, stateAttrName);
      auto param = name ? symbols.lookup<ParamOp>(name.getValue()) : ParamOp();
      if (!param)
        return main.emitOpError() << "returns result " << number << " behind the loss, which names no buffer ("
                                  << stateAttrName << ")";
      if (param.getTensorType() != main.getResultTypes()[number])
        return main.emitOpError() << "returns " << main.getResultTypes()[number] << " for '" << name.getValue()
                                  << "', which is " << param.getTensorType();
      if (param.getRequiresGrad())
        return main.emitOpError() << "returns a new value of '" << name.getValue() << "', which is trained";
    }
    return success();
  }

  static bool isScalarFloat(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
  }

  bool fail(Operation *op, const Twine &what) {
    op->emitOpError(what);
    return false;
  }

  /// Typed or opaque ATen ops, structure of braid, arith on sizes, calls. What draws random numbers says from where.
  bool verifyOps(func::FuncOp function) {
    bool valid = true;
    auto listed = function->getAttrOfType<IntegerAttr>(streamsAttrName);
    for (Operation &op : function.getBody().front()) {
      auto stream = op.getAttrOfType<IntegerAttr>(streamAttrName);
      if (drawsRandomNumbers(&op) && (!stream || stream.getInt() < 0 || stream.getInt() >= streamEnd))
        valid = fail(&op, "draws random numbers and has no stream to draw them from: give it a number of its own, as "
                          "in {stream = 3 : i64}");
      else if (drawsRandomNumbers(&op) && listed && stream.getInt() >= listed.getInt())
        valid = fail(&op, "draws from a stream that its unit does not list (" + Twine(streamsAttrName) + ")");
      if (!isa<AtenOpInterface, OpaqueOp, AtenGradientOp, GetParamOp, ConstantOp, SizeOp, SymbolOp, ScalarTensorOp,
               func::CallOp, CallOp, func::ReturnOp>(op) &&
          !isa<arith::ArithDialect>(op.getDialect()))
        valid = fail(&op, "has no place in a model graph: ops are ATen operators, braid's own, arith on sizes and calls");
    }
    return valid;
  }

  bool verifyModules() {
    bool valid = true;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function == main)
        continue;
      if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
        valid = fail(function, "is no function of one block; a module call is one");
      else if (function->hasAttr(moduleAttrName))
        valid &= verifyOps(function);
    }
    return valid;
  }

  bool verifyFlat() {
    bool valid = true;
    llvm::DenseMap<int64_t, Operation *> drawn;
    for (Operation &op : main.getBody().front()) {
      if (auto stream = op.getAttrOfType<IntegerAttr>(streamAttrName); stream && drawsRandomNumbers(&op))
        if (auto [other, isNew] = drawn.try_emplace(stream.getInt(), &op); !isNew) {
          (op.emitOpError() << "draws from stream " << stream.getInt() << ", as another op does: their numbers would be "
                            << "the same, so give it a stream of its own")
                  .attachNote(other->second->getLoc())
              << "drawn from here";
          valid = false;
        }
      if (isa<SizeOp, func::CallOp, CallOp>(op))
        valid = fail(&op, "is left after shapes are resolved: @main is flat, and sizes are arith over braid.symbol");
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()) && failed(shapes.shapeOf(result)))
          valid = false;
    }
    return valid;
  }

  bool verifyCalls() {
    bool valid = true;
    Block &body = main.getBody().front();
    for (Operation &op : body) {
      auto call = dyn_cast<CallOp>(op);
      if (!call) {
        if (!isa<GetParamOp, func::ReturnOp>(op))
          valid = fail(&op, "stands outside of a unit: @main holds calls and parameter reads only");
        continue;
      }
      auto unit = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!unit || unit.isExternal() || !llvm::hasSingleElement(unit.getBody())) {
        valid = fail(call, "calls a unit that has no body of one block");
        continue;
      }
      for (Value param : call.getParams())
        if (!param.getDefiningOp<GetParamOp>())
          valid = fail(call, "takes a parameter that no braid.get_param reads");
      for (unsigned number = 0; number < unit.getNumArguments(); ++number) {
        if (!isa<RankedTensorType>(unit.getArgumentTypes()[number]))
          valid = fail(unit, "takes an argument that is no tensor: sizes are symbols inside of a unit");
        bool isParam = static_cast<bool>(unit.getArgAttr(number, "braid.param"));
        if (isParam != (number >= call.getInputs().size()))
          valid = fail(call, "and its unit do not agree on which arguments are parameters (braid.param)");
      }
      valid &= verifyOps(unit);
    }
    for (Value value : body.getTerminator()->getOperands())
      if (!value.getDefiningOp<CallOp>())
        valid = fail(body.getTerminator(), "returns a value that no unit computes");
    if (auto prologue = symbols.lookup<func::FuncOp>("prologue"))
      for (StringRef name : {"braid.counts", "braid.nonzero"})
        if (auto list = prologue->getAttrOfType<ArrayAttr>(name); !list || list.size() != prologue.getNumResults())
          valid = fail(prologue, "has no entry for each of its counts in " + name.str());
    return valid;
  }

  bool verifyDerivatives() {
    bool valid = true;
    llvm::StringMap<DerivativeOp> byForward;
    for (auto derivative : module.getOps<DerivativeOp>()) {
      byForward[derivative.getForward()] = derivative;
      valid &= verifyDerivative(derivative);
    }
    for (CallOp call : main.getBody().front().getOps<CallOp>())
      if (auto name = call->getAttrOfType<FlatSymbolRefAttr>("derivative")) {
        DerivativeOp derivative = byForward.lookup(name.getValue());
        if (!derivative || derivative.getUnit() != call.getCallee())
          valid = fail(call, "names a derivative that is not its unit's");
      }
    return valid;
  }

  bool verifyDerivative(DerivativeOp derivative) {
    auto unit = symbols.lookup<func::FuncOp>(derivative.getUnit());
    auto forward = symbols.lookup<func::FuncOp>(derivative.getForward());
    if (!unit || !forward || forward.isExternal() || unit.getArgumentTypes() != forward.getArgumentTypes() ||
        forward.getNumResults() < unit.getNumResults() ||
        forward.getResultTypes().take_front(unit.getNumResults()) != unit.getResultTypes())
      return fail(derivative, "has a forward function that does not fit its unit");
    // Residuals hold no parameter and nothing that follows from parameters, constants and symbols alone.
    llvm::DenseSet<Value> varying;
    Block &body = forward.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (!forward.getArgAttr(argument.getArgNumber(), "braid.param"))
        varying.insert(argument);
    for (Operation &op : body.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return varying.contains(operand); }))
        varying.insert_range(op.getResults());
    bool valid = true;
    for (Value residual : body.getTerminator()->getOperands().drop_front(unit.getNumResults())) {
      if (!isa<RankedTensorType>(residual.getType()))
        valid = fail(forward, "keeps a residual that is no tensor");
      if (!varying.contains(residual))
        valid = fail(forward, "keeps a residual that is made of parameters alone: backward computes it again");
    }
    return valid && verifyRecompute(derivative, unit, forward);
  }

  /// What is kept goes in, and what backward takes comes out.
  bool verifyRecompute(DerivativeOp derivative, func::FuncOp unit, func::FuncOp forward) {
    if (!derivative.getRecompute())
      return true;
    auto recompute = symbols.lookup<func::FuncOp>(*derivative.getRecompute());
    SmallVector<Type> params, operands;
    for (BlockArgument argument : unit.getArguments())
      if (unit.getArgAttr(argument.getArgNumber(), "braid.param"))
        params.push_back(argument.getType());
    operands = params;
    llvm::append_range(operands, forward.getResultTypes().drop_front(unit.getNumResults()));
    bool fits = recompute && llvm::equal(recompute.getArgumentTypes(), operands);
    if (auto backward = derivative.getInput() ? symbols.lookup<func::FuncOp>(*derivative.getInput()) : func::FuncOp()) {
      llvm::append_range(params, recompute ? recompute.getResultTypes() : TypeRange());
      fits &= backward.getNumArguments() >= params.size() &&
              llvm::equal(backward.getArgumentTypes().take_front(params.size()), params);
    }
    return fits || fail(derivative, "has a recompute function that does not fit its forward and backward ones");
  }

  ModuleOp module;
  SymbolTable symbols;
  ShapeAnalysis shapes;
  func::FuncOp main;
};

struct VerifyContract : impl::VerifyContractBase<VerifyContract> {
  using VerifyContractBase::VerifyContractBase;

  void runOnOperation() override {
    if (failed(ContractVerifier(getOperation()).run(phase)))
      signalPassFailure();
  }
};
} // namespace
} // namespace braid
