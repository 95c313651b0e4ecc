//===- Compare.cpp - braid-sim compare ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Search/ScheduleComparison.h"

#include <cstdio>
#include <limits>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  ScheduleComparison request;
};
} // namespace

static void print(const ComparedSchedule &row) {
  std::string late = row.staleness == 0 ? "-" : std::to_string(row.staleness);
  std::string weights = std::to_string(row.copies) + (row.versions > 1 ? " x " + std::to_string(row.versions) : "");
  std::printf("%-12s %6d %12.6g %8.4f %12.6g %8s %10.6g %5s\n", row.name.c_str(), row.stages, row.step, row.bubble,
              row.activations, weights.c_str(), row.memory, late.c_str());
}

static Status run(const Options &options) {
  // Chains, folded pipelines and two directions are searched; a simulated action takes about 0.1 us.
  sim::announce(12e-7 * options.request.ranks * options.request.microbatches *
                    static_cast<double>(options.request.evaluations),
                "--evaluations, --ranks or --microbatches");
  Result<std::vector<ComparedSchedule>> rows = compareSchedules(options.request);
  if (!rows)
    return Error{rows.error()};
  const ScheduleComparison &request = options.request;
  std::printf("%d ranks, %d micro-batches a step: a rank computes %.6g\n\n", request.ranks, request.microbatches,
              request.microbatches * (request.forward + request.input + request.weight));
  std::printf("%-12s %6s %12s %8s %12s %8s %10s %5s\n", "schedule", "stages", "step", "bubble", "activations",
              "weights", "memory", "late");
  bool large = false, none = false;
  for (const ComparedSchedule &row : *rows) {
    if (!row.refused.empty()) {
      std::printf("%s%s (%d): %s\n", none ? "" : "\nnot for these numbers:\n", row.name.c_str(), row.stages,
                  row.refused.c_str());
      none = true;
      continue;
    }
    if (!row.fits && !large)
      std::printf("\nmore memory than %.6g:\n", request.maxMemory);
    large |= !row.fits;
    print(row);
  }
  return {};
}

void addCompare(CLI::App &app) {
  auto options = std::make_shared<Options>();
  ScheduleComparison &request = options->request;
  sim::Command command(
      app, "compare", "All schedules side by side, for your times and memory",
      {"compare -p 4 -m 16 -f 1 -i 1.1 -w 0.9", "compare -p 8 -m 32 --max-memory 12 --evaluations 500"});
  constexpr int64_t most = std::numeric_limits<int>::max();
  auto number = [&](const char *names, double &value, const char *help) {
    command->add_option(names, value, help)->check(sim::numberFrom(0))->capture_default_str();
  };
  command->add_option("-p,--ranks", request.ranks, "Ranks of the pipeline")
      ->check(sim::integerFrom(1, 1 << 16))
      ->capture_default_str();
  command->add_option("-m,--microbatches", request.microbatches, "Micro-batches of a step")
      ->check(sim::integerFrom(1, most))
      ->capture_default_str();
  number("-f,--forward", request.forward, "Duration of a micro-batch's forward in all that a rank holds");
  number("-i,--input", request.input, "Duration of its input gradient");
  number("-w,--weight", request.weight, "Duration of its weight gradient");
  number("-c,--latency", request.latency, "Time from one rank to another");
  number("--activation", request.activation, "Memory that its forward makes");
  number("--state", request.state, "Memory of a rank's weights and gradients, for each copy and version");
  command->add_option("--max-memory", request.maxMemory, "Memory of activations and state on a rank; -1: any")
      ->check(sim::numberOrMinusOne())
      ->capture_default_str();
  command->add_option("--evaluations", request.evaluations, "Schedules that each search tries; 0: none is searched")
      ->check(sim::integerFrom(0, int64_t(1) << 40))
      ->capture_default_str();
  command->add_option("--seed", request.seed, "Of the search's random changes")
      ->check(sim::integerFrom(0, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command.readOnlyIf({"--seed"}, "where schedules are searched: without --evaluations 0",
                     [&request] { return request.evaluations > 0; });
  command.onRun(options, run);
}
