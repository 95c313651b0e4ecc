//===- Reshard.cpp - braid-sim reshard ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Reshard/ReshardFile.h"

#include <limits>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  std::string file, json;
  int messages = 64;
};
} // namespace

static Status run(const Options &options) {
  Result<std::string> text = sim::readFile("reshard", options.file);
  if (!text)
    return Error{text.error()};
  Result<ReshardProblem> problem = parseReshard(*text, options.file);
  if (!problem)
    return Error{problem.error()};
  Result<ReshardPlan> plan =
      planReshard(problem->shape, problem->source, problem->destination, problem->links, problem->options);
  if (!plan)
    return Error{options.file + ": " + plan.error()};
  if (options.json != "-")
    if (Status status = sim::writeFile("", printReshard(*plan, options.messages)); !status)
      return status;
  return options.json.empty() ? Status{} : sim::writeFile(options.json, reshardJson(*plan));
}

void addReshard(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(
      app, "reshard",
      "Plan how a value gets from one mesh, layout and rows to another; docs/Reshards.md explains file and plan",
      {"reshard boundary.yaml", "reshard boundary.yaml --messages 4", "reshard boundary.yaml --json -"});
  command->add_option("file", options->file, "YAML: value, samples, source, destination, links")
      ->required()
      ->check(sim::named());
  command->add_option("--json", options->json, "Write the plan with all slices to this file; - instead of the table")
      ->check(sim::outputFile());
  command->add_option("--messages", options->messages, "Messages to print of each exchange")
      ->check(sim::integerFrom(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command.readOnlyIf({"--messages"}, "where the plan is printed as a table: without --json -",
                     [&json = options->json] { return json != "-"; });
  command.onRun(options, run);
}
