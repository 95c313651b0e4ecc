//===- BalanceTables.h - Tables of many balanced steps ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_SIM_BALANCETABLES_H
#define BRAID_SIM_BALANCETABLES_H

#include "SampleSet.h"

#include "braid/Plan/Balance/BalanceReport.h"

#include <cstdio>
#include <string>
#include <vector>

namespace braid::sim {

struct TableOptions {
  plan::BalanceOptions balance;
  std::vector<int> counts = {128}; // samples of a replica in a step
  int microbatches = 32;
  int draws = 64;   // steps that a figure is the mean of
  int devices = 16; // that the smallest stable batch splits
};

/// printf into a string of at most 511 characters.
std::string format(const char *pattern, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// "3:1:4".
std::string joined(const std::vector<int> &values);

/// Markdown: step times, variation, draws with one giant sample, stable batches, and how long balancing takes.
plan::Result<std::string> balanceTables(const std::vector<std::string> &files, const SampleOptions &samples,
                                        const TableOptions &options);

} // namespace braid::sim

#endif // BRAID_SIM_BALANCETABLES_H
