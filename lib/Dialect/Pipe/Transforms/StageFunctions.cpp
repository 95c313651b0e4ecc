//===- StageFunctions.cpp - The functions of a stage ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageFunctions.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace braid::pipe {

CotangentInfo::CotangentInfo(func::FuncOp main, SymbolTable &symbols) {
  llvm::StringMap<DerivativeOp> byForward;
  for (auto derivative : cast<ModuleOp>(symbols.getOp()).getOps<DerivativeOp>())
    byForward[derivative.getForward()] = derivative;
  for (CallOp call : main.getBody().front().getOps<CallOp>())
    if (auto name = call->getAttrOfType<FlatSymbolRefAttr>("derivative")) {
      DerivativeOp derivative = byForward.lookup(name.getValue());
      if (!derivative)
        continue;
      derivatives[call] = derivative;
      for (auto [input, gradient] : llvm::zip(call.getInputs(), derivative.getInputGrads()))
        if (gradient)
          wanted.insert(input);
    }
}

namespace {
class StageEmitter {
public:
  StageEmitter(unsigned number, const StageInfo &stage, ArrayRef<Value> valuesOut, func::FuncOp main,
               const CotangentInfo &cotangents, bool replay, SymbolTable &symbols, ShapeAnalysis &shapes)
      : replay(replay), stage(stage), main(main), loss(main.getBody().front().getTerminator()->getOperand(0)),
        cotangents(cotangents), symbols(symbols), shapes(shapes), builder(symbols.getOp()->getContext()),
        prefix("stage" + std::to_string(number)) {
    signature.valuesOut.assign(valuesOut.begin(), valuesOut.end());
  }

  FailureOr<StageSignature> run() {
    collect();
    if (failed(emitForward()))
      return failure();
    bool backward = llvm::any_of(calls, [&](CallOp call) { return static_cast<bool>(cotangents.derivativeOf(call)); });
    if (backward && failed(emitBackward()))
      return failure();
    return std::move(signature);
  }

private:
  /// The stage's calls with the input-only calls that they read, and what comes from outside.
  void collect() {
    llvm::SetVector<Operation *> own;
    std::function<void(CallOp)> add = [&](CallOp call) {
      if (own.contains(call))
        return;
      for (Value input : call.getInputs())
        if (auto source = input.getDefiningOp<CallOp>(); source && isInputOnly(source))
          add(source);
      own.insert(call);
    };
    for (const CallOp &call : stage.calls)
      add(call);
    llvm::SetVector<Value> inputs, valuesIn, counts;
    llvm::SetVector<StringRef> params;
    for (Operation *op : own) {
      auto call = cast<CallOp>(op);
      calls.push_back(call);
      for (Value input : call.getInputs()) {
        auto argument = dyn_cast<BlockArgument>(input);
        if (!argument) {
          if (!own.contains(input.getDefiningOp()))
            valuesIn.insert(input);
          continue;
        }
        auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
        (main.getArgAttr(argument.getArgNumber(), "braid.count") ? counts : inputs).insert(input);
      }
      for (Value param : call.getParams())
        params.insert(param.getDefiningOp<GetParamOp>().getParam());
    }
    for (Value value : inputs)
      signature.inputs.push_back(cast<BlockArgument>(value));
    for (Value value : counts)
      signature.counts.push_back(cast<BlockArgument>(value));
    signature.valuesIn = valuesIn.takeVector();
    for (StringRef param : params)
      signature.params.push_back(param.str());
    signature.loss = own.contains(loss.getDefiningOp());
    llvm::SmallDenseSet<Operation *> assigned(stage.calls.begin(), stage.calls.end());
    for (auto [number, state] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands().drop_front()))
      if (assigned.contains(state.getDefiningOp())) {
        states.push_back(state);
        signature.states.push_back(
            main.getResultAttrOfType<FlatSymbolRefAttr>(number + 1, stateAttrName).getValue().str());
      }
  }

  func::FuncOp startFunction(StringRef suffix, ArrayRef<Value> arguments) {
    SmallVector<Type> types;
    for (const std::string &param : signature.params)
      types.push_back(symbols.lookup<ParamOp>(param).getTensorType());
    for (Value value : arguments)
      types.push_back(value.getType());
    Location loc = calls.front().getLoc();
    auto function = func::FuncOp::create(loc, prefix + suffix.str(), builder.getFunctionType(types, {}));
    function->setAttr("pipe.entry", builder.getUnitAttr());
    Block *entry = function.addEntryBlock();
    for (size_t at = 0; at < signature.params.size(); ++at)
      params[signature.params[at]] = entry->getArgument(at);
    for (auto [at, value] : llvm::enumerate(arguments))
      if (failed(setDims(function, signature.params.size() + at, value)))
        return {};
    builder.setInsertionPointToEnd(entry);
    symbols.insert(function);
    return function;
  }

