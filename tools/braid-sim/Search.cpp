//===- Search.cpp - braid-sim search --------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "braid/Plan/Search/Directions.h"

#include <cstdio>
#include <limits>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  sim::Input input;
  SearchOptions search;
  int directions = 0;
  std::string output;
};
} // namespace

/// How far above the lower bound, in percent. Where nothing takes time there is nothing above it.
static double gap(double value, double bound) { return value > bound ? 100 * (value / bound - 1) : 0; }

/// A simulated action takes about 0.1 us.
static void announce(const Options &options, double stages) {
  if (options.search.seconds < 0)
    sim::announce(3e-7 * stages * options.input.request.microbatches *
                      static_cast<double>(options.search.maxEvaluations),
                  "--evaluations, --ranks or --microbatches, or --seconds,");
}

static Status run(const Options &options) {
  if (options.directions > 0) {
    const ScheduleRequest &request = options.input.request;
    if (request.ranks > 4096)
      return Error{std::to_string(request.ranks) + " ranks are too many for --directions; choose at most 4096"};
    Result<CostModel> costs = sim::costsOf(options.input, {Pipeline::chain(request.ranks, 1), {}});
    if (!costs)
      return Error{costs.error()};
    for (const StageCost &cost : costs->stages)
      if (!(cost.forward > 0 && cost.input > 0 && cost.weight > 0))
        return Error{"--directions needs durations of forward, input gradient and weight gradient above 0"};
    announce(options, request.ranks);
    Result<DirectionsResult> found = searchDirections(request.ranks, options.directions, request.microbatches,
                                                      request.updates, *costs, options.search);
    if (!found)
      return Error{found.error()};
    std::fprintf(stderr,
                 "%s %.6g by %s, lower bound %.6g, gap %.3f %%, %lld tried; %g activations, %d stages on a rank",
                 request.updates > 1 ? "block time" : "makespan", found->blockTime, found->origin.c_str(),
                 found->lowerBound, gap(found->blockTime, found->lowerBound), static_cast<long long>(found->evaluated),
                 found->peakActivation, options.directions);
    if (request.updates > 1)
      std::fprintf(stderr, ", %d micro-batches of a window late", found->mismatched);
    std::fputs("\n", stderr);
    return sim::writeFile(options.output, found->schedule.csv());
  }
  Result<PlannedSchedule> planned = sim::load(options.input, {.messages = false, .update = false});
  if (!planned)
    return Error{planned.error()};
  Result<CostModel> costs = sim::costsOf(options.input, *planned);
  if (!costs)
    return Error{costs.error()};
  announce(options, planned->pipeline.numStages());
  if (options.input.request.kind == "amdp" || options.input.request.kind == "amdp_split") {
    Result<BlockResult> found = searchAmdpBlock(options.input.request.ranks, *costs, options.search);
    if (!found)
      return Error{found.error()};
    Result<Schedule> schedule = amdpSplit(planned->pipeline, options.input.request.updates, found->pauses);
    if (!schedule)
      return Error{schedule.error()};
    std::fprintf(stderr, "block time %.6g, of amdp %.6g, lower bound %.6g, gap %.3f %%, %lld tried\n", found->blockTime,
                 found->amdp, found->lowerBound, gap(found->blockTime, found->lowerBound),
                 static_cast<long long>(found->evaluated));
    return sim::writeFile(options.output, schedule->csv());
  }
  if (planned->pipeline.directions() > 1)
    return Error{"a schedule of " + std::to_string(planned->pipeline.directions()) +
                 " directions cannot be searched from; choose --directions N, a kind with one direction, or amdp"};
  Result<SearchResult> found = searchSchedule(planned->pipeline, *costs, options.search);
  if (!found)
    return Error{found.error()};
  std::fprintf(stderr, "%s %.6g by %s, lower bound %.6g, gap %.3f %%, %lld tried\n",
               options.search.objective == Objective::Span ? "longest span" : "makespan", found->value,
               found->origin.c_str(), found->lowerBound, gap(found->value, found->lowerBound),
               static_cast<long long>(found->evaluated));
  return sim::writeFile(options.output, found->schedule.csv());
}

void addSearch(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(
      app, "search", "Look for a better schedule of this pipeline and these costs",
      {"search -p 8 -m 32 --max-memory 8 -o found.csv", "search -p 4 -m 12 -c 0.1 --objective span --evaluations 1000",
       "search --kind amdp -p 8 -m 8 -c 0.1 --evaluations 400", "search --directions 2 -p 4 -m 8 --max-memory 4",
       "search --directions 2 -p 8 -m 96 --updates 6 --evaluations 200"});
  sim::addInput(command, options->input, sim::Reads::Pipeline);
  sim::addCosts(command, options->input, sim::Reads::Pipeline);
  command->add_option("--max-memory", options->search.maxMemory, "Memory of activations per rank; -1: any")
      ->check(sim::numberOrMinusOne())
      ->capture_default_str();
  command->add_option("--evaluations", options->search.maxEvaluations, "Schedules to try")
      ->check(sim::integerFrom(1, int64_t(1) << 40))
      ->capture_default_str();
  command
      ->add_option("--seconds", options->search.seconds,
                   "End early after this time; the result then depends on the machine. -1: never")
      ->check(sim::numberOrMinusOne())
      ->capture_default_str();
  command
      ->add_option("--directions", options->directions,
                   "Search in this many directions through the ranks: a step, or with more --updates a stream that "
                   "never drains")
      ->check(sim::integerFrom(1, 4096));
  command->add_option("--seed", options->search.seed, "Of the random changes")
      ->check(sim::integerFrom(0, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  sim::addChoice<Objective>(command, "--objective", options->search.objective, "makespan, or span of the longest rank",
                            {{"makespan", Objective::Makespan}, {"span", Objective::Span}});
  command->add_option("-o,--output", options->output, "File to write; standard output without")
      ->check(sim::outputFile());
  // Stages in several directions keep their activations, on links of their own.
  auto isStream = [options = options.get()] { return options->directions > 0; };
  auto isAmdp = [options = options.get()] {
    return options->directions == 0 && !options->input.hasTable() && options->input.request.kind.starts_with("amdp");
  };
  command.readOnlyIf({"--kind", "--chunks", "--component", "--table", "--edge", "--frozen", "--bytes",
                      "--time-per-byte", "--deferred-share", "--input-release"},
                     "without --directions", [isStream] { return !isStream(); });
  command.readOnlyIf({"--bytes"}, "with --time-per-byte",
                     [options = options.get()] { return options->input.timePerByte > 0; });
  command.readOnlyIf({"--activation", "--kept"}, "with --max-memory or --directions",
                     [isStream, options = options.get()] { return isStream() || options->search.maxMemory >= 0; });
  command.readOnlyIf({"--updates"}, "with --directions or --kind amdp or amdp_split",
                     [isStream, isAmdp] { return isStream() || isAmdp(); });
  command.readOnlyIf({"--objective"}, "without --directions and for kinds of one direction",
                     [isStream, isAmdp] { return !isStream() && !isAmdp(); });
  command.readOnlyIf({"--max-memory"}, "with --directions or for kinds of one direction",
                     [isAmdp] { return !isAmdp(); });
  command.onRun(options, run);
}
