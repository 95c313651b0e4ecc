//===- Load.cpp - The schedule and the costs that the options ask for -----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <sstream>

using namespace braid;
using namespace braid::plan;
using braid::sim::Input;

/// A table from a file, on the pipeline that the options describe.
static Result<PlannedSchedule> loadTable(const Input &input, const std::vector<Component> &components) {
  Result<std::string> text = sim::readFile("table", input.table);
  if (!text)
    return Error{text.error()};
  Result<Schedule> schedule = Schedule::parseCsv(*text);
  if (!schedule)
    return Error{input.table + ": " + schedule.error()};
  if (schedule->ranks() > 1 << 16)
    return Error{input.table + " has " + std::to_string(schedule->ranks()) +
                 " rows, one for each rank; at most 65536 " +
                 "are taken. Take one of several pipelines that are alike"};
  schedule->name = input.table;
  schedule->staleness = input.staleness;
  schedule->weightVersions = input.weightVersions;
  Pipeline pipeline = Pipeline::chain(schedule->stages, schedule->microbatches);
  if (!components.empty()) {
    Result<Pipeline> joined = joinComponents(components, schedule->microbatches);
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
    if (stage >= pipeline.numStages())
      return Error{"--frozen names stage " + std::to_string(stage) + ", and " + input.table + " has " +
                   std::to_string(pipeline.numStages()) + "; number them from 0"};
    if (!pipeline.stages[stage].trains)
      return Error{"--frozen names stage " + std::to_string(stage) + ", which is frozen already; leave it out"};
    pipeline.stages[stage].backward = pipeline.stages[stage].trains = false;
  }
  for (const std::string &edge : input.edges) {
    int from = -1, to = -1, end = 0;
    if (std::sscanf(edge.c_str(), "%9d:%9d%n", &from, &to, &end) != 2 || static_cast<size_t>(end) != edge.size())
      return Error{"--edge '" + edge + "' is no edge; write FROM:TO as in 0:2"};
    if (std::any_of(pipeline.edges.begin(), pipeline.edges.end(),
                    [&](const Edge &other) { return other.from == from && other.to == to; }))
      return Error{"--edge " + edge + " is there already; neighbours have one, and a second changes nothing"};
    pipeline.edges.push_back({static_cast<int>(pipeline.edges.size()), from, to, true});
  }
  for (Edge &edge : pipeline.edges)
    if (edge.from >= 0 && edge.to < pipeline.numStages() && edge.from < pipeline.numStages() && edge.to >= 0)
      edge.carriesGradient = pipeline.stages[edge.from].backward && pipeline.stages[edge.to].backward;
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  return PlannedSchedule{std::move(pipeline), std::move(*schedule)};
}

static Result<PlannedSchedule> loadAny(const Input &input, const GenerateOptions &options) {
  ScheduleRequest request = input.request;
  for (const std::string &text : input.components) {
    Result<Component> component = Component::parse(text);
    if (!component)
      return Error{component.error()};
    request.components.push_back(std::move(*component));
  }
  if (input.hasTable())
    return loadTable(input, request.components);
  GenerateOptions more = options;
  more.eager = input.eager;
  more.recomputeEarly = input.recompute == "early";
  request.recomputes = input.recompute != "none";
  return makeSchedule(request, more);
}

Result<PlannedSchedule> sim::load(const Input &input, const GenerateOptions &options) {
  Result<PlannedSchedule> planned = loadAny(input, options);
  if (planned)
    for (const auto &[rule, holds] : input.rules)
      if (Status status = rule.check(holds(*planned)); !status)
        return Error{status.error()};
  return planned;
}

/// Durations of single actions, and what the stages' costs say of the others.
static Result<std::function<double(const Action &)>> durationsOf(const Input &input, const CostModel &costs,
                                                                 const PlannedSchedule &planned) {
  Result<std::string> text = sim::readFile("list of durations", input.durations);
  if (!text)
    return Error{text.error()};
  auto nameOf = [](Action action) {
    action.joinsNext = false;
    action.version = 0;
    return action.str();
  };
  std::set<std::string> known;
  for (const std::vector<Action> &row : planned.schedule.rows)
    for (const Action &action : row)
      if (isCompute(action.kind))
        known.insert(nameOf(action));
  std::map<std::string, double> durations;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r'))
      line.pop_back();
    if (line.empty())
      continue;
    auto fail = [&](const std::string &why) {
      return Error{input.durations + ", line " + std::to_string(number) + ": " + why};
    };
    size_t comma = line.find(',');
    Result<Action> action = Action::parse(line.substr(0, comma));
    char *end = nullptr;
    double duration = comma == std::string::npos ? -1 : std::strtod(line.c_str() + comma + 1, &end);
    if (!action || !isCompute(action->kind) || !end || end == line.c_str() + comma + 1 || *end ||
        !(duration >= 0 && duration <= sim::mostOfANumber))
      return fail("'" + line + "' is no duration; write ACTION,DURATION as in 0F3,1.5");
    if (!known.count(nameOf(*action)))
      return fail(nameOf(*action) + " is not in the table of " + planned.schedule.name +
                  "; braid-sim convert with the " + "same options prints what is");
    if (!durations.emplace(nameOf(*action), duration).second)
      return fail(nameOf(*action) + " comes twice; leave one out");
  }
  auto usual = std::make_shared<std::pair<Pipeline, CostModel>>(planned.pipeline, costs);
  return std::function<double(const Action &)>([durations = std::move(durations), usual, nameOf](const Action &action) {
    auto found = durations.find(nameOf(action));
    return found == durations.end() ? actionDuration(usual->first, usual->second, action) : found->second;
  });
}

/// Parts of what a forward makes are no more than the whole.
static Status checkParts(const Input &input) {
  for (auto [option, value] : {std::pair{"--kept", input.kept}, {"--checkpoint", input.checkpoint}})
    if (value > input.activation)
      return Error{std::string(option) + " is " + decimal(value) + ", more than the " + decimal(input.activation) +
                   " that a forward makes; raise --activation"};
  return {};
}

Result<CostModel> sim::costsOf(const Input &input, const PlannedSchedule &planned) {
  if (Status status = checkParts(input); !status)
    return Error{status.error()};
  const Pipeline &pipeline = planned.pipeline;
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
    Result<std::function<double(const Action &)>> durations = durationsOf(input, costs, planned);
    if (!durations)
      return Error{durations.error()};
    costs.duration = *durations;
  }
  return costs;
}
