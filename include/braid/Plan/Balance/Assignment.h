//===- Assignment.h - Which sample runs in which micro-batch ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Samples of one replica, by number 0 .. n-1, in micro-batches 0 .. K-1 in the order in which they run. A sample's
// encoders all run in one micro-batch. The language model runs it in the same one or, if it is deferred, in the next.
// Partners are fixed, as the tables that a binary runs are: micro-batch 2i may defer to 2i + 1.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_ASSIGNMENT_H
#define BRAID_PLAN_BALANCE_ASSIGNMENT_H

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Balance/StepTimer.h"

#include <vector>

namespace braid::plan {

struct Assignment {
  std::vector<std::vector<int>> samples;  // [microbatch], of the encoders
  std::vector<std::vector<int>> deferred; // [microbatch], those of them that the language model runs in the next one

  explicit Assignment(int microbatches = 0) : samples(microbatches), deferred(microbatches) {}
  int microbatches() const { return static_cast<int>(samples.size()); }
  bool hasPartner(int microbatch) const { return microbatch % 2 == 0 && microbatch + 1 < microbatches(); }
  /// What the language model runs: samples that came deferred first, then its own.
  std::vector<int> languageSamples(int microbatch) const;
  bool operator==(const Assignment &other) const = default;

  /// Every sample of 0 .. count-1 once; only a micro-batch's own samples deferred, and only from one with a partner.
  Status check(int count) const;
};

MicrobatchLoads loadsOf(const StepModel &model, const SampleLoads &samples, const Assignment &assignment);

/// Standard deviation of the micro-batches' forward loads divided by their mean. (The paper's figures are standard
/// deviations of times.)
double variation(const MicrobatchLoads &loads, int component);
double deviation(const MicrobatchLoads &loads, int component);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_ASSIGNMENT_H