  /// Dims of an argument, as those of a value of @main or of another stage function.
  LogicalResult setDims(func::FuncOp function, unsigned number, Value like) {
    FailureOr<TensorShape> shape = shapes.shapeOf(like);
    if (failed(shape))
      return failure();
    function.setArgAttr(number, dimsAttrName, getDimsAttr(builder.getContext(), *shape));
    return success();
  }

  LogicalResult finishFunction(func::FuncOp function, ArrayRef<Value> results) {
    SmallVector<Type> types;
    for (Value value : results)
      types.push_back(value.getType());
    func::ReturnOp::create(builder, function.getLoc(), results);
    function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
    for (auto [at, value] : llvm::enumerate(results)) {
      FailureOr<TensorShape> shape = shapes.shapeOf(value);
      if (failed(shape))
        return failure();
      function.setResultAttr(at, dimsAttrName, getDimsAttr(builder.getContext(), *shape));
    }
    return success();
  }

  SmallVector<Value> paramsOf(CallOp call) {
    SmallVector<Value> values;
    for (Value param : call.getParams())
      values.push_back(params.lookup(param.getDefiningOp<GetParamOp>().getParam()));
    return values;
  }

  SmallVector<Value> emitCall(CallOp call, FlatSymbolRefAttr callee, ArrayRef<Value> inputs) {
    auto function = symbols.lookup<func::FuncOp>(callee.getValue());
    auto made = CallOp::create(builder, call.getLoc(), function.getResultTypes(), callee, inputs, paramsOf(call),
                               call.getPathAttr(), call.getStreamsAttr());
    return llvm::to_vector_of<Value>(made.getResults());
  }

  LogicalResult emitForward() {
    SmallVector<Value> arguments(signature.inputs.begin(), signature.inputs.end());
    llvm::append_range(arguments, signature.valuesIn);
    llvm::append_range(arguments, signature.counts);
    signature.forward = startFunction(".forward", arguments);
    if (!signature.forward)
      return failure();
    IRMapping values;
    for (auto [value, argument] :
         llvm::zip(arguments, signature.forward.getArguments().drop_front(signature.params.size())))
      values.map(value, argument);
    SmallVector<Value> residuals;
    for (CallOp call : calls) {
      SmallVector<Value> inputs;
      for (Value input : call.getInputs())
        inputs.push_back(values.lookup(input));
      DerivativeOp derivative = cotangents.derivativeOf(call);
      SmallVector<Value> results =
          emitCall(call, derivative ? derivative.getForwardAttr() : call.getCalleeAttr(), inputs);
      for (auto [value, result] : llvm::zip(call.getResults(), results))
        values.map(value, result);
      auto own = ArrayRef(results).drop_front(call.getNumResults());
      numResiduals.push_back(own.size());
      llvm::append_range(residuals, own);
    }
    SmallVector<Value> results;
    for (Value value : signature.valuesOut)
      results.push_back(values.lookup(value));
    if (signature.loss)
      results.push_back(values.lookup(loss));
    for (Value state : states)
      results.push_back(values.lookup(state));
    llvm::append_range(results, residuals);
    signature.residuals = residuals.size();
    return finishFunction(signature.forward, results);
  }

  /// The recomputation of a unit, from what was kept.
  SmallVector<Value> emitRecompute(CallOp call, ValueRange kept) {
    return emitBackwardCall(call, cotangents.derivativeOf(call).getRecomputeAttr(), kept, ValueRange());
  }

  bool recomputes(CallOp call) {
    DerivativeOp derivative = cotangents.derivativeOf(call);
    return derivative && derivative.getRecompute();
  }

  /// What all units recompute, and the residuals of the others as they are.
  LogicalResult emitReplay() {
    SmallVector<Value> residuals = residualResults(), results;
    signature.replay = startFunction(".recompute", residuals);
    if (!signature.replay)
      return failure();
    ValueRange given = signature.replay.getArguments().drop_front(signature.params.size());
    for (auto [at, call] : llvm::enumerate(calls)) {
      ValueRange own = given.take_front(numResiduals[at]);
      given = given.drop_front(numResiduals[at]);
      SmallVector<Value> made = recomputes(call) ? emitRecompute(call, own) : llvm::to_vector_of<Value>(own);
      numResiduals[at] = made.size();
      llvm::append_range(results, made);
    }
    signature.replayed = results.size();
    return finishFunction(signature.replay, results);
  }

