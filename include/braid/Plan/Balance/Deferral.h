//===- Deferral.h - Moving LLM work to a partner micro-batch ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second level of Entrain's assignment (arXiv 2605.27918): micro-batches with much work for the language model get
// partners with little, and whole samples move from one to the other so that the largest load is as small as possible.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_DEFERRAL_H
#define BRAID_PLAN_BALANCE_DEFERRAL_H

#include "braid/Plan/Balance/Assignment.h"

#include <cstdint>
#include <vector>

namespace braid::plan {

/// All sums of subsets of some small integers, as a dynamic program over bits: O(items * sum / 64).
class SubsetSums {
public:
  explicit SubsetSums(std::vector<int> weights);

  /// The sum nearest to the target; of two equally near, the smaller.
  int nearest(double target) const;
  /// Items that have this sum, one that nearest() returned, in increasing order.
  std::vector<int> subset(int sum) const;

private:
  bool reached(size_t items, int sum) const { return reach[items * words + sum / 64] >> (sum % 64) & 1; }

  std::vector<int> weights;
  int total = 0;
  size_t words = 0;
  std::vector<uint64_t> reach; // [items considered][bit: sum]
};

struct BottleneckMatching {
  double value = 0;         // the smallest T such that every i can be had at T or less
  std::vector<int> partner; // [i] -> j, or -1 where i is left alone; distinct
};

/// Every i costs alone[i], or paired[i][j] with partner j; each j serves one i. Finds the partners with the smallest
/// largest cost: binary search over the costs, and maximum matchings (Hopcroft and Karp, 1973). Only those i get a
/// partner whose alone[i] is more than that.
BottleneckMatching matchBottleneck(const std::vector<double> &alone, const std::vector<std::vector<double>> &paired);

/// Given micro-batches in any order, without deferred samples: halves them by language load, matches overloaded with
/// underloaded ones, defers, and puts each one's partner behind it. With an odd number the middle one stays alone, at
/// the end. `steps`: loads are rounded to this many steps of the largest micro-batch.
Assignment pairAndDefer(const SampleLoads &samples, const Assignment &assignment, int steps = 512);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_DEFERRAL_H
