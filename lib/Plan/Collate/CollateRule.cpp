//===- CollateRule.cpp - How an input divides and joins -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Collate/CollateRule.h"
#include "../Support/YamlReader.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <sstream>

namespace braid::plan {

static const std::vector<std::string> &kindNames() {
  static const std::vector<std::string> names = {"stack", "pad", "concat", "offsets", "index_into", "shared"};
  return names;
}

Result<CollateRule> CollateRule::parse(std::string_view text) {
  std::string name(trim(text.substr(0, text.find('(')))), argument;
  bool hasArgument = text.find('(') != text.npos;
  if (hasArgument) {
    if (text.back() != ')')
      return Error{"collate rule '" + std::string(text) + "' lacks its closing parenthesis"};
    size_t open = text.find('(');
    argument = trim(text.substr(open + 1, text.size() - open - 2));
  }
  auto at = std::find(kindNames().begin(), kindNames().end(), name);
  if (at == kindNames().end())
    return Error{"unknown collate rule '" + std::string(text) + "'" + suggest(name, kindNames())};
  CollateRule rule;
  rule.kind = static_cast<Kind>(at - kindNames().begin());
  switch (rule.kind) {
  case Kind::Stack:
  case Kind::Shared:
    if (hasArgument)
      return Error{"collate rule " + name + " takes no argument"};
    break;
  case Kind::Pad: {
    std::optional<double> value = yaml::parseNumber(argument);
    if (!value)
      return Error{"collate rule pad needs the number that it fills with, as in pad(0)"};
    rule.value = *value;
    break;
  }
  case Kind::Concat: {
    std::optional<int64_t> dim = hasArgument ? yaml::parseInteger(argument) : 0;
    if (!dim || *dim < 0 || *dim > 15)
      return Error{"collate rule concat's dim must be between 0 and 15, as in concat(0)"};
    rule.dim = static_cast<int>(*dim);
    break;
  }
  case Kind::IndexInto:
    if (size_t comma = argument.find(','); comma != argument.npos) {
      std::optional<int64_t> dims = yaml::parseInteger(trim(std::string_view(argument).substr(comma + 1)));
      if (!dims || *dims < 1 || *dims > 15)
        return Error{"collate rule index_into counts through 1 to 15 leading dims, as in index_into(input_ids, 2)"};
      rule.flattened = static_cast<int>(*dims);
      argument = std::string(trim(std::string_view(argument).substr(0, comma)));
    }
    [[fallthrough]];
  case Kind::Offsets:
    if (argument.empty())
      return Error{"collate rule " + name + " needs the input that it counts, as in " + name + "(pixel_values)"};
    rule.input = argument;
    break;
  }
  return rule;
}

std::string CollateRule::str() const {
  std::string name = kindNames()[static_cast<size_t>(kind)];
  switch (kind) {
  case Kind::Stack:
  case Kind::Shared:
    return name;
  case Kind::Pad: {
    std::ostringstream text;
    text.precision(17);
    text << name << "(" << value << ")";
    return text.str();
  }
  case Kind::Concat:
    return name + "(" + std::to_string(dim) + ")";
  case Kind::Offsets:
    return name + "(" + input + ")";
  case Kind::IndexInto:
    return name + "(" + input + (flattened > 1 ? ", " + std::to_string(flattened) : "") + ")";
  }
  return name;
}

} // namespace braid::plan
