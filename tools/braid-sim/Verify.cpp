//===- Verify.cpp - braid-sim verify --------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "braid/Plan/Verifier/Verifier.h"

#include <algorithm>
#include <cstdio>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  sim::Input input;
  VerifyOptions verify;
};
} // namespace

static Status run(const Options &options) {
  Result<PlannedSchedule> planned = sim::load(options.input, {});
  if (!planned)
    return Error{planned.error()};
  Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule, options.verify);
  if (!facts)
    return Error{facts.error()};
  int64_t actions = 0; // empty cells of a table are none
  for (const std::vector<Action> &row : planned->schedule.rows)
    actions += std::count_if(row.begin(), row.end(), [](const Action &one) { return one.kind != ActionKind::Idle; });
  std::printf("%s is right: %lld actions on %d ranks, %lld messages, at most %d activations on a rank, staleness %d",
              planned->schedule.name.c_str(), static_cast<long long>(actions), planned->schedule.ranks(),
              static_cast<long long>(facts->messages),
              *std::max_element(facts->peakActivations.begin(), facts->peakActivations.end()), facts->staleness);
  if (facts->mismatched)
    std::printf(", %lld backwards at other weights than their forwards", static_cast<long long>(facts->mismatched));
  std::printf("\n");
  return {};
}

void addVerify(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("verify", "Prove a table right, or say what is wrong with it");
  sim::addInput(command, options->input);
  command->add_option("--buffers", options->verify.buffers, "Messages a link holds; 0: sends block")
      ->capture_default_str();
  command->add_option("--max-activations", options->verify.maxActivations, "Activations a rank may hold");
  sim::onRun(command, options, run);
}
