//===- LowerBound.h - How early an action can be ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SEARCH_LOWERBOUND_H
#define BRAID_LIB_PLAN_SEARCH_LOWERBOUND_H

#include "braid/Plan/Search/Search.h"

#include <limits>
#include <vector>

namespace braid::plan {

inline constexpr double unknown = std::numeric_limits<double>::infinity();

/// Of a value, or a gradient, from one stage to another, where messages are alike: nothing on one rank.
inline double messageTime(const Pipeline &pipeline, const CostModel &costs, int from, int to, bool forward) {
  const int source = pipeline.rankOf(from), target = pipeline.rankOf(to);
  if (source == target)
    return 0;
  const double bytes = forward ? costs.forwardBytes : costs.backwardBytes;
  if (!costs.portOf.empty() && costs.portOf[source] == costs.portOf[target])
    return costs.localLatency + costs.localTimePerByte * bytes;
  return costs.latency + costs.timePerByte * bytes;
}

/// From the start of a stage's forward to the start of its input gradient of the same micro-batch, at the earliest.
std::vector<double> turnarounds(const Pipeline &pipeline, const PipelineGraph &graph, const CostModel &costs);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SEARCH_LOWERBOUND_H
