//===- BatchDivisionTest.cpp - Inputs divide as their samples do ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Collate/BatchDivision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace braid::plan;

static CollatedInput input(const std::string &name, std::vector<const char *> dims, const char *rule) {
  CollatedInput result{name, {}, *CollateRule::parse(rule)};
  for (const char *dim : dims)
    result.dims.push_back(*Expr::parse(dim));
  return result;
}

TEST(CollateRule, ReadsWhatItWrites) {
  for (const char *text : {"stack", "pad(0)", "pad(-100)", "pad(0.5)", "concat(0)", "concat(3)", "offsets(pixels)",
                           "index_into(pixels)", "index_into(input_ids, 2)", "shared"}) {
    Result<CollateRule> rule = CollateRule::parse(text);
    ASSERT_TRUE(rule) << rule.error();
    EXPECT_EQ(rule->str(), text);
  }
  EXPECT_EQ(CollateRule::parse("concat")->str(), "concat(0)");
  EXPECT_EQ(CollateRule::parse("index_into( x , 2 )")->str(), "index_into(x, 2)");
  const std::pair<const char *, const char *> wrong[] = {
      {"stak", "did you mean 'stack'?"},       {"pad", "needs the number"},       {"concat(-1)", "between 0 and 15"},
      {"offsets()", "needs the input"},        {"stack(1)", "takes no argument"}, {"pad(1", "closing parenthesis"},
      {"index_into(x, 0)", "1 to 15 leading"}, {"", "unknown collate rule"}};
  for (auto [text, words] : wrong) {
    Result<CollateRule> rule = CollateRule::parse(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_NE(rule.error().find(words), std::string::npos) << rule.error();
  }
}

namespace {
/// What one sample is made of: the patches of each image, windows that each hold some of an image's groups of two
/// patches, and picks of patches, of its three words, and of its groups.
struct Sample {
  std::vector<int> images, windows;     // patches, by image and window
  std::vector<int> picks, words, order; // from the sample's own 0
  int patches() const {
    int sum = 0;
    for (int image : images)
      sum += image;
    return sum;
  }
};

/// The inputs of some samples, made from the samples alone.
struct Packed {
  std::vector<std::vector<int64_t>> values{9}, shapes{9};
};

const std::vector<CollatedInput> &inputs() {
  static const std::vector<CollatedInput> all = {input("ids", {"batch", "3"}, "stack"),
                                                 input("pixels", {"2*groups", "2"}, "concat"),
                                                 input("cu_seqlens", {"images + 1"}, "offsets(pixels)"),
                                                 input("cu_images", {"batch + 1"}, "offsets(cu_seqlens)"),
                                                 input("cu_windows", {"windows + 1"}, "offsets(pixels)"),
                                                 input("picks", {"picks"}, "index_into(pixels)"),
                                                 input("words", {"words"}, "index_into(ids, 2)"),
                                                 input("order", {"groups"}, "index_into(order)"),
                                                 input("position", {"2", "2*batch"}, "concat(1)")};
  return all;
}

Packed pack(const std::vector<Sample> &samples, size_t first, size_t count) {
  Packed packed;
  auto &[values, shapes] = packed;
  for (int list : {2, 3, 4})
    values[list].push_back(0);
  int64_t patches = 0;
  for (size_t s = first; s < first + count; ++s) {
    const Sample &sample = samples[s];
    for (int pick : sample.picks)
      values[5].push_back(patches + pick);
    for (int word : sample.words)
      values[6].push_back(int64_t(s - first) * 3 + word);
    for (int group : sample.order)
      values[7].push_back(patches / 2 + group);
    for (int image : sample.images)
      values[2].push_back(values[2].back() + image);
    values[3].push_back(static_cast<int64_t>(values[2].size()) - 1);
    for (int window : sample.windows)
      values[4].push_back(values[4].back() + window);
    patches += sample.patches();
  }
  int64_t batch = static_cast<int64_t>(count);
  shapes = {{batch, 3}, {patches, 2}, {}, {}, {}, {}, {}, {}, {2, 2 * batch}};
  for (int list : {2, 3, 4, 5, 6, 7})
    shapes[list] = {static_cast<int64_t>(values[list].size())};
  return packed;
}

Sample randomSample(std::mt19937 &random) {
  auto upTo = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  Sample sample;
  for (int image = upTo(3); image > 0; --image) {
    int groups = 1 + upTo(3);
    sample.images.push_back(2 * groups);
    for (int left = groups; left > 0;) {
      int window = 1 + upTo(left - 1);
      sample.windows.push_back(2 * window);
      left -= window;
    }
  }
  for (int group = sample.patches() / 2 - 1; group >= 0; --group)
    sample.order.push_back(group);
  std::shuffle(sample.order.begin(), sample.order.end(), random);
  for (int pick = sample.patches() ? upTo(3) : 0; pick > 0; --pick)
    sample.picks.push_back(upTo(sample.patches() - 1));
  for (int word = upTo(2); word > 0; --word)
    sample.words.push_back(upTo(2));
  return sample;
}
} // namespace

/// The parts of a batch are what its samples make when they are packed alone.
TEST(BatchDivision, PartsAreWhatTheirSamplesPack) {
  BatchDivision division;
  std::optional<DivisionError> error = divide(inputs(), division);
  ASSERT_FALSE(error) << error->message;
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Sample> samples(1 + random() % 7);
    for (Sample &sample : samples)
      sample = randomSample(random);
    Packed whole = pack(samples, 0, samples.size());
    std::vector<int64_t> bounds = {0};
    while (bounds.back() < static_cast<int64_t>(samples.size()))
      bounds.push_back(bounds.back() + 1 + static_cast<int64_t>(random() % (samples.size() - bounds.back())));
    auto cuts = cutInputs(inputs(), division, whole.shapes, bounds,
                          [&](int number) -> Result<std::vector<int64_t>> { return whole.values[number]; });
    ASSERT_TRUE(cuts) << cuts.error();
    int64_t patches = 0;
    for (size_t m = 0; m + 1 < bounds.size(); ++m) {
      Packed wanted = pack(samples, bounds[m], bounds[m + 1] - bounds[m]);
      for (size_t i = 0; i < inputs().size(); ++i) {
        const InputCut &cut = (*cuts)[m][i];
        EXPECT_EQ(cut.size, wanted.shapes[i][division.inputs[i].dim]) << inputs()[i].name;
        if (whole.values[i].empty())
          continue;
        std::vector<int64_t> part(whole.values[i].begin() + cut.begin, whole.values[i].begin() + cut.begin + cut.size);
        for (int64_t &value : part)
          value -= cut.base;
        EXPECT_EQ(part, wanted.values[i]) << inputs()[i].name;
      }
      EXPECT_EQ((*cuts)[m][1].begin, patches);
      patches += wanted.shapes[1][0];
      EXPECT_EQ((*cuts)[m][8].begin, 2 * bounds[m]);
    }
  }
}

