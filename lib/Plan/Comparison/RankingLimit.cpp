//===- RankingLimit.cpp - How well measured runs can be ranked ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Comparison/RankingLimit.h"
#include "braid/Plan/Support/Random.h"

#include <cmath>
#include <map>
#include <numbers>
#include <tuple>

namespace braid::plan {

/// Box and Muller's method.
static double normal(Random &random) {
  double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

double rankCorrelationUnder(double error, const std::vector<double> &times) {
  constexpr int draws = 2000;
  Random random(1);
  std::vector<double> guessed(times.size());
  double sum = 0;
  for (int draw = 0; draw < draws; ++draw) {
    for (size_t i = 0; i < times.size(); ++i)
      guessed[i] = times[i] * std::exp(error * normal(random));
    sum += rankCorrelation(guessed, times);
  }
  return sum / draws;
}

double errorForRankCorrelation(double correlation, const std::vector<double> &times) {
  double low = 0, high = 1;
  for (int round = 0; round < 20; ++round) {
    double middle = (low + high) / 2;
    (rankCorrelationUnder(middle, times) < correlation ? high : low) = middle;
  }
  return low;
}

/// Predictions of constants fitted for each (tp, dp, pp) to its own runs.
static Result<std::vector<double>> predictByLayout(const std::vector<MeasuredRun> &runs, int &layouts) {
  std::map<std::tuple<int, int, int>, std::vector<size_t>> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Parallelism &parallel = runs[i].run.parallel;
    groups[{parallel.tp, parallel.dp, parallel.pp}].push_back(i);
  }
  layouts = static_cast<int>(groups.size());
  std::vector<double> predicted(runs.size());
  for (const auto &[layout, members] : groups) {
    Observations observations;
    for (size_t i : members) {
      const TrainingRun &run = runs[i].run;
      double slots = run.microbatches + run.parallel.pp - 1;
      observations.amounts.push_back({slots * run.microbatch, slots, 1});
      observations.measured.push_back(runs[i].seconds);
    }
    if (members.size() < 3) {
      for (size_t i : members)
        predicted[i] = runs[i].seconds;
      continue;
    }
    Result<std::vector<double>> constants = nonNegativeLeastDeviations(observations);
    if (!constants)
      return Error{constants.error()};
    std::vector<double> errors = relativeErrors(observations, *constants);
    for (size_t i = 0; i < members.size(); ++i)
      predicted[members[i]] = runs[members[i]].seconds * (1 + errors[i]);
  }
  return predicted;
}

Result<std::vector<RankingLimit>> rankingLimits(const std::vector<MeasuredRun> &runs, const Hardware &hardware) {
  std::map<double, std::vector<MeasuredRun>> sizes;
  for (const MeasuredRun &run : runs)
    sizes[run.size].push_back(run);
  std::vector<RankingLimit> limits;
  for (const auto &[size, same] : sizes) {
    RankingLimit limit;
    limit.size = size;
    limit.runs = static_cast<int>(same.size());
    Result<Hardware> fitted = calibrate(same, hardware);
    if (!fitted)
      return Error{fitted.error()};
    Result<std::vector<double>> byLayout = predictByLayout(same, limit.layouts);
    if (!byLayout)
      return Error{byLayout.error()};
    std::vector<double> measured, byFactors;
    for (const MeasuredRun &run : same) {
      measured.push_back(run.seconds);
      byFactors.push_back(fitted->seconds(stepWork(run.run, hardware)));
    }
    limit.ownFactors = rankCorrelation(byFactors, measured);
    limit.ownLayouts = rankCorrelation(*byLayout, measured);
    limit.error = errorForRankCorrelation(0.9, measured);
    limits.push_back(limit);
  }
  return limits;
}

} // namespace braid::plan
