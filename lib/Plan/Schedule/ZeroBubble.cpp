//===- ZeroBubble.cpp - Schedules that split the backward -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>
#include <array>
#include <deque>

namespace braid::plan {

/// A chain over p ranks, of a stage on each, or of two whose second half is on the ranks in reverse.
static Result<int> ranksOfChain(const Pipeline &pipeline, int chunks, const char *name) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  int ranks = pipeline.numRanks();
  if (pipeline.directions() != 1 || pipeline.numStages() != ranks * chunks)
    return Error{std::string(name) + " needs " + std::to_string(chunks) +
                 " stage(s) on each rank, in one direction; the pipeline has " + std::to_string(pipeline.numStages()) +
                 " stages on " + std::to_string(ranks) + " ranks"};
  std::vector<bool> taken(ranks);
  for (int stage = 0; stage < pipeline.numStages(); ++stage) {
    int rank = pipeline.rankOf(stage), folded = std::min(stage, 2 * ranks - 1 - stage);
    bool fits = chunks == 1 ? !taken[rank] : rank == folded;
    if (!fits)
      return Error{std::string(name) +
                   (chunks == 1 ? " needs one stage on each rank" : " needs its stages on ranks 0 .. p-1, p-1 .. 0") +
                   ", and stage " + std::to_string(stage) + " is on rank " + std::to_string(rank) +
                   "; change the placement or choose 1f1b"};
    taken[rank] = true;
  }
  return ranks;
}

Result<Schedule> zeroBubbleH(const Pipeline &pipeline, int level) {
  Result<int> p = ranksOfChain(pipeline, 1, "ZB-H");
  if (!p)
    return Error{p.error()};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "zb_h" + std::to_string(level);
  int m = pipeline.microbatches;
  for (int stage = 0; stage < *p; ++stage) {
    std::vector<Action> &row = schedule.rows[pipeline.rankOf(stage)];
    int forward = 0, weight = 0;
    for (; forward < std::min(m, level * (*p - 1 - stage)); ++forward)
      row.push_back(compute(ActionKind::Forward, stage, forward));
    for (int input = 0; input < m; ++input) {
      if (forward < m)
        row.push_back(compute(ActionKind::Forward, stage, forward++));
      row.push_back(compute(ActionKind::BackwardInput, stage, input));
      // Later ranks start earlier with their backwards and owe more weight gradients.
      if (input >= level * stage)
        row.push_back(compute(ActionKind::BackwardWeight, stage, weight++));
    }
    for (; weight < m; ++weight)
      row.push_back(compute(ActionKind::BackwardWeight, stage, weight));
  }
  return schedule;
}

Result<Schedule> zeroBubbleV(const Pipeline &pipeline) {
  Result<int> p = ranksOfChain(pipeline, 2, "ZB-V");
  if (!p)
    return Error{p.error()};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "zb_v";
  int m = pipeline.microbatches;
  for (int rank = 0; rank < *p; ++rank) {
    int stages[2] = {rank, 2 * *p - 1 - rank};
    int counts[2][3] = {}; // [chunk][F, I, W]
    const auto F = ActionKind::Forward, I = ActionKind::BackwardInput, W = ActionKind::BackwardWeight;
    auto add = [&](int chunk, std::initializer_list<ActionKind> kinds) {
      for (ActionKind kind : kinds) {
        int which = kind == ActionKind::Forward ? 0 : kind == ActionKind::BackwardInput ? 1 : 2;
        // The rule wants 2p-1 micro-batches; of fewer, what does not exist is left out.
        if (counts[chunk][which] < (kind == W ? counts[chunk][1] : m))
          schedule.rows[rank].push_back(compute(kind, stages[chunk], counts[chunk][which]++));
      }
    };
    for (int i = 0; i < 2 * (*p - rank) - 1; ++i)
      add(0, {F});
    for (int i = 0; i < rank; ++i) {
      add(1, {F});
      add(0, {F});
    }
    for (int i = 0; i < *p - rank; ++i)
      add(1, {F, I, W});
    while (counts[1][0] < counts[0][0] || counts[0][0] < m) {
      if (counts[0][0] < m)
        add(0, {F});
      add(0, {I, W});
      add(1, {F, I, W});
    }
    for (int i = 0; i < rank; ++i) {
      add(0, {I});
      add(1, {I});
    }
    for (int i = 0; i < *p - rank; ++i)
      add(0, {I, W});
    while (counts[1][2] < counts[1][1])
      add(1, {W});
    while (counts[0][2] < counts[0][1])
      add(0, {W});
  }
  return schedule;
}

