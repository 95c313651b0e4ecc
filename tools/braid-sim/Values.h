//===- Values.h - Which values options take ---------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CLI11's own checks let nan pass, read 010 as 8, take what is left of 1x or 1,,2, and words of a choice by number.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_SIM_VALUES_H
#define BRAID_SIM_VALUES_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace braid::sim {

/// The most that durations, sizes and memory may be: sums of a whole table keep their precision.
constexpr double mostOfANumber = 1e15;

/// A finite number in this range.
CLI::Validator numberFrom(double low, double high = mostOfANumber);
/// A number from 0, or -1 for what the help says.
CLI::Validator numberOrMinusOne();
CLI::Validator share();
CLI::Validator integerFrom(int64_t low, int64_t high);
/// A file, column or name: an empty text is a shell variable that was not set.
CLI::Validator named();
/// A file to write, or "-": its folder is there before hours are spent on what it is to hold.
CLI::Validator outputFile();
CLI::Validator oneOf(std::vector<std::string> words);

/// A list of values, "1,2,3" or several words. Each is checked.
CLI::Option *addList(CLI::App *app, const std::string &names, std::vector<double> &values, const std::string &help,
                     const CLI::Validator &check);
CLI::Option *addList(CLI::App *app, const std::string &names, std::vector<int> &values, const std::string &help,
                     const CLI::Validator &check);

/// One of several words, which stand for values.
template <typename Value>
CLI::Option *addChoice(CLI::App *app, const std::string &names, Value &value, const std::string &help,
                       const std::vector<std::pair<std::string, Value>> &choices) {
  std::vector<std::string> words;
  std::string usual;
  for (const auto &[word, meaning] : choices) {
    words.push_back(word);
    if (meaning == value)
      usual = word;
  }
  auto take = [&value, choices](const std::string &text) {
    for (const auto &[word, meaning] : choices)
      if (word == text)
        value = meaning;
  };
  return app->add_option_function<std::string>(names, take, help)->check(oneOf(words))->default_str(usual);
}

} // namespace braid::sim

#endif // BRAID_SIM_VALUES_H
