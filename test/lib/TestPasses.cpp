//===- TestPasses.cpp - Passes that print what analyses say -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

namespace braid::test {

/// A remark at each op of the braid dialect with the shapes of its results, and one at the module for each guard.
struct TestShapes : PassWrapper<TestShapes, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestShapes)
  StringRef getArgument() const final { return "test-shapes"; }
  StringRef getDescription() const final { return "Print the shape of every tensor of the braid dialect"; }

  void runOnOperation() override {
    ShapeAnalysis analysis(getOperation());
    bool failedOnce = false;
    getOperation().walk([&](Operation *op) {
      if (!isa<ShapeOpInterface>(op) || failedOnce)
        return;
      std::string text;
      for (Value result : op->getResults()) {
        FailureOr<TensorShape> shape = analysis.shapeOf(result);
        if (failed(shape)) {
          failedOnce = true;
          return;
        }
        llvm::raw_string_ostream(text) << (text.empty() ? "" : ", ") << str(*shape) << " " << shape->elementType;
      }
      op->emitRemark() << text;
    });
    for (const Guard &guard : analysis.getGuards())
      getOperation().emitRemark() << "guard " << guard.left.str() << " = " << guard.right.str() << ", for "
                                  << guard.why;
    if (failedOnce)
      signalPassFailure();
  }
};

/// A remark with the factors of the dims of operands and results, and the floating-point operations.
struct TestFactors : PassWrapper<TestFactors, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestFactors)
  StringRef getArgument() const final { return "test-factors"; }
  StringRef getDescription() const final { return "Print factor maps and costs of the braid dialect's ops"; }

  static std::string spell(ArrayRef<SmallVector<int, 4>> tensors) {
    std::string text;
    for (const SmallVector<int, 4> &factors : tensors) {
      text += text.empty() ? "[" : ", [";
      for (auto [at, factor] : llvm::enumerate(factors)) {
        text += at ? " " : "";
        // i, j, k, ... as in einsum; a dim that is whole is a dot.
        text += factor == FactorMap::whole ? '.' : static_cast<char>('i' + factor);
      }
      text += "]";
    }
    return text;
  }

  void runOnOperation() override {
    ShapeAnalysis analysis(getOperation());
    getOperation().walk([&](Operation *op) {
      auto layout = dyn_cast<LayoutOpInterface>(op);
      auto cost = dyn_cast<CostOpInterface>(op);
      if (!layout || !cost)
        return;
      std::optional<FactorMap> map = layout.getFactorMap(analysis);
      op->emitRemark() << (map ? spell(map->operands) + " -> " + spell(map->results) : "no factors") << ", "
                       << cost.getFlops(analysis).str() << " flops";
    });
  }
};

} // namespace braid::test

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "BraidTestPasses", "1", [] {
            PassRegistration<braid::test::TestShapes>();
            PassRegistration<braid::test::TestFactors>();
          }};
}
