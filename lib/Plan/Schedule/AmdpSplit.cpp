//===- AmdpSplit.cpp - AMDP with split backwards --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Search/Search.h"

#include "braid/Plan/Schedule/Kinds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>

namespace braid::plan {

Result<Schedule> amdpSplit(const Pipeline &pipeline, int updates, std::vector<int> pauses) {
  Result<Schedule> fused = amdp(pipeline, 1);
  if (!fused)
    return fused;
  int d = pipeline.numStages(), blocks = pipeline.microbatches / d;
  if (updates < 1 || blocks % updates)
    return Error{"AMDP divides " + std::to_string(blocks) + " block(s) over " + std::to_string(updates) +
                 " update(s); choose a multiple"};
  if (pauses.empty())
    for (int unit = 0; unit < 2 * d; ++unit)
      pauses.push_back(unit % 2);
  if (static_cast<int>(pauses.size()) != 2 * d || std::accumulate(pauses.begin(), pauses.end(), 0) != d)
    return Error{"the pauses of a block must be " + std::to_string(2 * d) + " numbers that add up to " +
                 std::to_string(d)};
  // Unit times of AMDP's order, forwards and backwards taking one unit each.
  CostModel unit;
  unit.stages = {{.forward = 1, .input = 0.5, .weight = 0.5}};
  for (std::vector<Action> &row : fused->rows)
    std::erase_if(row, [](const Action &action) { return !isCompute(action.kind); });
  Result<Timeline> timeline = simulate(pipeline, *fused, unit);
  if (!timeline)
    return Error{timeline.error()};

  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "amdp_split";
  schedule.updates = updates;
  schedule.staleness = updates > 1 ? 1 : 0;
  const int window = pipeline.microbatches / updates;
  for (int rank = 0; rank < d; ++rank) {
    std::vector<Action> &row = schedule.rows[rank];
    std::deque<Action> owed;
    int inFlight = 0, version = 0;
    std::vector<int> weights(updates), forwardsOfBlock(blocks);
    bool reduced = false;
    auto addAll = [&](ActionKind kind) {
      for (int stage = 0; stage < d; ++stage)
        for (int direction = 0; direction < pipeline.directions(); ++direction)
          if (pipeline.rankOf(stage, direction) == rank && pipeline.stages[stage].trains) {
            Action action = compute(kind, stage, -1, direction);
            action.version = static_cast<int16_t>(version);
            row.push_back(action);
          }
    };
    // The update of a window comes once its weight gradients and the forwards of the next block have run, so those
    // forwards, and no others, are of another version than their backwards.
    auto updateIfDue = [&](bool end) {
      if (version >= updates || weights[version] < window)
        return;
      if (!reduced)
        addAll(ActionKind::ReduceGrad);
      reduced = true;
      int nextBlock = (version + 1) * (blocks / updates);
      if (!end && nextBlock < blocks && forwardsOfBlock[nextBlock] < d)
        return;
      addAll(ActionKind::Step);
      ++version;
      reduced = false;
    };
    auto add = [&](Action action) {
      action.version = static_cast<int16_t>(version);
      row.push_back(action);
    };
    auto payWeight = [&] {
      add(owed.front());
      ++weights[owed.front().microbatch / window];
      owed.pop_front();
      --inFlight;
      updateIfDue(false);
    };
    const std::vector<Action> &order = fused->rows[rank];
    int64_t now = 0; // unit boundaries that have been passed
    for (size_t index = 0; index < order.size(); ++index) {
      int64_t start = std::llround(timeline->start[rank][index]);
      for (; now < start; ++now)
        for (int i = 0; i < pauses[now % (2 * d)] && !owed.empty(); ++i)
          payWeight();
      Action action = order[index];
      if (action.kind == ActionKind::Forward) {
        while (inFlight >= d && !owed.empty())
          payWeight();
        add(action);
        ++inFlight;
        ++forwardsOfBlock[action.microbatch / d];
        updateIfDue(false);
      } else {
        action.kind = ActionKind::BackwardInput;
        add(action);
        action.kind = ActionKind::BackwardWeight;
        owed.push_back(action);
      }
    }
    while (!owed.empty())
      payWeight();
    updateIfDue(true);
  }
  return schedule;
}

Result<BlockResult> searchAmdpBlock(int ranks, const CostModel &costs, const SearchOptions &options) {
  BlockResult result;
  const int few = 6, many = 10;
  auto begin = std::chrono::steady_clock::now();
  // The time of one more block, and whether no rank holds more than `ranks` activations.
  auto measure = [&](auto make) -> Result<double> {
    double makespans[2];
    for (int i = 0; i < 2; ++i) {
      Pipeline pipeline = amdpPipeline(ranks, ranks * (i ? many : few));
      Result<Schedule> schedule = make(pipeline);
      if (!schedule)
        return Error{schedule.error()};
      for (std::vector<Action> &row : schedule->rows)
        std::erase_if(row, [](const Action &action) { return !isCompute(action.kind); });
      Result<Timeline> timeline = simulate(pipeline, *schedule, costs);
      if (!timeline)
        return Error{timeline.error()};
      if (*std::max_element(timeline->peakActivation.begin(), timeline->peakActivation.end()) >
          ranks * costs.stage(0).activation + 1e-9)
        return HUGE_VAL;
      makespans[i] = timeline->makespan;
    }
    ++result.evaluated;
    return (makespans[1] - makespans[0]) / (many - few);
  };
  Result<double> fused = measure([](const Pipeline &pipeline) { return amdp(pipeline, 1); });
  if (!fused)
    return Error{fused.error()};
  result.amdp = *fused;
  for (int rank = 0; rank < ranks; ++rank) {
    double work = 0;
    Pipeline pipeline = amdpPipeline(ranks, ranks);
    for (int direction = 0; direction < pipeline.directions(); ++direction)
      for (int stage = 0; stage < ranks; ++stage)
        if (pipeline.rankOf(stage, direction) == rank) {
          const StageCost &cost = costs.stage(stage);
          work += (cost.forward + cost.input + cost.weight) * ranks / pipeline.directions();
        }
    result.lowerBound = std::max(result.lowerBound, work);
  }
  result.blockTime = HUGE_VAL;
  auto offer = [&](const std::vector<int> &pauses) {
    Result<double> time = measure([&](const Pipeline &pipeline) { return amdpSplit(pipeline, 1, pauses); });
    if (!time || *time > result.blockTime)
      return;
    result.blockTime = *time;
    result.pauses = pauses;
  };
  auto over = [&] {
    if (result.blockTime <= std::max(options.stopAt, result.lowerBound) + 1e-9)
      return true;
    if (options.maxEvaluations >= 0)
      return result.evaluated >= options.maxEvaluations;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >= options.seconds;
  };
  for (int every : {2, 4, 1})
    for (int phase = 0; phase < 2 * every; ++phase) {
      if (over())
        break;
      std::vector<int> pauses(2 * ranks);
      for (int weight = 0; weight < ranks; ++weight)
        ++pauses[(phase + weight * 2 / every * every) % (2 * ranks)];
      offer(pauses);
    }
  std::mt19937_64 random(options.seed);
  while (!over() && !result.pauses.empty()) {
    std::vector<int> pauses = result.pauses;
    for (int change = 1 + static_cast<int>(random() % 3); change > 0; --change) {
      size_t from = random() % pauses.size(), to = random() % pauses.size();
      while (pauses[from] == 0)
        from = (from + 1) % pauses.size();
      --pauses[from];
      ++pauses[to];
    }
    offer(pauses);
  }
  if (result.pauses.empty())
    return Error{"no split of AMDP's backwards keeps within " + std::to_string(ranks) + " activations"};
  return result;
}

} // namespace braid::plan