  LogicalResult emitBackward() {
    signature.recomputes = llvm::any_of(calls, [&](CallOp call) { return recomputes(call); });
    if (replay && signature.recomputes && failed(emitReplay()))
      return failure();
    for (CallOp call : calls)
      if (DerivativeOp derivative = cotangents.derivativeOf(call))
        for (auto [param, gradient] : llvm::zip(call.getParams(), derivative.getParamGrads()))
          if (gradient)
            gradients.insert(param.getDefiningOp<GetParamOp>().getParam());
    for (StringRef param : gradients)
      signature.gradients.push_back(param.str());
    FailureOr<func::FuncOp> input = emitCotangents(".backward_input", false);
    if (failed(input))
      return failure();
    signature.input = *input;
    if (signature.gradients.empty()) {
      signature.full = *input;
      return success();
    }
    FailureOr<func::FuncOp> full = emitCotangents(".backward", true);
    if (failed(full))
      return failure();
    signature.full = *full;
    return emitWeight();
  }

  /// The residuals of the stage, as its backward functions take them.
  SmallVector<Value> backwardOperands() {
    if (!signature.replay)
      return residualResults();
    return llvm::to_vector_of<Value>(signature.replay.getBody().front().getTerminator()->getOperands());
  }

  /// What its forward function gives behind the values.
  SmallVector<Value> residualResults() {
    auto results = signature.forward.getBody().front().getTerminator()->getOperands();
    return llvm::to_vector_of<Value>(
        results.drop_front(signature.valuesOut.size() + (signature.loss ? 1 : 0) + states.size()));
  }

  void addCotangent(IRMapping &sums, Value value, Value gradient) {
    if (Value sum = sums.lookupOrNull(value)) {
      auto added = buildAtenOp(builder, gradient.getLoc(), OperationName("braid.add", builder.getContext()),
                               {sum, gradient}, shapes);
      gradient = succeeded(added) ? (*added)->getResult(0) : gradient;
    }
    sums.map(value, gradient);
  }

  void addGradient(llvm::StringMap<Value> &sums, StringRef param, Value gradient) {
    Value &sum = sums[param];
    if (sum) {
      auto added = buildAtenOp(builder, gradient.getLoc(), OperationName("braid.add", builder.getContext()),
                               {sum, gradient}, shapes);
      gradient = succeeded(added) ? (*added)->getResult(0) : gradient;
    }
    sum = gradient;
  }

  FailureOr<func::FuncOp> emitCotangents(StringRef suffix, bool withGradients) {
    SmallVector<Value> residuals = backwardOperands();
    SmallVector<Value> arguments = residuals, outputs;
    for (Value value : signature.valuesOut)
      if (cotangents.hasGradient(value))
        outputs.push_back(value);
    llvm::append_range(arguments, outputs);
    func::FuncOp function = startFunction(suffix, arguments);
    if (!function)
      return failure();
    auto given = function.getArguments().drop_front(signature.params.size());
    IRMapping sums;
    for (auto [value, argument] : llvm::zip(outputs, given.drop_front(residuals.size())))
      sums.map(value, argument);
    if (signature.loss) {
      auto type = cast<RankedTensorType>(loss.getType());
      auto one = builder.getFloatAttr(type.getElementType(), 1.0);
      addCotangent(sums, loss,
                   ConstantOp::create(builder, function.getLoc(), type, DenseElementsAttr::get(type, Attribute(one))));
    }
    llvm::StringMap<Value> grads;
    SmallVector<SmallVector<Value>> carries(calls.size());
    size_t end = residuals.size();
    for (int at = calls.size() - 1; at >= 0; --at) {
      CallOp call = calls[at];
      auto own = given.slice(end - numResiduals[at], numResiduals[at]);
      end -= numResiduals[at];
      DerivativeOp derivative = cotangents.derivativeOf(call);
      if (!derivative)
        continue;
      SmallVector<Value> inputs;
      for (auto [result, wanted] : llvm::zip(call.getResults(), derivative.getResultGrads()))
        if (wanted)
          inputs.push_back(sums.lookup(result));
      // Here, right before they are read, so that one unit's are there at a time.
      bool again = recomputes(call) && !signature.replay;
      SmallVector<Value> saved = again ? emitRecompute(call, own) : llvm::to_vector_of<Value>(own);
      // Backward functions take parameters first, then residuals and cotangents: the call's order is the reverse.
      SmallVector<Value> results =
          emitBackwardCall(call, withGradients ? derivative.getFullAttr() : derivative.getInputAttr(), saved, inputs);
      auto next = results.begin();
      for (auto [input, gradient] : llvm::zip(call.getInputs(), derivative.getInputGrads()))
        if (gradient)
          addCotangent(sums, input, *next++);
      if (withGradients) {
        for (auto [param, gradient] : llvm::zip(call.getParams(), derivative.getParamGrads()))
          if (gradient)
            addGradient(grads, param.getDefiningOp<GetParamOp>().getParam(), *next++);
      } else {
        carries[at].assign(next, results.end());
        if (again && derivative.getWeightAttr())
          llvm::append_range(carries[at], saved); // backward-weight reads them too
      }
    }
    SmallVector<Value> results;
    for (Value value : signature.valuesIn)
      if (cotangents.hasGradient(value)) {
        FailureOr<Value> gradient = cotangentOrZero(sums, value);
        if (failed(gradient))
          return failure();
        results.push_back(*gradient);
      }
    if (withGradients) {
      for (const std::string &param : signature.gradients)
        results.push_back(grads.lookup(param));
    } else {
      numCarries.clear();
      signature.carries = 0;
      for (auto &own : carries) {
        numCarries.push_back(own.size());
        signature.carries += own.size();
        llvm::append_range(results, own);
      }
    }
    if (failed(finishFunction(function, results)))
      return failure();
    return function;
  }

