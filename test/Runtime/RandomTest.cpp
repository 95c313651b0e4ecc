//===- RandomTest.cpp - Random numbers of compiled code -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox against the known answers of its authors; frequencies against the binomial and uniform distributions; and that
// a number depends on its sample and its place there, not on what else the tensor holds. The mapping to counters is
// checked from outside by test/Integration/Inputs/philox.py.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"
#include "runtime/aten/Philox.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <cmath>
#include <gtest/gtest.h>

using namespace braid::runtime;

namespace {
const braid_site site = {"net.layers.3.drop", "modeling.py", 42};

constexpr int64_t noSamples = -1;

at::Tensor dropout(const at::Tensor &input, double p, braid_random random, int64_t stream, int64_t before = 1,
                   int64_t samples = noSamples) {
  Tensor from = fromAten(input);
  braid_tensor result = nullptr;
  EXPECT_EQ(braid_rt_dropout(from.get(), p, &random, stream, before, samples, &result, &site), 0)
      << braid_rt_message();
  return toAten(Tensor::adopt(result));
}

at::Tensor rand(const std::vector<int64_t> &sizes, braid_random random, int64_t stream, int64_t before = 1,
                int64_t samples = noSamples, int32_t dtype = BRAID_F32) {
  braid_tensor result = nullptr;
  EXPECT_EQ(braid_rt_rand(sizes.data(), static_cast<int32_t>(sizes.size()), dtype, &random, stream, before, samples,
                          &result, &site),
            0)
      << braid_rt_message();
  return toAten(Tensor::adopt(result));
}

/// Fewer than one right program in a million has a frequency so far from its expectation; this one always has the same.
constexpr double deviations = 5;

TEST(Random, KnownAnswers) {
  // kat_vectors of Random123, for philox4x32 with 10 rounds.
  struct Answer {
    PhiloxBlock counter;
    PhiloxKey key;
    PhiloxBlock words;
  };
  constexpr uint32_t ones = 0xffffffff;
  const Answer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{ones, ones, ones, ones}, {ones, ones}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Answer &answer : answers)
    EXPECT_EQ(philox(answer.counter, answer.key), answer.words);
}

TEST(Random, AsManyElementsAreKeptAsTheDistributionSays) {
  constexpr int64_t count = 1 << 20;
  for (double p : {0.0, 0.001, 0.1, 0.5, 0.9, 1.0}) {
    at::Tensor kept = dropout(at::ones({count}, at::kDouble), p, {7, 0, 0, 1}, 3);
    auto number = kept.count_nonzero().item<int64_t>();
    double expected = count * (1 - p), deviation = std::sqrt(count * p * (1 - p));
    EXPECT_LE(std::abs(static_cast<double>(number) - expected), deviations * deviation) << p;
    if (p < 1) {
      EXPECT_EQ(kept.max().item<double>(), 1 / (1 - p));
    }
  }
}

TEST(Random, UniformNumbersHaveTheMomentsOfTheirDistribution) {
  constexpr int64_t count = 1 << 20;
  for (int32_t dtype : {BRAID_F64, BRAID_F32, BRAID_BF16, BRAID_F16}) {
    at::Tensor u = rand({count}, {1, 2, 0, 1}, 5, 1, noSamples, dtype);
    double least = u.min().item<double>(), most = u.max().item<double>();
    EXPECT_GE(least, 0);
    EXPECT_LT(most, 1);
    // Numbers of `bits` bits: their mean is half a step below 1/2.
    int bits = dtype == BRAID_F64 ? 53 : dtype == BRAID_F32 ? 24 : dtype == BRAID_BF16 ? 8 : 11;
    at::Tensor wide = u.to(at::kDouble);
    double mean = wide.mean().item<double>(), variance = wide.var(/*unbiased=*/false).item<double>();
    EXPECT_NEAR(mean, 0.5 - std::ldexp(0.5, -bits), deviations * std::sqrt(1.0 / 12 / count)) << dtype;
    // The fourth central moment of a uniform number is 1/80.
    EXPECT_NEAR(variance, 1.0 / 12, deviations * std::sqrt((1.0 / 80 - 1.0 / 144) / count) + std::ldexp(1.0, -2 * bits));
    EXPECT_EQ(most, 1 - std::ldexp(std::ceil(std::ldexp(1 - most, bits)), -bits)) << "a multiple of the step";
  }
}

TEST(Random, SeedsStepsSamplesAndStreamsHaveNumbersOfTheirOwn) {
  constexpr int64_t count = 1 << 14;
  std::vector<at::Tensor> all;
  for (braid_random random : {braid_random{0, 0, 0, 1}, {1, 0, 0, 1}, {int64_t(1) << 32, 0, 0, 1}, {0, 1, 0, 1},
                              {0, 0, 2, 1}, {0, 1 << 24, 0, 1}})
    for (int64_t stream : {0, 1, 256})
      for (int64_t sample : {0, 1})
        all.push_back(rand({2, count}, random, stream, 1, 2, BRAID_F64)[sample] - 0.5);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      double correlation = (all[i] * all[j]).mean().item<double>() * 12;
      EXPECT_LE(std::abs(correlation), deviations / std::sqrt(double(count))) << i << " and " << j;
    }
}

