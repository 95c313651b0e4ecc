//===- OutlineModules.cpp - One function per module call ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlineModules.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace braid::torchscript {

namespace {
class Outliner {
public:
  Outliner(func::FuncOp main, ArrayRef<ModuleCall> calls, ShapeAnalysis &shapes)
      : main(main), calls(calls), shapes(shapes), symbols(main->getParentOp()), builder(main.getContext()) {
    for (auto [number, call] : llvm::enumerate(calls))
      numbers[call.path] = number;
  }

  LogicalResult run() {
    Block::iterator at = main.getBody().front().begin();
    if (failed(outline(0, at)))
      return failure();
    // In the order in which the model calls them.
    for (auto &[number, function] : functions)
      function->moveBefore(main->getBlock(), main->getBlock()->end());
    return success();
  }

private:
  int callOf(Operation &op) const {
    auto path = op.getAttrOfType<StringAttr>(pathAttrName);
    return path ? numbers.lookup(path.getValue()) : 0;
  }

  /// The call directly below `ancestor` that leads to `call`; -1 if none does.
  int childTowards(int ancestor, int call) const {
    while (call > 0 && calls[call].parent != ancestor)
      call = calls[call].parent;
    return call > 0 ? call : -1;
  }

  /// Outlines the ops from `at` on that belong to `call` or below it, and leaves `at` behind them.
  FailureOr<Operation *> outline(int call, Block::iterator &at) {
    llvm::SetVector<Operation *> ops;
    Block::iterator end = main.getBody().front().end();
    while (at != end) {
      int owner = callOf(*at);
      if (owner == call) {
        ops.insert(&*at++);
        continue;
      }
      int child = childTowards(call, owner);
      if (child < 0)
        break;
      FailureOr<Operation *> callOp = outline(child, at);
      if (failed(callOp))
        return failure();
      ops.insert(*callOp);
    }
    if (call == 0)
      return main.getOperation();
    return makeFunction(call, ops.getArrayRef(), at);
  }

  /// Dims of tensors, for arguments and results; empty for index values.
  FailureOr<DictionaryAttr> describe(Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return builder.getDictionaryAttr({});
    FailureOr<TensorShape> shape = shapes.shapeOf(value);
    if (failed(shape))
      return failure();
    return builder.getDictionaryAttr(builder.getNamedAttr(dimsAttrName, getDimsAttr(builder.getContext(), *shape)));
  }

  FailureOr<Operation *> makeFunction(int number, ArrayRef<Operation *> ops, Block::iterator at) {
    const ModuleCall &call = calls[number];
    llvm::SmallPtrSet<Operation *, 32> inside(llvm::from_range, ops);
    llvm::SetVector<Value> inputs, outputs;
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
          inputs.insert(operand);
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
          outputs.insert(result);
    }
    SmallVector<Attribute> argAttrs, resultAttrs;
    for (auto [values, attrs] : {std::pair(inputs.getArrayRef(), &argAttrs), {outputs.getArrayRef(), &resultAttrs}})
      for (Value value : values) {
        FailureOr<DictionaryAttr> attr = describe(value);
        if (failed(attr))
          return failure();
        attrs->push_back(*attr);
      }

    Location loc = call.loc.value_or(ops.front()->getLoc());
    auto function = func::FuncOp::create(
        loc, call.path, builder.getFunctionType(TypeRange(inputs.getArrayRef()), TypeRange(outputs.getArrayRef())));
    function.setPrivate();
    function->setAttr(moduleAttrName, ModuleAttr::get(builder.getContext(), builder.getStringAttr(call.path),
                                                      builder.getStringAttr(call.className)));
    function.setAllArgAttrs(argAttrs);
    function.setAllResultAttrs(resultAttrs);
    symbols.insert(function);
    functions[number] = function;

    builder.setInsertionPoint(at->getBlock(), at);
    auto callOp = func::CallOp::create(builder, loc, function, inputs.getArrayRef());
    if (call.parent > 0)
      callOp->setAttr(pathAttrName, builder.getStringAttr(calls[call.parent].path));
    Block *body = function.addEntryBlock();
    for (Operation *op : ops) {
      op->moveBefore(body, body->end());
      op->removeAttr(pathAttrName);
    }
    builder.setInsertionPointToEnd(body);
    func::ReturnOp::create(builder, loc, outputs.getArrayRef());
    auto isInside = [&](OpOperand &use) { return use.getOwner()->getBlock() == body; };
    for (auto [outer, inner] : llvm::zip(inputs.takeVector(), body->getArguments()))
      outer.replaceUsesWithIf(inner, isInside);
    for (auto [inner, outer] : llvm::zip(outputs.takeVector(), callOp.getResults())) {
      if (isa<RankedTensorType>(inner.getType()))
        shapes.setShape(outer, *shapes.shapeOf(inner));
      inner.replaceUsesWithIf(outer, [&](OpOperand &use) { return !isInside(use); });
    }
    return callOp.getOperation();
  }

  func::FuncOp main;
  ArrayRef<ModuleCall> calls;
  ShapeAnalysis &shapes;
  SymbolTable symbols;
  OpBuilder builder;
  llvm::StringMap<int> numbers;
  std::map<int, func::FuncOp> functions; // by call
};
} // namespace

LogicalResult outlineModules(func::FuncOp main, ArrayRef<ModuleCall> calls, ShapeAnalysis &shapes) {
  return Outliner(main, calls, shapes).run();
}

} // namespace braid::torchscript
