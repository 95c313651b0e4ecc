//===- braid-sim.cpp - Simulate, verify, draw and convert schedules -------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Directions.h"
#include "braid/Plan/Draw.h"
#include "braid/Plan/Grid.h"
#include "braid/Plan/Kinds.h"
#include "braid/Plan/Search.h"
#include "braid/Plan/Simulator.h"
#include "braid/Plan/Verifier.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace braid::plan;

namespace {
/// What all subcommands share: where the schedule comes from and what its actions cost.
struct Input {
  ScheduleRequest request;
  std::string table; // a CSV file instead of a generator
  std::vector<std::string> edges;
  std::vector<int> frozen;
  int staleness = -1, weightVersions = -1;
  double forward = 1, input = 1, weight = 1, latency = 0, activation = 1, kept = -1;
  std::string overlap = "atomic";
  std::vector<double> forwards, inputs, weights; // per stage
};
} // namespace

static void addInput(CLI::App *command, Input &input) {
  std::string kinds;
  for (const ScheduleKind &kind : scheduleKinds())
    kinds += (kinds.empty() ? "" : ", ") + kind.name;
  command->add_option("-k,--kind", input.request.kind, "Schedule: " + kinds)->capture_default_str();
  command->add_option("-p,--ranks", input.request.ranks, "Ranks of the pipeline")->capture_default_str();
  command->add_option("-m,--microbatches", input.request.microbatches, "Micro-batches of the whole table")
      ->capture_default_str();
  command->add_option("--chunks", input.request.chunks, "Stages per rank, for interleaved and looped_bfs")
      ->capture_default_str();
  command->add_option("--updates", input.request.updates, "Optimizer steps in the table, for 2bw and amdp")
      ->capture_default_str();
  command->add_option("-t,--table", input.table, "Read this CSV file instead: one row per rank, as PyTorch writes it");
  command->add_option("--edge", input.edges, "An edge FROM:TO besides those between neighbours, for --table");
  command->add_option("--frozen", input.frozen, "Stages without a backward, for --table");
  command->add_option("--staleness", input.staleness, "Updates that a gradient may be late, for --table");
  command->add_option("--weight-versions", input.weightVersions, "Versions of the weights a rank holds, for --table");
}

static void addCosts(CLI::App *command, Input &input) {
  command->add_option("-f,--forward", input.forward, "Duration of a stage's forward")->capture_default_str();
  command->add_option("-i,--input", input.input, "Duration of its input gradient")->capture_default_str();
  command->add_option("-w,--weight", input.weight, "Duration of its weight gradient")->capture_default_str();
  command->add_option("--forwards", input.forwards, "Durations for each stage")->delimiter(',');
  command->add_option("--inputs", input.inputs, "Durations for each stage")->delimiter(',');
  command->add_option("--weights", input.weights, "Durations for each stage")->delimiter(',');
  command->add_option("-c,--latency", input.latency, "Time from one rank to another")->capture_default_str();
  command->add_option("--activation", input.activation, "Memory that a stage's forward makes")->capture_default_str();
  command->add_option("--kept", input.kept, "Of it, what waits for the weight gradient; -1: all")
      ->capture_default_str();
  command->add_option("--overlap", input.overlap, "How overlapped blocks run: atomic, early, sequential")
      ->check(CLI::IsMember({"atomic", "early", "sequential"}))
      ->capture_default_str();
}

/// All failures come out here.
static int fail(const std::string &message) {
  std::cerr << "braid-sim: error: " << message << "\n";
  return 1;
}

static Result<std::string> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{"the table " + path + " cannot be opened; check the path"};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

