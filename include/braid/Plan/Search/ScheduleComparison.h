//===- ScheduleComparison.h - All schedules side by side ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules cut a rank's share of the model into one stage or several, so they are compared by what a rank does for a
// micro-batch with all that it holds.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SEARCH_SCHEDULECOMPARISON_H
#define BRAID_PLAN_SEARCH_SCHEDULECOMPARISON_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace braid::plan {

struct ScheduleComparison {
  int ranks = 4;
  int microbatches = 8;                      // of a step
  double forward = 1, input = 1, weight = 1; // durations of a micro-batch in a rank's share of the model
  double latency = 0;                        // from one rank to another
  double activation = 1;                     // memory that its forward makes
  double state = 0;                          // memory of the share's weights and gradients, for each copy and version
  double maxMemory = -1;                     // of activations and state together; -1: any
  int64_t evaluations = 1000;                // schedules that each search may try; 0: none is searched
  uint64_t seed = 1;
};

struct ComparedSchedule {
  std::string name;
  int stages = 1;         // that a rank's share is cut into
  double step = 0;        // where the pipeline never drains, the time that one more step takes
  double bubble = 0;      // share of it in which a rank does not compute
  double activations = 0; // memory on the worst rank
  int copies = 1;         // of each stage's weights
  int versions = 1;       // of the weights of each copy
  int staleness = 0;      // updates that a gradient may be late
  double memory = 0;      // of activations and state
  bool fits = true;
  std::string refused; // why this schedule does not exist for these numbers; empty: it does
};

/// All kinds that pipeline one model, and what the search finds, shortest first; then those that do not fit, then those
/// that do not exist. Fails if the request is none.
Result<std::vector<ComparedSchedule>> compareSchedules(const ScheduleComparison &request);

} // namespace braid::plan

#endif // BRAID_PLAN_SEARCH_SCHEDULECOMPARISON_H
