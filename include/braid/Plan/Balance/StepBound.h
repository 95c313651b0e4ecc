//===- StepBound.h - How short a step can be ----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro-batches of equal load are not the best ones: while the pipeline fills and drains, what counts is how long the
// first and the last ones take. How the load should be spread over the micro-batches is a game. One player spreads the
// load, the other picks a path through the table, and the step takes as long as the path. Both play regret matching
// (Tammelin and others, CFR+, 2014) many times. The mean of the first one's plays is the profile to aim at. The mean of
// the other's is a proof: a step takes at least as long as any mean of paths, so no assignment takes less than
// that mean with all load where it adds least.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_STEPBOUND_H
#define BRAID_PLAN_BALANCE_STEPBOUND_H

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Balance/StepTimer.h"

#include <vector>

namespace braid::plan {

/// A mean of paths through a 1F1B table. Any step of that table takes at least constant + the sum over samples of what
/// a sample adds where it adds least: whichever sample is in whichever micro-batch, deferred to the next one or not,
/// some micro-batches empty or not, and even if samples could be split.
struct StepBound {
  /// [component][choice], per load. Choice k < K: all in micro-batch k. K + i: deferred from 2i to 2i + 1.
  std::vector<std::vector<double>> perLoad;
  double constant = 0;

  double of(const SampleLoads &samples) const;
};

struct MicrobatchProfile {
  std::vector<std::vector<double>> shares; // [component][microbatch], of the component's total; each sums to 1
  StepBound bound;
};

/// Works both out for a usual batch: the samples given, each `scale` times. Samples are first merged into groups in
/// which the components' loads have about the same proportions. More rounds bring profile and bound closer together.
/// Fails if a sample's numbers are wrong.
Result<MicrobatchProfile> findProfile(const StepModel &model, StepTimer &timer, const SampleLoads &typical,
                                      double scale = 1, int rounds = 4000);

/// The same bound, from a game with the loads of these samples instead of a usual batch's: closer to their shortest
/// step.
StepBound tightenBound(const StepModel &model, StepTimer &timer, const SampleLoads &samples, int rounds);

/// The whole way of the sample that takes longest, forwards and back, alone.
double longestTrip(const StepModel &model, const SampleLoads &samples);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_STEPBOUND_H