TEST(BatchDivision, RefusesValuesThatDoNotCount) {
  BatchDivision division;
  ASSERT_FALSE(divide(inputs(), division));
  std::vector<Sample> samples = {{{2, 2}, {2, 2}, {0, 3}, {1}, {1, 0}}, {{4}, {4}, {1}, {}, {0, 1}}};
  const Packed good = pack(samples, 0, 2);
  auto errorOf = [&](auto change) {
    Packed changed = good;
    change(changed);
    auto cuts = cutInputs(inputs(), division, changed.shapes, {0, 1, 2},
                          [&](int number) -> Result<std::vector<int64_t>> { return changed.values[number]; });
    return cuts ? "" : cuts.error();
  };
  EXPECT_EQ(errorOf([](Packed &) {}), "");
  auto expect = [&](auto change, const char *words) {
    std::string error = errorOf(change);
    EXPECT_NE(error.find(words), std::string::npos) << "not '" << words << "' but: " << error;
  };
  expect([](Packed &p) { p.values[2] = {1, 2, 4, 8}; }, "input 'cu_seqlens' begins with 1");
  expect([](Packed &p) { p.values[2] = {0, 4, 2, 8}; }, "input 'cu_seqlens' falls from 4 to 2 at entry 2");
  expect([](Packed &p) { p.values[2] = {0, 2, 4, 6}; }, "input 'cu_seqlens' ends with 6, and 'pixels' has 8 rows");
  expect([](Packed &p) { p.values[2] = {0, 2, 3, 8}; }, "begin at row 3 of 'pixels', whose rows come in groups of 2");
  expect([](Packed &p) { p.values[3] = {0, 2, 4}; }, "input 'cu_images' ends with 4, and 'cu_seqlens' has 3 segments");
  expect([](Packed &p) { p.values[4] = {0, 2, 6, 8}; }, "a segment may not belong to two samples");
  expect([](Packed &p) { p.values[5][0] = 5; }, "input 'picks' has 3 at entry 1 in micro-batch 1");
  expect([](Packed &p) { p.values[5][2] = 8; }, "input 'picks' has 8 at entry 2 in micro-batch 1");
  expect([](Packed &p) { p.values[7] = {0, 2, 1, 3}; }, "name rows of their own sample");
  expect([](Packed &p) { p.shapes[8][1] = 6; }, "input 'position' has 6 rows in dim 1, and the samples have 4");
}

