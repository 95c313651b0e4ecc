//===- Recompute.cpp - What is kept of a forward, and what is not ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward function gives a unit's values and residuals. Some values inside of it are chosen to be kept; forward then
// gives these instead of the residuals, and a second function computes the residuals from them. Which operations a
// kernel holds decides how its numbers are rounded, so kernels are formed before the function is divided.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "braid/Conversion/Passes.h"
#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Plan/Support/MinimumCut.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_RECOMPUTE
#include "braid/Conversion/Passes.h.inc"

/// Floating-point operations for each element that is read or written, up to which an op is computed again. Elementwise
/// ops have about 1, norms and softmax less than 8, products of matrices about as many as their smallest dim.
static constexpr int64_t cheapWork = 16;

namespace {
/// Divides one forward function.
class Division {
public:
  Division(DerivativeOp derivative, func::FuncOp forward, unsigned numValues, ShapeAnalysis &shapes)
      : derivative(derivative), forward(forward), block(forward.getBody().front()), shapes(shapes) {
    auto returned = block.getTerminator()->getOperands();
    values = llvm::to_vector(returned.take_front(numValues));
    residuals = llvm::to_vector(returned.drop_front(numValues));
    for (BlockArgument argument : block.getArguments())
      if (!forward.getArgAttr(argument.getArgNumber(), "braid.param"))
        varying.insert(argument);
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return varying.contains(operand); }))
        varying.insert_range(op.getResults());
  }

  /// False where nothing is won; then nothing has changed.
  bool run(SymbolTable &symbols) {
    kept = *derivative.getPolicy() == "full" ? neededInputs() : cheapestCut();
    if (bytes(kept.getArrayRef()) >= bytes(residuals))
      return false;
    emitRecompute(symbols);
    shrinkForward();
    return true;
  }

