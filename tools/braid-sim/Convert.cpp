//===- Convert.cpp - braid-sim convert ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  sim::Input input;
  std::string to = "full", output;
};
} // namespace

static Status run(const Options &options) {
  const bool full = options.to == "full", messages = full || options.to == "messages";
  Result<PlannedSchedule> planned = sim::load(options.input, {.messages = messages, .update = full});
  if (!planned)
    return Error{planned.error()};
  Schedule &schedule = planned->schedule;
  if (!messages) {
    schedule = schedule.computeOnly();
    if (std::string why = schedule.whyNotPyTorch(); options.to == "pytorch" && !why.empty())
      return Error{"PyTorch cannot load this schedule: " + why};
  } else if (options.input.hasTable()) {
    const GenerateOptions lacking = {.messages = !schedule.hasMessages(), .update = full, .recompute = false};
    Result<Schedule> whole = finish(planned->pipeline, std::move(schedule), lacking);
    if (!whole)
      return Error{whole.error()};
    planned->schedule = std::move(*whole);
  }
  return sim::writeFile(options.output, planned->schedule.csv());
}

void addConvert(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(
      app, "convert", "Write a table as CSV",
      {"convert --kind zb_v -p 4 -m 8 --to pytorch -o zb_v.csv", "convert --table mine.csv --to messages"});
  sim::addInput(command, options->input, sim::Reads::Table);
  command
      ->add_option("--to", options->to, "compute, pytorch (compute, refused if it cannot be loaded), messages or full")
      ->check(sim::oneOf({"compute", "pytorch", "messages", "full"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write; standard output without")
      ->check(sim::outputFile());
  command.readOnlyIf({"--edge", "--frozen", "--component"}, "without --table, or with --to messages or full",
                     [options = options.get()] {
                       return !options->input.hasTable() || options->to == "messages" || options->to == "full";
                     });
  options->input.rules.push_back({{{command.option("--edge")}, "where a table has no messages yet"},
                                  [](const PlannedSchedule &planned) { return !planned.schedule.hasMessages(); }});
  options->input.rules.push_back({{{command.option("--frozen"), command.option("--component")},
                                   "where a table has no messages yet, or with --to full"},
                                  [options = options.get()](const PlannedSchedule &planned) {
                                    return !options->input.hasTable() || options->to == "full" ||
                                           !planned.schedule.hasMessages();
                                  }});
  command.readOnlyIf({"--recompute"}, "without --table",
                     [options = options.get()] { return !options->input.hasTable(); });
  command.onRun(options, run);
}
