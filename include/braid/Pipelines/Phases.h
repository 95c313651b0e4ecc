//===- Phases.h - The phases of compilation ------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/Architecture.md says what may be assumed after each phase. Every phase but import is a pipeline of braid-opt,
// --braid-phase-NAME, and a place where braidc --emit=NAME stops.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PIPELINES_PHASES_H
#define BRAID_PIPELINES_PHASES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <optional>
#include <string>

namespace braid {

enum class Phase { Import, Shapes, Units, Differentiate, Pipe, Rt, LLVM };

llvm::StringRef getPhaseName(Phase phase);

struct PhaseOptions : mlir::PassPipelineOptions<PhaseOptions> {
  Option<int64_t> stages{*this, "stages", llvm::cl::desc("Number of stages where no plan names components"),
                         llvm::cl::init(1)};
  Option<int64_t> microbatches{*this, "microbatches", llvm::cl::desc("Number of micro-batches; 0: the plan's, or 1"),
                               llvm::cl::init(0)};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("a kind of docs/Schedules.md; empty: the plan's, or 1f1b"),
                               llvm::cl::init("")};
  Option<std::string> recompute{*this, "recompute",
                                llvm::cl::desc("none, selective or full for all units; empty: the plan's, or none"),
                                llvm::cl::init("")};
  Option<std::string> plan{*this, "plan", llvm::cl::desc("plan.yaml"), llvm::cl::init("")};
  Option<std::string> device{*this, "device", llvm::cl::desc("cpu or cuda"), llvm::cl::init("cpu")};
};

/// Adds the passes of one phase, which may run after the phase before it.
void buildPhase(mlir::OpPassManager &manager, Phase phase, const PhaseOptions &options);

void registerPhasePipelines();

} // namespace braid

#endif // BRAID_PIPELINES_PHASES_H
