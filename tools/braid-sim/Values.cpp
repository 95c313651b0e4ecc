//===- Values.cpp - Which values options take -----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

using namespace braid;

template <typename Value> static std::optional<Value> parse(const std::string &text) {
  Value value{};
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size() || !std::isfinite(static_cast<double>(value)))
    return std::nullopt;
  return value;
}

/// A number for which `fits` holds. `range` goes on "is no number".
static CLI::Validator number(std::function<bool(double)> fits, const std::string &range) {
  auto check = [=](const std::string &text) -> std::string {
    std::optional<double> value = parse<double>(text);
    return value && fits(*value) ? "" : "'" + text + "' is no number " + range;
  };
  return CLI::Validator(check, "");
}

CLI::Validator sim::numberFrom(double low, double high) {
  return number([=](double value) { return value >= low && value <= high; },
                "from " + plan::decimal(low) + " to " + plan::decimal(high));
}

CLI::Validator sim::numberOrMinusOne() {
  return number([](double value) { return value == -1 || (value >= 0 && value <= mostOfANumber); },
                "from 0 to " + plan::decimal(mostOfANumber) + ", or -1");
}

CLI::Validator sim::share() { return numberFrom(0, 1); }

CLI::Validator sim::integerFrom(int64_t low, int64_t high) {
  auto check = [=](const std::string &text) -> std::string {
    std::optional<int64_t> value = parse<int64_t>(text);
    bool plain = value && text == std::to_string(*value); // CLI11 reads 010 as 8
    return plain && *value >= low && *value <= high
               ? ""
               : "'" + text + "' is no whole number from " + std::to_string(low) + " to " + std::to_string(high);
  };
  return CLI::Validator(check, "");
}

CLI::Validator sim::named() {
  return CLI::Validator([](const std::string &text) { return text.empty() ? "it is empty; name one" : ""; }, "");
}

CLI::Validator sim::outputFile() {
  auto check = [](const std::string &text) -> std::string {
    if (text.empty())
      return "it is empty; name one";
    std::error_code error;
    const std::filesystem::path path(text), folder = path.parent_path();
    if (std::filesystem::is_directory(path, error))
      return "'" + text + "' is a folder; name a file";
    return folder.empty() || std::filesystem::is_directory(folder, error)
               ? ""
               : "there is no folder '" + folder.string() + "'; make it first";
  };
  return CLI::Validator(check, "");
}

CLI::Validator sim::oneOf(std::vector<std::string> words) {
  std::string all;
  for (const std::string &word : words)
    all += (all.empty() ? "{" : ",") + word;
  auto check = [words](const std::string &text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end())
      return "";
    return "'" + text + "' is unknown" + plan::suggest(text, words);
  };
  return CLI::Validator(check, all + "}");
}

template <typename Value>
static CLI::Option *addListOf(CLI::App *app, const std::string &names, std::vector<Value> &values,
                              const std::string &help, const CLI::Validator &check) {
  std::string usual;
  for (Value value : values)
    usual += (usual.empty() ? "" : ",") + std::to_string(value);
  auto take = [&values, check, names](const std::vector<std::string> &words) {
    values.clear();
    for (const std::string &word : words)
      for (size_t start = 0; start <= word.size();) {
        size_t comma = std::min(word.find(',', start), word.size());
        std::string part = word.substr(start, comma - start);
        if (std::string wrong = check(part); !wrong.empty())
          throw CLI::ValidationError(names.substr(names.rfind("--")), wrong);
        values.push_back(*parse<Value>(part));
        start = comma + 1;
      }
  };
  return app->add_option_function<std::vector<std::string>>(names, take, help)->type_name("LIST")->default_str(usual);
}

CLI::Option *sim::addList(CLI::App *app, const std::string &names, std::vector<double> &values, const std::string &help,
                          const CLI::Validator &check) {
  return addListOf(app, names, values, help, check);
}

CLI::Option *sim::addList(CLI::App *app, const std::string &names, std::vector<int> &values, const std::string &help,
                          const CLI::Validator &check) {
  return addListOf(app, names, values, help, check);
}
