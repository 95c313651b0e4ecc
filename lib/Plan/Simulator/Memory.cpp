//===- Memory.cpp - Memory of a simulated schedule by cause ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulatorImpl.h"

#include <algorithm>
#include <map>

namespace braid::plan {

std::vector<bool> recomputedSlots(const Schedule &schedule, const TableShape &shape) {
  std::vector<bool> recomputed;
  for (const std::vector<Action> &row : schedule.rows)
    for (const Action &action : row)
      if (action.kind == ActionKind::Recompute) {
        recomputed.resize(shape.size());
        recomputed[shape.slot(action)] = true;
      }
  return recomputed;
}

std::vector<double> stateOfRanks(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs) {
  std::vector<double> state(schedule.rows.size(), 0.0);
  for (const std::vector<int> &ranks : pipeline.placement)
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      if (static_cast<size_t>(ranks[stage]) < state.size())
        state[ranks[stage]] += costs.stage(stage).state * schedule.weightVersions;
  return state;
}

std::vector<std::vector<MemoryPoint>> memoryOverTime(const Pipeline &pipeline, const Schedule &schedule,
                                                     const CostModel &model, const Timeline &timeline, int ranks) {
  struct Change {
    double time, activations, weightInputs, waiting, sending;
  };
  ActionCosts costs(pipeline, model);
  TableShape shape(pipeline, schedule);
  PipelineGraph graph(pipeline);
  std::vector<bool> recomputed = recomputedSlots(schedule, shape);
  ranks = std::min(ranks, schedule.ranks());
  std::vector<std::vector<Change>> changes(ranks);
  // When each forward and each input gradient starts: there a received value is used.
  std::vector<double> forwardStart, backwardStart;
  if (!timeline.transfers.empty()) {
    forwardStart.assign(shape.size(), timeline.makespan);
    backwardStart.assign(shape.size(), timeline.makespan);
  }
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    if (rank < ranks)
      forEachMemoryChange(pipeline, schedule, costs, shape, recomputed, timeline, rank,
                          [&](double time, double activations, double weightInputs) {
                            changes[rank].push_back({time, activations, weightInputs, 0, 0});
                          });
    for (size_t index = 0; !forwardStart.empty() && index < schedule.rows[rank].size(); ++index) {
      const Action &action = schedule.rows[rank][index];
      if (effect(action.kind) & doneForward)
        forwardStart[shape.slot(action)] = timeline.start[rank][index];
      if (effect(action.kind) & doneInput)
        backwardStart[shape.slot(action)] = timeline.start[rank][index];
    }
  }
  for (const Transfer &transfer : timeline.transfers) {
    const Action &send = transfer.send;
    if (transfer.from < ranks && transfer.leaves > transfer.ready) {
      changes[transfer.from].push_back({transfer.ready, 0, 0, 0, transfer.bytes});
      changes[transfer.from].push_back({transfer.leaves, 0, 0, 0, -transfer.bytes});
    }
    if (transfer.to >= ranks)
      continue;
    bool forward = send.kind == ActionKind::SendF;
    Part reader =
        forward ? partAt(graph, send.peer, send.microbatch, send.sub) : Part{send.peer, send.microbatch, send.sub};
    double used = (forward ? forwardStart : backwardStart)[shape.slot(send, reader)];
    changes[transfer.to].push_back({std::min(transfer.arrives, used), 0, 0, transfer.bytes, 0});
    changes[transfer.to].push_back({used, 0, 0, -transfer.bytes, 0});
  }
  std::vector<std::vector<MemoryPoint>> result;
  std::vector<double> state = stateOfRanks(pipeline, schedule, model);
  for (int rank = 0; rank < ranks; ++rank) {
    std::stable_sort(changes[rank].begin(), changes[rank].end(),
                     [](const Change &a, const Change &b) { return a.time < b.time; });
    std::vector<MemoryPoint> &points = result.emplace_back();
    points.push_back({0, state[rank], 0, 0, 0, 0});
    for (const Change &change : changes[rank]) {
      MemoryPoint point = points.back();
      point.time = change.time;
      point.activations += change.activations;
      point.weightInputs += change.weightInputs;
      point.waiting += change.waiting;
      point.sending += change.sending;
      if (points.back().time == point.time)
        points.back() = point;
      else
        points.push_back(point);
    }
  }
  return result;
}

} // namespace braid::plan