private:
  /// In the example; 1 where the size is not known.
  int64_t elements(Value value) {
    FailureOr<TensorShape> shape = shapes.shapeOf(value);
    return succeeded(shape) ? shapes.example(shape->numElements()).value_or(1) : 1;
  }
  int64_t bytes(Value value) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    return elements(value) * (element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 16);
  }
  int64_t bytes(ArrayRef<Value> list) {
    int64_t sum = 0;
    for (Value value : llvm::SetVector<Value>(list.begin(), list.end()))
      sum += bytes(value);
    return sum;
  }

  bool isCheap(Operation *op) {
    if (isa<rt::LaunchOp>(op))
      return true;
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost) // what has no cost is an operator that nothing is known of
      return op->getNumOperands() == 0 || llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    std::optional<int64_t> work = shapes.example(cost.getFlops(shapes));
    int64_t moved = 0;
    auto move = [&](ValueRange tensors) {
      for (Value value : tensors)
        if (isa<RankedTensorType>(value.getType()))
          moved += elements(value);
    };
    move(op->getOperands());
    move(op->getResults());
    return work && *work <= cheapWork * moved;
  }

  llvm::SetVector<Value> neededInputs() {
    llvm::SetVector<Value> needed(residuals.begin(), residuals.end());
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (llvm::any_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
        needed.insert(op.operand_begin(), op.operand_end());
    llvm::SetVector<Value> inputs;
    for (BlockArgument argument : block.getArguments())
      if (varying.contains(argument) && needed.contains(argument))
        inputs.insert(argument);
    return inputs;
  }

  /// A value may be kept, which costs its bytes, or come from its op's operands if the op is cheap. Every residual has
  /// to be reached.
  llvm::SetVector<Value> cheapestCut() {
    plan::MinimumCut graph;
    llvm::MapVector<Value, int> nodes;
    auto addValue = [&](Value value) { return nodes[value] = graph.addNode(bytes(value)); };
    for (BlockArgument argument : block.getArguments())
      if (varying.contains(argument))
        graph.addSource(addValue(argument));
    for (Operation &op : block.without_terminator()) {
      if (llvm::none_of(op.getResults(), [&](Value result) { return varying.contains(result); }))
        continue;
      int computed = graph.addNode(plan::MinimumCut::never);
      if (!isCheap(&op))
        graph.addSource(computed);
      else
        for (Value operand : op.getOperands())
          if (auto node = nodes.find(operand); node != nodes.end())
            graph.addEdge(node->second, computed);
      for (Value result : op.getResults())
        graph.addEdge(computed, addValue(result));
    }
    for (Value residual : residuals)
      if (auto node = nodes.find(residual); node != nodes.end())
        graph.addSink(node->second);
    std::vector<int> chosen = graph.solve();
    llvm::SetVector<Value> cut;
    for (auto [value, node] : nodes)
      if (llvm::is_contained(chosen, node))
        cut.insert(value);
    return cut;
  }

  void setDims(func::FuncOp function, unsigned number, Value value, bool result) {
    FailureOr<TensorShape> shape = shapes.shapeOf(value);
    if (failed(shape))
      return;
    ArrayAttr dims = getDimsAttr(function.getContext(), *shape);
    if (result)
      function.setResultAttr(number, dimsAttrName, dims);
    else
      function.setArgAttr(number, dimsAttrName, dims);
  }

  /// The function of parameters and kept values that gives the residuals.
  void emitRecompute(SymbolTable &symbols) {
    Builder builder(forward.getContext());
    SmallVector<Value> arguments;
    for (BlockArgument argument : block.getArguments())
      if (!varying.contains(argument))
        arguments.push_back(argument);
    size_t numParams = arguments.size();
    llvm::append_range(arguments, kept);
    auto function = func::FuncOp::create(
        forward.getLoc(), (derivative.getUnit() + ".recompute").str(),
        builder.getFunctionType(ValueRange(arguments).getTypes(), ValueRange(residuals).getTypes()));
    function.setPrivate();
    Block *entry = function.addEntryBlock();
    IRMapping mapping;
    for (auto [number, value] : llvm::enumerate(arguments)) {
      mapping.map(value, entry->getArgument(number));
      setDims(function, number, value, false);
      if (number < numParams)
        function.setArgAttr(number, "braid.param", builder.getUnitAttr());
    }
    llvm::DenseSet<Operation *> wanted;
    SmallVector<Value> work = residuals;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!mapping.contains(value) && wanted.insert(op).second)
        llvm::append_range(work, op->getOperands());
    }
    OpBuilder inside = OpBuilder::atBlockEnd(entry);
    for (Operation &op : block.without_terminator())
      if (wanted.contains(&op)) {
        // A kernel may have other results, which are kept: their copies are not to be read.
        SmallVector<Value> known;
        for (Value result : op.getResults())
          known.push_back(mapping.lookupOrNull(result));
        inside.clone(op, mapping);
        for (auto [result, value] : llvm::zip(op.getResults(), known))
          if (value)
            mapping.map(result, value);
      }
    SmallVector<Value> results;
    for (auto [number, residual] : llvm::enumerate(residuals)) {
      results.push_back(mapping.lookup(residual));
      setDims(function, number, residual, true);
    }
    func::ReturnOp::create(inside, forward.getLoc(), results);
    for (StringRef name : {StringRef(hasKernelsAttrName), StringRef(streamsAttrName)})
      if (Attribute attr = forward->getAttr(name))
        function->setAttr(name, attr);
    derivative.setRecompute(symbols.insert(function).getValue());
  }

  /// Forward gives the kept values behind the unit's, and computes nothing else.
  void shrinkForward() {
    SmallVector<Value> results = values;
    llvm::append_range(results, kept);
    forward.setFunctionType(FunctionType::get(forward.getContext(), forward.getArgumentTypes(),
                                              llvm::to_vector(ValueRange(results).getTypes())));
    forward.removeResAttrsAttr();
    for (auto [number, value] : llvm::enumerate(results))
      setDims(forward, number, value, true);
    block.getTerminator()->setOperands(results);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && (isa<rt::LaunchOp>(op) || isOpTriviallyDead(&op)))
        op.erase();
  }

  DerivativeOp derivative;
  func::FuncOp forward;
  Block &block;
  ShapeAnalysis &shapes;
  SmallVector<Value> values, residuals;
  llvm::DenseSet<Value> varying; // what depends on the unit's inputs
  llvm::SetVector<Value> kept;
};

struct Recompute : impl::RecomputeBase<Recompute> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto derivative : llvm::to_vector(module.getOps<DerivativeOp>())) {
      if (!derivative.getPolicy() || derivative.getRecompute())
        continue;
      auto forward = symbols.lookup<func::FuncOp>(derivative.getForward());
      auto unit = symbols.lookup<func::FuncOp>(derivative.getUnit());
      if (forward.isExternal() || !llvm::hasSingleElement(forward.getBody())) {
        forward.emitOpError("is no function of one block: run braid-differentiate first");
        return signalPassFailure();
      }
      Block &block = forward.getBody().front();
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
      ShapeAnalysis shapes(module);
      if (kernels) {
        KernelBuilder(module, shapes).formKernels(block, [](Operation *op) { return makeSite(op, nullptr); });
        forward->setAttr(hasKernelsAttrName, UnitAttr::get(&getContext()));
      }
      numDivided += Division(derivative, forward, unit.getNumResults(), shapes).run(symbols);
    }
  }
};
} // namespace
} // namespace braid
