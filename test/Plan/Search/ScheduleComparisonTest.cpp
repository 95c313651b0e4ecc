//===- ScheduleComparisonTest.cpp - Schedules side by side ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Search/ScheduleComparison.h"

#include <gtest/gtest.h>

using namespace braid::plan;

namespace {
std::vector<ComparedSchedule> compare(const ScheduleComparison &request) {
  Result<std::vector<ComparedSchedule>> rows = compareSchedules(request);
  EXPECT_TRUE(rows) << (rows ? "" : rows.error());
  return rows ? *rows : std::vector<ComparedSchedule>{};
}

ComparedSchedule rowOf(const std::vector<ComparedSchedule> &rows, const std::string &name, int stages, int copies = 0) {
  for (const ComparedSchedule &row : rows)
    if (row.name == name && row.stages == stages && (copies == 0 || row.copies == copies))
      return row;
  ADD_FAILURE() << "no row " << name << " " << stages;
  return {};
}
} // namespace

// The published closed forms at p 4, m 8, F = I = W = 1 (GPipe, 1F1B, interleaved, zero bubble, Chimera, DualPipe), and
// AMDP's block of d (F + B) + (B - F) + max(0, B - 2F) = 13 for four micro-batches.
TEST(ScheduleComparison, HasThePublishedSteps) {
  struct Expected {
    const char *name;
    int stages;
    double step, activations;
    int copies, versions, staleness;
  };
  const Expected published[] = {
      {"gpipe", 1, 33, 8, 1, 1, 0},    {"1f1b", 1, 33, 4, 1, 1, 0},      {"interleaved", 2, 28.5, 5.5, 1, 1, 0},
      {"zb_h1", 1, 27, 4, 1, 1, 0},    {"zb_h2", 1, 27, 7, 1, 1, 0},     {"zb_v", 2, 25.5, 4, 1, 1, 0},
      {"dualpipe", 1, 26, 5, 2, 1, 0}, {"chimera", 1, 30, 4, 2, 1, 0},   {"2bw", 1, 24, 4, 1, 2, 1},
      {"amdp", 1, 2 * 13, 4, 2, 1, 1}, {"amdp_split", 1, 24, 4, 2, 1, 1}};
  std::vector<ComparedSchedule> rows = compare({.ranks = 4, .microbatches = 8, .state = 10, .evaluations = 400});
  for (const Expected &one : published) {
    ComparedSchedule row = rowOf(rows, one.name, one.stages);
    EXPECT_NEAR(row.step, one.step, 1e-9) << one.name;
    EXPECT_NEAR(row.bubble, 1 - 24 / one.step, 1e-9) << one.name;
    EXPECT_NEAR(row.activations, one.activations, 1e-9) << one.name;
    EXPECT_EQ(row.copies, one.copies) << one.name;
    EXPECT_EQ(row.versions, one.versions) << one.name;
    EXPECT_EQ(row.staleness, one.staleness) << one.name;
    EXPECT_NEAR(row.memory, one.activations + 10 * one.copies * one.versions, 1e-9) << one.name;
    EXPECT_TRUE(row.fits);
  }
  for (size_t i = 1; i < rows.size(); ++i)
    EXPECT_LE(rows[i - 1].step, rows[i].step);
  // What is searched begins with the known schedules of its pipeline.
  EXPECT_LE(rowOf(rows, "searched", 1, 1).step, 27);
  // Two directions: no rank can start before 1 on ranks 1 and 2, and each works 24.
  EXPECT_EQ(rowOf(rows, "searched", 1, 2).step, 25);
  EXPECT_EQ(rowOf(rows, "searched", 1, 2).activations, 4);
  EXPECT_LE(rowOf(rows, "searched", 2).step, 25.5);
}

// Actions that take no time, and times in any unit: the same steps in proportion, and nothing is refused for them.
TEST(ScheduleComparison, TakesZeroTinyAndLargeTimes) {
  for (double weight : {0.0, 1.0}) {
    for (double unit : {1.0, 1e-10, 1e9}) {
      std::vector<ComparedSchedule> rows = compare({.forward = 2.75 * unit,
                                                    .input = 1.5 * unit,
                                                    .weight = weight * unit,
                                                    .activation = unit,
                                                    .maxMemory = 4 * unit,
                                                    .evaluations = 300});
      for (auto [stages, copies] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
        ComparedSchedule row = rowOf(rows, "searched", stages, copies);
        EXPECT_EQ(row.refused, "");
        EXPECT_TRUE(row.fits);
        EXPECT_GE(row.step, 8 * (4.25 + weight) * unit * (1 - 1e-9));
        EXPECT_LE(row.step, 1.4 * 8 * (4.25 + weight) * unit); // 1F1B: 11 / 8
      }
    }
  }
}

TEST(ScheduleComparison, SaysWhatDoesNotFitAndWhatDoesNotExist) {
  std::vector<ComparedSchedule> rows = compare({.ranks = 6, .microbatches = 7, .latency = 0.1, .maxMemory = 5});
  int before = 0;
  for (const ComparedSchedule &row : rows) {
    int group = !row.refused.empty() ? 2 : row.fits ? 0 : 1;
    EXPECT_GE(group, before);
    before = group;
    if (row.refused.empty()) {
      EXPECT_EQ(row.fits, row.activations <= 5 + 1e-9) << row.name;
    }
  }
  EXPECT_NE(rowOf(rows, "chimera", 1).refused.find("7 is odd"), std::string::npos);
  EXPECT_NE(rowOf(rows, "amdp", 1).refused.find("a multiple of 4"), std::string::npos);
  EXPECT_EQ(rowOf(rows, "interleaved", 4).refused, "");
  EXPECT_TRUE(rowOf(rows, "searched", 1, 1).fits);
  EXPECT_FALSE(compareSchedules({.forward = -1}));
  EXPECT_FALSE(compareSchedules({.forward = 0, .input = 0, .weight = 0}));
}
