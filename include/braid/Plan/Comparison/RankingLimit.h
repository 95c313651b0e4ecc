//===- RankingLimit.h - How well measured runs can be ranked ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs that lie close together are ranked wrongly by small errors, and no model ranks what the measurements themselves
// scatter. These figures say which correlation can be had from a table. docs/Costs.md, section 4.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COMPARISON_RANKINGLIMIT_H
#define BRAID_PLAN_COMPARISON_RANKINGLIMIT_H

#include "braid/Plan/Cost/TrainingRun.h"

#include <vector>

namespace braid::plan {

/// The mean rank correlation between `times` and the same times with random relative errors, normal with the standard
/// deviation `error`. Draws are the same in every call.
double rankCorrelationUnder(double error, const std::vector<double> &times);
/// The error with which that mean is `correlation`.
double errorForRankCorrelation(double correlation, const std::vector<double> &times);

/// Of the runs of one size.
struct RankingLimit {
  double size = 0; // billions of parameters
  int runs = 0;
  int layouts = 0;       // different (tp, dp, pp)
  double ownFactors = 0; // rank correlation of the hardware's factors fitted to these very runs
  /// That of x (m+p-1) b + y (m+p-1) + z with b samples in each of m micro-batches, x, y and z fitted for each layout
  /// of at least three runs: 1F1B whose stages take any time that is linear in b. Other layouts count as predicted.
  double ownLayouts = 0;
  double error = 0; // errorForRankCorrelation() of 0.9
};
Result<std::vector<RankingLimit>> rankingLimits(const std::vector<MeasuredRun> &runs, const Hardware &hardware);

} // namespace braid::plan

#endif // BRAID_PLAN_COMPARISON_RANKINGLIMIT_H
