//===- Bidirectional.cpp - Chimera, DualPipe and DualPipeV ----------------===//
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

/// Half the micro-batches, after checking that stage s lives on ranks s and p-1-s.
static Result<int> checkMirrored(const Pipeline &pipeline, const char *name) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  int p = pipeline.numRanks();
  bool fits = pipeline.directions() == 2 && pipeline.numStages() == p && p % 2 == 0;
  for (int stage = 0; fits && stage < p; ++stage)
    fits = pipeline.rankOf(stage, 0) == stage && pipeline.rankOf(stage, 1) == p - 1 - stage;
  if (!fits)
    return Error{std::string(name) + " needs an even number p of ranks and two directions, stage s on rank s and on "
                                     "rank p-1-s"};
  if (pipeline.microbatches % 2)
    return Error{std::string(name) + " divides its micro-batches between two directions, and " +
                 std::to_string(pipeline.microbatches) + " is odd"};
  return pipeline.microbatches / 2;
}

Result<Schedule> chimera(const Pipeline &pipeline) {
  Result<int> half = checkMirrored(pipeline, "Chimera");
  if (!half)
    return Error{half.error()};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "chimera";
  int p = pipeline.numRanks();
  for (int rank = 0; rank < p; ++rank) {
    // Unit time: micro-batch i of a unit enters every direction at slot 2i and moves one rank per slot, forwards and
    // back. With p even the two directions, and neighbouring units, take slots of opposite parity.
    std::vector<std::pair<int, Action>> slots;
    for (int direction = 0; direction < 2; ++direction) {
      int stage = direction == 0 ? rank : p - 1 - rank;
      for (int microbatch = 0; microbatch < *half; ++microbatch) {
        int start = 2 * p * (microbatch / (p / 2)) + 2 * (microbatch % (p / 2));
        slots.push_back({start + stage, compute(ActionKind::Forward, stage, microbatch, direction)});
        slots.push_back({start + 2 * p - 1 - stage, compute(ActionKind::FullBackward, stage, microbatch, direction)});
      }
    }
    std::stable_sort(slots.begin(), slots.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[slot, action] : slots)
      schedule.rows[rank].push_back(action);
  }
  return schedule;
}

namespace {
/// One rank's row of DualPipe: two streams, `near` (starts here or close by) and `far` (comes back through here). The
/// row goes through eight phases whose lengths depend on the rank's distance from the end where `near` starts.
class DualRow {
public:
  /// `half` ranks fold onto each other; `distance` counts from the outer one. Stream k runs stages[k] in directions[k].
  DualRow(int half, int distance, int count, std::array<int, 2> stages, std::array<int, 2> directions,
          std::vector<Action> &row)
      : half(half), distance(distance), count(count), stages(stages), directions(directions), row(row) {}

  void build() {
    const int inner = half - distance - 1; // ranks further in
    repeat(2 * inner, [&](int) { forward(near); });
    repeat(distance + 1, [&](int) {
      forward(near);
      forward(far);
    });
    // Fill the wait for the far stream's next forward with its split backward.
    repeat(inner, [&](int) {
      splitBackward(far);
      weight();
      forward(far);
    });
    repeat(count - 2 * half + distance + 1, [&](int i) {
      if (i == 0 && inner == 0) {
        forward(near);
        backward(far);
      } else {
        overlap(near, far);
      }
      overlap(far, near);
    });
    repeat(inner, [&](int) {
      backward(far);
      overlap(far, near);
    });
    // Drain: from halfway on the backwards are split, so that input gradients leave early.
    bool split = false;
    repeat(distance + 1, [&](int i) {
      bool halfway = i == (distance + 1) / 2;
      split |= halfway && distance % 2 == 1;
      drain(far, split);
      split |= halfway;
      drain(near, split);
    });
    repeat(inner, [&](int) {
      weight();
      splitBackward(near);
    });
    while (!owed.empty())
      weight();
  }

private:
  static constexpr int near = 0, far = 1;

  template <typename Body> static void repeat(int times, Body body) {
    for (int i = 0; i < times; ++i)
      body(i);
  }
  void add(ActionKind kind, int stream, int microbatch) {
    row.push_back(compute(kind, stages[stream], microbatch, directions[stream]));
  }
  void forward(int stream) { add(ActionKind::Forward, stream, forwards[stream]++); }
  void backward(int stream) { add(ActionKind::FullBackward, stream, backwards[stream]++); }
  void splitBackward(int stream) {
    add(ActionKind::BackwardInput, stream, backwards[stream]);
    owed.push_back(compute(ActionKind::BackwardWeight, stages[stream], backwards[stream]++, directions[stream]));
  }
  void drain(int stream, bool split) { split ? splitBackward(stream) : backward(stream); }
  void overlap(int forwardStream, int backwardStream) {
    forward(forwardStream);
    row.back().joinsNext = true;
    backward(backwardStream);
  }
  void weight() {
    if (owed.empty())
      return;
    row.push_back(owed.front());
    owed.pop_front();
  }

  int half, distance, count;
  std::array<int, 2> stages, directions;
  std::vector<Action> &row;
  int forwards[2] = {}, backwards[2] = {};
  std::deque<Action> owed; // weight gradients
};
} // namespace

Result<Schedule> dualPipe(const Pipeline &pipeline) {
  Result<int> half = checkMirrored(pipeline, "DualPipe");
  if (!half)
    return Error{half.error()};
  int p = pipeline.numRanks();
  if (*half < p)
    return Error{"DualPipe needs at least two micro-batches per rank: " + std::to_string(2 * p) + " and has " +
                 std::to_string(pipeline.microbatches)};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "dualpipe";
  for (int rank = 0; rank < p; ++rank) {
    // Ranks of the second half start the other direction.
    bool second = rank >= p / 2;
    std::array<int, 2> stages = {rank, p - 1 - rank}, directions = {0, 1};
    if (second) {
      std::swap(stages[0], stages[1]);
      std::swap(directions[0], directions[1]);
    }
    DualRow(p / 2, std::min(rank, p - 1 - rank), *half, stages, directions, schedule.rows[rank]).build();
  }
  return schedule;
}

Result<Schedule> dualPipeV(const Pipeline &pipeline) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  int p = pipeline.numRanks(), m = pipeline.microbatches;
  bool fits = pipeline.directions() == 1 && pipeline.numStages() == 2 * p;
  for (int stage = 0; fits && stage < 2 * p; ++stage)
    fits = pipeline.rankOf(stage) == std::min(stage, 2 * p - 1 - stage);
  if (!fits)
    return Error{"DualPipeV needs two stages on each of p ranks: s on rank s, and 2p-1-s on rank s"};
  if (m < 2 * p)
    return Error{"DualPipeV needs at least two micro-batches per rank: " + std::to_string(2 * p) + " and has " +
                 std::to_string(m)};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "dualpipev";
  for (int rank = 0; rank < p; ++rank)
    DualRow(p, rank, m, {rank, 2 * p - 1 - rank}, {0, 0}, schedule.rows[rank]).build();
  return schedule;
}

} // namespace braid::plan
