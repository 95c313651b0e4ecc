//===- SamplesTest.cpp - Reading sample sizes, drawing batches --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Support/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace braid::plan;

TEST(Samples, ReadsTables) {
  Result<SampleTable> table = SampleTable::parse("\xef\xbb\xbfid, tokens ,text\r\n0,12,3.5\r\n\r\n1,,7e2", "sizes.csv");
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(table->columns, (std::vector<std::string>{"id", "tokens", "text"}));
  EXPECT_EQ(table->rows(), 2u);
  EXPECT_EQ(*table->column("text"), (std::vector<double>{3.5, 700}));
  EXPECT_EQ(table->column("tokens").error(),
            "sample 1 has no number in column 'tokens'; give it a finite number that is not negative");
  EXPECT_EQ(table->column("token").error(), "there is no column 'token'; did you mean 'tokens'?");
}

TEST(Samples, RefusesBadTables) {
  auto refused = [](const std::string &text, const std::string &words) {
    Result<SampleTable> table = SampleTable::parse(text, "s.csv");
    ASSERT_FALSE(table) << text;
    EXPECT_NE(table.error().find(words), std::string::npos) << table.error();
  };
  refused("", "s.csv is empty");
  refused("a,,b\n", "s.csv:1 has a column without a name");
  refused("a,a\n", "two columns 'a'");
  refused("a,b\n1\n", "s.csv:2 has 1 cells and the first line names 2");
  refused("a\n1\n1,2\n", "s.csv:3 has more cells than the 1 columns");
  refused("a\n1x\n", "s.csv:2 has '1x' in column 'a'; write a number");
  refused(std::string("a\n\0\n", 4), "'?' in column");
  for (const char *cell : {"-1", "inf", "nan", "1e999"}) {
    Result<SampleTable> table = SampleTable::parse(std::string("a\n") + cell, "s.csv");
    EXPECT_FALSE(table && table->column("a")) << cell;
  }
}

// Any bytes are read or refused; what is read has the shape of a table.
TEST(Samples, ReadsOrRefusesAnyBytes) {
  Random random(3);
  const std::string alphabet("0123456789.,,,\n\n-+eEinfa \t\r\"\0\xff", 31);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = trial % 2 ? "a,b\n" : "";
    for (uint64_t length = random.below(30); length > 0; --length)
      text += alphabet[random.below(alphabet.size())];
    Result<SampleTable> table = SampleTable::parse(text, "s.csv");
    if (!table) {
      EXPECT_EQ(table.error().rfind("s.csv", 0), 0u) << table.error();
      continue;
    }
    ++accepted;
    for (const std::vector<double> &column : table->values)
      EXPECT_EQ(column.size(), table->rows());
  }
  EXPECT_GT(accepted, 100);
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
