//===- Input.cpp - Which schedule a subcommand works on, and its costs ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>

using namespace braid;
using namespace braid::plan;
using braid::sim::Input;

void sim::addInput(CLI::App *command, Input &input) {
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
  command->add_option("--component", input.components,
                      "Part of a multimodal model, instead of --ranks: NAME:RANKS[:READERS[:FLAGS]] as in "
                      "vision:0-1:llm:defers, llm:2-5; flags are frozen, defers and lanes");
  command->add_option("--eager", input.eager, "Micro-batches in flight in stages that defer, where 1f1b has fewer");
  command
      ->add_option("--recompute", input.recompute,
                   "Stages keep a checkpoint and compute the rest again: none, with_backward (layer by layer), early "
                   "(before the gradient comes)")
      ->check(CLI::IsMember({"none", "with_backward", "early"}))
      ->capture_default_str();
  command->add_option("-t,--table", input.table, "Read this CSV file instead: one row per rank, as PyTorch writes it");
  command->add_option("--edge", input.edges, "An edge FROM:TO besides those between neighbours, for --table");
  command->add_option("--frozen", input.frozen, "Stages without a backward, for --table");
  command->add_option("--staleness", input.staleness, "Updates that a gradient may be late, for --table");
  command->add_option("--weight-versions", input.weightVersions, "Versions of the weights a rank holds, for --table");
}

void sim::addCosts(CLI::App *command, Input &input) {
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
  command->add_option("--checkpoint", input.checkpoint, "Memory that a forward makes where the rest is recomputed")
      ->capture_default_str();
  command
      ->add_option("--replayed", input.replayed,
                   "Of that rest, what is there at a time with --recompute with_backward; -1: all")
      ->capture_default_str();
  command->add_option("--recomputation", input.recomputation, "Duration of a stage's recomputation; -1: its forward's")
      ->capture_default_str();
  command->add_option("--links", input.links, "What messages at one time do to each other: free, serial, ports")
      ->check(CLI::IsMember({"free", "serial", "ports"}))
      ->capture_default_str();
  command->add_option("--bytes", input.bytes, "Size of a message")->capture_default_str();
  command->add_option("--boundary-bytes", input.boundaryBytes, "Size of one between components; -1: --bytes")
      ->capture_default_str();
  command->add_option("--time-per-byte", input.timePerByte, "Time that a byte takes on a link")->capture_default_str();
  command->add_option("--deferred-share", input.deferredShare, "Of a micro-batch with a partner, what it defers")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--durations", input.durations,
                      "File of lines ACTION,DURATION as in 0F3,1.5, where micro-batches differ");
  command->add_option("--input-release", input.inputRelease, "Share of a full backward after which its gradient leaves")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--forward-release", input.blockForwardRelease, "The same of an overlapped block's forward")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--backward-release", input.blockBackwardRelease, "And of its backward")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--overlap", input.overlap, "How overlapped blocks run: atomic, early, sequential")
      ->check(CLI::IsMember({"atomic", "early", "sequential"}))
      ->capture_default_str();
}

