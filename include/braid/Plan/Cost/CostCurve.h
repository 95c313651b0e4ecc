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
//   {"profiles": [{"unit": "vision.layer", "tp": 1, "cp": 1, "points": [[64, 0.0011], [256, 0.0013], ...]}]}
//   {"curves": [{"unit": "vision.layer", "tp": 1, "cp": 1, "a": ..., "b": ..., "c": ..., "points": 5,
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

struct Profile {
  std::string unit;
  int tp = 1, cp = 1;
  std::vector<std::pair<double, double>> points; // (tokens, seconds)
};

struct CostCurve {
  std::string unit;
  int tp = 1, cp = 1;
  double a = 0, b = 0, c = 0; // none below 0: more tokens never cost less
  int points = 0;
  double rmsError = 0, maxError = 0; // of the fit, relative

  double operator()(double tokens) const { return (a * tokens + b) * tokens + c; }
};

/// Least squares of relative errors. At least three different sizes are needed.
Result<CostCurve> fitCurve(const Profile &profile);

Result<std::vector<Profile>> parseProfiles(const std::string &text, const std::string &fileName);
Result<std::vector<CostCurve>> parseCurves(const std::string &text, const std::string &fileName);
std::string curvesJson(const std::vector<CostCurve> &curves);

} // namespace braid::plan

#endif // BRAID_PLAN_COST_COSTCURVE_H
