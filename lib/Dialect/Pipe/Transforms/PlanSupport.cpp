//===- PlanSupport.cpp - What of a plan is compiled -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSupport.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace braid::pipe {

InFlightDiagnostic emitPlanError(MLIRContext *context, const plan::PlanFile &file, plan::FileLocation at) {
  return emitError(FileLineColLoc::get(context, file.name, at.line, at.column));
}

LogicalResult checkPlanIsSupported(MLIRContext *context, const plan::PlanFile &file) {
  bool supported = true;
  auto refuse = [&](bool asked, const Twine &key, StringRef instead, plan::FileLocation at = {}) {
    if (!asked)
      return;
    emitPlanError(context, file, at) << "'" << key << "' is not compiled yet: " << instead;
    supported = false;
  };
  for (const plan::PlanComponent &component : file.components)
    refuse(component.sequenceParallel, "components." + component.name + ".layout", "leave it out", component.location);
  if (file.schedule) {
    refuse(file.schedule->directions != 1, "schedule.directions", "use 1");
    refuse(file.schedule->chunks != 1, "schedule.chunks", "use 1");
    refuse(file.schedule->async, "schedule.async", "use false");
    refuse(!file.schedule->table.empty(), "schedule.table", "choose a kind");
  }
  refuse(file.balance != "none", "balance", "use none");
  refuse(file.computePrecision == "fp64" || file.computePrecision == "fp16", "precision.compute",
         "use bf16 or fp32; a model of other dtypes trains in them without this key");
  refuse(file.masterPrecision == "fp64", "precision.master", "use fp32");
  if (file.optimizer) {
    refuse(file.optimizer->zero > 0, "optimizer.zero", "use 0");
  }
  return success(supported);
}

} // namespace braid::pipe