static Result<PlannedSchedule> load(const Input &input, const GenerateOptions &options) {
  if (input.table.empty())
    return makeSchedule(input.request, options);
  Result<std::string> text = readFile(input.table);
  if (!text)
    return Error{text.error()};
  Result<Schedule> schedule = Schedule::parseCsv(*text);
  if (!schedule)
    return Error{input.table + ": " + schedule.error()};
  schedule->name = input.table;
  if (input.staleness >= 0)
    schedule->staleness = input.staleness;
  if (input.weightVersions >= 1)
    schedule->weightVersions = input.weightVersions;
  Pipeline pipeline = Pipeline::chain(schedule->stages, schedule->microbatches);
  pipeline.placement = schedule->placement;
  for (size_t direction = 0; direction < pipeline.placement.size(); ++direction)
    for (size_t stage = 0; stage < pipeline.placement[direction].size(); ++stage)
      if (pipeline.placement[direction][stage] < 0)
        return Error{input.table + ": no rank computes stage " + std::to_string(stage) + " of direction " +
                     std::to_string(direction) + "; number stages and directions from 0 without gaps"};
  for (int stage : input.frozen) {
    if (stage < 0 || stage >= pipeline.numStages())
      return Error{"--frozen names stage " + std::to_string(stage) + " of " + std::to_string(pipeline.numStages())};
    pipeline.stages[stage].backward = pipeline.stages[stage].trains = false;
  }
  for (const std::string &edge : input.edges) {
    int from = -1, to = -1;
    if (std::sscanf(edge.c_str(), "%d:%d", &from, &to) != 2)
      return Error{"--edge '" + edge + "' is no edge; write FROM:TO as in 0:2"};
    pipeline.edges.push_back({static_cast<int>(pipeline.edges.size()), from, to, true});
  }
  for (Edge &edge : pipeline.edges)
    if (edge.from >= 0 && edge.to < pipeline.numStages() && edge.from < pipeline.numStages() && edge.to >= 0)
      edge.carriesGradient = pipeline.stages[edge.from].backward && pipeline.stages[edge.to].backward;
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  return PlannedSchedule{std::move(pipeline), std::move(*schedule)};
}

static Result<CostModel> costsOf(const Input &input, const Pipeline &pipeline) {
  CostModel costs;
  costs.latency = input.latency;
  costs.overlap = input.overlap == "atomic"  ? Overlap::Atomic
                  : input.overlap == "early" ? Overlap::Early
                                             : Overlap::Sequential;
  costs.stages.resize(pipeline.numStages());
  for (const auto *list : {&input.forwards, &input.inputs, &input.weights})
    if (!list->empty() && list->size() != costs.stages.size())
      return Error{"there are durations for " + std::to_string(list->size()) + " stages and the pipeline has " +
                   std::to_string(costs.stages.size()) + "; give one for each stage"};
  for (size_t stage = 0; stage < costs.stages.size(); ++stage) {
    StageCost &cost = costs.stages[stage];
    cost.forward = input.forwards.empty() ? input.forward : input.forwards[stage];
    cost.input = input.inputs.empty() ? input.input : input.inputs[stage];
    cost.weight = input.weights.empty() ? input.weight : input.weights[stage];
    cost.activation = input.activation;
    cost.kept = input.kept;
    if (cost.forward < 0 || cost.input < 0 || cost.weight < 0 || cost.activation < 0)
      return Error{"durations and memory may not be negative"};
  }
  return costs;
}

static void write(const std::string &path, const std::string &text) {
  if (path.empty() || path == "-") {
    std::cout << text;
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    std::exit(fail("cannot write " + path));
}

static int runSimulate(const Input &input) {
  Result<PlannedSchedule> planned = load(input, {.messages = false, .update = false});
  if (!planned)
    return fail(planned.error());
  Result<CostModel> costs = costsOf(input, planned->pipeline);
  if (!costs)
    return fail(costs.error());
  Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, *costs);
  if (!timeline)
    return fail(timeline.error());
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
  return 0;
}

static int runVerify(const Input &input, const VerifyOptions &options) {
  Result<PlannedSchedule> planned = load(input, {});
  if (!planned)
    return fail(planned.error());
  Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule, options);
  if (!facts)
    return fail(facts.error());
  size_t actions = 0;
  for (const std::vector<Action> &row : planned->schedule.rows)
    actions += row.size();
  std::printf("%s is right: %zu actions on %d ranks, %lld messages, at most %d activations on a rank, staleness %d",
              planned->schedule.name.c_str(), actions, planned->schedule.ranks(),
              static_cast<long long>(facts->messages),
              *std::max_element(facts->peakActivations.begin(), facts->peakActivations.end()), facts->staleness);
  if (facts->mismatched)
    std::printf(", %lld backwards at other weights than their forwards", static_cast<long long>(facts->mismatched));
  std::printf("\n");
  return 0;
}

