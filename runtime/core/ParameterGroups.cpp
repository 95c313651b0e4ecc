//===- ParameterGroups.cpp - Parameters with rates of their own -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ParameterGroups.h"
#include "braid/Plan/Support/Text.h"
#include "runtime/core/Program.h"
#include "runtime/core/Text.h"

#include <charconv>
#include <cmath>

using namespace braid;
using namespace braid::runtime;

plan::Result<ParameterGroup> ParameterGroup::parse(const std::string &whole) {
  auto refuse = [&](const std::string &why) {
    return plan::Error{
        text("the parameter group '", whole, "' ", why, "; write it as 'PATTERN: lr=1e-4, weight_decay=0'")};
  };
  ParameterGroup group;
  size_t colon = whole.find(':');
  group.patterns = {std::string(plan::trim(whole.substr(0, colon)))};
  if (colon == whole.npos || group.patterns[0].empty())
    return refuse("names no parameters");
  std::istringstream settings(whole.substr(colon + 1));
  for (std::string setting; std::getline(settings, setting, ',');) {
    size_t equals = setting.find('=');
    std::string key(plan::trim(setting.substr(0, equals)));
    std::string number = equals == setting.npos ? "" : std::string(plan::trim(setting.substr(equals + 1)));
    double value = 0;
    std::from_chars_result read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (key != "lr" && key != "weight_decay")
      return refuse(text("sets '", key, "', and a group has lr and weight_decay"));
    if (read.ec != std::errc() || read.ptr != number.data() + number.size() || !(value >= 0) || !std::isfinite(value))
      return refuse(text("sets ", key, " to '", number, "', which is no number of at least 0"));
    (key == "lr" ? group.lr : group.weightDecay) = value;
  }
  if (!group.lr && !group.weightDecay)
    return refuse("sets nothing");
  return group;
}

std::string ParameterGroup::str() const {
  std::vector<std::string> rates;
  if (lr)
    rates.push_back(runtime::text("lr=", *lr));
  if (weightDecay)
    rates.push_back(runtime::text("weight_decay=", *weightDecay));
  return joined(patterns) + ": " + joined(rates);
}

static bool names(const std::string &pattern, const ModelParameter &parameter) {
  if (plan::matchesModule(pattern, parameter.name))
    return true;
  for (const std::string &alias : parameter.aliases)
    if (plan::matchesModule(pattern, alias))
      return true;
  return false;
}

plan::Result<std::vector<ParameterRates>> runtime::assignRates(const Program &program,
                                                               const OptimizerSettings &settings,
                                                               const std::vector<ParameterGroup> &groups) {
  std::vector<std::string> trained;
  for (const ModelParameter &parameter : program.parameters)
    if (parameter.updated)
      trained.push_back(parameter.name);
  for (const ParameterGroup &group : groups)
    for (const std::string &pattern : group.patterns) {
      bool any = false, frozen = false;
      for (const ModelParameter &parameter : program.parameters)
        if (parameter.kind == ModelParameter::Kind::Parameter && names(pattern, parameter))
          (parameter.updated ? any : frozen) = true;
      if (!any)
        return plan::Error{text("the pattern '", pattern, "' of a parameter group names ",
                                frozen ? "frozen parameters only" : "no parameter",
                                plan::suggest(pattern, plan::withModules(trained)))};
    }
  std::vector<ParameterRates> rates(program.parameters.size(), {settings.lr, settings.weightDecay});
  for (size_t i = 0; i < rates.size(); ++i) {
    auto isFirst = [&](const ParameterGroup &group) {
      for (const std::string &pattern : group.patterns)
        if (names(pattern, program.parameters[i]))
          return true;
      return false;
    };
    auto group = std::find_if(groups.begin(), groups.end(), isFirst);
    if (group != groups.end())
      rates[i] = {group->lr.value_or(settings.lr), group->weightDecay.value_or(settings.weightDecay)};
  }
  return rates;
}
