//===- Simulator.cpp - When each action of a schedule runs ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Simulator.h"
#include "VerifierImpl.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace braid::plan {

double Timeline::bubble() const {
  double most = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
  return makespan > 0 ? 1 - most / makespan : 0;
}

double Timeline::spanBubble() const {
  double most = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
  return longestSpan > 0 ? 1 - most / longestSpan : 0;
}

namespace {
constexpr double never = -1;

class Simulation {
public:
  Simulation(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, const Schedule &schedule,
             const CostModel &costs, Timeline &timeline)
      : pipeline(pipeline), graph(graph), shape(shape), schedule(schedule), costs(costs), timeline(timeline),
        forwardEnd(shape.size(), never), inputEnd(shape.size(), never), next(schedule.rows.size()),
        free(schedule.rows.size(), 0.0), waiting(schedule.rows.size(), true) {
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      timeline.start.emplace_back(schedule.rows[rank].size());
      timeline.end.emplace_back(schedule.rows[rank].size());
      for (const Action &action : schedule.rows[rank])
        if (isCollective(action))
          collectives[key(action)].members.insert(rank);
    }
    timeline.busy.assign(schedule.rows.size(), 0.0);
  }

  Status run() {
    for (int rank = schedule.ranks() - 1; rank >= 0; --rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int rank = ready.back();
      ready.pop_back();
      waiting[rank] = false;
      while (next[rank] < schedule.rows[rank].size() && step(rank)) {
      }
    }
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      if (next[rank] < schedule.rows[rank].size())
        return Error{"the schedule stops: rank " + std::to_string(rank) + " waits for ever at " +
                     schedule.rows[rank][next[rank]].str() + "; verify it to see why"};
    return {};
  }

private:
  using Key = std::tuple<ActionKind, int, int>;
  struct Collective {
    std::set<int> members, arrived;
    double latest = 0;
  };
  static bool isCollective(const Action &action) {
    return action.kind == ActionKind::Norm || action.kind == ActionKind::ReduceGrad;
  }
  static Key key(const Action &action) {
    return {action.kind, action.kind == ActionKind::Norm ? -1 : action.stage, action.version};
  }
  void wake(int rank) {
    if (!waiting[rank]) {
      waiting[rank] = true;
      ready.push_back(rank);
    }
  }

  double duration(const Action &action) const {
    if (costs.duration)
      return costs.duration(action);
    const StageCost &cost = costs.stage(action.stage);
    switch (action.kind) {
    case ActionKind::Forward:
      return cost.forward;
    case ActionKind::BackwardInput:
      return cost.input;
    case ActionKind::BackwardWeight:
      return cost.weight;
    case ActionKind::FullBackward:
      return cost.input + cost.weight;
    case ActionKind::Recompute:
      return cost.recompute < 0 ? cost.forward : cost.recompute;
    default:
      return 0;
    }
  }

  /// When all inputs of a compute action are on its rank, or `never`.
  double inputsAt(int rank, const Action &action) {
    double at = 0;
    bool known = forEachNeed(graph, action, [&](int stage, uint8_t bits) {
      size_t slot = shape.slot(action, stage);
      double end = bits == doneForward ? forwardEnd[slot] : inputEnd[slot];
      if (end == never)
        return false;
      if (pipeline.rankOf(stage, action.direction) != rank && !costs.blockingSends)
        end = arrival(rank, action, stage, bits, end);
      at = std::max(at, end);
      return true;
    });
    return known ? at : never;
  }

  double transfer(bool forward) const {
    return costs.latency + costs.timePerByte * (forward ? costs.forwardBytes : costs.backwardBytes);
  }

  double arrival(int rank, const Action &action, int stage, uint8_t bits, double end) {
    bool forward = bits == doneForward;
    if (!costs.serialLinks)
      return end + transfer(forward);
    // Departures were ordered when the producer ended; see send().
    auto at = arrivals.find({shape.slot(action, stage), rank, forward});
    return at == arrivals.end() ? end + transfer(forward) : at->second;
  }

  /// With serial links a message leaves when the one before it on the same link has.
  void send(int rank, const Action &action, double end) {
    if (!costs.serialLinks)
      return;
    bool forward = action.kind == ActionKind::Forward;
    std::set<int> targets;
    for (int stage : forward ? graph.consumers[action.stage] : graph.gradientProducers[action.stage])
      if (int target = pipeline.rankOf(stage, action.direction); target != rank)
        targets.insert(target);
    for (int target : targets) {
      double &busyUntil = links[{rank, target}];
      double leaves = std::max(end, busyUntil);
      busyUntil = leaves + costs.timePerByte * (forward ? costs.forwardBytes : costs.backwardBytes);
      arrivals[{shape.slot(action), target, forward}] = busyUntil + costs.latency;
    }
  }