static int runDraw(const Input &input, const std::string &format, const std::string &output,
                   const DrawOptions &options) {
  Result<PlannedSchedule> planned = load(input, {.messages = false, .update = false});
  if (!planned)
    return fail(planned.error());
  if (format == "grid") {
    write(output, drawGrid(planned->schedule));
    return 0;
  }
  Result<CostModel> costs = costsOf(input, planned->pipeline);
  if (!costs)
    return fail(costs.error());
  Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, *costs);
  if (!timeline)
    return fail(timeline.error());
  if (format == "svg")
    write(output, drawSvg(planned->pipeline, planned->schedule, *timeline, options));
  else if (format == "trace")
    write(output, drawTrace(planned->pipeline, planned->schedule, *costs, *timeline));
  else if (format == "html")
    write(output, drawHtml(planned->pipeline, planned->schedule, *costs, *timeline, options));
  else
    write(output, drawText(planned->pipeline, planned->schedule, *timeline, options));
  return 0;
}

static int runConvert(const Input &input, const std::string &to, const std::string &output) {
  Result<PlannedSchedule> planned = load(input, {.messages = false, .update = false});
  if (!planned)
    return fail(planned.error());
  Schedule &schedule = planned->schedule;
  if (to == "compute" || to == "pytorch") {
    for (std::vector<Action> &row : schedule.rows)
      std::erase_if(row, [](const Action &action) { return !isCompute(action.kind); });
    if (std::string why = schedule.whyNotPyTorch(); to == "pytorch" && !why.empty())
      return fail("PyTorch cannot load this schedule: " + why);
  } else if (!schedule.hasMessages()) {
    if (Status status = addMessages(planned->pipeline, schedule); !status)
      return fail(status.error());
    if (to == "full") {
      Result<Schedule> whole = finish(planned->pipeline, std::move(schedule), {.messages = false, .update = true});
      if (!whole)
        return fail(whole.error());
      planned->schedule = std::move(*whole);
    }
  }
  write(output, planned->schedule.csv());
  return 0;
}

static int runSearch(const Input &input, const SearchOptions &options, int directions, const std::string &output) {
  if (directions > 0) {
    CostModel costs;
    costs.stages = {{.forward = input.forward,
                     .input = input.input,
                     .weight = input.weight,
                     .activation = input.activation,
                     .kept = input.kept}};
    costs.latency = input.latency;
    Result<DirectionsResult> found = searchDirections(input.request.ranks, directions, input.request.microbatches,
                                                      input.request.updates, costs, options);
    if (!found)
      return fail(found.error());
    std::fprintf(stderr, "block time %.6g, lower bound %.6g, gap %.3f %%, %lld tried\n", found->blockTime,
                 found->lowerBound, 100 * (found->blockTime / found->lowerBound - 1),
                 static_cast<long long>(found->evaluated));
    write(output, found->schedule.csv());
    return 0;
  }
  Result<PlannedSchedule> planned = load(input, {.messages = false, .update = false});
  if (!planned)
    return fail(planned.error());
  Result<CostModel> costs = costsOf(input, planned->pipeline);
  if (!costs)
    return fail(costs.error());
  if (input.request.kind == "amdp" || input.request.kind == "amdp_split") {
    Result<BlockResult> found = searchAmdpBlock(input.request.ranks, *costs, options);
    if (!found)
      return fail(found.error());
    Result<Schedule> schedule = amdpSplit(planned->pipeline, input.request.updates, found->pauses);
    if (!schedule)
      return fail(schedule.error());
    std::fprintf(stderr, "block time %.6g, of amdp %.6g, lower bound %.6g, gap %.3f %%, %lld tried\n", found->blockTime,
                 found->amdp, found->lowerBound, 100 * (found->blockTime / found->lowerBound - 1),
                 static_cast<long long>(found->evaluated));
    write(output, schedule->csv());
    return 0;
  }
  Result<SearchResult> found = searchSchedule(planned->pipeline, *costs, options);
  if (!found)
    return fail(found.error());
  std::fprintf(stderr, "%s %.6g by %s, lower bound %.6g, gap %.3f %%, %lld tried\n",
               options.objective == Objective::Span ? "longest span" : "makespan", found->value, found->origin.c_str(),
               found->lowerBound, 100 * (found->value / found->lowerBound - 1),
               static_cast<long long>(found->evaluated));
  write(output, found->schedule.csv());
  return 0;
}

