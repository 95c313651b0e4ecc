//===- OptionsTest.cpp - Numbers on the command line ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Options.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

using namespace braid::runtime;

/// Parses "--data d" and `arguments`; what it prints as errors.
static std::pair<ParsedOptions, std::string> parse(const std::string &arguments) {
  std::vector<std::string> words = {"train", "--data", "d"};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;)
    words.push_back(word);
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  testing::internal::CaptureStderr();
  ParsedOptions parsed = parseOptions(static_cast<int>(argv.size()), argv.data(), OptimizerSettings());
  return {parsed, testing::internal::GetCapturedStderr()};
}

static void expectRefused(const std::string &arguments, const std::string &word) {
  auto [parsed, printed] = parse(arguments);
  EXPECT_TRUE(parsed.exit && *parsed.exit != 0) << arguments;
  EXPECT_NE(printed.find(word), printed.npos) << arguments << ": " << printed;
}

TEST(Options, NumbersThatAreNoneAreRefused) {
  for (const char *number : {"0", "-3", "1.5", "99999999999999999999", "nan"})
    expectRefused(std::string("--steps ") + number, "--steps");
  for (const char *number : {"nan", "inf", "-1", "0", "1e400", "x"}) {
    expectRefused(std::string("--deadline ") + number, "--deadline");
    expectRefused(std::string("--clip-norm ") + number, "--clip-norm");
  }
  for (const char *number : {"nan", "inf", "-1", "1e400"}) {
    expectRefused(std::string("--lr ") + number, "learning rate");
    expectRefused(std::string("--weight-decay ") + number, "weight decay");
    expectRefused(std::string("--eps ") + number, "eps");
    expectRefused(std::string("--optimizer sgd --momentum ") + number, "momentum");
  }
  EXPECT_FALSE(parse("--steps 3 --deadline 0.5 --clip-norm 1e-3 --lr 0 --eps 0").first.exit);
}

TEST(Options, SeedsAreWholeNumbers) {
  for (const char *number : {"-1", "1.5", "9223372036854775808", "x"})
    expectRefused(std::string("--seed ") + number, "--seed");
  EXPECT_EQ(parse("--seed 9223372036854775807").first.options.seed, std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(parse("").first.options.seed) << "then the plan's holds";
}
