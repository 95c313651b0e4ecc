//===- PlanSupport.h - What of a plan is compiled ------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_PIPE_TRANSFORMS_PLANSUPPORT_H
#define BRAID_LIB_DIALECT_PIPE_TRANSFORMS_PLANSUPPORT_H

#include "braid/Plan/File/PlanFile.h"

#include "mlir/IR/Diagnostics.h"

namespace braid::pipe {

/// An error at a place of a plan file.
mlir::InFlightDiagnostic emitPlanError(mlir::MLIRContext *context, const plan::PlanFile &file,
                                       plan::FileLocation at = {});

/// Fails, naming each key, if the plan asks for something that is read but not compiled: nothing of a plan is ignored.
mlir::LogicalResult checkPlanIsSupported(mlir::MLIRContext *context, const plan::PlanFile &file);

} // namespace braid::pipe

#endif // BRAID_LIB_DIALECT_PIPE_TRANSFORMS_PLANSUPPORT_H
