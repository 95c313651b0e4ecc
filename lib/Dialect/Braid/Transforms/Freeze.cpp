//===- Freeze.cpp - Freezes the plan's frozen components ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"
#include "braid/Plan/File/PlanFile.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_FREEZE
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
struct Freeze : impl::FreezeBase<Freeze> {
  using FreezeBase::FreezeBase;

  void runOnOperation() override {
    if (planFile.empty())
      return;
    plan::Result<plan::PlanFile> file = plan::readPlan(planFile);
    if (!file) {
      emitError(UnknownLoc::get(&getContext())) << file.error();
      return signalPassFailure();
    }
    for (auto param : getOperation().getOps<ParamOp>()) {
      if (!param.getRequiresGrad())
        continue;
      // A tied parameter is frozen only if every module that names it is.
      SmallVector<StringRef> names = {param.getSymName()};
      if (auto aliases = param.getAliases())
        for (Attribute alias : *aliases)
          names.push_back(cast<StringAttr>(alias).getValue());
      bool frozen = llvm::all_of(names, [&](StringRef name) {
        const plan::PlanComponent *component = file->componentOf(name.contains('.') ? name.rsplit('.').first.str() : "");
        return component && component->frozen;
      });
      if (!frozen)
        continue;
      param.setRequiresGrad(false);
      ++numFrozen;
    }
  }
};
} // namespace
} // namespace braid
