//===- Search.cpp - Looks for a better schedule --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Search/Search.h"
#include "ImproveOrder.h"
#include "ListScheduler.h"
#include "SearchLimits.h"
#include "Units.h"
#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Support/Text.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <algorithm>
#include <functional>
#include <random>

namespace braid::plan {

namespace {
constexpr double tiny = 1e-9;
constexpr int any = 1 << 20; // forwards in flight, or weight gradients owed: no limit
/// Of the evaluations, for the list scheduler's settings; the rest goes to single actions.
constexpr double settingsShare = 0.6;

class ScheduleSearch {
public:
  ScheduleSearch(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options)
      : pipeline(pipeline), costs(costs), options(options), limits(options), scheduler(pipeline, costs, options),
        random(options.seed), ranks(pipeline.numRanks()) {
    parts =
        std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [](const Stage &stage) { return stage.defers; });
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      if (scheduler.chainOf(stage) == stage)
        chains.push_back(stage);
    result.value = unknown;
    result.lowerBound = lowerBound(pipeline, costs, options);
  }

  Result<SearchResult> run(const std::vector<Schedule> &known) {
    offerKnown(known);
    if (!parts) {
      addGuides();
      trySettings();
      changeSettings();
    }
    moveActions();
    if (result.value == unknown && !parts)
      offer(oneByOne(0));
    if (result.value == unknown)
      return Error{"no schedule of this pipeline fits into a memory of " + decimal(options.maxMemory) +
                   " per rank; allow more, or place fewer stages on a rank"};
    return std::move(result);
  }

private:
  struct Try {
    std::vector<Setting> settings; // of each rank
    const Guide *guide = nullptr;
    int firstChain = 0;
  };

  bool isGood(double value) const { return value <= std::max(options.stopAt, result.lowerBound) + tiny; }
  bool settingsAreDone() const {
    return limits.reached(result.evaluated, settingsShare) ||
           isGood(std::min({bestValue[0], bestValue[1], result.value}));
  }

  /// Known schedules that fit are where the search starts.
  void offerKnown(const std::vector<Schedule> &known) {
    const GenerateOptions plain = {.messages = false, .update = false};
    for (const Schedule &schedule : known)
      offer(schedule);
    offer(gpipe(pipeline, plain));
    offer(oneFOneB(pipeline, plain));
    offer(interleaved(pipeline));
    offer(zeroBubbleH(pipeline, 1));
    offer(zeroBubbleH(pipeline, 2));
    offer(zeroBubbleV(pipeline));
    offer(vHalf(pipeline));
    offer(vMin(pipeline));
  }

  /// The order of a schedule that does not fit may guide one that does.
  void offer(Result<Schedule> schedule) {
    if (!schedule)
      return;
    ++result.evaluated;
    Schedule plain = schedule->computeOnly();
    dropIdleBackwards(pipeline, plain);
    if (!verify(pipeline, plain)) // a chain's order lacks parts that are deferred
      return;
    Result<Timeline> timeline = simulate(pipeline, plain, costs);
    if (!timeline)
      return;
    if (!parts)
      guides.emplace_back(pipeline, plain, *timeline);
    double most = *std::max_element(timeline->peakMemory.begin(), timeline->peakMemory.end());
    double value = options.objective == Objective::Span ? timeline->longestSpan : timeline->makespan;
    if ((options.maxMemory >= 0 && !fitsMemory(most, options.maxMemory)) || value >= result.value)
      return;
    result.value = value;
    result.origin = plain.name;
    result.schedule = std::move(plain);
  }

  /// Each micro-batch passes the chains one after the other, `first` and those behind it before the others, and nothing
  /// runs beside it: the least memory.
  Schedule oneByOne(int first) const {
    Schedule schedule = emptySchedule(pipeline);
    schedule.name = "one by one";
    const int count = pipeline.numStages();
    std::vector<std::vector<int>> stages(count); // of a chain
    for (int stage = 0; stage < count; ++stage)
      stages[scheduler.chainOf(stage)].push_back(stage);
    auto add = [&](ActionKind kind, int stage, int microbatch) {
      schedule.rows[pipeline.rankOf(stage)].push_back(compute(kind, stage, microbatch));
    };
    for (int microbatch = 0; microbatch < pipeline.microbatches; ++microbatch)
      for (int step = 0; step < count; ++step) {
        const std::vector<int> &chain = stages[(first + step) % count];
        for (int stage : chain)
          add(ActionKind::Forward, stage, microbatch);
        for (auto stage = chain.rbegin(); stage != chain.rend(); ++stage)
          if (pipeline.stages[*stage].backward)
            add(ActionKind::FullBackward, *stage, microbatch);
      }
    splitBackwards(pipeline, schedule);
    return schedule;
  }

  /// Where several chains share ranks, the order that needs the least memory is a guide too.
  void addGuides() {
    constexpr size_t mostFirst = 4;
    for (size_t at = 0; at < std::min(chains.size(), mostFirst) && chains.size() > 1; ++at) {
      Schedule schedule = oneByOne(chains[at]);
      if (Result<Timeline> timeline = simulate(pipeline, schedule, costs))
        guides.emplace_back(pipeline, schedule, *timeline);
    }
  }

