//===- Input.h - Which schedule a subcommand works on, and its costs -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_SIM_INPUT_H
#define BRAID_SIM_INPUT_H

#include "Command.h"

#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <string>
#include <vector>

namespace braid::sim {

/// What a subcommand reads of a schedule: the table, or only the pipeline that it runs on.
enum class Reads { Table, Pipeline };

/// Where the schedule comes from and what its actions cost.
struct Input {
  plan::ScheduleRequest request;
  std::string table; // a CSV file instead of a generator
  std::vector<std::string> edges, components;
  int eager = 1;
  std::vector<int> frozen;
  int staleness = 0, weightVersions = 1;
  std::string recompute = "none"; // none, with_backward, early
  double checkpoint = 0, replayed = -1, recomputation = -1;
  double forward = 1, input = 1, weight = 1, latency = 0, activation = 1, kept = -1;
  std::string overlap = "atomic", links = "free", durations;
  double bytes = 0, timePerByte = 0, boundaryBytes = -1, deferredShare = 0.5;
  double blockForwardRelease = 1, blockBackwardRelease = 1, inputRelease = 1;
  std::vector<double> forwards, inputs, weights; // per stage

  /// Options that only some schedules have a use for; load() asks.
  std::vector<std::pair<OptionRule, std::function<bool(const plan::PlannedSchedule &)>>> rules;

  bool hasTable() const { return !table.empty(); }
};

/// Declares the options of the schedule, and those of the costs. Help lists them under these headings.
void addInput(Command &command, Input &input, Reads reads);
void addCosts(Command &command, Input &input, Reads reads);
constexpr const char *scheduleGroup = "Schedule", *costGroup = "Costs";

/// The schedule that the options ask for, generated or read.
plan::Result<plan::PlannedSchedule> load(const Input &input, const plan::GenerateOptions &options);
plan::Result<plan::CostModel> costsOf(const Input &input, const plan::PlannedSchedule &planned);

} // namespace braid::sim

#endif // BRAID_SIM_INPUT_H
