//===- SearchLimits.h - When a search ends ------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a search does next depends on how many schedules it has tried, never on the clock: a search that ends by itself
// finds the same on every machine with the same standard library (std::shuffle differs). A time limit only ends it
// early.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SEARCH_SEARCHLIMITS_H
#define BRAID_LIB_PLAN_SEARCH_SEARCHLIMITS_H

#include "braid/Plan/Search/Search.h"

#include <algorithm>
#include <chrono>

namespace braid::plan {

class SearchLimits {
public:
  explicit SearchLimits(const SearchOptions &options)
      : evaluations(options.maxEvaluations), seconds(options.seconds), begin(std::chrono::steady_clock::now()) {}

  /// Whether this share of the evaluations is used up, or the time is over.
  bool reached(int64_t evaluated, double share = 1) const {
    return evaluated >= share * evaluations || (seconds >= 0 && secondsLeft() <= 0);
  }
  /// -1 without a limit.
  double secondsLeft() const {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return seconds < 0 ? -1 : std::max(0.0, seconds - spent.count());
  }

private:
  int64_t evaluations;
  double seconds;
  std::chrono::steady_clock::time_point begin;
};

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SEARCH_SEARCHLIMITS_H
