//===- Samples.h - What each sample of a data set costs -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The balancer knows of a sample its rows (tokens) and its load in every component: the encoders in order, then the
// language model. A load is the time of the component's whole forward for this sample, in any unit. Loads of samples
// add up to that of a micro-batch: samples are packed, and attention does not look across them.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_SAMPLES_H
#define BRAID_PLAN_BALANCE_SAMPLES_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <vector>

namespace braid::plan {

struct SampleLoads {
  std::vector<std::vector<double>> loads; // [component][sample]; the language model is the last component
  std::vector<std::vector<double>> rows;  // likewise

  int components() const { return static_cast<int>(loads.size()); }
  int size() const { return loads.empty() ? 0 : static_cast<int>(loads[0].size()); }
  /// The loads' sums over all samples, by component.
  std::vector<double> totals() const;
  /// These samples alone, renumbered from 0 in this order.
  SampleLoads select(const std::vector<int> &samples) const;
  /// Same sizes everywhere, no NaN, nothing negative or infinite.
  Status check() const;
};

/// Samples of step `step`: batch `step` of an endless sequence of random permutations of the data set, each seeded by
/// its number. Any step is found without those before it; 0 < size.
std::vector<int> drawBatch(int size, int count, uint64_t seed, uint64_t step);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_SAMPLES_H
