//===- RankingLimitTest.cpp - How well measured runs can be ranked --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Oracles.h"

#include "braid/Plan/Comparison/RankingLimit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

using namespace braid::plan;

namespace {
std::vector<MeasuredRun> vtrain() {
  Result<TextTable> table = TextTable::parse(readOracle("vtrain/multi_node.csv"), "multi_node.csv");
  EXPECT_TRUE(table);
  Result<std::vector<MeasuredRun>> runs = readMeasuredRuns(*table);
  EXPECT_TRUE(runs) << (runs ? "" : runs.error());
  return runs ? *runs : std::vector<MeasuredRun>{};
}

std::vector<double> timesOf(double size) {
  std::vector<double> times;
  for (const MeasuredRun &run : vtrain())
    if (run.size == size)
      times.push_back(run.seconds);
  return times;
}
} // namespace

TEST(RankingLimit, OfTwoRunsHasAClosedForm) {
  // Two runs are ranked wrongly, correlation -1, with probability erfc(gap / (2 error)) / 2.
  const std::vector<double> times = {1, 1.1};
  for (double error : {0.02, 0.05, 0.2})
    EXPECT_NEAR(rankCorrelationUnder(error, times), 1 - std::erfc(std::log(1.1) / (2 * error)), 0.05) << error;
  // Mean 0.9 means wrong once in twenty: the normal distribution's 95th percentile is 1.6449.
  double error = errorForRankCorrelation(0.9, times);
  EXPECT_NEAR(error, std::log(1.1) / (std::numbers::sqrt2 * 1.6449), 0.1 * error);
}

TEST(RankingLimit, FollowsAnIndependentSimulation) {
  // 2,000 draws with NumPy's generator and SciPy's spearmanr.
  EXPECT_NEAR(rankCorrelationUnder(0.10, timesOf(3.6)), 0.925, 0.01);
  EXPECT_NEAR(rankCorrelationUnder(0.03, timesOf(18.4)), 0.918, 0.01);
  EXPECT_NEAR(rankCorrelationUnder(0.05, timesOf(39.1)), 0.915, 0.01);
  EXPECT_NEAR(rankCorrelationUnder(0.02, timesOf(175)), 0.911, 0.01);
}

TEST(RankingLimit, ConstantsOfEachLayoutFindWhatMadeTheTimes) {
  // Times that 1F1B with stages linear in the samples makes: nothing is left to rank wrongly, and one run that takes
  // longer than its neighbours is.
  std::vector<MeasuredRun> runs;
  for (int pp : {2, 4, 8})
    for (int samples : {1, 2, 4, 8}) {
      MeasuredRun run;
      run.run.model = {.layers = 16, .hidden = 1024, .heads = 16, .sequence = 1024};
      run.run.parallel = {.pp = pp, .dp = 16 / pp};
      run.run.microbatch = samples;
      run.run.microbatches = 64 / samples;
      run.seconds = (64 / samples + pp - 1) * (0.02 * samples + 0.003) / pp + 0.1 * pp;
      run.size = 1;
      runs.push_back(run);
    }
  Result<Hardware> hardware = findHardware("a100");
  ASSERT_TRUE(hardware);
  Result<std::vector<RankingLimit>> limits = rankingLimits(runs, *hardware);
  ASSERT_TRUE(limits) << limits.error();
  ASSERT_EQ(limits->size(), 1u);
  EXPECT_EQ(limits->front().runs, 12);
  EXPECT_EQ(limits->front().layouts, 3);
  EXPECT_DOUBLE_EQ(limits->front().ownLayouts, 1);
  runs[5].seconds *= 2;
  limits = rankingLimits(runs, *hardware);
  ASSERT_TRUE(limits) << limits.error();
  EXPECT_LT(limits->front().ownLayouts, 1);
}

TEST(RankingLimit, SaysWhyTwoSizesOfVtrainAreRankedBadly) {
  Result<Hardware> hardware = findHardware("a100");
  ASSERT_TRUE(hardware);
  Result<std::vector<RankingLimit>> limits = rankingLimits(vtrain(), *hardware);
  ASSERT_TRUE(limits) << limits.error();
  ASSERT_EQ(limits->size(), 4u);
  // As docs/Costs.md says: at 18.4B even constants of each layout, fitted to its own runs, stay below 0.9, and so do
  // the factors at 39.1B.
  EXPECT_EQ((*limits)[1].size, 18.4);
  EXPECT_EQ((*limits)[1].layouts, 9);
  EXPECT_LT((*limits)[1].ownLayouts, 0.9);
  EXPECT_LT((*limits)[1].ownFactors, 0.8);
  EXPECT_LT((*limits)[2].ownFactors, 0.9);
  EXPECT_GT((*limits)[2].ownLayouts, 0.9);
}
