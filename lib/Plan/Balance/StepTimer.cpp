//===- StepTimer.cpp - The time of a step, many times over ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/StepTimer.h"
#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Schedule/Dataflow.h"
#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

int StepModel::numStages() const {
  size_t count = 0;
  for (const StepComponent &component : components)
    count += component.shares.size();
  return static_cast<int>(count);
}

double StepModel::slowest(int component) const {
  const std::vector<double> &shares = components[component].shares;
  return *std::max_element(shares.begin(), shares.end());
}

Status StepModel::check() const {
  if (components.size() < 2)
    return Error{"a step of " + std::to_string(components.size()) +
                 " components is not balanced; give it at least one encoder and the language model"};
  auto bad = [](double value) { return !std::isfinite(value) || value < 0; };
  for (const StepComponent &component : components) {
    double sum = 0;
    for (double share : component.shares)
      sum += bad(share) ? NAN : share;
    if (component.shares.empty() || !(std::abs(sum - 1) < 1e-6))
      return Error{"the stages of component '" + component.name + "' have shares that sum to " + std::to_string(sum) +
                   "; they are not negative and sum to 1"};
    for (double value : {component.constant, component.timePerRow, component.memoryPerRow})
      if (bad(value))
        return Error{"component '" + component.name + "' has the cost " + std::to_string(value) +
                     "; costs are finite and not negative"};
  }
  if (bad(backward) || bad(latency))
    return Error{"the backward takes " + std::to_string(backward) + " forwards and a message " +
                 std::to_string(latency) + "; both are finite and not negative"};
  if (!placement.empty() && placement.size() != static_cast<size_t>(numStages()))
    return Error{"the placement names ranks for " + std::to_string(placement.size()) + " stages and there are " +
                 std::to_string(numStages()) + "; give each stage one"};
  return {};
}

Status StepModel::checkSamples(const SampleLoads &samples) const {
  if (samples.components() != static_cast<int>(components.size()))
    return Error{"the samples have loads for " + std::to_string(samples.components()) +
                 " components and the step has " + std::to_string(components.size()) + "; give one for each"};
  return samples.check();
}

/// First stage of each component.
static std::vector<int> firstStages(const StepModel &model) {
  std::vector<int> first{0};
  for (const StepComponent &component : model.components)
    first.push_back(first.back() + static_cast<int>(component.shares.size()));
  return first;
}

Result<Pipeline> StepModel::pipeline(int microbatches) const {
  std::vector<int> first = firstStages(*this);
  std::vector<Component> joined;
  for (size_t component = 0; component < components.size(); ++component) {
    Component &made = joined.emplace_back();
    made.name = std::to_string(component) + "." + components[component].name; // a name of its own
    for (int stage = first[component]; stage < first[component + 1]; ++stage)
      made.ranks.push_back(placement.empty() ? stage : placement[stage]);
    if (component + 1 < components.size()) {
      made.readers = {{.component = std::to_string(components.size() - 1) + "." + components.back().name}};
      made.defers = true;
    }
  }
  return joinComponents(std::move(joined), microbatches);
}

