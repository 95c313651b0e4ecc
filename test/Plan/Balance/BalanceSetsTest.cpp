//===- BalanceSetsTest.cpp - Balancing real and synthetic sets of samples ---===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The synthetic sets lie in oracles/samples. The others have no licence that lets a copy lie here: CMake's
// BRAID_SAMPLE_SETS, or the environment variable of that name, says which folder holds them.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/BalanceReport.h"
#include "braid/Plan/Balance/StableBatch.h"
#include "braid/Plan/Cost/CostCurve.h"
#include "braid/Plan/Schedule/Partition.h"
#include "braid/Plan/Support/TextTable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace braid::plan;

namespace {
std::string folder() {
  const char *given = std::getenv("BRAID_SAMPLE_SETS");
  return given ? given : BRAID_SAMPLE_SETS;
}

class BalanceSets : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    const std::string name = std::string(GetParam()) + ".csv";
    std::filesystem::path path = std::filesystem::path(BRAID_PLAN_ORACLES) / "samples" / name;
    if (!std::filesystem::exists(path)) {
      if (folder().empty())
        GTEST_SKIP() << "the set is not here; configure with -DBRAID_SAMPLE_SETS=FOLDER";
      path = std::filesystem::path(folder()) / name;
    }
    std::ifstream file(path);
    ASSERT_TRUE(file) << "BRAID_SAMPLE_SETS names " << folder() << ", and it has no " << name;
    std::ostringstream text;
    text << file.rdbuf();
    Result<TextTable> table = TextTable::parse(text.str(), GetParam());
    ASSERT_TRUE(table) << table.error();
    std::vector<double> vision = *table->sizes("vision_tokens"), words = *table->sizes("text_tokens"),
                        images = *table->sizes("image_count");
    const CostCurve encoder{3.28e-4, 5.1, 240}, language{1.72e-4, 6.4, 210};
    samples.loads.resize(2);
    samples.rows = {vision, vision};
    for (size_t sample = 0; sample < vision.size(); ++sample) {
      samples.rows[1][sample] += words[sample];
      samples.loads[0].push_back(encoder.ofSample(vision[sample], images[sample]));
      samples.loads[1].push_back(language.ofSample(samples.rows[1][sample]));
    }
    std::vector<int> split = *splitDevices(samples.totals(), 8);
    for (int component : {0, 1}) {
      int layers = component ? 28 : 32;
      std::vector<int> starts = *partitionEvenly(std::vector<double>(layers, 1.0), split[component]);
      starts.push_back(layers);
      StepComponent &made = model.components.emplace_back();
      made.constant = component ? language.c : encoder.c;
      for (int stage = 0; stage < split[component]; ++stage)
        made.shares.push_back(double(starts[stage + 1] - starts[stage]) / layers);
    }
  }

  SampleLoads samples;
  StepModel model;
};
} // namespace

TEST_P(BalanceSets, NeverLongerAndCloseToTheBound) {
  const std::string name = GetParam();
  for (int count : {128, 512}) {
    const int microbatches = 32, draws = 6;
    Result<Comparer> comparer = Comparer::create(model, microbatches, samples, double(count) / samples.size(), {});
    ASSERT_TRUE(comparer) << comparer.error();
    double gap = 0, gain = 0, deviations[2][2] = {}; // [component][DistTrain-like, even]
    int usual = 0, whole = 0;
    for (int draw = 0; draw < draws; ++draw) {
      SampleLoads batch = samples.select(drawBatch(samples.size(), count, 1, draw));
      Result<Comparison> comparison = comparer->compare(batch, draw);
      ASSERT_TRUE(comparison) << comparison.error();
      auto of = [&](Method method) -> const MethodFigures & { return comparison->methods[static_cast<int>(method)]; };
      for (Method method : {Method::Random, Method::DistTrain, Method::Dip, Method::Even})
        EXPECT_LE(of(Method::Shortest).stepTime, of(method).stepTime * (1 + 1e-9)) << name << ", draw " << draw;
      // The joint choice of K is never worse than the paper's, in a table of the same length.
      Assignment paper = widen(of(Method::Paper).assignment, microbatches);
      double paperTime = comparer->getBalancer(Aim::Even).getTimer().time(loadsOf(model, batch, paper));
      EXPECT_LE(of(Method::Shortest).stepTime, paperTime * (1 + 1e-9));
      for (int component : {0, 1})
        EXPECT_LE(of(Method::Even).variation[component], of(Method::DistTrain).variation[component] + 1e-9) << name;
      if (!isDominated(*comparison, microbatches)) {
        ++usual;
        gap += of(Method::Shortest).stepTime / comparison->bound;
        gain += of(Method::DistTrain).stepTime / of(Method::Shortest).stepTime;
      }
      if (!comparison->large) {
        ++whole;
        for (int component : {0, 1}) {
          deviations[component][0] += of(Method::DistTrain).deviation[component];
          deviations[component][1] += of(Method::Even).deviation[component];
        }
      }
    }
    if (usual) {
      // Six draws scatter around the means of docs/Balancing.md, which are at most 1.05.
      EXPECT_LE(gap / usual, 1.06) << name << ", " << count << " samples";
      if (name == "sroie" || name == "multi_chart") {
        EXPECT_GE(gain / usual, count == 128 ? 1.1 : 1.09) << name << ", " << count << " samples";
      }
    }
    if (whole) {
      // Four samples a micro-batch, most of one size: in these draws of chartqa no assignment reaches more than 7.23
      // (docs/Balancing.md says how that was found).
      double least = name == "chartqa" && count == 128 ? 6.5 : 10;
      EXPECT_GE(deviations[0][0] / deviations[0][1], least) << name << ", " << count << " samples";
      EXPECT_GE(deviations[1][0] / deviations[1][1], 4) << name << ", " << count << " samples";
    }
  }
}

TEST_P(BalanceSets, StableBatchesHold) {
  Result<StableBatch> found = findStableBatch(samples, 16);
  ASSERT_TRUE(found) << found.error();
  ASSERT_GT(found->size, 0);
  Result<std::vector<std::vector<int>>> fresh = drawSplits(samples, 16, found->size, 1000, 77);
  ASSERT_TRUE(fresh) << fresh.error();
  EXPECT_LE(1000 - std::count(fresh->begin(), fresh->end(), found->split), 50) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(All, BalanceSets,
                         testing::Values("coco_captions", "chartqa", "math_vision", "sroie", "multi_chart",
                                         "activitynet_video", "mixture", "synthetic_heavy", "synthetic_instruct"),
                         [](const auto &info) { return std::string(info.param); });