TEST(BatchDivision, RefusesRulesThatSayTooLittle) {
  auto expect = [&](std::vector<CollatedInput> inputs, int at, const char *words) {
    BatchDivision division;
    std::optional<DivisionError> error = divide(inputs, division);
    ASSERT_TRUE(error) << words;
    EXPECT_EQ(error->input, at);
    EXPECT_NE(error->message.find(words), std::string::npos) << "not '" << words << "' but: " << error->message;
  };
  CollatedInput ids = input("ids", {"batch", "3"}, "stack"), pixels = input("pixels", {"patches", "2"}, "concat");
  expect({ids, pixels}, 1, "nothing says which rows of input 'pixels' belong to which sample");
  expect({ids, pixels, input("cu", {"images + 1"}, "offsets(pixels)")}, 1, "nothing says which rows");
  expect({ids, pixels, input("cu", {"batch + 1"}, "offsets(pixel)")}, 2, "did you mean 'pixels'?");
  expect({ids, input("cu", {"batch + 1"}, "offsets(ids)")}, 1, "whose collate rule is stack");
  expect({ids, input("cu", {"batch", "2"}, "offsets(ids)")}, 1, "has 2 dims");
  expect({ids, input("cu", {"5"}, "offsets(ids)")}, 1, "has 5 entries in every batch");
  expect({ids, input("x", {"patches + 1"}, "concat")}, 1, "no multiple of one name");
  expect({ids, input("x", {"batch"}, "concat(1)")}, 1, "has 1 dims");
  expect({ids, input("t", {"9"}, "shared"), input("i", {"n"}, "index_into(t)")}, 2, "the same for all samples");
  expect({ids, input("i", {"n"}, "index_into(ids, 3)")}, 1, "counts through 3 leading dims");
}

TEST(BatchDivision, SamplesMayBeSegments) {
  std::vector<CollatedInput> inputs = {input("tokens", {"rows"}, "concat"),
                                       input("cu", {"texts + 1"}, "offsets(tokens)")};
  BatchDivision division;
  ASSERT_FALSE(divide(inputs, division));
  EXPECT_EQ(division.samples.str(), "texts");
  auto cuts = cutInputs(inputs, division, {{7}, {4}}, {0, 1, 3}, [](int) -> Result<std::vector<int64_t>> {
    return std::vector<int64_t>{0, 3, 3, 7};
  });
  ASSERT_TRUE(cuts) << cuts.error();
  EXPECT_EQ((*cuts)[1][0].begin, 3);
  EXPECT_EQ((*cuts)[1][0].size, 4);
  EXPECT_EQ((*cuts)[1][1].begin, 1);
  EXPECT_EQ((*cuts)[1][1].size, 3);
  EXPECT_EQ((*cuts)[1][1].base, 3);
}