Result<PlannedSchedule> sim::load(const Input &input, const GenerateOptions &options) {
  ScheduleRequest request = input.request;
  for (const std::string &text : input.components) {
    Result<Component> component = Component::parse(text);
    if (!component)
      return Error{component.error()};
    request.components.push_back(std::move(*component));
  }
  if (input.table.empty()) {
    GenerateOptions more = options;
    more.eager = input.eager;
    more.recomputeEarly = input.recompute == "early";
    request.recomputes = input.recompute != "none";
    return makeSchedule(request, more);
  }
  Result<std::string> text = readFile("table", input.table);
  if (!text)
    return Error{text.error()};
  Result<Schedule> schedule = Schedule::parseCsv(*text);
  if (!schedule)
    return Error{input.table + ": " + schedule.error()};
  if (schedule->ranks() > 1 << 16)
    return Error{input.table + " has " + std::to_string(schedule->ranks()) + " rows, one for each rank; at most 65536 " +
                 "are taken. Take one of several pipelines that are alike"};
  schedule->name = input.table;
  if (input.staleness >= 0)
    schedule->staleness = input.staleness;
  if (input.weightVersions >= 1)
    schedule->weightVersions = input.weightVersions;
  Pipeline pipeline = Pipeline::chain(schedule->stages, schedule->microbatches);
  if (!request.components.empty()) {
    Result<Pipeline> joined = joinComponents(request.components, schedule->microbatches);
    if (!joined)
      return Error{joined.error()};
    if (joined->numStages() != schedule->stages)
      return Error{input.table + " has " + std::to_string(schedule->stages) + " stages and the components have " +
                   std::to_string(joined->numStages())};
    pipeline = std::move(*joined);
  }
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

/// Durations of single actions, and what the stages' costs say of the others.
static Result<std::function<double(const Action &)>> durationsOf(const Input &input, const CostModel &costs,
                                                                 const Pipeline &pipeline) {
  Result<std::string> text = sim::readFile("list of durations", input.durations);
  if (!text)
    return Error{text.error()};
  std::map<std::string, double> durations;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r'))
      line.pop_back();
    if (line.empty())
      continue;
    size_t comma = line.find(',');
    Result<Action> action = Action::parse(line.substr(0, comma));
    char *end = nullptr;
    double duration = comma == std::string::npos ? -1 : std::strtod(line.c_str() + comma + 1, &end);
    if (!action || !isCompute(action->kind) || !end || end == line.c_str() + comma + 1 || *end ||
        !(duration >= 0 && duration <= 1e15))
      return Error{input.durations + ", line " + std::to_string(number) + ": '" + line +
                   "' is no duration; write ACTION,DURATION as in 0F3,1.5"};
    if (!durations.emplace(action->str(), duration).second)
      return Error{input.durations + ", line " + std::to_string(number) + ": " + action->str() +
                   " comes twice; leave one out"};
  }
  auto usual = std::make_shared<std::pair<Pipeline, CostModel>>(pipeline, costs);
  return std::function<double(const Action &)>([durations = std::move(durations), usual](const Action &action) {
    Action named = action;
    named.joinsNext = false;
    named.version = 0;
    auto found = durations.find(named.str());
    return found == durations.end() ? actionDuration(usual->first, usual->second, action) : found->second;
  });
}

Status sim::checkCosts(const Input &input) {
  auto check = [](const char *option, double value, bool orMinusOne) -> Status {
    constexpr double most = 1e15; // sums of a whole table keep their precision
    if ((value >= 0 && value <= most) || (orMinusOne && value == -1))
      return {};
    std::ostringstream text;
    text << option << " is " << value << "; write a number from 0 to " << most << (orMinusOne ? ", or -1" : "");
    return Error{text.str()};
  };
  struct Number {
    const char *option;
    double value;
    bool orMinusOne = false;
  };
  std::vector<Number> numbers = {{"--forward", input.forward},
                                 {"--input", input.input},
                                 {"--weight", input.weight},
                                 {"--latency", input.latency},
                                 {"--activation", input.activation},
                                 {"--kept", input.kept, true},
                                 {"--checkpoint", input.checkpoint},
                                 {"--replayed", input.replayed, true},
                                 {"--recomputation", input.recomputation, true},
                                 {"--bytes", input.bytes},
                                 {"--boundary-bytes", input.boundaryBytes, true},
                                 {"--time-per-byte", input.timePerByte}};
  for (double value : input.forwards)
    numbers.push_back({"--forwards", value});
  for (double value : input.inputs)
    numbers.push_back({"--inputs", value});
  for (double value : input.weights)
    numbers.push_back({"--weights", value});
  for (const Number &number : numbers)
    if (Status status = check(number.option, number.value, number.orMinusOne); !status)
      return status;
  return {};
}

Result<CostModel> sim::costsOf(const Input &input, const Pipeline &pipeline) {
  if (Status status = checkCosts(input); !status)
    return Error{status.error()};
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
    cost.checkpoint = input.checkpoint;
    cost.recompute = input.recomputation;
    if (input.recompute == "with_backward")
      cost.replayed = input.replayed < 0 ? std::max(0.0, input.activation - input.checkpoint) : input.replayed;
  }
  costs.links = input.links == "free" ? Links::Free : input.links == "serial" ? Links::Serial : Links::Ports;
  costs.timePerByte = input.timePerByte;
  costs.forwardBytes = costs.backwardBytes = input.bytes;
  costs.deferredShare = input.deferredShare;
  costs.inputRelease = input.inputRelease;
  costs.blockForwardRelease = input.blockForwardRelease;
  costs.blockBackwardRelease = input.blockBackwardRelease;
  if (input.boundaryBytes >= 0) {
    std::vector<int> components;
    for (const Stage &stage : pipeline.stages)
      components.push_back(stage.component);
    costs.bytes = [components, within = input.bytes, between = input.boundaryBytes](const Action &send) {
      return components[send.stage] == components[send.peer] ? within : between;
    };
  }
  if (!input.durations.empty()) {
    Result<std::function<double(const Action &)>> durations = durationsOf(input, costs, pipeline);
    if (!durations)
      return Error{durations.error()};
    costs.duration = *durations;
  }
  return costs;
}
