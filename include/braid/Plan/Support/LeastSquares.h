//===- LeastSquares.h - Fitting constants to measurements --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small dense problems: some constants, any number of measurements. All fits are of relative errors: a row is divided
// by what was measured, so that a measurement of a millisecond counts as much as one of a minute.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_LEASTSQUARES_H
#define BRAID_PLAN_SUPPORT_LEASTSQUARES_H

#include "braid/Plan/Support/Result.h"

#include <vector>

namespace braid::plan {

/// Measurements: the amounts that the constants multiply, and what their sum came to.
struct Observations {
  std::vector<std::vector<double>> amounts; // [row][constant]
  std::vector<double> measured;             // positive
  std::vector<double> weights;              // of the squared relative errors; empty: all 1

  size_t rows() const { return measured.size(); }
  Status check() const;
};

/// The constants with the least weighted sum of squared relative errors, none below 0. (Lawson and Hanson, Solving
/// Least Squares Problems, 1974, chapter 23; Householder's QR) A column that others make up gets 0.
Result<std::vector<double>> nonNegativeLeastSquares(const Observations &observations);

/// The same for the sum of relative errors themselves, which a few wild measurements move less: least squares again
/// and again, each row weighted by the inverse of its last error, errors below `floor` counting as `floor`.
Result<std::vector<double>> nonNegativeLeastDeviations(const Observations &observations, double floor = 0.02);

/// predicted / measured - 1 of each row.
std::vector<double> relativeErrors(const Observations &observations, const std::vector<double> &constants);

/// The middle value; the mean of the two middle ones of an even number. 0 of nothing.
double median(std::vector<double> values);
/// Correlation of ranks, ties at their mean rank. 0 where one side is constant.
double rankCorrelation(const std::vector<double> &first, const std::vector<double> &second);

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_LEASTSQUARES_H
