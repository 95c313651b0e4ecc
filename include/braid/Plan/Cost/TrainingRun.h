//===- TrainingRun.h - Step time and memory of an even pipeline ---*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One transformer under one parallelism, all stages of as many layers: 1F1B, interleaved or not, has a closed form, and
// its step is a sum of work, so that constants can be fitted to measured steps by least squares. Uneven pipelines are
// the simulator's and the planner's. docs/Costs.md, section 2.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COST_TRAININGRUN_H
#define BRAID_PLAN_COST_TRAININGRUN_H

#include "braid/Plan/Cost/Transformer.h"
#include "braid/Plan/Support/LeastSquares.h"
#include "braid/Plan/Support/TextTable.h"

#include <vector>

namespace braid::plan {

struct TrainingRun {
  Transformer model;
  Parallelism parallel;
  Recompute recompute = Recompute::Full;
  double microbatch = 1; // samples
  int microbatches = 1;  // of one data-parallel lane
  int chunks = 1;        // of layers per rank; more than 1: interleaved 1F1B
};

/// All that lies on a step's longest path.
Work stepWork(const TrainingRun &run, const Hardware &hardware);

struct RunMemory {
  double state = 0;       // weights, gradients, optimizer
  double activations = 0; // of the micro-batches in flight on the first stage
  double total() const { return state + activations; }
};
/// Of the first stage, which holds most. Embedding and head are left out, as in Korthikanti et al., 2022.
RunMemory runMemory(const TrainingRun &run, const StateBytes &bytes = {});

/// A step that was measured.
struct MeasuredRun {
  TrainingRun run;
  double seconds = 0;
  double size = 0; // billions of parameters; runs of one size are left out together
};

/// Reads vTrain's columns: gpus, global_batch, micro_batch, hidden, heads, layers, seq_len, tp, dp, pp, iteration_ms
/// and, where it is there, params_billion. All runs recompute fully; the vocabulary is Megatron's padded 51200.
Result<std::vector<MeasuredRun>> readMeasuredRuns(const TextTable &table);

/// Amounts of each resource in each run; each size weighs as much as any other.
Observations observe(const std::vector<MeasuredRun> &runs, const Hardware &hardware);

/// The hardware with factors fitted to the runs, by least relative deviations.
Result<Hardware> calibrate(const std::vector<MeasuredRun> &runs, const Hardware &hardware);

struct HeldOutSize {
  double size = 0;
  int runs = 0;
  double medianError = 0;     // of |predicted / measured - 1|
  double rankCorrelation = 0; // of the layouts' predicted and measured times
  int wholeNodes = 0;         // runs whose tensor-parallel groups fill whole nodes
  double wholeNodesRankCorrelation = 0;
  Hardware fitted; // from all other sizes
  std::vector<double> predicted;
};
/// Leaves out each size in turn, fits to the others and to `always`, and predicts it.
Result<std::vector<HeldOutSize>> leaveOneSizeOut(const std::vector<MeasuredRun> &runs,
                                                 const std::vector<MeasuredRun> &always, const Hardware &hardware);

} // namespace braid::plan

#endif // BRAID_PLAN_COST_TRAININGRUN_H
