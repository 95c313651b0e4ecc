//===- RtToLLVM.cpp - Runtime calls into a program for the C ABI ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"
#include "KernelEmitter.h"

#include "braid/Conversion/Passes.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_RTTOLLVM
#include "braid/Conversion/Passes.h.inc"

namespace {
struct RtToLLVM : impl::RtToLLVMBase<RtToLLVM> {
  using RtToLLVMBase::RtToLLVMBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (emitMain && module.lookupSymbol("main")) {
      mlir::emitError(module.lookupSymbol("main")->getLoc())
          << "a program defines main itself; drop this function or give it another name";
      return signalPassFailure();
    }
    ProgramBuilder program(module);
    program.takeConstants();
    SmallVector<StringAttr> entries;
    bool valid = true;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<rt::KernelOp>())) {
      std::string name = kernel.getSymName().str();
      FailureOr<StringAttr> descriptor = KernelEmitter(kernel, program).run(kernelCpu);
      if (failed(descriptor))
        return signalPassFailure();
      program.kernels[name] = *descriptor;
      ++numKernels;
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError() << "has control flow or no body; functions of the rt phase are one block";
        valid = false;
        continue;
      }
      if (function->hasAttr(rt::entryAttrName))
        entries.push_back(function.getSymNameAttr());
      valid &= succeeded(FunctionEmitter(function, program).run());
    }
    if (!valid)
      return signalPassFailure();
    auto plan = module->getAttrOfType<StringAttr>(rt::planAttrName);
    program.finish(entries, plan ? plan.getValue() : "{}", emitMain);
    numOperators += program.getNumOperators();
    numHelpers += program.getNumHelpers();
    // The plan has what these say; the LLVM dialect knows none of them.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (!isa<LLVM::LLVMDialect>(op.getDialect()))
        op.erase();
    for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs()))
      module->removeDiscardableAttr(attr.getName());
  }
};
} // namespace
} // namespace braid
