//===- ImproveOrder.cpp - Moves single actions of a schedule --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImproveOrder.h"
#include "ListScheduler.h"
#include "Units.h"

#include <algorithm>

namespace braid::plan {

void splitBackwards(const Pipeline &pipeline, Schedule &schedule) {
  for (std::vector<Action> &row : schedule.rows) {
    std::vector<Action> split;
    for (const Action &action : row) {
      bool inBlock = action.joinsNext || (!split.empty() && split.back().joinsNext);
      split.push_back(action);
      if (action.kind != ActionKind::FullBackward || inBlock || !pipeline.stages[action.stage].trains)
        continue;
      split.back().kind = ActionKind::BackwardInput;
      split.push_back(action);
      split.back().kind = ActionKind::BackwardWeight;
    }
    row = std::move(split);
  }
}

void improveOrder(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options,
                  const SearchLimits &limits, double share, std::mt19937_64 &random, SearchResult &result) {
  auto measure = [&](const Schedule &schedule, double &value) {
    ++result.evaluated;
    Result<Timeline> timeline = simulate(pipeline, schedule, costs);
    if (!timeline)
      return unknown;
    if (options.maxMemory >= 0)
      for (double most : timeline->peakMemory)
        if (!fitsMemory(most, options.maxMemory))
          return unknown;
    value = options.objective == Objective::Span ? timeline->longestSpan : timeline->makespan;
    // Starts count a little: what runs earlier makes room.
    double sum = 0;
    int64_t count = 0;
    for (const std::vector<double> &starts : timeline->start)
      for (double start : starts) {
        sum += start;
        ++count;
      }
    return value + 1e-3 * sum / std::max<int64_t>(count, 1);
  };
  Schedule current = result.schedule;
  splitBackwards(pipeline, current);
  double value = 0, score = unknown;
  auto keepIfBetter = [&] {
    double next = measure(current, value);
    if (next > score || next == unknown)
      return false;
    score = next;
    if (value < result.value - 1e-12) {
      result.value = value;
      result.schedule = current;
      result.schedule.name = "search";
      result.origin += result.origin.ends_with("moves") ? "" : ", then moves";
    }
    return true;
  };
  keepIfBetter();
  struct Move {
    std::vector<Action> *row;
    size_t from, to;
  };
  auto apply = [](std::vector<Action> &row, size_t from, size_t to) {
    if (from < to)
      std::rotate(row.begin() + from, row.begin() + from + 1, row.begin() + to + 1);
    else
      std::rotate(row.begin() + to, row.begin() + from, row.begin() + from + 1);
  };
  while (!limits.reached(result.evaluated, share) &&
         result.value > std::max(options.stopAt, result.lowerBound) + 1e-9) {
    std::vector<Move> moves;
    for (int count = random() % 4 ? 1 : 2; count > 0; --count) {
      std::vector<Action> &row = current.rows[random() % current.rows.size()];
      if (row.size() < 2)
        continue;
      size_t from = random() % row.size(), reach = 1 + random() % 8;
      size_t to = random() % 2 ? std::min(row.size() - 1, from + reach) : from - std::min(from, reach);
      if (from == to)
        continue;
      moves.push_back({&row, from, to});
      apply(row, from, to);
    }
    if (moves.empty() || keepIfBetter())
      continue;
    for (auto move = moves.rbegin(); move != moves.rend(); ++move)
      apply(*move->row, move->to, move->from);
  }
}

} // namespace braid::plan
