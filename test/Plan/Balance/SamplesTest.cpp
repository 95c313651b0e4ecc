//===- SamplesTest.cpp - Reading sample sizes, drawing batches --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Cost/CostCurve.h"
#include "braid/Plan/Support/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace braid::plan;

// What one sample adds and what a micro-batch takes, by hand: 8 rows in two segments of 4.
TEST(Samples, SegmentsAttendToThemselvesOnly) {
  CostCurve curve{2, 3, 5};
  EXPECT_EQ(curve(8), 2 * 64 + 3 * 8 + 5);
  EXPECT_EQ(curve.ofSample(8), 2 * 64 + 3 * 8);
  EXPECT_EQ(curve.ofSample(8, 2), 2 * curve.ofSample(4));
  EXPECT_EQ(curve.ofSample(8, 0), curve.ofSample(8));
}

TEST(Samples, BatchesArePermutations) {
  for (int size : {1, 2, 3, 10, 97, 1000})
    for (uint64_t seed : {0, 5}) {
      std::vector<int> all;
      int count = std::max(1, size / 3);
      for (uint64_t step = 0; all.size() < 4 * static_cast<size_t>(size); ++step) {
        std::vector<int> batch = drawBatch(size, count, seed, step);
        EXPECT_EQ(batch.size(), static_cast<size_t>(count));
        all.insert(all.end(), batch.begin(), batch.end());
      }
      // Each epoch has every sample once.
      for (int epoch = 0; epoch < 4; ++epoch)
        EXPECT_EQ(std::set<int>(all.begin() + epoch * size, all.begin() + (epoch + 1) * size).size(),
                  static_cast<size_t>(size));
      if (size >= 97) {
        EXPECT_FALSE(std::equal(all.begin(), all.begin() + size, all.begin() + size));
      }
    }
  EXPECT_NE(drawBatch(1000, 100, 1, 0), drawBatch(1000, 100, 2, 0));
}

// Fixed values: every rank and every machine draws the same.
TEST(Samples, DrawsAreTheSameEverywhere) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafu); // the first number of SplitMix64 with seed 0, as published
  EXPECT_EQ(mix(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}
