//===- Search.cpp - Looks for a better schedule --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Search/Search.h"
#include "ListScheduler.h"
#include "SearchLimits.h"
#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>
#include <functional>
#include <random>

namespace braid::plan {

/// Moves single actions within their rows and keeps what is no worse.
static void improveOrder(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options,
                         const SearchLimits &limits, std::mt19937_64 &random, SearchResult &result) {
  auto measure = [&](const Schedule &schedule, double &value) {
    ++result.evaluated;
    Result<Timeline> timeline = simulate(pipeline, schedule, costs);
    if (!timeline)
      return unknown;
    if (options.maxMemory >= 0)
      for (double most : timeline->peakMemory)
        if (most > options.maxMemory + 1e-9)
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
  double value = 0, score = measure(current, value);
  while (!limits.reached(result.evaluated) && result.value > std::max(options.stopAt, result.lowerBound) + 1e-9) {
    std::vector<Action> &row = current.rows[random() % current.rows.size()];
    if (row.size() < 2)
      continue;
    size_t from = random() % row.size(), reach = 1 + random() % 8;
    size_t to = random() % 2 ? std::min(row.size() - 1, from + reach) : from - std::min(from, reach);
    if (from == to)
      continue;
    auto move = [&](size_t a, size_t b) {
      if (a < b)
        std::rotate(row.begin() + a, row.begin() + a + 1, row.begin() + b + 1);
      else
        std::rotate(row.begin() + b, row.begin() + a, row.begin() + a + 1);
    };
    move(from, to);
    double next = measure(current, value);
    if (next > score) {
      move(to, from);
      continue;
    }
    score = next;
    if (value < result.value - 1e-12) {
      result.value = value;
      result.schedule = current;
      result.schedule.name = "search";
      result.origin += result.origin.ends_with("moves") ? "" : ", then moves";
    }
  }
}

Result<SearchResult> searchSchedule(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  if (pipeline.directions() != 1)
    return Error{"this search schedules one direction and the pipeline has " + std::to_string(pipeline.directions()) +
                 "; use searchAmdpBlock for AMDP's"};
  if (costs.stages.size() != 1 && costs.stages.size() != pipeline.stages.size())
    return Error{"there are costs for " + std::to_string(costs.stages.size()) + " stages and the pipeline has " +
                 std::to_string(pipeline.numStages()) + "; give one for each, or one for all"};
  if (costs.duration || costs.activation || costs.bytes || costs.links != Links::Free)
    return Error{"the search takes costs of stages and free links; leave out durations of single actions, sizes of "
                 "single messages and shared links, and simulate what it finds with them"};
  // The list scheduler knows whole micro-batches only: with deferral the search moves the actions of known orders.
  const bool parts =
      std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [](const Stage &stage) { return stage.defers; });
  const SearchLimits limits(options);
  SearchResult result;
  result.value = unknown;
  result.lowerBound = lowerBound(pipeline, costs, options);

  // Known schedules that fit are where the search starts. The order of those that do not may guide one that does.
  std::vector<Guide> guides;
  auto offer = [&](Result<Schedule> schedule) {
    if (!schedule)
      return;
    ++result.evaluated;
    Schedule plain = schedule->computeOnly();
    Result<Timeline> timeline = simulate(pipeline, plain, costs);
    if (!timeline)
      return;
    if (!parts)
      guides.emplace_back(pipeline, plain, *timeline);
    double most = *std::max_element(timeline->peakMemory.begin(), timeline->peakMemory.end());
    double value = options.objective == Objective::Span ? timeline->longestSpan : timeline->makespan;
    if ((options.maxMemory >= 0 && most > options.maxMemory + 1e-9) || value >= result.value)
      return;
    result.value = value;
    result.origin = plain.name;
    result.schedule = std::move(plain);
  };
  const GenerateOptions plain = {.messages = false, .update = false};
  offer(gpipe(pipeline, plain));
  offer(oneFOneB(pipeline, plain));
  offer(interleaved(pipeline));
  offer(zeroBubbleH(pipeline, 1));
  offer(zeroBubbleH(pipeline, 2));
  offer(zeroBubbleV(pipeline));
  offer(vHalf(pipeline));
  offer(vMin(pipeline));

  ListScheduler scheduler(pipeline, costs, options);
  PipelineGraph graph(pipeline);
  int ranks = pipeline.numRanks();
  // Forwards that a rank can start before its first input gradient comes back: with as many there is no wait for it.
  std::vector<double> turn = turnarounds(pipeline, graph, costs), fill(ranks, 1.0);
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    if (double forward = costs.stage(stage).forward; forward > 0)
      fill[pipeline.rankOf(stage)] = std::max(fill[pipeline.rankOf(stage)], turn[stage] / forward);
  constexpr double settingsShare = 0.6; // of the evaluations; the rest goes to single actions
  struct Try {
    std::vector<Setting> settings;
    const Guide *guide = nullptr;
  };
  Try best, current;
  double bestValue = unknown, currentScore = unknown;
  // Keeps the best by value, and goes on from the best by a score that counts all ranks a little.
  auto evaluate = [&](Try next) {
    ++result.evaluated;
    double value = scheduler.run(next.settings, next.guide, nullptr), score = value + scheduler.mean;
    if (value < bestValue) {
      bestValue = value;
      best = next;
    }
    if (value != unknown && score <= currentScore) {
      currentScore = score;
      current = std::move(next);
    }
  };
  auto good = [&] { return std::min(bestValue, result.value) <= std::max(options.stopAt, result.lowerBound) + 1e-9; };
  constexpr int any = 1 << 20;
  // Settings for all ranks: weight gradients in short or long waits only, owed without limit, as in ZB-H1, or at once.
  auto tryAll = [&](const Guide *guide, const std::function<int(int)> &inFlight) {
    for (double patience : {0.0, 0.3, 0.6, 1.0})
      for (int owed : {any, -1, 1}) {
        if (parts || limits.reached(result.evaluated, settingsShare) || good())
          return;
        Try next{{}, guide};
        for (int rank = 0; rank < ranks; ++rank)
          next.settings.push_back({inFlight(rank), patience, owed < 0 ? rank + 1 : owed});
        evaluate(std::move(next));
      }
  };
  auto tryReach = [&](double reach) {
    for (int extra : {0, 1, 2, 4})
      tryAll(nullptr,
             [&](int rank) { return std::max(1, static_cast<int>(reach * std::min(fill[rank], 1e6) + 1e-9) + extra); });
  };
  tryReach(1.0);
  for (const Guide &guide : guides)
    tryAll(&guide, [&](int) { return any; });
  for (double reach : {0.5, 0.75, 0.9, 1.1, 1.25, 1.5})
    tryReach(reach);
  // Then change one or a few ranks' settings at a time and keep what is no worse.
  std::mt19937_64 random(options.seed);
  while (!best.settings.empty() && !limits.reached(result.evaluated, settingsShare) && !good()) {
    Try next = current;
    std::vector<Setting> &settings = next.settings;
    int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      int from = static_cast<int>(random() % ranks), to = random() % 3 ? from : static_cast<int>(random() % ranks);
      int which = static_cast<int>(random() % 3);
      int step = (random() % 2 ? 1 : -1) * (1 + static_cast<int>(random() % 3));
      double patience = static_cast<double>(random() % 11) / 10;
      int owed = random() % 2 ? any : static_cast<int>(random() % (2 * ranks));
      for (int rank = std::min(from, to); rank <= std::max(from, to); ++rank) {
        if (which == 0)
          settings[rank].inFlight = std::max(1, settings[rank].inFlight + step);
        else if (which == 1)
          settings[rank].patience = patience;
        else
          settings[rank].owed = owed;
      }
    }
    evaluate(std::move(next));
  }
  if (bestValue < result.value) {
    result.schedule = emptySchedule(pipeline);
    result.value = scheduler.run(best.settings, best.guide, &result.schedule);
    result.origin = best.guide ? "list scheduler in the order of " + best.guide->name : "list scheduler";
    result.schedule.name = "search";
  }
  if (result.value != unknown)
    improveOrder(pipeline, costs, options, limits, random, result);
  if (result.value == unknown)
    return Error{"no schedule of this pipeline fits into a memory of " + std::to_string(options.maxMemory) +
                 " per rank; allow more, or place fewer stages on a rank"};
  return result;
}

} // namespace braid::plan
