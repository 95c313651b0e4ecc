//===- Asynchronous.cpp - PipeDream-2BW and AMDP --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>
#include <tuple>

namespace braid::plan {

static Status checkUpdates(const Pipeline &pipeline, int updates, int unit, const char *name) {
  if (updates < 1 || updates > maxVersion)
    return Error{std::string(name) + " makes 1 to " + std::to_string(maxVersion) + " updates, and not " +
                 std::to_string(updates)};
  int64_t share = int64_t(updates) * unit;
  if (pipeline.microbatches % share == 0)
    return {};
  return Error{std::string(name) + " divides " + std::to_string(pipeline.microbatches) + " micro-batches over " +
               std::to_string(updates) + " update(s) in units of " + std::to_string(unit) + "; choose a multiple of " +
               std::to_string(share)};
}

static Action update(ActionKind kind, int stage, int direction, int version) {
  Action action = compute(kind, stage, -1, direction);
  action.version = static_cast<int16_t>(version);
  return action;
}

Result<Schedule> twoBW(const Pipeline &pipeline, int updates) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  if (Status status = checkUpdates(pipeline, updates, 1, "PipeDream-2BW"); !status)
    return Error{status.error()};
  int p = pipeline.numRanks(), m = pipeline.microbatches, window = m / updates;
  if (pipeline.directions() != 1 || pipeline.numStages() != p)
    return Error{"PipeDream-2BW needs one stage on each rank, in one direction"};
  if (updates > 1 && window < p)
    return Error{"PipeDream-2BW keeps two versions of the weights only if a window has at least as many micro-batches "
                 "as there are ranks: " +
                 std::to_string(p) + ", and it has " + std::to_string(window)};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "2bw";
  schedule.updates = updates;
  schedule.weightVersions = updates > 1 ? 2 : 1;
  schedule.staleness = updates > 1 ? 1 : 0;
  auto add = [&](std::vector<Action> &row, ActionKind kind, int stage, int microbatch) {
    Action action = compute(kind, stage, microbatch);
    action.version = static_cast<int16_t>(std::max(0, microbatch / window - 1));
    row.push_back(action);
  };
  for (int stage = 0; stage < p; ++stage) {
    std::vector<Action> &row = schedule.rows[pipeline.rankOf(stage)];
    int forward = 0;
    for (; forward < std::min(m, p - 1 - stage); ++forward)
      add(row, ActionKind::Forward, stage, forward);
    for (int backward = 0; backward < m; ++backward) {
      if (forward < m)
        add(row, ActionKind::Forward, stage, forward++);
      add(row, ActionKind::FullBackward, stage, backward);
      if ((backward + 1) % window == 0)
        row.push_back(update(ActionKind::Step, stage, 0, backward / window));
    }
  }
  return schedule;
}

namespace {
/// What a rank runs of one block: micro-batches of block 0, with stage and direction.
struct BlockItem {
  int microbatch, stage, direction;
};
} // namespace

/// Walks all micro-batches of a block through their ranks in unit time, first come first served: the order in which
/// each rank meets them. Backwards start at the last stage.
static std::vector<std::vector<BlockItem>> blockOrder(const Pipeline &pipeline, bool backward) {
  int d = pipeline.numStages(), directions = pipeline.directions();
  struct Traveller {
    int ready, round, direction, step;
  };
  std::vector<Traveller> travellers;
  for (int round = 0; round < d / directions; ++round)
    for (int direction = 0; direction < directions; ++direction)
      travellers.push_back({0, round, direction, 0});
  std::vector<std::vector<BlockItem>> order(pipeline.numRanks());
  for (int tick = 0; !travellers.empty(); ++tick) {
    std::sort(travellers.begin(), travellers.end(), [](const Traveller &a, const Traveller &b) {
      return std::tie(a.ready, a.round, a.direction) < std::tie(b.ready, b.round, b.direction);
    });
    std::vector<bool> used(order.size());
    std::vector<Traveller> next;
    for (Traveller traveller : travellers) {
      int stage = backward ? d - 1 - traveller.step : traveller.step;
      int rank = pipeline.rankOf(stage, traveller.direction);
      if (traveller.ready <= tick && !used[rank]) {
        used[rank] = true;
        order[rank].push_back({traveller.direction + directions * traveller.round, stage, traveller.direction});
        traveller.ready = tick + 1;
        if (++traveller.step == d)
          continue;
      }
      next.push_back(traveller);
    }
    travellers = std::move(next);
  }
  return order;
}

Result<Schedule> amdp(const Pipeline &pipeline, int updates) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  int d = pipeline.numStages();
  if (d % 4 || pipeline.directions() != d / 2 || pipeline.numRanks() != d)
    return Error{"AMDP's rule needs d stages on d ranks, d a multiple of 4, in d/2 directions; there are " +
                 std::to_string(d) + " stages, " + std::to_string(pipeline.numRanks()) + " ranks and " +
                 std::to_string(pipeline.directions()) +
                 " directions. Choose such a number of ranks, or search with --directions"};
  if (Status status = checkUpdates(pipeline, updates, d, "AMDP"); !status)
    return Error{status.error()};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "amdp";
  schedule.updates = updates;
  schedule.staleness = updates > 1 ? 1 : 0;
  std::vector<std::vector<BlockItem>> forwards = blockOrder(pipeline, false), backwards = blockOrder(pipeline, true);
  int blocks = pipeline.microbatches / d, window = blocks / updates;
  for (int rank = 0; rank < d; ++rank) {
    std::vector<Action> &row = schedule.rows[rank];
    std::vector<std::pair<int, int>> hosted; // (stage, direction), in one order on all ranks
    for (int stage = 0; stage < d; ++stage)
      for (int direction = 0; direction < pipeline.directions(); ++direction)
        if (pipeline.rankOf(stage, direction) == rank)
          hosted.push_back({stage, direction});
    int forward = 0, backward = 0, version = 0;
    auto add = [&](ActionKind kind, const std::vector<BlockItem> &order, int &count, int times) {
      for (int i = 0; i < times; ++i, ++count) {
        const BlockItem &item = order[count % d];
        Action action = compute(kind, item.stage, count / d * d + item.microbatch, item.direction);
        action.version = static_cast<int16_t>(version);
        row.push_back(action);
      }
    };
    auto addF = [&](int times) { add(ActionKind::Forward, forwards[rank], forward, times); };
    auto addB = [&](int times) { add(ActionKind::FullBackward, backwards[rank], backward, times); };
    auto addAll = [&](ActionKind kind) {
      for (auto [stage, direction] : hosted)
        if (pipeline.stages[stage].trains)
          row.push_back(update(kind, stage, direction, version));
    };
    // Edge ranks hold a first and a last stage: their last stage's backwards may start at once.
    bool edge = rank % 4 == 0 || rank % 4 == 3;
    for (int block = 0; block < blocks; ++block) {
      bool opens = block > 0 && block % window == 0; // a window: the update of the one before falls here
      if (edge)
        addF(2);
      if (block > 0)
        addB(1);
      if (opens)
        addAll(ActionKind::ReduceGrad);
      if (edge) {
        addF(d - 3);
        addB(1);
        addF(1);
      } else {
        addF(d);
      }
      if (opens) {
        addAll(ActionKind::Step);
        ++version;
      }
      addB(edge ? d - 2 : d - 1);
    }
    addB(1);
    addAll(ActionKind::ReduceGrad);
    addAll(ActionKind::Step);
  }
  return schedule;
}

} // namespace braid::plan
