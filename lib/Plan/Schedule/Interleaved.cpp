//===- Interleaved.cpp - Several chunks per rank --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>

namespace braid::plan {

/// Chunks per rank of a chain whose stage s lives on rank s mod p.
static Result<int> chunksOf(const Pipeline &pipeline, const char *name) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  int ranks = pipeline.numRanks();
  bool fits = pipeline.directions() == 1 && pipeline.numStages() % ranks == 0;
  for (int stage = 0; fits && stage < pipeline.numStages(); ++stage)
    fits = pipeline.rankOf(stage) == stage % ranks;
  if (!fits)
    return Error{std::string(name) + " needs stage s on rank s mod p, the same number of stages on each of p ranks; "
                                     "change the placement or choose 1f1b"};
  return pipeline.numStages() / ranks;
}

Result<Schedule> interleaved(const Pipeline &pipeline) {
  Result<int> chunks = chunksOf(pipeline, "interleaved 1F1B");
  if (!chunks)
    return Error{chunks.error()};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "interleaved";
  int p = pipeline.numRanks(), v = *chunks, m = pipeline.microbatches;
  // Groups of micro-batches go through all chunks, each of p or more: the first of a smaller one would wait in the last
  // chunk for backwards that wait for its forward. Where p does not divide m, groups are as even as they go, the larger
  // ones first. (torch.distributed.pipelining has equal ones only.)
  int groups = std::max(1, m / p), size = m / groups, larger = m % groups, largest = size + (larger > 0);
  for (int rank = 0; rank < p; ++rank) {
    std::vector<Action> forwards, backwards;
    for (int group = 0, first = 0, end = 0; group < groups; ++group, first = end) {
      end = first + size + (group < larger);
      for (int chunk = 0; chunk < v; ++chunk)
        for (int microbatch = first; microbatch < end; ++microbatch) {
          forwards.push_back(compute(ActionKind::Forward, chunk * p + rank, microbatch));
          backwards.push_back(compute(ActionKind::FullBackward, (v - 1 - chunk) * p + rank, microbatch));
        }
    }
    size_t ahead = std::min<size_t>(forwards.size(), 2 * (p - 1 - rank) + (v - 1) * std::max(p, largest)), forward = 0;
    std::vector<Action> &row = schedule.rows[rank];
    while (forward < ahead)
      row.push_back(forwards[forward++]);
    for (const Action &backward : backwards) {
      if (forward < forwards.size())
        row.push_back(forwards[forward++]);
      row.push_back(backward);
    }
  }
  return schedule;
}

Result<Schedule> loopedBfs(const Pipeline &pipeline) {
  Result<int> chunks = chunksOf(pipeline, "looped BFS");
  if (!chunks)
    return Error{chunks.error()};
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "looped_bfs";
  int p = pipeline.numRanks(), m = pipeline.microbatches;
  for (int rank = 0; rank < p; ++rank) {
    std::vector<Action> &row = schedule.rows[rank];
    for (int stage = rank; stage < pipeline.numStages(); stage += p)
      for (int microbatch = 0; microbatch < m; ++microbatch)
        row.push_back(compute(ActionKind::Forward, stage, microbatch));
    for (int stage = pipeline.numStages() - p + rank; stage >= 0; stage -= p)
      for (int microbatch = m - 1; microbatch >= 0; --microbatch)
        row.push_back(compute(ActionKind::FullBackward, stage, microbatch));
  }
  return schedule;
}

} // namespace braid::plan