  void complete(int rank, const Action &action, double end) {
    uint8_t bits = effect(action.kind);
    size_t slot = shape.slot(action);
    if (bits & doneForward)
      forwardEnd[slot] = end;
    if (bits & doneInput)
      inputEnd[slot] = end;
    if (bits & (doneForward | doneInput))
      send(rank, action, end);
    const auto &readers = bits & doneForward ? graph.consumers : graph.gradientProducers;
    if (bits & (doneForward | doneInput))
      for (int stage : readers[action.stage])
        wake(pipeline.rankOf(stage, action.direction));
  }

  void place(int rank, size_t index, double start, double end) {
    timeline.start[rank][index] = start;
    timeline.end[rank][index] = end;
    free[rank] = end;
  }

  bool step(int rank) {
    const std::vector<Action> &row = schedule.rows[rank];
    size_t index = next[rank];
    const Action &action = row[index];
    if (isCompute(action.kind)) {
      bool block = action.joinsNext && index + 1 < row.size() && costs.overlap != Overlap::Sequential;
      double inputs = inputsAt(rank, action);
      if (inputs == never)
        return false;
      double length = duration(action);
      if (!block) {
        double start = std::max(free[rank], inputs);
        place(rank, index, start, start + length);
        timeline.busy[rank] += length;
        complete(rank, action, start + length);
        ++next[rank];
        return true;
      }
      const Action &second = row[index + 1];
      double others = inputsAt(rank, second);
      if (others == never)
        return false;
      double start = std::max({free[rank], inputs, others});
      double whole = (length + duration(second)) * costs.blockFactor, end = start + whole;
      double early = costs.overlap == Overlap::Early ? std::min(end, start + length) : end;
      place(rank, index, start, end);
      place(rank, index + 1, start, end);
      timeline.busy[rank] += whole;
      complete(rank, action, early);
      complete(rank, second, end);
      next[rank] += 2;
      return true;
    }
    if (isMessage(action.kind) && costs.blockingSends)
      return exchange(rank, index, action);
    if (isCollective(action))
      return gather(rank, index, action);
    double length = action.kind == ActionKind::Step ? costs.stage(action.stage).update : 0;
    place(rank, index, free[rank], free[rank] + length);
    ++next[rank];
    return true;
  }

  bool exchange(int rank, size_t index, const Action &action) {
    int peer = pipeline.rankOf(action.peer, action.direction);
    if (peer < 0 || next[peer] >= schedule.rows[peer].size())
      return false;
    const Action &other = schedule.rows[peer][next[peer]];
    if (!isMessage(other.kind) || counterpart(action.kind) != other.kind || action.stage != other.peer ||
        action.peer != other.stage || action.microbatch != other.microbatch || action.sub != other.sub ||
        action.direction != other.direction)
      return false;
    double start = std::max(free[rank], free[peer]);
    bool forward = action.kind == ActionKind::SendF || action.kind == ActionKind::RecvF;
    double end = start + transfer(forward);
    size_t peerIndex = next[peer];
    place(rank, index, start, end);
    place(peer, peerIndex, start, end);
    ++next[rank];
    ++next[peer];
    wake(peer);
    return true;
  }

  bool gather(int rank, size_t index, const Action &action) {
    Collective &collective = collectives[key(action)];
    if (collective.arrived.insert(rank).second) {
      collective.latest = std::max(collective.latest, free[rank]);
      if (collective.arrived.size() == collective.members.size())
        for (int member : collective.members)
          if (member != rank)
            wake(member);
    }
    if (collective.arrived.size() < collective.members.size())
      return false;
    double length = action.kind == ActionKind::Norm ? costs.norm : costs.reduce;
    double start = std::max(free[rank], collective.latest);
    place(rank, index, start, start + length);
    ++next[rank];
    return true;
  }

  const Pipeline &pipeline;
  const PipelineGraph &graph;
  const TableShape &shape;
  const Schedule &schedule;
  const CostModel &costs;
  Timeline &timeline;
  std::vector<double> forwardEnd, inputEnd;
  std::vector<size_t> next;
  std::vector<double> free;
  std::vector<char> waiting;
  std::vector<int> ready;
  std::map<Key, Collective> collectives;
  std::map<std::pair<int, int>, double> links;
  std::map<std::tuple<size_t, int, bool>, double> arrivals;
};
} // namespace

/// Walks a rank's actions by end time and reports every change of its memory. `change(time, activations, kept)`.
template <typename Change>
static void forEachMemoryChange(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                                const Timeline &timeline, int rank, Change change) {
  const std::vector<Action> &row = schedule.rows[rank];
  for (size_t index = 0; index < row.size(); ++index) {
    const Action &action = row[index];
    if (!isCompute(action.kind) || !pipeline.stages[action.stage].backward)
      continue;
    const StageCost &cost = costs.stage(action.stage);
    bool trains = pipeline.stages[action.stage].trains;
    double kept = !trains ? 0 : cost.kept < 0 ? cost.activation : cost.kept;
    switch (action.kind) {
    case ActionKind::Forward:
      change(timeline.start[rank][index], cost.activation, 0.0);
      break;
    case ActionKind::BackwardInput:
      change(timeline.end[rank][index], -cost.activation, kept);
      break;
    case ActionKind::BackwardWeight:
      if (trains)
        change(timeline.end[rank][index], 0.0, -kept);
      break;
    case ActionKind::FullBackward:
      change(timeline.end[rank][index], -cost.activation, 0.0);
      break;
    default:
      break;
    }
  }
}