  /// A value whose cotangent comes from other stages only has a zero one here.
  FailureOr<Value> cotangentOrZero(IRMapping &sums, Value value) {
    if (Value sum = sums.lookupOrNull(value))
      return sum;
    FailureOr<TensorShape> shape = shapes.shapeOf(value);
    if (failed(shape))
      return failure();
    auto zeros = buildAtenOp(
        builder, value.getLoc(), OperationName("braid.zeros", builder.getContext()),
        {shapes.materialize(builder, value.getLoc(), shape->dims), Attribute(TypeAttr::get(shape->elementType))},
        shapes);
    if (failed(zeros))
      return failure();
    return (*zeros)->getResult(0);
  }

  /// Backward functions take (params, residuals..., cotangents or carries...).
  SmallVector<Value> emitBackwardCall(CallOp call, FlatSymbolRefAttr callee, ValueRange residuals, ValueRange more) {
    auto function = symbols.lookup<func::FuncOp>(callee.getValue());
    SmallVector<Value> operands = paramsOf(call);
    llvm::append_range(operands, residuals);
    llvm::append_range(operands, more);
    auto made = CallOp::create(builder, call.getLoc(), function.getResultTypes(), callee, operands, ValueRange(),
                               call.getPathAttr(), call.getStreamsAttr());
    return llvm::to_vector_of<Value>(made.getResults());
  }

  LogicalResult emitWeight() {
    SmallVector<Value> residuals = backwardOperands();
    SmallVector<Value> arguments = residuals;
    auto inputResults = signature.input.getBody().front().getTerminator()->getOperands();
    llvm::append_range(arguments, inputResults.take_back(signature.carries));
    signature.weight = startFunction(".backward_weight", arguments);
    if (!signature.weight)
      return failure();
    ValueRange given = signature.weight.getArguments().drop_front(signature.params.size());
    ValueRange carried = given.drop_front(residuals.size());
    llvm::StringMap<Value> grads;
    for (auto [at, call] : llvm::enumerate(calls)) {
      ValueRange own = given.take_front(numResiduals[at]);
      given = given.drop_front(numResiduals[at]);
      DerivativeOp derivative = cotangents.derivativeOf(call);
      ValueRange more = carried.take_front(numCarries[at]);
      carried = carried.drop_front(numCarries[at]);
      if (!derivative || !derivative.getWeightAttr())
        continue;
      if (recomputes(call) && !signature.replay) { // the last carries are what was recomputed
        auto function = symbols.lookup<func::FuncOp>(*derivative.getRecompute());
        own = more.take_back(function.getNumResults());
        more = more.drop_back(function.getNumResults());
      }
      SmallVector<Value> results = emitBackwardCall(call, derivative.getWeightAttr(), own, more);
      auto next = results.begin();
      for (auto [param, gradient] : llvm::zip(call.getParams(), derivative.getParamGrads()))
        if (gradient)
          addGradient(grads, param.getDefiningOp<GetParamOp>().getParam(), *next++);
    }
    SmallVector<Value> results;
    for (const std::string &param : signature.gradients)
      results.push_back(grads.lookup(param));
    return finishFunction(signature.weight, results);
  }

  bool replay;
  const StageInfo &stage;
  func::FuncOp main;
  Value loss;
  SmallVector<Value> states;
  const CotangentInfo &cotangents;
  SymbolTable &symbols;
  ShapeAnalysis &shapes;
  OpBuilder builder;
  std::string prefix;
  StageSignature signature;
  SmallVector<CallOp> calls;
  SmallVector<unsigned> numResiduals, numCarries; // of each call, as backward functions take them
  llvm::StringMap<Value> params;                  // of the function at hand
  llvm::SetVector<StringRef> gradients;
};
} // namespace

FailureOr<StageSignature> emitStageFunctions(unsigned number, const StageInfo &stage, ArrayRef<Value> valuesOut,
                                             func::FuncOp main, const CotangentInfo &cotangents, bool replay,
                                             SymbolTable &symbols, ShapeAnalysis &shapes) {
  return StageEmitter(number, stage, valuesOut, main, cotangents, replay, symbols, shapes).run();
}

} // namespace braid::pipe
