//===- Directions.cpp - Any number of directions through the same ranks ---===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Directions.h"
#include "braid/Plan/Dataflow.h"
#include "braid/Plan/Generators.h"
#include "braid/Plan/Verifier.h"

#include <algorithm>

namespace braid::plan {

Pipeline directionsPipeline(int ranks, int directions, int microbatches) {
  Pipeline pipeline = Pipeline::chain(ranks, microbatches);
  pipeline.placement.clear();
  for (int direction = 0; direction < directions; ++direction) {
    int first = direction * ranks / directions, last = (direction + 1) * ranks / directions - 1;
    std::vector<int> &placement = pipeline.placement.emplace_back();
    for (int stage = 0; stage < ranks; ++stage)
      placement.push_back((direction % 2 == 0 ? first + stage : last - stage + ranks) % ranks);
  }
  return pipeline;
}

/// The directions as separate chains of one pipeline: stage s of direction j is stage j * stages + s.
static Pipeline flatten(const Pipeline &pipeline) {
  Pipeline flat;
  int count = pipeline.numStages(), directions = pipeline.directions();
  flat.microbatches = pipeline.microbatches / directions;
  flat.placement.emplace_back();
  for (int direction = 0; direction < directions; ++direction) {
    flat.stages.insert(flat.stages.end(), pipeline.stages.begin(), pipeline.stages.end());
    flat.placement[0].insert(flat.placement[0].end(), pipeline.placement[direction].begin(),
                             pipeline.placement[direction].end());
    for (Edge edge : pipeline.edges) {
      edge.id += direction * static_cast<int>(pipeline.edges.size());
      edge.from += direction * count;
      edge.to += direction * count;
      flat.edges.push_back(edge);
    }
  }
  return flat;
}

void addWindows(const Pipeline &pipeline, Schedule &schedule, const Timeline &timeline, int updates) {
  schedule.updates = updates;
  schedule.staleness = updates > 1 ? 1 : 0;
  int window = std::max(1, pipeline.microbatches / pipeline.directions() / updates);
  // When the last weight gradient of a window ends anywhere. A cut of all rows at one time is consistent: nothing
  // before it waits for anything behind it, so the reductions, which wait for each other, cannot deadlock.
  std::vector<double> complete(updates, 0.0);
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (size_t index = 0; index < schedule.rows[rank].size(); ++index)
      if (isBackward(schedule.rows[rank][index].kind))
        for (int update = schedule.rows[rank][index].microbatch / window; update < updates; ++update)
          complete[update] = std::max(complete[update], timeline.end[rank][index]);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    std::vector<std::pair<int, int>> hosted;
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      for (int direction = 0; direction < pipeline.directions(); ++direction)
        if (pipeline.rankOf(stage, direction) == rank && pipeline.stages[stage].trains)
          hosted.push_back({stage, direction});
    std::vector<Action> row;
    int version = 0;
    auto updateBefore = [&](double time) {
      for (; version < updates && complete[version] <= time + 1e-9; ++version)
        for (ActionKind kind : {ActionKind::ReduceGrad, ActionKind::Step})
          for (auto [stage, direction] : hosted) {
            Action update = compute(kind, stage, -1, direction);
            update.version = static_cast<int16_t>(version);
            row.push_back(update);
          }
    };
    for (size_t index = 0; index < schedule.rows[rank].size(); ++index) {
      updateBefore(timeline.start[rank][index]);
      Action action = schedule.rows[rank][index];
      action.version = static_cast<int16_t>(version);
      row.push_back(action);
    }
    updateBefore(timeline.makespan);
    schedule.rows[rank] = std::move(row);
  }
}

Result<DirectionsResult> searchDirections(int ranks, int directions, int microbatches, int updates,
                                          const CostModel &costs, SearchOptions options) {
  if (ranks < 1 || directions < 1 || directions > ranks)
    return Error{std::to_string(directions) + " directions through " + std::to_string(ranks) +
                 " ranks; choose at least one, and at most as many as there are ranks"};
  if (updates < 1 || microbatches < 1 || microbatches % (directions * updates))
    return Error{std::to_string(microbatches) + " micro-batches do not divide over " + std::to_string(directions) +
                 " directions and " + std::to_string(updates) + " updates; choose a multiple of " +
                 std::to_string(directions * std::max(updates, 1))};
  DirectionsResult result;
  result.pipeline = directionsPipeline(ranks, directions, microbatches);
  Pipeline flat = flatten(result.pipeline);
  CostModel flatCosts = costs;
  if (costs.stages.size() > 1)
    for (int direction = 1; direction < directions; ++direction)
      flatCosts.stages.insert(flatCosts.stages.end(), costs.stages.begin(), costs.stages.end());
  if (options.maxMemory < 0)
    options.maxMemory = ranks * costs.stage(0).activation;
  Result<SearchResult> found = searchSchedule(flat, flatCosts, options);
  if (!found)
    return Error{found.error()};
  result.evaluated = found->evaluated;
  result.schedule = std::move(found->schedule);
  result.schedule.name = "directions";
  result.schedule.stages = ranks;
  result.schedule.directions = directions;
  result.schedule.microbatches = microbatches;
  result.schedule.placement = result.pipeline.placement;
  for (std::vector<Action> &row : result.schedule.rows)
    for (Action &action : row) {
      action.direction = static_cast<int16_t>(action.stage / ranks);
      action.stage %= ranks;
    }
  // The middle half of the stream, on the rank that is slowest there.
  Result<Timeline> timeline = simulate(result.pipeline, result.schedule, costs);
  if (!timeline)
    return Error{timeline.error()};
  int perDirection = microbatches / directions, low = perDirection / 4, high = std::max(low + 1, 3 * perDirection / 4);
  for (int rank = 0; rank < ranks; ++rank) {
    double ends[2] = {0, 0};
    double work = 0;
    const std::vector<Action> &row = result.schedule.rows[rank];
    for (size_t index = 0; index < row.size(); ++index) {
      work += timeline->end[rank][index] - timeline->start[rank][index];
      if (row[index].microbatch < low)
        ends[0] = std::max(ends[0], timeline->end[rank][index]);
      if (row[index].microbatch < high)
        ends[1] = std::max(ends[1], timeline->end[rank][index]);
    }
    double block = double(ranks) / directions;
    result.blockTime = std::max(result.blockTime, (ends[1] - ends[0]) / (high - low) * block);
    result.lowerBound = std::max(result.lowerBound, work / perDirection * block);
  }
  addWindows(result.pipeline, result.schedule, *timeline, updates);
  Schedule whole = result.schedule;
  if (Status status = addMessages(result.pipeline, whole); !status)
    return Error{status.error()};
  if (Result<ScheduleFacts> facts = verify(result.pipeline, whole); !facts)
    return Error{facts.error()};
  return result;
}

} // namespace braid::plan
