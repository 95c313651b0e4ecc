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

#ifndef BRAID_PLAN_SIMULATOR_SIMULATOR_H
#define BRAID_PLAN_SIMULATOR_SIMULATOR_H

#include "braid/Plan/Schedule/Pipeline.h"
#include "braid/Plan/Schedule/Schedule.h"

#include <functional>
#include <vector>

namespace braid::plan {

struct StageCost {
  double forward = 1, input = 1, weight = 1; // durations; a full backward takes input + weight, frozen stages no weight
  double recompute = -1;                     // -1: as long as forward
  double activation = 1;                     // memory that forward makes
  double kept = -1;      // of it, what waits for the weight gradient after the input gradient; -1: all
  double checkpoint = 0; // memory that forward makes instead where the table recomputes the rest
  /// Not -1: where RECOMPUTE stands right before its backward, the two wait for the gradient together and layers are
  /// recomputed one by one, so of that rest this much is there at a time.
  double replayed = -1;
  double state = 0; // memory of weights, gradients and optimizer, the whole time, per replica
  double update = 0;
};

/// How an overlapped block of a forward and a backward runs. Both take the sum of their durations.
enum class Overlap {
  Atomic,     // starts when both can; results are there at the release points
  Early,      // starts when both can; the forward's result is there after the forward's own duration
  Sequential, // as two actions
};

/// What messages that are on their way at one time do to each other. A message takes its bytes' time, then the latency;
/// only the first part occupies a link.
enum class Links {
  Free,   // nothing
  Serial, // from one rank to another they go one after the other
  Ports,  // each rank sends one at a time and receives one at a time: a message waits for both ends' ports
};

struct CostModel {
  std::vector<StageCost> stages = {}; // one for each stage, or one for all
  double latency = 0;
  double timePerByte = 0;
  double forwardBytes = 0, backwardBytes = 0; // of a message
  Links links = Links::Free;
  /// Ranks with the same number share one port, and messages between them take the local latency and time and need no
  /// port: the ranks of a machine behind one network card. Empty: every rank is on its own.
  std::vector<int> portOf = {};
  double localLatency = 0, localTimePerByte = 0;
  bool blockingSends = false; // needs a table with messages; both ends are busy from the later one's arrival on
  Overlap overlap = Overlap::Atomic;
  /// Release points: when a result may leave, as a share of the block's or the action's duration.
  double blockForwardRelease = 1, blockBackwardRelease = 1;
  double inputRelease = 1;     // of a full backward: its input gradient
  double norm = 0, reduce = 0; // durations of the collectives
  double deferredShare = 0.5;  // of a micro-batch with a partner: duration and memory of its deferred part
  bool keepTransfers = false;  // fill Timeline::transfers; where links are not free they are filled anyway
  // If set, these replace what the stage's cost says, and deferredShare: micro-batches and their parts may differ.
  std::function<double(const Action &)> duration = {};   // of a compute action
  std::function<double(const Action &)> activation = {}; // memory that this forward makes
  std::function<double(const Action &)> bytes = {};      // of the message of this SEND_F or SEND_B

  const StageCost &stage(int index) const { return stages[stages.size() == 1 ? 0 : index]; }
};

/// A message on its way.
struct Transfer {
  Action send;  // SEND_F or SEND_B
  int from, to; // ranks
  double ready, leaves, arrives;
  double bytes;
};

struct Timeline {
  std::vector<std::vector<double>> start, end; // [rank][index in the row]
  double makespan = 0;
  double longestSpan = 0;             // of one rank from its first computation to the end of its last
  std::vector<double> busy;           // computing time of each rank
  std::vector<double> peakMemory;     // of each rank: activations and state
  std::vector<double> peakActivation; // of each rank: activations alone, held from forward to the end of the backward
  std::vector<Transfer> transfers;    // in the order in which they become ready; see CostModel::keepTransfers

  /// Share of the time in which the busiest rank does not compute.
  double bubble() const;
  double spanBubble() const; // the same for the longest span
};

/// Of a compute action, as the simulator takes it.
double actionDuration(const Pipeline &pipeline, const CostModel &costs, const Action &action);

/// Needs no update and no messages in the table. The order of rows must be one that ends: verify() says why if not.
Result<Timeline> simulate(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs);

/// Memory of a rank over time, by cause.
struct MemoryPoint {
  double time;
  double state;        // weights, gradients and optimizer
  double activations;  // from a forward, or its recomputation, to the end of the backward that reads them
  double weightInputs; // of them, what waits for the weight gradient only
  double waiting;      // received values that no forward has used yet, and gradients that no backward has
  double sending;      // values and gradients that wait for a link
};
/// Of the first `ranks` ranks. `timeline` was simulated with these costs; without its transfers, `waiting` and
/// `sending` are 0.
std::vector<std::vector<MemoryPoint>> memoryOverTime(const Pipeline &pipeline, const Schedule &schedule,
                                                     const CostModel &costs, const Timeline &timeline, int ranks);

} // namespace braid::plan

#endif // BRAID_PLAN_SIMULATOR_SIMULATOR_H