namespace {
/// Distances between neighbouring ranks of the four sweeps of a micro-batch through a V: chunk 0 forwards, chunk 1
/// forwards, chunk 1 backwards, chunk 0 backwards; and the waits before the third and the fourth sweep.
struct Sweeps {
  int forward0, forward1, backward1, backward0;
  int wait1 = 1, wait0 = 1;

  /// Slots of F0, F1, I1, I0 of micro-batch 0 on a rank.
  std::array<int, 4> slots(int p, int rank) const {
    int f0 = rank * forward0, f1 = (p - 1) * forward0 + 1 + (p - 1 - rank) * forward1;
    int turn = (p - 1) * (forward0 + forward1) + 1; // F1 on rank 0
    int b1 = turn + wait1 + rank * backward1;
    int b0 = turn + wait1 + (p - 1) * backward1 + wait0 + (p - 1 - rank) * backward0;
    return {f0, f1, b1, b0};
  }
};
} // namespace

static constexpr int period = 6; // slots per micro-batch and rank: F, I and W of two chunks

/// The shortest waits for which no two passes of a rank fall into one slot; among these the most even.
static bool chooseWaits(Sweeps &sweeps, int p) {
  for (int total = 2; total <= 4 * period; ++total) {
    for (int wait1 = (total + 1) / 2; wait1 < total; ++wait1)
      for (int swap = 0; swap < 2; ++swap) {
        sweeps.wait1 = swap ? total - wait1 : wait1;
        sweeps.wait0 = total - sweeps.wait1;
        bool free = true;
        for (int rank = 0; rank < p && free; ++rank) {
          int taken = 0;
          for (int slot : sweeps.slots(p, rank)) {
            free &= !(taken >> (slot % period) & 1);
            taken |= 1 << (slot % period);
          }
        }
        if (free)
          return true;
      }
  }
  return false;
}

static Result<Schedule> vPattern(const Pipeline &pipeline, Sweeps sweeps, const char *name) {
  Result<int> p = ranksOfChain(pipeline, 2, name);
  if (!p)
    return Error{p.error()};
  if (!chooseWaits(sweeps, *p))
    return Error{std::string(name) + " has no pattern for " + std::to_string(*p) + " ranks; choose an even number"};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = name;
  int m = pipeline.microbatches;
  for (int rank = 0; rank < *p; ++rank) {
    std::array<int, 4> slots = sweeps.slots(*p, rank);
    const int stages[4] = {rank, 2 * *p - 1 - rank, 2 * *p - 1 - rank, rank};
    std::vector<std::pair<int, Action>> passes; // by slot
    for (int sweep = 0; sweep < 4; ++sweep)
      for (int microbatch = 0; microbatch < m; ++microbatch)
        passes.push_back(
            {slots[sweep] + period * microbatch,
             compute(sweep < 2 ? ActionKind::Forward : ActionKind::BackwardInput, stages[sweep], microbatch)});
    std::sort(passes.begin(), passes.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    // Weight gradients take the slots that are left, oldest first.
    std::deque<Action> owed;
    int slot = 0;
    std::vector<Action> &row = schedule.rows[rank];
    auto payWeight = [&] {
      row.push_back(owed.front());
      owed.pop_front();
    };
    for (const auto &[at, pass] : passes) {
      for (; slot < at; ++slot)
        if (!owed.empty())
          payWeight();
      row.push_back(pass);
      ++slot;
      if (pass.kind == ActionKind::BackwardInput)
        owed.push_back(compute(ActionKind::BackwardWeight, pass.stage, pass.microbatch));
    }
    while (!owed.empty())
      payWeight();
  }
  return schedule;
}

Result<Schedule> vHalf(const Pipeline &pipeline) { return vPattern(pipeline, {1, 2, 1, 2}, "v_half"); }

Result<Schedule> vMin(const Pipeline &pipeline) { return vPattern(pipeline, {1, 1, 1, 1}, "v_min"); }

} // namespace braid::plan
