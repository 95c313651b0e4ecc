//===- PlannerCosts.h - Stages of a candidate and their costs -----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_PLANNER_PLANNERCOSTS_H
#define BRAID_LIB_PLAN_PLANNER_PLANNERCOSTS_H

#include "braid/Plan/Planner/Planner.h"

#include <limits>

namespace braid::plan {

/// Seconds and bytes of one stage for one micro-batch; where the pipeline is folded or chunked, of all a rank's chunks.
struct PlannedStage {
  bool ofEncoder = false;
  int layers = 0;
  double forward = 0, input = 0, weight = 0; // recomputation is part of input
  Work work;                                 // all of it, by resource
  double activation = 0;                     // held per micro-batch in flight
  double transient = 0;                      // held by whichever backward runs
  double state = 0;                          // weights, gradients and optimizer
  double copied = 0;                         // of it, weights and gradients: what each direction holds
  double gradients = 0, update = 0;          // once a step
  bool backward = true;

  double total() const { return forward + input + weight; }
};

/// What the search computes once for many candidates: the pipeline of one micro-batch.
struct PlannedPipeline {
  std::vector<PlannedStage> stages;
  std::vector<int> encoderStarts, languageStarts;
  double embedding = 0; // bytes of its state, which are part of the language model's first stage
  double message = 0;   // seconds from a stage to the next
  // A colocated encoder's two phases, and what it keeps on each device meanwhile.
  double encoderForward = 0, encoderBackward = 0, encoderGradients = 0, encoderUpdate = 0, encoderBytes = 0;
  double reshard = 0, reshardBytes = 0; // of a whole step, forwards and backwards; bytes one way
};

inline constexpr double anyTime = std::numeric_limits<double>::infinity();

/// With a bound, refuses early what cannot be faster than `slowest` seconds or cannot fit, whatever the schedule.
Result<PlannedPipeline> planPipeline(const PlannerProblem &problem, const Candidate &candidate,
                                     double slowest = anyTime);
int microbatchesOf(const PlannerProblem &problem, const Candidate &candidate);
/// Micro-batches whose activations a stage holds at once, in units of all that a rank holds of one.
double inFlight(const std::string &kind, int chunks, int stage, int stages, int microbatches);
Evaluation evaluatePipeline(const PlannerProblem &problem, const Candidate &candidate, const PlannedPipeline &pipeline);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_PLANNER_PLANNERCOSTS_H