  /// Keeps the best by value, and goes on from the best by a score that counts all ranks a little.
  void evaluate(Try next) {
    ++result.evaluated;
    double value = scheduler.run(next.settings, next.guide, next.firstChain, nullptr), score = value + scheduler.mean;
    if (const bool guided = next.guide; value < bestValue[guided]) {
      bestValue[guided] = value;
      best[guided] = next;
    }
    if (value != unknown && score <= currentScore) {
      currentScore = score;
      current = std::move(next);
    }
  }

  /// Settings for all ranks: weight gradients in short or long waits only, owed without limit, as in ZB-H1, or at once.
  void tryAll(const Guide *guide, const std::function<int(int)> &inFlight) {
    for (double patience : {0.0, 0.3, 0.6, 1.0})
      for (int owed : {any, -1, 1}) {
        if (settingsAreDone())
          return;
        Try next{{}, guide, 0};
        for (int rank = 0; rank < ranks; ++rank)
          next.settings.push_back({inFlight(rank), patience, owed < 0 ? rank + 1 : owed});
        evaluate(std::move(next));
      }
  }

  /// As many forwards in flight as a rank can start before its first input gradient comes back, so that it need not
  /// wait for it; then fewer, and more.
  void trySettings() {
    PipelineGraph graph(pipeline);
    std::vector<double> turn = turnarounds(pipeline, graph, costs), fill(ranks, 1.0);
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      if (double forward = costs.stage(stage).forward; forward > 0)
        fill[pipeline.rankOf(stage)] = std::max(fill[pipeline.rankOf(stage)], turn[stage] / forward);
    auto tryReach = [&](double reach) {
      for (int extra : {0, 1, 2, 4})
        tryAll(nullptr, [&](int rank) {
          return std::max(1, static_cast<int>(reach * std::min(fill[rank], 1e6) + tiny) + extra);
        });
    };
    tryReach(1.0);
    for (const Guide &guide : guides)
      tryAll(&guide, [](int) { return any; });
    for (double reach : {0.5, 0.75, 0.9, 1.1, 1.25, 1.5})
      tryReach(reach);
  }

  /// Changes one or a few ranks' settings at a time and keeps what is no worse.
  void changeSettings() {
    while (!current.settings.empty() && !settingsAreDone()) {
      Try next = current;
      std::vector<Setting> &settings = next.settings;
      int changes = 1 + static_cast<int>(random() % 3);
      if (chains.size() > 1 && random() % 4 == 0) {
        next.firstChain = chains[random() % chains.size()];
        next.guide = nullptr; // it says which chain goes first
      }
      for (int change = 0; change < changes; ++change) {
        int from = static_cast<int>(random() % ranks), to = random() % 3 ? from : static_cast<int>(random() % ranks);
        int which = static_cast<int>(random() % 3);
        int sign = random() % 2 ? 1 : -1, step = sign * (1 + static_cast<int>(random() % 3));
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
  }

  /// Starts from the two best of the known schedule, the list scheduler's and its guided one.
  void moveActions() {
    std::vector<SearchResult> starts{result};
    for (int guided : {0, 1})
      if (const Try &from = best[guided]; bestValue[guided] != unknown) {
        SearchResult &start = starts.emplace_back(result);
        start.schedule = emptySchedule(pipeline);
        start.value = scheduler.run(from.settings, from.guide, from.firstChain, &start.schedule);
        start.origin = guided ? "list scheduler in the order of " + from.guide->name : "list scheduler";
        start.schedule.name = "search";
      }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const SearchResult &a, const SearchResult &b) { return a.value < b.value; });
    int64_t evaluated = result.evaluated;
    result = starts[0];
    double share = settingsShare + (1 - settingsShare) / 2;
    for (size_t at = 0; at < std::min<size_t>(starts.size(), 2) && starts[at].value != unknown; ++at, share = 1) {
      if (isGood(result.value))
        break;
      starts[at].evaluated = evaluated;
      improveOrder(pipeline, costs, options, limits, starts.size() > 1 ? share : 1, random, starts[at]);
      evaluated = starts[at].evaluated;
      if (starts[at].value < result.value)
        result = std::move(starts[at]);
    }
    result.evaluated = evaluated;
  }

  const Pipeline &pipeline;
  const CostModel &costs;
  const SearchOptions &options;
  const SearchLimits limits;
  ListScheduler scheduler;
  std::mt19937_64 random;
  int ranks;
  std::vector<int> chains; // that do not join, by their first stages
  /// The list scheduler knows whole micro-batches only: with deferral the search moves the actions of known orders.
  bool parts;
  std::vector<Guide> guides;
  Try best[2], current; // best: without a guide, with one
  double bestValue[2] = {unknown, unknown}, currentScore = unknown;
  SearchResult result;
};
} // namespace

Result<SearchResult> searchSchedule(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options,
                                    const std::vector<Schedule> &known) {
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
  const double unit = timeUnit(costs);
  const CostModel scaled = inUnits(costs, unit);
  SearchOptions limits = options;
  limits.stopAt /= unit;
  Result<SearchResult> result = ScheduleSearch(pipeline, scaled, limits).run(known);
  if (result) {
    result->value *= unit;
    result->lowerBound *= unit;
  }
  return result;
}

} // namespace braid::plan
