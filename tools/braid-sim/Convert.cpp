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
  Result<PlannedSchedule> planned = sim::load(options.input, {.messages = false, .update = false});
  if (!planned)
    return Error{planned.error()};
  Schedule &schedule = planned->schedule;
  if (options.to == "compute" || options.to == "pytorch") {
    for (std::vector<Action> &row : schedule.rows)
      std::erase_if(row, [](const Action &action) { return !isCompute(action.kind); });
    if (std::string why = schedule.whyNotPyTorch(); options.to == "pytorch" && !why.empty())
      return Error{"PyTorch cannot load this schedule: " + why};
  } else if (!schedule.hasMessages()) {
    if (Status status = addMessages(planned->pipeline, schedule); !status)
      return Error{status.error()};
    if (options.to == "full") {
      Result<Schedule> whole = finish(planned->pipeline, std::move(schedule), {.messages = false, .update = true});
      if (!whole)
        return Error{whole.error()};
      planned->schedule = std::move(*whole);
    }
  }
  return sim::writeFile(options.output, planned->schedule.csv());
}

void addConvert(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("convert", "Write a table as CSV");
  sim::addInput(command, options->input);
  command
      ->add_option("--to", options->to, "compute, pytorch (compute, refused if it cannot be loaded), messages or full")
      ->check(CLI::IsMember({"compute", "pytorch", "messages", "full"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write; standard output without");
  sim::onRun(command, options, run);
}
