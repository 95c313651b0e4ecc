//===- ReshardFileTest.cpp - Reshards as YAML, text and JSON --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/ReshardFile.h"

#include <gtest/gtest.h>

#include <yaml-cpp/yaml.h>

using namespace braid::plan;

static const std::string good = R"(value:       {sizes: [rows, 8], element_bytes: 2}
samples:     [3, 0, 12, 1]
source:      {mesh: {ranks: [0-3], axes: {dp: 2, tp: 2}}, layout: "[{dp}, {}]"}
destination: {mesh: {ranks: [4-6], axes: {dp: 3}}, layout: "[{dp}, {}]", rows: {axes: [dp], lanes: [[2], [], [3, 0, 1]]}}
)";

TEST(ReshardFile, ReadsAndShows) {
  Result<ReshardProblem> problem = parseReshard(good, "a.yaml");
  ASSERT_TRUE(problem) << problem.error();
  EXPECT_EQ(problem->shape.sizes, (std::vector<int64_t>{16, 8}));
  EXPECT_EQ(problem->source.rows.lanes, (std::vector<Intervals>{{{0, 3}}, {{3, 16}}}));
  EXPECT_EQ(problem->destination.rows.lanes, (std::vector<Intervals>{{{3, 15}}, {}, {{15, 16}, {0, 3}}}));
  Result<ReshardPlan> plan = planReshard(problem->shape, problem->source, problem->destination, problem->links);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->bytes(), 16 * 8 * 2);
  EXPECT_NE(printReshard(*plan).find("bytes            256 over all links"), std::string::npos) << printReshard(*plan);
  // JSON is YAML too: another reader finds the same messages in it.
  YAML::Node json = YAML::Load(reshardJson(*plan));
  EXPECT_EQ(json["bytes"].as<int64_t>(), 256);
  int64_t bytes = 0;
  for (const YAML::Node &message : json["forwards"][0]["messages"])
    bytes += message["bytes"].as<int64_t>();
  EXPECT_EQ(bytes, 256);
  EXPECT_EQ(json["backwards"][0]["messages"].size(), plan->exchange()->messages.size());
  EXPECT_EQ(json["forwards"][0]["messages"][0]["slices"][0].size(), 2u);
}

TEST(ReshardFile, SaysWhatIsWrongAndWhere) {
  auto refused = [](const std::string &what, const std::string &by, const std::string &words) {
    std::string text = good;
    size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    Result<ReshardProblem> problem = parseReshard(text.replace(at, what.size(), by), "a.yaml");
    ASSERT_FALSE(problem) << by;
    EXPECT_NE(problem.error().find(words), std::string::npos) << problem.error();
    EXPECT_EQ(problem.error().rfind("a.yaml:", 0), 0u) << problem.error();
  };
  refused("source: ", "links: h101\nsource: ", "a.yaml:3:8: unknown hardware 'h101'; did you mean 'h100'?");
  refused("samples:", "sample:", "a.yaml:2:1: unknown key 'sample' in the reshard; did you mean 'samples'?");
  refused("[rows, 8]", "[rows, rows]", "two of the sizes are 'rows'");
  refused("[rows, 8]", "[16, 8]", "samples are given, and the value has no rows");
  refused("samples:     [3, 0, 12, 1]", "", "list the rows of each sample");
  refused("[3, 0, 12, 1]", "[3, -1, 12, 1]", "a.yaml:2:18: the rows of a sample is -1");
  refused("[0-3]", "[0-2]", "let the sizes of the axes multiply to the number of ranks");
  refused("[{dp}, {}]", "[{dp}, {]", "instead of");
  refused("[{dp}, {}]", "[{dp}, {tq}]", "did you mean 'tp'?");
  refused("[3, 0, 1]", "[3, 0, 9]", "sample 9 of lane 2 does not exist");
  refused("[3, 0, 1]", "[3, 2, 1]", "row 3 is in two places");
  refused("lanes: [[2], [], ", "lanes: [[2], ", "rows are given for 2 lanes");
  refused("axes: [dp], lanes", "axes: [tp], lanes", "does not begin with these axes");
  refused("element_bytes: 2", "element_bytes: two", "must be a whole number");
  EXPECT_NE(parseReshard("", "a.yaml").error().find("a.yaml: the file is empty"), std::string::npos);
  EXPECT_NE(parseReshard("[", "a.yaml").error().find("this is no YAML"), std::string::npos);
  EXPECT_NE(parseReshard("{}", "a.yaml").error().find("needs a value"), std::string::npos);
}