static double stateOf(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs, int rank) {
  double state = 0;
  for (int direction = 0; direction < pipeline.directions(); ++direction)
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      if (pipeline.rankOf(stage, direction) == rank)
        state += costs.stage(stage).state * schedule.weightVersions;
  return state;
}

Result<Timeline> simulate(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  if (costs.stages.size() != 1 && costs.stages.size() != pipeline.stages.size())
    return Error{"there are costs for " + std::to_string(costs.stages.size()) + " stages and the pipeline has " +
                 std::to_string(pipeline.numStages()) + "; give one for each, or one for all"};
  if (costs.blockingSends && !schedule.hasMessages())
    return Error{"blocking sends need a table with messages; add them first"};
  TableShape shape(pipeline, schedule);
  for (const std::vector<Action> &row : schedule.rows)
    for (const Action &action : row)
      if (action.kind != ActionKind::Idle && (!shape.contains(action) || action.peer >= shape.stages))
        return Error{action.str() + " is outside the pipeline; verify the schedule first"};
  PipelineGraph graph(pipeline);
  Timeline timeline;
  if (Status status = Simulation(pipeline, graph, shape, schedule, costs, timeline).run(); !status)
    return Error{status.error()};
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const std::vector<Action> &row = schedule.rows[rank];
    double first = -1, last = 0;
    for (size_t index = 0; index < row.size(); ++index) {
      timeline.makespan = std::max(timeline.makespan, timeline.end[rank][index]);
      if (!isCompute(row[index].kind))
        continue;
      if (first < 0)
        first = timeline.start[rank][index];
      last = std::max(last, timeline.end[rank][index]);
    }
    timeline.longestSpan = std::max(timeline.longestSpan, last - std::max(first, 0.0));
    double held = 0, heldActivations = 0, most = 0, mostActivations = 0, state = 0;
    // Rows run in order, so changes come in order too, up to the two halves of a block.
    forEachMemoryChange(pipeline, schedule, costs, timeline, rank, [&](double, double activation, double kept) {
      held += activation + kept;
      most = std::max(most, held);
    });
    for (const Action &action : row) {
      if (!isCompute(action.kind) || !pipeline.stages[action.stage].backward)
        continue;
      double size = costs.stage(action.stage).activation;
      if (action.kind == ActionKind::Forward)
        heldActivations += size;
      else if (effect(action.kind) & (pipeline.stages[action.stage].trains ? doneWeight : doneInput))
        heldActivations -= size;
      mostActivations = std::max(mostActivations, heldActivations);
    }
    if (pipeline.numStages() <= 4096)
      state = stateOf(pipeline, schedule, costs, rank);
    timeline.peakMemory.push_back(most + state);
    timeline.peakActivation.push_back(mostActivations);
  }
  return timeline;
}

std::vector<MemoryPoint> memoryOverTime(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                                        const Timeline &timeline, int rank) {
  struct Change {
    double time, activations, kept, waiting;
  };
  std::vector<Change> changes;
  forEachMemoryChange(pipeline, schedule, costs, timeline, rank, [&](double time, double activations, double kept) {
    changes.push_back({time, activations, kept, 0});
  });
  // Received values wait from their arrival to the forward that reads them.
  std::map<std::tuple<int, int, int, int>, double> ends; // of forwards on other ranks
  PipelineGraph graph(pipeline);
  for (int other = 0; other < schedule.ranks(); ++other)
    for (size_t index = 0; other != rank && index < schedule.rows[other].size(); ++index) {
      const Action &action = schedule.rows[other][index];
      if (action.kind == ActionKind::Forward)
        ends[{action.direction, action.stage, action.sub, action.microbatch}] = timeline.end[other][index];
    }
  for (size_t index = 0; index < schedule.rows[rank].size(); ++index) {
    const Action &action = schedule.rows[rank][index];
    if (action.kind != ActionKind::Forward)
      continue;
    for (int producer : graph.producers[action.stage]) {
      auto at = ends.find({action.direction, producer, action.sub, action.microbatch});
      if (at == ends.end())
        continue;
      double arrives = at->second + costs.latency + costs.timePerByte * costs.forwardBytes;
      changes.push_back({std::min(arrives, timeline.start[rank][index]), 0, 0, costs.forwardBytes});
      changes.push_back({timeline.start[rank][index], 0, 0, -costs.forwardBytes});
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) { return a.time < b.time; });
  std::vector<MemoryPoint> points = {{0, stateOf(pipeline, schedule, costs, rank), 0, 0, 0}};
  for (const Change &change : changes) {
    MemoryPoint point = points.back();
    point.time = change.time;
    point.activations += change.activations;
    point.weightInputs += change.kept;
    point.waiting += change.waiting;
    if (points.back().time == point.time)
      points.back() = point;
    else
      points.push_back(point);
  }
  return points;
}

} // namespace braid::plan
