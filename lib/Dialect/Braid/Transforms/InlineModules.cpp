//===- InlineModules.cpp - Inlines module calls into @main ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_INLINEMODULES
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
class Inliner {
public:
  explicit Inliner(SymbolTable &symbols) : symbols(symbols) {}

  /// Replaces every call in `block`, recursively; ops that have no path yet get `path`.
  LogicalResult run(Block &block, StringAttr path) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto call = dyn_cast<func::CallOp>(op);
      if (!call) {
        if (path && !op.hasAttr(pathAttrName) && !op.hasTrait<OpTrait::IsTerminator>() &&
            op.getName().getDialectNamespace() == "braid")
          op.setAttr(pathAttrName, path);
        continue;
      }
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        return call.emitOpError() << "calls '" << call.getCallee() << "', which has no body";
      if (!llvm::hasSingleElement(callee.getBody()))
        return callee.emitOpError() << "has control flow; a module call is one block";
      if (llvm::is_contained(active, callee))
        return call.emitOpError() << "calls '" << call.getCallee() << "' recursively";
      StringAttr inner = path;
      if (auto module = callee->getAttrOfType<ModuleAttr>(moduleAttrName)) {
        // The function's name tells calls of one instance apart ("net.layer#1"); the attribute has the class.
        inner = callee.getSymNameAttr();
        classes.set(module.getPath(), module.getClassName());
      }
      active.push_back(callee);
      IRMapping mapping;
      mapping.map(callee.getArguments(), call.getOperands());
      Block body;
      OpBuilder inside(call.getContext());
      inside.setInsertionPointToEnd(&body);
      for (Operation &nested : callee.getBody().front())
        inside.clone(nested, mapping);
      if (failed(run(body, inner)))
        return failure();
      active.pop_back();
      Operation *terminator = body.getTerminator();
      call.replaceAllUsesWith(terminator->getOperands());
      terminator->erase();
      block.getOperations().splice(call->getIterator(), body.getOperations());
      call.erase();
    }
    return success();
  }

  NamedAttrList classes;

private:
  SymbolTable &symbols;
  SmallVector<func::FuncOp> active;
};

struct InlineModules : impl::InlineModulesBase<InlineModules> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto main = symbols.lookup<func::FuncOp>("main");
    if (!main) {
      module.emitError("has no @main: import a model first (braid-import)");
      return signalPassFailure();
    }
    if (!llvm::hasSingleElement(main.getBody())) {
      main.emitOpError("has control flow; a model graph is one block");
      return signalPassFailure();
    }
    Inliner inliner(symbols);
    if (failed(inliner.run(main.getBody().front(), {})))
      return signalPassFailure();
    if (!inliner.classes.empty())
      module->setAttr("braid.classes", inliner.classes.getDictionary(&getContext()));
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(moduleAttrName) && function != main)
        function.erase();
  }
};
} // namespace
} // namespace braid
