//===- Directions.h - Any number of directions through the same ranks -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMDP's rule covers d stages in d/2 directions, d a multiple of 4. This covers any d and any number of directions, by
// search: fewer directions hold fewer stages per rank, and so fewer weights, for a larger bubble.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SEARCH_DIRECTIONS_H
#define BRAID_PLAN_SEARCH_DIRECTIONS_H

#include "braid/Plan/Search/Search.h"

namespace braid::plan {

/// `ranks` stages in each of `directions` directions; every rank holds `directions` stages. Directions start at equal
/// distances and alternate in sense: with 2 they are Chimera's, with ranks/2 AMDP's.
Pipeline directionsPipeline(int ranks, int directions, int microbatches);

/// Puts the updates of an endless stream of micro-batches into a table of computations, without a drain: REDUCE_GRAD
/// and STEP of a window come on every rank at the time when the window's last weight gradient ends anywhere. Later
/// actions read the new version.
void addWindows(const Pipeline &pipeline, Schedule &schedule, const Timeline &timeline, int updates);

struct DirectionsResult {
  Pipeline pipeline;
  Schedule schedule; // with updates, without messages
  /// Time of `ranks` more micro-batches in the middle of the stream, or in all of it where directions take turns; with
  /// one update, of the step.
  double blockTime = 0;
  double lowerBound = 0;
  int64_t evaluated = 0;
  double peakActivation = 0; // on the rank that holds most
  int mismatched = 0;        // most micro-batches of one window whose forward and backward read different weights
  std::string origin;        // what found it
};

/// With one update: searches a synchronous step of all micro-batches through several directions, for its length.
/// With more: searches a stream of micro-batches through several directions within AMDP's limits: at most `ranks`
/// activations in flight per rank (or SearchOptions::maxMemory), one version of the weights, updates at most one late,
/// and that for at most `ranks` micro-batches of a window where patterns allow it. Patterns that repeat are tried
/// first, from no bubble on; the search of whole schedules takes what time is left. Refuses what the verifier refuses.
Result<DirectionsResult> searchDirections(int ranks, int directions, int microbatches, int updates,
                                          const CostModel &costs, SearchOptions options);

} // namespace braid::plan

#endif // BRAID_PLAN_SEARCH_DIRECTIONS_H
