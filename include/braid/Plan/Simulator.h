//===- Simulator.h - When each action of a schedule runs --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank runs its row in order, each action as early as its rank and its inputs allow. A value from another rank comes
// `latency` and its bytes' time on the link after its producer ends; neither rank is busy meanwhile, unless sends
// block. Times are in one unit throughout, whatever the costs are in.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SIMULATOR_H
#define BRAID_PLAN_SIMULATOR_H

#include "braid/Plan/Pipeline.h"
#include "braid/Plan/Schedule.h"

#include <functional>
#include <vector>

namespace braid::plan {

struct StageCost {
  double forward = 1, input = 1, weight = 1; // durations; a full backward takes input + weight
  double recompute = -1;                     // -1: as long as forward
  double activation = 1;                     // memory that forward makes
  double kept = -1; // of it, what waits for the weight gradient after the input gradient; -1: all
  double state = 0; // memory of weights, gradients and optimizer, the whole time, per replica
  double update = 0;
};

/// How an overlapped block of a forward and a backward runs. Both take blockFactor times the sum of their durations.
enum class Overlap {
  Atomic,     // starts when both can; both results are there at its end
  Early,      // starts when both can; the forward's result is there after the forward's own duration
  Sequential, // as two actions
};

struct CostModel {
  std::vector<StageCost> stages = {}; // one for each stage, or one for all
  double latency = 0;
  double timePerByte = 0;
  double forwardBytes = 0, backwardBytes = 0; // of a message
  bool serialLinks = false;                   // messages of one rank to another wait for each other
  bool blockingSends = false; // needs a table with messages; both ends are busy from the later one's arrival on
  Overlap overlap = Overlap::Atomic;
  double blockFactor = 1;
  double norm = 0, reduce = 0; // durations of the collectives
  /// If set, the duration of a compute action instead of its stage's: micro-batches may differ.
  std::function<double(const Action &)> duration = {};

  const StageCost &stage(int index) const { return stages[stages.size() == 1 ? 0 : index]; }
};

struct Timeline {
  std::vector<std::vector<double>> start, end; // [rank][index in the row]
  double makespan = 0;
  double longestSpan = 0;             // of one rank from its first computation to the end of its last
  std::vector<double> busy;           // computing time of each rank
  std::vector<double> peakMemory;     // of each rank: activations and state
  std::vector<double> peakActivation; // of each rank: activations alone, held from forward to the end of the backward

  /// Share of the time in which the busiest rank does not compute.
  double bubble() const;
  double spanBubble() const; // the same for the longest span
};

Result<Timeline> simulate(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs);

/// Memory of a rank over time, by cause.
struct MemoryPoint {
  double time;
  double state, activations, weightInputs, waiting; // waiting: received values that no forward has used yet
};
std::vector<MemoryPoint> memoryOverTime(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                                        const Timeline &timeline, int rank);

} // namespace braid::plan

#endif // BRAID_PLAN_SIMULATOR_H
