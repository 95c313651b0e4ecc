//===- ParameterGroups.h - Parameters with rates of their own ----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_PARAMETERGROUPS_H
#define BRAID_RUNTIME_CORE_PARAMETERGROUPS_H

#include "braid/Plan/Support/Result.h"

#include <optional>
#include <string>
#include <vector>

namespace braid::runtime {

struct Program;
struct OptimizerSettings;

/// Parameters that any of the patterns names (braid/Plan/Support/Text.h: a parameter, or the module that it lies
/// below).
struct ParameterGroup {
  std::vector<std::string> patterns;
  std::optional<double> lr, weightDecay; // absent: the optimizer's

  /// Reads "net.embed: lr=1e-4, weight_decay=0".
  static plan::Result<ParameterGroup> parse(const std::string &text);
  std::string str() const;
};

struct ParameterRates {
  double lr = 0, weightDecay = 0;
};

/// The rates of each parameter, by number: those of the first group that names it, under its name or an alias. Fails
/// where a pattern names no trained parameter.
plan::Result<std::vector<ParameterRates>> assignRates(const Program &program, const OptimizerSettings &settings,
                                                      const std::vector<ParameterGroup> &groups);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_PARAMETERGROUPS_H
