//===- Search.cpp - braid-sim search --------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "braid/Plan/Search/Directions.h"

#include <cstdio>
#include <map>

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

static Status run(const Options &options) {
  if (options.directions > 0) {
    const sim::Input &input = options.input;
    if (!input.table.empty() || !input.components.empty() || !input.forwards.empty() || !input.inputs.empty() ||
        !input.weights.empty() || !input.durations.empty() || input.links != "free" || input.recompute != "none")
      return Error{"--directions searches equal stages that keep their activations, on links of their own; leave out "
                   "--table, --component, --forwards, --inputs, --weights, --durations, --links and --recompute"};
    if (Status status = sim::checkCosts(input); !status)
      return status;
    if (!(input.forward > 0 && input.input > 0 && input.weight > 0))
      return Error{"--directions needs --forward, --input and --weight above 0"};
    if (input.request.ranks > 4096)
      return Error{std::to_string(input.request.ranks) + " ranks are too many for --directions; choose at most 4096"};
    CostModel costs;
    costs.stages = {{.forward = options.input.forward,
                     .input = options.input.input,
                     .weight = options.input.weight,
                     .activation = options.input.activation,
                     .kept = options.input.kept}};
    costs.latency = options.input.latency;
    Result<DirectionsResult> found =
        searchDirections(options.input.request.ranks, options.directions, options.input.request.microbatches,
                         options.input.request.updates, costs, options.search);
    if (!found)
      return Error{found.error()};
    std::fprintf(stderr,
                 "block time %.6g by %s, lower bound %.6g, gap %.3f %%, %lld tried; %g activations, %d stages on a "
                 "rank, %d micro-batches of a window late\n",
                 found->blockTime, found->origin.c_str(), found->lowerBound,
                 100 * (found->blockTime / found->lowerBound - 1), static_cast<long long>(found->evaluated),
                 found->peakActivation, options.directions, found->mismatched);
    return sim::writeFile(options.output, found->schedule.csv());
  }
  Result<PlannedSchedule> planned = sim::load(options.input, {.messages = false, .update = false});
  if (!planned)
    return Error{planned.error()};
  Result<CostModel> costs = sim::costsOf(options.input, planned->pipeline);
  if (!costs)
    return Error{costs.error()};
  if (options.input.request.kind == "amdp" || options.input.request.kind == "amdp_split") {
    Result<BlockResult> found = searchAmdpBlock(options.input.request.ranks, *costs, options.search);
    if (!found)
      return Error{found.error()};
    Result<Schedule> schedule = amdpSplit(planned->pipeline, options.input.request.updates, found->pauses);
    if (!schedule)
      return Error{schedule.error()};
    std::fprintf(stderr, "block time %.6g, of amdp %.6g, lower bound %.6g, gap %.3f %%, %lld tried\n", found->blockTime,
                 found->amdp, found->lowerBound, 100 * (found->blockTime / found->lowerBound - 1),
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
               found->origin.c_str(), found->lowerBound, 100 * (found->value / found->lowerBound - 1),
               static_cast<long long>(found->evaluated));
  return sim::writeFile(options.output, found->schedule.csv());
}

void addSearch(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("search", "Look for a better schedule of this pipeline and these costs");
  sim::addInput(command, options->input);
  sim::addCosts(command, options->input);
  command->add_option("--max-memory", options->search.maxMemory, "Memory of activations per rank; -1: any");
  command->add_option("--evaluations", options->search.maxEvaluations, "Schedules to try")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->capture_default_str();
  command->add_option("--seconds", options->search.seconds,
                      "End early after this time; the result then depends on the machine");
  command->add_option("--directions", options->directions,
                      "Search an asynchronous stream in this many directions through the ranks instead");
  command->add_option("--seed", options->search.seed, "Of the random changes")->capture_default_str();
  command->add_option("--objective", options->search.objective, "makespan, or span of the longest rank")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Objective>{{"makespan", Objective::Makespan}, {"span", Objective::Span}}));
  command->add_option("-o,--output", options->output, "File to write; standard output without");
  sim::onRun(command, options, run);
}