Result<StepTimer> StepTimer::create(const StepModel &model, int microbatches) {
  if (Status status = model.check(); !status)
    return Error{status.error()};
  Result<Pipeline> joined = model.pipeline(microbatches);
  if (!joined)
    return Error{joined.error()};
  const Pipeline &pipeline = *joined;
  Result<Schedule> schedule = oneFOneB(pipeline, {.messages = false, .update = false});
  if (!schedule)
    return Error{schedule.error()};
  PipelineGraph graph(pipeline);
  TableShape shape(pipeline, *schedule);
  std::vector<int> componentOf, first = firstStages(model);
  for (size_t component = 0; component + 1 < first.size(); ++component)
    componentOf.insert(componentOf.end(), first[component + 1] - first[component], static_cast<int>(component));

  StepTimer timer;
  timer.count = microbatches;
  timer.ranks = schedule->ranks();
  timer.latency = model.latency;
  MicrobatchLoads numbering(static_cast<int>(model.components.size()), microbatches);
  std::vector<int> forwardNode(shape.size()), backwardNode(shape.size()), last(schedule->ranks());
  timer.nodes.emplace_back();
  std::vector<size_t> next(schedule->ranks());
  // One node of each rank at most in a round, and none that needs another of the same round: the processor then works
  // several out at once.
  for (bool moved = true; moved;) {
    moved = false;
    const int settled = static_cast<int>(timer.nodes.size());
    for (int rank = 0; rank < schedule->ranks(); ++rank)
      if (next[rank] < schedule->rows[rank].size()) {
        const Action &action = schedule->rows[rank][next[rank]];
        std::vector<int> found;
        bool ready = forEachNeed(graph, action, [&](const Part &part, uint8_t bits) {
          size_t slot = shape.slot(action, part);
          int node = (bits == doneForward ? forwardNode : backwardNode)[slot];
          if (node != last[rank])
            found.push_back(2 * node + (pipeline.rankOf(part.stage) != rank));
          return node > 0 && node < settled;
        });
        if (!ready)
          continue;
        bool backward = action.kind == ActionKind::FullBackward;
        int component = componentOf[action.stage];
        const StepComponent &costs = model.components[component];
        double share = costs.shares[action.stage - first[component]];
        Node node{.previous = 2 * last[rank],
                  .load = static_cast<int>(numbering.index(component, backward, action.microbatch, action.sub)),
                  .factor = share * (backward ? model.backward : 1),
                  .firstNeed = static_cast<int>(timer.needs.size()),
                  .rank = rank,
                  .timePerRow = costs.timePerRow,
                  .memory = share * costs.memoryPerRow * (backward ? -1 : 1)};
        if (!found.empty()) {
          node.other = found[0];
          timer.needs.insert(timer.needs.end(), found.begin() + 1, found.end());
        }
        node.lastNeed = static_cast<int>(timer.needs.size());
        timer.rowsTakeTime |= costs.timePerRow > 0;
        last[rank] = static_cast<int>(timer.nodes.size());
        (backward ? backwardNode : forwardNode)[shape.slot(action)] = last[rank];
        timer.nodes.push_back(node);
        ++next[rank];
        moved = true;
      }
  }
  timer.lastNodes = last;
  timer.times.resize(2 * timer.nodes.size());
  return timer;
}

/// std::max of references costs a branch that is mispredicted half of the time.
static double later(double a, double b) { return a < b ? b : a; }

void StepTimer::run(const MicrobatchLoads &loads) {
  const double *load = loads.load.data();
  for (size_t index = 1; index < nodes.size(); ++index) {
    const Node &node = nodes[index];
    double start = later(times[node.previous], times[node.other]);
    for (int need = node.firstNeed; need < node.lastNeed; ++need)
      start = later(start, times[needs[need]]);
    double end = start + node.factor * load[node.load];
    times[2 * index] = end;
    times[2 * index + 1] = end + latency + (rowsTakeTime ? node.timePerRow * loads.rows[node.load] : 0);
  }
}

int StepTimer::last() const {
  int latest = 0;
  for (int node : lastNodes)
    latest = times[2 * node] > times[2 * latest] ? node : latest;
  return latest;
}

double StepTimer::time(const MicrobatchLoads &loads) {
  run(loads);
  return times[2 * last()];
}

double StepTimer::time(const MicrobatchLoads &loads, std::vector<double> &growth) {
  run(loads);
  growth.assign(loads.load.size(), 0.0);
  int at = last();
  double makespan = times[2 * at];
  while (at > 0) {
    const Node &node = nodes[at];
    growth[node.load] += node.factor;
    int latest = times[node.other] > times[node.previous] ? node.other : node.previous;
    for (int need = node.firstNeed; need < node.lastNeed; ++need)
      if (times[needs[need]] > times[latest])
        latest = needs[need];
    at = latest / 2;
  }
  return makespan;
}

double StepTimer::peakMemory(const MicrobatchLoads &loads) const {
  std::vector<double> held(ranks);
  double peak = 0;
  for (size_t index = 1; index < nodes.size(); ++index) {
    const Node &node = nodes[index];
    double &memory = held[node.rank];
    memory += node.memory * loads.rows[node.load];
    peak = std::max(peak, memory);
  }
  return peak;
}

} // namespace braid::plan