TEST(Random, DividingSamplesChangesNothing) {
  // Ragged places and lengths on purpose: nothing fits the blocks that numbers come in.
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{6, 37}, {3, 6, 5, 7}, {2, 6}, {1, 6, 101}}) {
    int64_t dim = sizes[0] == 6 ? 0 : 1, before = dim ? sizes[0] : 1;
    at::Tensor x = at::randn(sizes, at::kDouble), whole = dropout(x, 0.4, {3, 5, 10, 1}, 2, before, 6);
    at::Tensor wholeNumbers = rand(sizes, {3, 5, 10, 1}, 2, before, 6, BRAID_F64);
    std::vector<at::Tensor> parts, numbers;
    for (auto [begin, length] : {std::pair(0, 1), {1, 3}, {4, 2}}) {
      parts.push_back(dropout(x.narrow(dim, begin, length), 0.4, {3, 5, 10 + begin, 1}, 2, before, length));
      sizes[dim] = length;
      numbers.push_back(rand(sizes, {3, 5, 10 + begin, 1}, 2, before, length, BRAID_F64));
    }
    EXPECT_TRUE(at::equal(at::cat(parts, dim), whole));
    EXPECT_TRUE(at::equal(at::cat(numbers, dim), wholeNumbers));
    EXPECT_FALSE(at::equal(whole, x));
  }
}

TEST(Random, MergedRowsAreTheirSamples) {
  at::Tensor x = at::randn({6 * 5, 7}, at::kDouble);
  EXPECT_TRUE(at::equal(dropout(x, 0.4, {3, 5, 0, 1}, 2, 1, 6).view({6, 5, 7}),
                        dropout(x.view({6, 5, 7}), 0.4, {3, 5, 0, 1}, 2, 1, 6)));
}

TEST(Random, ThreadsAndElementTypesDrawTheSameMask) {
  at::Tensor x = at::ones({3, 200003}, at::kDouble), one = dropout(x, 0.25, {0, 0, 0, 1}, 0, 1, 3);
  int threads = at::get_num_threads();
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(dropout(x, 0.25, {0, 0, 0, 1}, 0, 1, 3), one));
  at::set_num_threads(threads);
  for (at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf})
    EXPECT_TRUE(at::equal(dropout(x.to(type), 0.25, {0, 0, 0, 1}, 0, 1, 3).ne(0), one.ne(0)));
}

TEST(Random, AGradientThatIsNotDenseHasTheSameMask) {
  at::Tensor x = at::randn({4, 6}, at::kDouble), mask = dropout(at::ones({4, 6}, at::kDouble), 0.5, {0, 0, 0, 1}, 1);
  EXPECT_TRUE(at::allclose(dropout(x.t().contiguous().t(), 0.5, {0, 0, 0, 1}, 1), x * mask));
  EXPECT_TRUE(at::allclose(dropout(at::ones({1, 1}, at::kDouble).expand({4, 6}), 0.5, {0, 0, 0, 1}, 1), mask));
}

TEST(Random, AnEvaluationDropsNothing) {
  at::Tensor x = at::randn({4, 6});
  EXPECT_TRUE(at::equal(dropout(x, 0.5, {0, 0, 0, 0}, 1, 1, 4), x));
}

TEST(Random, EmptyTensors) {
  EXPECT_EQ(dropout(at::randn({0, 6}), 0.5, {0, 0, 0, 1}, 1, 1, 0).sizes(), (std::vector<int64_t>{0, 6}));
  EXPECT_EQ(rand({4, 0}, {0, 0, 0, 1}, 1, 1, 4).numel(), 0);
}

TEST(Random, ErrorsNameWhatIsOutOfRange) {
  auto messageOf = [](const at::Tensor &input, braid_random random, int64_t stream, int64_t samples) {
    Tensor from = fromAten(input);
    braid_tensor result = nullptr;
    EXPECT_NE(braid_rt_dropout(from.get(), 0.5, &random, stream, 1, samples, &result, &site), 0);
    EXPECT_EQ(result, nullptr);
    return std::string(braid_rt_message());
  };
  at::Tensor x = at::randn({4, 6});
  EXPECT_EQ(messageOf(x, {0, int64_t(1) << 32, 0, 1}, 0, 4),
            "aten::dropout in net.layers.3.drop at modeling.py:42 failed: step 4294967296 is out of range; random "
            "numbers are drawn for 2^32 steps");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "there are 2^24 streams", messageOf(x, {0, 0, 0, 1}, 1 << 24, 4));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "for 2^32 samples",
                      messageOf(x, {0, 0, (int64_t(1) << 32) - 3, 1}, 0, 4));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is f32[4, 6] and should hold 5 samples",
                      messageOf(x, {0, 0, 0, 1}, 0, 5));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "not implemented for 'Long'",
                      messageOf(at::ones({4}, at::kLong), {0, 0, 0, 1}, 0, 4));
}
} // namespace
