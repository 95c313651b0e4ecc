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
#include <limits>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  sim::Input input;
  VerifyOptions verify;
};
} // namespace

/// A file says neither how late gradients may be nor how many versions of the weights there are. If the table is right
/// with more of them, how many.
static std::string whatAllowsIt(PlannedSchedule planned, const VerifyOptions &options) {
  const int staleness = planned.schedule.staleness, versions = planned.schedule.weightVersions;
  planned.schedule.staleness = planned.schedule.updates;
  for (int more : {0, 1, 2, 3}) {
    planned.schedule.weightVersions = versions + more;
    Result<ScheduleFacts> facts = verify(planned.pipeline, planned.schedule, options);
    if (!facts)
      continue;
    std::string text = "\nThe table is right if it is meant for";
    if (facts->staleness > staleness)
      text += " --staleness " + std::to_string(facts->staleness);
    if (more > 0)
      text += " --weight-versions " + std::to_string(versions + more);
    return text;
  }
  return "";
}

static Status run(const Options &options) {
  Result<PlannedSchedule> planned = sim::load(options.input, {});
  if (!planned)
    return Error{planned.error()};
  Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule, options.verify);
  if (!facts)
    return Error{facts.error() + (options.input.hasTable() ? whatAllowsIt(*planned, options.verify) : "")};
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
  sim::Command command(app, "verify", "Prove a table right, or say what is wrong with it",
                       {"verify --table mine.csv", "verify --table mine.csv --staleness 1 --weight-versions 2",
                        "verify --kind zb_h1 -p 8 -m 32 --max-activations 8"});
  sim::addInput(command, options->input, sim::Reads::Table);
  constexpr int most = 1 << 14; // versions that a table can name
  command->add_option("--staleness", options->input.staleness, "Updates that a gradient may be late, for --table")
      ->check(sim::integerFrom(0, most))
      ->capture_default_str();
  command
      ->add_option("--weight-versions", options->input.weightVersions,
                   "Versions of the weights a rank holds, for --table")
      ->check(sim::integerFrom(1, most))
      ->capture_default_str();
  command.readOnlyIf({"--staleness", "--weight-versions"}, "with --table",
                     [options = options.get()] { return options->input.hasTable(); });
  command->add_option("--buffers", options->verify.buffers, "Messages a link holds; 0: sends block")
      ->check(sim::integerFrom(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command->add_option("--max-activations", options->verify.maxActivations, "Activations a rank may hold; any without")
      ->check(sim::integerFrom(0, std::numeric_limits<int>::max()));
  options->input.rules.push_back({{{command.option("--buffers")}, "where a table has messages"},
                                  [](const PlannedSchedule &planned) { return planned.schedule.hasMessages(); }});
  command.readOnlyIf({"--recompute"}, "without --table",
                     [options = options.get()] { return !options->input.hasTable(); });
  command.onRun(options, run);
}
