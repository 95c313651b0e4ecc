//===- Simulate.cpp - braid-sim simulate ----------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "braid/Plan/Search/Search.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <algorithm>
#include <cstdio>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  sim::Input input;
};
} // namespace

static Status run(const Options &options) {
  Result<PlannedSchedule> planned = sim::load(options.input, {.messages = false, .update = false});
  if (!planned)
    return Error{planned.error()};
  Result<CostModel> costs = sim::costsOf(options.input, *planned);
  if (!costs)
    return Error{costs.error()};
  // The times of a table that loses work would be those of another step. Which weights it reads does not matter here.
  if (!options.input.table.empty() || !options.input.components.empty()) {
    Schedule computes = planned->schedule.computeOnly();
    computes.staleness = 1 << 20;
    for (std::vector<Action> &row : computes.rows)
      for (Action &action : row)
        action.version = 0;
    if (Result<ScheduleFacts> facts = verify(planned->pipeline, computes); !facts)
      return Error{facts.error()};
  }
  Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, *costs);
  if (!timeline)
    return Error{timeline.error()};
  auto most = [](const std::vector<double> &values) { return *std::max_element(values.begin(), values.end()); };
  SearchOptions bound;
  std::printf("schedule        %s\nstages          %d\nranks           %d\nmicro-batches   %d\n",
              planned->schedule.name.c_str(), planned->pipeline.numStages(), planned->schedule.ranks(),
              planned->schedule.microbatches);
  std::printf("makespan        %.6g\nbubble          %.4f\nlongest span    %.6g\nbubble of span  %.4f\n",
              timeline->makespan, timeline->bubble(), timeline->longestSpan, timeline->spanBubble());
  std::printf("peak activation %.6g\npeak memory     %.6g\n", most(timeline->peakActivation),
              most(timeline->peakMemory));
  if (planned->pipeline.directions() == 1)
    std::printf("lower bound     %.6g\n", lowerBound(planned->pipeline, *costs, bound));
  return {};
}

void addSimulate(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(app, "simulate", "Print makespan, bubble and memory",
                       {"simulate --kind zb_h1 -p 4 -m 8 -c 0.1",
                        "simulate --kind 1f1b --recompute early --checkpoint 0.1",
                        "simulate --component vision:0-1:llm --component llm:2-5 --forwards 2,2,1,1,1,1",
                        "simulate --table mine.csv --links ports --bytes 1 --time-per-byte 0.2"});
  sim::addInput(command, options->input, sim::Reads::Table);
  sim::addCosts(command, options->input, sim::Reads::Table);
  command.readOnlyIf({"--bytes", "--boundary-bytes"}, "with --time-per-byte",
                     [options = options.get()] { return options->input.timePerByte > 0; });
  command.onRun(options, run);
}
