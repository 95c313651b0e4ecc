//===- ReportFlops.cpp - A pass in a plugin -------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says at each function how many floating-point operations one call of it takes, as an expression over the batch's
// named sizes. docs/WritingAPass.md walks through this file.
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

namespace {

struct Work {
  braid::Expr flops;
  int64_t ops = 0;
  int64_t opaque = 0; // braid.aten, whose work nobody knows
};

struct ReportFlops : PassWrapper<ReportFlops, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReportFlops)

  ReportFlops() = default;
  ReportFlops(const ReportFlops &other) : PassWrapper(other) {} // options are copied by name

  StringRef getArgument() const final { return "example-report-flops"; }
  StringRef getDescription() const final { return "Report the floating-point operations of each function"; }

  Option<int64_t> atLeast{*this, "at-least", llvm::cl::init(0),
                          llvm::cl::desc("Leave out functions with fewer operations at the example's sizes")};

  void runOnOperation() override {
    ModuleOp module = getOperation();
    braid::ShapeAnalysis shapes(module);
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Work work = measure(function, shapes, symbols);
      std::optional<int64_t> example = shapes.example(work.flops);
      if (example && *example < atLeast)
        continue;
      InFlightDiagnostic remark = mlir::emitRemark(function.getLoc());
      remark << "@" << function.getSymName() << ": " << work.flops.str() << " FLOPs";
      if (example && !work.flops.constant())
        remark << ", " << *example << " in the example";
      remark << ", " << work.ops << " ops";
      if (work.opaque)
        remark << ", without " << work.opaque << " opaque ones";
    }
  }

  /// The ops of a function and of the functions that it calls.
  Work measure(func::FuncOp function, braid::ShapeAnalysis &shapes, SymbolTable &symbols) {
    if (auto known = measured.find(function); known != measured.end())
      return known->second;
    Work sum;
    function.walk([&](Operation *op) {
      if (auto cost = dyn_cast<braid::CostOpInterface>(op)) {
        sum.flops = sum.flops + cost.getFlops(shapes);
        ++sum.ops;
      } else if (isa<braid::OpaqueOp>(op)) {
        ++sum.opaque;
      } else if (auto call = dyn_cast<CallOpInterface>(op)) {
        auto name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
        auto callee = name ? symbols.lookup<func::FuncOp>(name.getRootReference()) : func::FuncOp();
        if (!callee || callee.isExternal())
          return;
        Work inner = measure(callee, shapes, symbols);
        sum.flops = sum.flops + inner.flops;
        sum.ops += inner.ops;
        sum.opaque += inner.opaque;
      }
    });
    measured[function] = sum;
    return sum;
  }

  DenseMap<Operation *, Work> measured;
};

} // namespace

/// What braid-opt looks for after it has loaded the library.
extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ReportFlops", "1.0", [] { PassRegistration<ReportFlops>(); }};
}
