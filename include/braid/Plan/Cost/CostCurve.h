//===- CostCurve.h - Times fitted to profiles --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profile is what a unit (a layer) took on synthetic inputs of some sizes, for one (tp, cp). A curve
// T(x) = a x^2 + b x + c is fitted to it, after which sizes of samples are all that is needed to know their cost.
// (Entrain, 2026, cost model.) Both are JSON:
//
//   {"profiles": [{"unit": "vision", "tp": 1, "cp": 1, "points": [[64, 0.0011], [256, 0.0013], ...]}]}
//   {"curves": [{"unit": "vision", "tp": 1, "cp": 1, "a": ..., "b": ..., "c": ..., "points": 5,
//                "rms_error": ..., "max_error": ...}]}
//
// Sizes are tokens, times seconds, errors relative to the times.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COST_COSTCURVE_H
#define BRAID_PLAN_COST_COSTCURVE_H

#include "braid/Plan/Support/Result.h"

#include <string>
#include <utility>
#include <vector>

namespace braid::plan {

/// T(x) = a x^2 + b x + c: the time of a unit over x rows (tokens). Samples of a micro-batch that do not attend to each
/// other add up, and c comes once. (Entrain, 2026, cost model)
struct CostCurve {
  double a = 0, b = 0, c = 0; // none below 0: more tokens never cost less

  double operator()(double rows) const { return ofSample(rows) + c; }
  /// What one sample adds, in `segments` equal parts (images, frames) that attend to themselves only; fewer than one
  /// part is one.
  double ofSample(double rows, double segments = 1) const {
    return (a * rows / (segments < 1 ? 1 : segments) + b) * rows;
  }
};

struct Profile {
  std::string unit;
  int tp = 1, cp = 1;
  std::vector<std::pair<double, double>> points; // (tokens, seconds)
};

struct FittedCurve {
  std::string unit;
  int tp = 1, cp = 1;
  CostCurve curve;
  int points = 0;
  double rmsError = 0, maxError = 0; // of the fit, relative
};

/// Least squares of relative errors. At least three different sizes are needed.
Result<FittedCurve> fitCurve(const Profile &profile);

Result<std::vector<Profile>> parseProfiles(const std::string &text, const std::string &fileName);
Result<std::vector<FittedCurve>> parseCurves(const std::string &text, const std::string &fileName);
std::string curvesJson(const std::vector<FittedCurve> &curves);

} // namespace braid::plan

#endif // BRAID_PLAN_COST_COSTCURVE_H
