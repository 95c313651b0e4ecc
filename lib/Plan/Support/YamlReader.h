//===- YamlReader.h - Reading YAML with located errors ----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the readers of plans, models, hardware and profiles share. Inside them errors are thrown, because yaml-cpp
// throws too; read() turns both into one Error, "FILE:LINE:COLUMN: ...", and nothing is thrown out of it.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SUPPORT_YAMLREADER_H
#define BRAID_LIB_PLAN_SUPPORT_YAMLREADER_H

#include "braid/Plan/Support/Location.h"
#include "braid/Plan/Support/Result.h"

#include <yaml-cpp/yaml.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::plan::yaml {

struct Located {
  std::string message;
  FileLocation location;
};

FileLocation locate(const YAML::Mark &mark);
[[noreturn]] void fail(const YAML::Node &node, const std::string &message);

/// "'word'", "a list", "a map" or "nothing".
std::string kindOf(const YAML::Node &node);
std::string textOf(const YAML::Node &node, const std::string &what);
std::optional<double> parseNumber(std::string_view text);
double numberOf(const YAML::Node &node, const std::string &what, double low, double high);
std::optional<int64_t> parseInteger(std::string_view text);
int64_t integerOf(const YAML::Node &node, const std::string &what, int64_t low, int64_t high);
bool boolOf(const YAML::Node &node, const std::string &what);
std::string choiceOf(const YAML::Node &node, const std::string &what, const std::vector<std::string> &choices);

inline constexpr int maxRanks = 1 << 20;
/// Ranks written as [0, 2, 4-7], none twice, all below maxRanks.
std::vector<int> ranksOf(const YAML::Node &node, const std::string &what);

/// Calls visit(key, node of the key, value) for each entry of a map; keys must be words and come once.
void forEachEntry(const YAML::Node &node, const std::string &what,
                  const std::function<void(const std::string &, const YAML::Node &, const YAML::Node &)> &visit);
/// The same for a map whose keys are fixed: visit(key, value).
void readKeys(const YAML::Node &node, const std::string &what, const std::vector<std::string> &known,
              const std::function<void(const std::string &, const YAML::Node &)> &visit);

/// Parses a text of one document and calls visit(root), unless the text is empty. `what` names the kind of file.
Status read(const std::string &text, const std::string &fileName, const std::string &what,
            const std::function<void(const YAML::Node &)> &visit);

} // namespace braid::plan::yaml

#endif // BRAID_LIB_PLAN_SUPPORT_YAMLREADER_H