int main(int argc, char **argv) {
  CLI::App app{"Simulates, verifies, draws and converts pipeline schedules. docs/Schedules.md explains them."};
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  braid-sim draw --kind zb_h1 -p 4 -m 8\n  braid-sim draw --kind amdp -p 8 -m 24 --format html "
      "-o amdp.html\n  braid-sim verify --table mine.csv\n  braid-sim search -p 8 -m 32 --max-memory 8");
  Input input;
  VerifyOptions verifyOptions;
  SearchOptions searchOptions;
  DrawOptions drawOptions;
  int directions = 0;
  std::string format = "text", output, to = "full", objective = "makespan";

  CLI::App *list = app.add_subcommand("list", "List the schedules that can be generated");
  CLI::App *simulateCommand = app.add_subcommand("simulate", "Print makespan, bubble and memory");
  addInput(simulateCommand, input);
  addCosts(simulateCommand, input);
  CLI::App *verifyCommand = app.add_subcommand("verify", "Prove a table right, or say what is wrong with it");
  addInput(verifyCommand, input);
  verifyCommand->add_option("--buffers", verifyOptions.buffers, "Messages a link holds; 0: sends block")
      ->capture_default_str();
  verifyCommand->add_option("--max-activations", verifyOptions.maxActivations, "Activations a rank may hold");
  CLI::App *draw = app.add_subcommand("draw", "Draw a timeline");
  addInput(draw, input);
  addCosts(draw, input);
  draw->add_option("--format", format, "text, grid, svg, trace (Chrome, Perfetto) or html")
      ->check(CLI::IsMember({"text", "grid", "svg", "trace", "html"}))
      ->capture_default_str();
  draw->add_option("-o,--output", output, "File to write; standard output without");
  draw->add_option("--title", drawOptions.title, "Title of the picture");
  draw->add_option("--width", drawOptions.width, "Pixels of the time axis")->check(CLI::Range(50, 100000));
  draw->add_option("--columns", drawOptions.columns, "Characters of a text timeline")->check(CLI::Range(10, 10000));
  CLI::App *convert = app.add_subcommand("convert", "Write a table as CSV");
  addInput(convert, input);
  convert->add_option("--to", to, "compute, pytorch (compute, refused if it cannot be loaded), messages or full")
      ->check(CLI::IsMember({"compute", "pytorch", "messages", "full"}))
      ->capture_default_str();
  convert->add_option("-o,--output", output, "File to write; standard output without");
  CLI::App *search = app.add_subcommand("search", "Look for a better schedule of this pipeline and these costs");
  addInput(search, input);
  addCosts(search, input);
  search->add_option("--max-memory", searchOptions.maxMemory, "Memory of activations per rank; -1: any");
  search->add_option("--seconds", searchOptions.seconds, "Time to search")->capture_default_str();
  search->add_option("--evaluations", searchOptions.maxEvaluations, "Schedules to try instead of a time");
  search->add_option("--directions", directions,
                     "Search an asynchronous stream in this many directions through the ranks instead");
  search->add_option("--seed", searchOptions.seed, "Of the random changes")->capture_default_str();
  search->add_option("--objective", objective, "makespan, or span of the longest rank")
      ->check(CLI::IsMember({"makespan", "span"}))
      ->capture_default_str();
  search->add_option("-o,--output", output, "File to write; standard output without");
  CLI11_PARSE(app, argc, argv);

  searchOptions.objective = objective == "span" ? Objective::Span : Objective::Makespan;
  if (*list) {
    for (const ScheduleKind &kind : scheduleKinds())
      std::printf("%-12s %s\n", kind.name.c_str(), kind.summary.c_str());
    return 0;
  }
  if (*simulateCommand)
    return runSimulate(input);
  if (*verifyCommand)
    return runVerify(input, verifyOptions);
  if (*draw)
    return runDraw(input, format, output, drawOptions);
  if (*convert)
    return runConvert(input, to, output);
  return runSearch(input, searchOptions, directions, output);
}
