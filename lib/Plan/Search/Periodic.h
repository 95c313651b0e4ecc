//===- Periodic.h - Streams that repeat one pattern ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream that never drains may repeat one pattern: every `period` each chain of stages takes in one micro-batch, and
// each action starts at the same place of the period. This is the modulo scheduling of software pipelines (Rau, 1994):
// a rank whose work fills the period has no bubble, and waits cost activations in flight instead of time.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SEARCH_PERIODIC_H
#define BRAID_LIB_PLAN_SEARCH_PERIODIC_H

#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <array>
#include <optional>
#include <random>

namespace braid::plan {

/// Starts of the F, I and W of each stage for one micro-batch; micro-batch k comes k periods later.
struct PeriodicPattern {
  double period = 0;
  std::vector<std::array<double, 3>> starts; // [stage]
};

/// Places every action of one micro-batch at the earliest time that is free on its rank in every period; chains in
/// random order, from random times on. Nothing if one does not fit. `grid`: actions start at whole multiples of it, or
/// anywhere if it is 0; rank r's multiples count from r * phase.
std::optional<PeriodicPattern> placePeriodic(const Pipeline &pipeline, const CostModel &costs, double period,
                                             double grid, double phase, std::mt19937_64 &random);

/// The rows of the pattern for all micro-batches, in the order of time.
Schedule unroll(const Pipeline &pipeline, const PeriodicPattern &pattern);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SEARCH_PERIODIC_H
