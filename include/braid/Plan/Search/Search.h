//===- Search.h - Looks for a better schedule -------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two searches. searchSchedule() builds whole schedules of one direction by a timed list scheduler and improves the
// scheduler's settings; searchAmdpBlock() splits AMDP's backwards and places the weight gradients. Both report a lower
// bound, so that the distance to what is possible is known.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SEARCH_SEARCH_H
#define BRAID_PLAN_SEARCH_SEARCH_H

#include "braid/Plan/Simulator/Simulator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace braid::plan {

enum class Objective {
  Makespan, // of the whole step
  Span      // of the rank that is busy longest: what counts if steps follow each other without a common end
};

struct SearchOptions {
  Objective objective = Objective::Makespan;
  double maxMemory = -1;         // per rank, in the units of StageCost::activation; -1: any
  int64_t maxEvaluations = 4000; // schedules to try
  double seconds = -1;           // after which the search ends early; -1: never, so that all machines find the same
  double stopAt = 0;             // a value of the objective that is good enough
  uint64_t seed = 1;
};

struct SearchResult {
  Schedule schedule; // computations only
  double value = 0;  // of the objective
  double lowerBound = 0;
  int64_t evaluated = 0;
  std::string origin; // what found it
};

/// The pipeline has one direction; edges may be any. `known`: schedules of this pipeline to start from, and whose order
/// to follow, besides those that generators make.
Result<SearchResult> searchSchedule(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options,
                                    const std::vector<Schedule> &known = {});

/// No schedule of this pipeline takes less, whatever its order: each rank has its work, cannot start before its first
/// input, and cannot end before what follows its last; and memory bounds how much it runs before its first backward.
/// Of actions of one stage that differ (by micro-batch, part or release points), the shortest count on the way.
double lowerBound(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options);

struct BlockResult {
  std::vector<int> pauses; // for amdpSplit()
  double blockTime = 0;    // time that one more block takes
  double amdp = 0;         // the same of AMDP itself
  double lowerBound = 0;   // a rank's work per block
  int64_t evaluated = 0;
};

/// Shortens AMDP's steady block on `ranks` ranks by splitting its backwards, within AMDP's own limits: the stages that
/// each rank hosts, one version of the weights, at most `ranks` activations in flight (now counted until the weight
/// gradient), forward and backward at different weights for the micro-batches of one block per window at most.
Result<BlockResult> searchAmdpBlock(int ranks, const CostModel &costs, const SearchOptions &options);

} // namespace braid::plan

#endif // BRAID_PLAN_SEARCH_SEARCH_H
