//===- StageAssignment.h - Which stage a unit call belongs to ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_PIPE_TRANSFORMS_STAGEASSIGNMENT_H
#define BRAID_LIB_DIALECT_PIPE_TRANSFORMS_STAGEASSIGNMENT_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Plan/File/PlanFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid::pipe {

struct StageInfo {
  std::string name; // "vision.0"
  int rank = 0;
  double flops = 0; // of one forward at the example's sizes
  llvm::SmallVector<CallOp> calls; // in the order of @main, without those cloned from inputs
};

/// Whether a call computes from inputs alone, so that every stage that reads it may have a copy.
bool isInputOnly(CallOp call);

/// Cuts the calls of @main by the plan's components, or into `count` stages balanced by FLOPs. Fails after an error.
mlir::FailureOr<std::vector<StageInfo>> assignStages(mlir::func::FuncOp main, ShapeAnalysis &shapes,
                                                     const plan::PlanFile *planFile, int64_t count);

} // namespace braid::pipe

#endif // BRAID_LIB_DIALECT_PIPE_TRANSFORMS_STAGEASSIGNMENT_H
