//===- AmdpSplit.cpp - AMDP with split backwards --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <cmath>
#include <deque>
#include <numeric>

namespace braid::plan {

Result<Schedule> amdpSplit(const Pipeline &pipeline, int updates, std::vector<int> pauses) {
  Result<Schedule> fused = amdp(pipeline, 1);
  if (!fused)
    return fused;
  int d = pipeline.numStages(), blocks = pipeline.microbatches / d;
  if (updates < 1 || updates > maxVersion || blocks % updates)
    return Error{"AMDP divides " + std::to_string(blocks) + " block(s) over " + std::to_string(updates) +
                 " update(s); choose a multiple of 1 to " + std::to_string(maxVersion) + " updates"};
  if (pauses.empty())
    for (int unit = 0; unit < 2 * d; ++unit)
      pauses.push_back(unit % 2);
  if (static_cast<int>(pauses.size()) != 2 * d || std::accumulate(pauses.begin(), pauses.end(), 0) != d)
    return Error{"the pauses of a block must be " + std::to_string(2 * d) + " numbers that add up to " +
                 std::to_string(d)};
  // Unit times of AMDP's order, forwards and backwards taking one unit each.
  CostModel unit;
  unit.stages = {{.forward = 1, .input = 0.5, .weight = 0.5}};
  const Schedule computations = fused->computeOnly();
  Result<Timeline> timeline = simulate(pipeline, computations, unit);
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
    const std::vector<Action> &order = computations.rows[rank];
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

} // namespace braid::plan
