//===- PartitionTest.cpp - Consecutive parts of equal weight --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Partition.h"
#include "braid/Plan/Support/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace braid::plan;

/// (largest sum, sum of squares) of the parts that start at these weights.
static std::pair<double, double> costOf(const std::vector<double> &weights, const std::vector<int> &starts) {
  std::pair<double, double> cost{0, 0};
  for (size_t part = 0; part < starts.size(); ++part) {
    double sum = 0;
    for (size_t i = starts[part]; i < (part + 1 < starts.size() ? size_t(starts[part + 1]) : weights.size()); ++i)
      sum += weights[i];
    cost = {std::max(cost.first, sum), cost.second + sum * sum};
  }
  return cost;
}

TEST(Partition, IsTheBestOfAllCuts) {
  Random random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<double> weights(1 + random.below(9));
    for (double &weight : weights) // whole numbers, so that sums are exact; some are 0
      weight = static_cast<double>(random.below(trial % 2 ? 4 : 50));
    int count = static_cast<int>(weights.size()), parts = 1 + static_cast<int>(random.below(count));
    std::pair<double, double> best{1e300, 0};
    std::vector<int> starts{0};
    std::function<void()> extend = [&] {
      if (static_cast<int>(starts.size()) == parts) {
        best = std::min(best, costOf(weights, starts));
        return;
      }
      for (int next = starts.back() + 1; next < count; ++next) {
        starts.push_back(next);
        extend();
        starts.pop_back();
      }
    };
    extend();
    Result<std::vector<int>> found = partitionEvenly(weights, parts);
    ASSERT_TRUE(found) << found.error();
    ASSERT_EQ(found->size(), size_t(parts));
    EXPECT_EQ(found->front(), 0);
    EXPECT_TRUE(std::is_sorted(found->begin(), found->end()));
    EXPECT_EQ(std::adjacent_find(found->begin(), found->end()), found->end()) << "no part is empty";
    EXPECT_EQ(costOf(weights, *found), best);
  }
}

TEST(Partition, RefusesMorePartsThanWeights) {
  EXPECT_FALSE(partitionEvenly({1, 2}, 3));
  EXPECT_FALSE(partitionEvenly({1, 2}, 0));
}
