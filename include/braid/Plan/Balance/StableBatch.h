//===- StableBatch.h - How many samples fix the split of devices --*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many devices an encoder gets and how many the language model follows from their loads. One sample's loads say
// little; those of a large enough batch always say the same. (Entrain, section on the minimum stable batch. The load of
// a batch is its sum, so its proportions are those of the mean loads: the paper's Appendix B, not A.)
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_STABLEBATCH_H
#define BRAID_PLAN_BALANCE_STABLEBATCH_H

#include "braid/Plan/Balance/Samples.h"

#include <cstdint>
#include <vector>

namespace braid::plan {

/// Devices or stages for each load, at least one each, so that the largest load per device is least. Fails if there are
/// fewer devices than loads.
Result<std::vector<int>> splitDevices(const std::vector<double> &loads, int devices);

/// Batches without a failure that bound the failure rate by `error` at confidence 1 - alpha: ceil(ln alpha / ln(1 -
/// error)).
int stableTrials(double alpha, double error);

struct StableBatchOptions {
  double alpha = 0.05, error = 0.05;
  int maxSize = 1 << 16; // samples
  uint64_t seed = 1;
};

struct StableBatch {
  int size = 0; // the smallest power of two that is stable; 0: none up to the largest
  std::vector<int> split;
};

/// Draws batches with replacement, of 1, 2, 4, ... samples, until as many as stableTrials() give the same split as a
/// first one.
Result<StableBatch> findStableBatch(const SampleLoads &samples, int devices, const StableBatchOptions &options = {});

/// The splits of `count` fresh batches of `size` samples.
Result<std::vector<std::vector<int>>> drawSplits(const SampleLoads &samples, int devices, int size, int count,
                                                 uint64_t seed);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_STABLEBATCH_H
