//===- ImproveOrder.h - Moves single actions of a schedule ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SEARCH_IMPROVEORDER_H
#define BRAID_LIB_PLAN_SEARCH_IMPROVEORDER_H

#include "SearchLimits.h"

#include <random>

namespace braid::plan {

/// Full backwards as their two halves, apart from those of overlapped blocks: no later, and they may be moved apart.
void splitBackwards(const Pipeline &pipeline, Schedule &schedule);

/// Moves one or two actions within their rows and keeps what is no worse, until this share of the evaluations is used.
void improveOrder(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options,
                  const SearchLimits &limits, double share, std::mt19937_64 &random, SearchResult &result);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SEARCH_IMPROVEORDER_H
