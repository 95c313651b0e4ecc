//===- Units.h - Times near one and memory in proportion --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches compare sums of durations up to a small number, which means something only where durations are about 1. So
// they count time in the longest one, or nearly: the unit is a power of two, which changes no digit of a result.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SEARCH_UNITS_H
#define BRAID_LIB_PLAN_SEARCH_UNITS_H

#include "braid/Plan/Simulator/Simulator.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

inline double timeUnit(const CostModel &costs) {
  double longest = 0;
  for (const StageCost &cost : costs.stages)
    longest = std::max({longest, cost.forward, cost.input, cost.weight});
  return longest > 0 && std::isfinite(longest) ? std::ldexp(1.0, std::ilogb(longest)) : 1;
}

inline CostModel inUnits(CostModel costs, double time) {
  for (StageCost &cost : costs.stages) {
    for (double *value : {&cost.forward, &cost.input, &cost.weight, &cost.update})
      *value /= time;
    if (cost.recompute >= 0)
      cost.recompute /= time;
  }
  for (double *value :
       {&costs.latency, &costs.timePerByte, &costs.localLatency, &costs.localTimePerByte, &costs.norm, &costs.reduce})
    *value /= time;
  return costs;
}

/// Sums of memory are exact up to rounding, whatever its unit.
inline bool fitsMemory(double held, double most) { return held <= most * (1 + 1e-9); }

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SEARCH_UNITS_H
