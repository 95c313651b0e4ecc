//===- Search.cpp - Looks for a better schedule ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Search/Search.h"
#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <tuple>

namespace braid::plan {

namespace {
constexpr double unknown = std::numeric_limits<double>::infinity();

/// What a rank prefers when it has a choice.
struct Setting {
  int inFlight;    // forwards that may run before their input gradients, per stage of the rank
  double patience; // share of a weight gradient's duration that must be free before one is started in a wait
  int owed;        // weight gradients that may wait before they come first
};

/// Builds a schedule in time order. A free rank takes: an input gradient or a forward, whichever its in-flight target
/// asks for, of its latest stage first; else a weight gradient, if the wait for the next known arrival is long enough;
/// else it waits. Memory is never exceeded.
class ListScheduler {
public:
  ListScheduler(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options)
      : pipeline(pipeline), costs(costs), options(options), graph(pipeline), m(pipeline.microbatches),
        hosted(pipeline.numRanks()) {
    for (int stage = pipeline.numStages() - 1; stage >= 0; --stage)
      hosted[pipeline.rankOf(stage)].push_back(stage); // later stages first
    // Stages that edges join belong to one chain; directions are chains of their own.
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      chain.push_back(graph.producers[stage].empty() ? stage : chain[graph.producers[stage].front()]);
    for (std::vector<int> &stages : hosted)
      for (int stage : stages)
        severalChains |= chain[stage] != chain[stages.front()];
  }

  /// The objective's value, or `unknown` if this setting gets stuck. `schedule` may be nullptr.
  double run(const std::vector<Setting> &settings, Schedule *schedule) {
    const int stages = pipeline.numStages(), ranks = pipeline.numRanks();
    forwardEnd.assign(size_t(stages) * m, unknown);
    inputEnd.assign(size_t(stages) * m, unknown);
    nextForward.assign(stages, 0);
    nextInput.assign(stages, 0);
    nextWeight.assign(stages, 0);
    memory.assign(ranks, 0.0);
    freeAt.assign(ranks, 0.0);
    first.assign(ranks, unknown);
    last.assign(ranks, 0.0);
    releases.assign(ranks, {});
    wakes = {};
    for (int rank = 0; rank < ranks; ++rank)
      wakes.push({0.0, rank});
    int64_t left = 0;
    for (const Stage &stage : pipeline.stages)
      left += int64_t(m) * (1 + (stage.backward ? 1 + stage.trains : 0));
    while (!wakes.empty() && left > 0) {
      auto [now, rank] = wakes.top();
      wakes.pop();
      while (!wakes.empty() && wakes.top() == std::pair(now, rank))
        wakes.pop();
      if (freeAt[rank] > now)
        continue; // its own end wakes it
      Action action;
      if (!choose(rank, now, settings[rank], action))
        continue;
      start(rank, now, action);
      --left;
      if (schedule)
        schedule->rows[rank].push_back(action);
    }
    if (left > 0)
      return unknown;
    double value = 0, sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
      if (first[rank] != unknown) {
        double own = options.objective == Objective::Span ? last[rank] - first[rank] : last[rank];
        value = std::max(value, own);
        sum += own;
      }
    mean = sum / ranks;
    return value;
  }

  /// Of the last run: the mean over ranks of what the objective takes the maximum of. It shows progress where the
  /// maximum does not move.
  double mean = 0;

private:
  size_t slot(int stage, int microbatch) const { return size_t(stage) * m + microbatch; }
  double kept(int stage) const {
    const StageCost &cost = costs.stage(stage);
    return !pipeline.stages[stage].trains ? 0 : cost.kept < 0 ? cost.activation : cost.kept;
  }
  double across(int from, int to, bool forward) const {
    return pipeline.rankOf(from) == pipeline.rankOf(to)
               ? 0
               : costs.latency + costs.timePerByte * (forward ? costs.forwardBytes : costs.backwardBytes);
  }

  double forwardReady(int stage) const {
    double at = 0;
    for (int producer : graph.producers[stage])
      at = std::max(at, forwardEnd[slot(producer, nextForward[stage])] + across(producer, stage, true));
    return at;
  }
  double inputReady(int stage) const {
    double at = forwardEnd[slot(stage, nextInput[stage])];
    for (int consumer : graph.gradientConsumers[stage])
      at = std::max(at, inputEnd[slot(consumer, nextInput[stage])] + across(consumer, stage, false));
    return at;
  }

  bool choose(int rank, double now, const Setting &setting, Action &action) {
    constexpr double tiny = 1e-9;
    // Memory of backwards that have ended by now.
    auto &pending = releases[rank];
    while (!pending.empty() && pending.front().first <= now + tiny) {
      memory[rank] -= pending.front().second;
      pending.pop_front();
    }
    double arrival = unknown;
    int owed = 0, oldest = -1;
    int best = -1;
    bool bestForward = false, blocked = false;
    // Of several chains the one that is behind comes first, or they would drift apart.
    std::vector<int> &order = hosted[rank];
    if (severalChains) {
      auto behind = [&](int stage) {
        int least = m;
        for (int other : order)
          if (chain[other] == chain[stage])
            least = std::min(least, nextInput[other]);
        return std::tuple(least, chain[stage], -stage);
      };
      std::vector<std::tuple<int, int, int>> sorted;
      for (int stage : order)
        sorted.push_back(behind(stage));
      std::sort(sorted.begin(), sorted.end());
      for (size_t i = 0; i < order.size(); ++i)
        order[i] = -std::get<2>(sorted[i]);
    }
    for (int stage : order) {
      const Stage &info = pipeline.stages[stage];
      bool inputLeft = info.backward && nextInput[stage] < m && nextInput[stage] < nextForward[stage];
      bool forwardLeft = nextForward[stage] < m;
      double inputAt = inputLeft ? inputReady(stage) : unknown, forwardAt = forwardLeft ? forwardReady(stage) : unknown;
      int inFlight = nextForward[stage] - nextInput[stage];
      // Room is kept for one forward of each later stage of this chain, and of each other chain that has none in
      // flight, or the pipeline could not go on.
      double reserve = 0;
      bool earliest = true;
      for (int other : order) {
        bool same = chain[other] == chain[stage];
        earliest &= !same || other >= stage;
        bool needed = same ? other > stage : nextForward[other] == nextInput[other];
        if (other != stage && needed && nextForward[other] < m)
          reserve += costs.stage(other).activation;
      }
      bool fits = !info.backward || options.maxMemory < 0 ||
                  memory[rank] + costs.stage(stage).activation + reserve <= options.maxMemory + tiny;
      bool wanted = !info.backward || inFlight < setting.inFlight || !earliest;
      if (best < 0) {
        bool forwardNow = forwardAt <= now + tiny && wanted;
        if (forwardNow && fits) {
          best = stage;
          bestForward = true;
        } else if (inputAt <= now + tiny) {
          best = stage;
          bestForward = false;
        }
        blocked |= forwardNow && !fits;
      }
      if (inputAt > now + tiny)
        arrival = std::min(arrival, inputAt);
      if (forwardAt > now + tiny && wanted && fits)
        arrival = std::min(arrival, forwardAt);
      if (info.backward && info.trains) {
        owed += nextInput[stage] - nextWeight[stage];
        if (nextWeight[stage] < nextInput[stage] && inputEnd[slot(stage, nextWeight[stage])] <= now + tiny &&
            (oldest < 0 || inputEnd[slot(stage, nextWeight[stage])] < inputEnd[slot(oldest, nextWeight[oldest])]))
          oldest = stage;
      }
    }
    bool weightFirst = oldest >= 0 && (owed > setting.owed || (blocked && (best < 0 || bestForward == false)));
    if (best >= 0 && !(weightFirst && oldest >= 0)) {
      action = compute(bestForward ? ActionKind::Forward : ActionKind::BackwardInput, best,
                       bestForward ? nextForward[best] : nextInput[best]);
      return true;
    }
    if (oldest >= 0 &&
        (weightFirst || arrival == unknown || arrival - now >= setting.patience * costs.stage(oldest).weight - tiny)) {
      action = compute(ActionKind::BackwardWeight, oldest, nextWeight[oldest]);
      return true;
    }
    if (arrival != unknown)
      wakes.push({arrival, rank});
    return false;
  }

  void start(int rank, double now, const Action &action) {
    const StageCost &cost = costs.stage(action.stage);
    double end = now;
    switch (action.kind) {
    case ActionKind::Forward:
      end += cost.forward;
      forwardEnd[slot(action.stage, nextForward[action.stage]++)] = end;
      if (pipeline.stages[action.stage].backward)
        memory[rank] += cost.activation;
      for (int consumer : graph.consumers[action.stage])
        wakes.push({end + across(action.stage, consumer, true), pipeline.rankOf(consumer)});
      break;
    case ActionKind::BackwardInput:
      end += cost.input;
      inputEnd[slot(action.stage, nextInput[action.stage]++)] = end;
      releases[rank].push_back({end, cost.activation - kept(action.stage)});
      for (int producer : graph.gradientProducers[action.stage])
        wakes.push({end + across(action.stage, producer, false), pipeline.rankOf(producer)});
      break;
    default:
      end += cost.weight;
      ++nextWeight[action.stage];
      releases[rank].push_back({end, kept(action.stage)});
    }
    first[rank] = std::min(first[rank], now);
    last[rank] = end;
    freeAt[rank] = end;
    wakes.push({end, rank});
  }

  const Pipeline &pipeline;
  const CostModel &costs;
  const SearchOptions &options;
  PipelineGraph graph;
  int m;
  std::vector<std::vector<int>> hosted;
  std::vector<int> chain; // of each stage: its first stage
  bool severalChains = false;
  std::vector<double> forwardEnd, inputEnd, memory, freeAt, first, last;
  std::vector<int> nextForward, nextInput, nextWeight;
  std::vector<std::deque<std::pair<double, double>>> releases;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> wakes;
};

class Clock {
public:
  explicit Clock(const SearchOptions &options) : options(options), begin(std::chrono::steady_clock::now()) {}
  /// Whether this share of the time, or of the evaluations, is used up.
  bool over(int64_t evaluated, double share = 1) const {
    if (options.maxEvaluations >= 0)
      return evaluated >= share * options.maxEvaluations;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >= share * options.seconds;
  }

private:
  const SearchOptions &options;
  std::chrono::steady_clock::time_point begin;
};
} // namespace

/// From the start of a stage's forward to the start of its input gradient of the same micro-batch, at the earliest.
static std::vector<double> turnarounds(const Pipeline &pipeline, const PipelineGraph &graph, const CostModel &costs) {
  auto across = [&](int a, int b, bool forward) {
    return pipeline.rankOf(a) == pipeline.rankOf(b)
               ? 0.0
               : costs.latency + costs.timePerByte * (forward ? costs.forwardBytes : costs.backwardBytes);
  };
  std::vector<double> turn(pipeline.numStages());
  for (int stage = pipeline.numStages() - 1; stage >= 0; --stage) {
    turn[stage] = costs.stage(stage).forward;
    for (int consumer : graph.gradientConsumers[stage])
      turn[stage] = std::max(turn[stage], costs.stage(stage).forward + across(stage, consumer, true) + turn[consumer] +
                                              costs.stage(consumer).input + across(consumer, stage, false));
  }
  return turn;
}

double lowerBound(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options) {
  PipelineGraph graph(pipeline);
  int count = pipeline.numStages(), ranks = pipeline.numRanks();
  double m = pipeline.microbatches;
  auto across = [&](int a, int b, bool forward) {
    return pipeline.rankOf(a) == pipeline.rankOf(b)
               ? 0.0
               : costs.latency + costs.timePerByte * (forward ? costs.forwardBytes : costs.backwardBytes);
  };
  // head: earliest start of a stage. tail: from the end of its input gradient to the end of the last stage that this
  // one leads to.
  std::vector<double> head(count, 0.0), turn = turnarounds(pipeline, graph, costs), tail(count, 0.0);
  for (int stage = 0; stage < count; ++stage) {
    for (int producer : graph.producers[stage])
      head[stage] =
          std::max(head[stage], head[producer] + costs.stage(producer).forward + across(producer, stage, true));
    for (int producer : graph.gradientProducers[stage])
      tail[stage] =
          std::max(tail[stage],
                   across(stage, producer, false) + costs.stage(producer).input +
                       std::max(tail[producer], pipeline.stages[producer].trains ? costs.stage(producer).weight : 0.0));
  }
  double bound = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double work = 0, early = unknown, late = unknown, beforeLast = 0, turnLeast = unknown, forwards = 0,
           smallest = unknown;
    for (int stage = 0; stage < count; ++stage) {
      if (pipeline.rankOf(stage) != rank)
        continue;
      const StageCost &cost = costs.stage(stage);
      const Stage &info = pipeline.stages[stage];
      double own = m * (cost.forward + (info.backward ? cost.input + (info.trains ? cost.weight : 0) : 0));
      work += own;
      beforeLast += m * (cost.forward + (info.backward ? cost.input : 0));
      early = std::min(early, head[stage]);
      late = std::min(late, info.backward ? tail[stage] : 0.0);
      if (info.backward) {
        turnLeast = std::min(turnLeast, turn[stage]);
        forwards = std::max(forwards, cost.forward);
        smallest = std::min(smallest, cost.activation);
      }
    }
    if (early == unknown)
      continue;
    double start = options.objective == Objective::Makespan ? early : 0;
    bound = std::max(bound, start + work);
    // All forwards and input gradients of the rank precede its last input gradient's way back.
    if (options.objective == Objective::Makespan)
      bound = std::max(bound, start + beforeLast + late);
    // Before its first input gradient ends up here, a rank runs at most the forwards that its memory holds.
    if (options.maxMemory >= 0 && turnLeast != unknown && smallest > 0) {
      double most = std::floor(options.maxMemory / smallest + 1e-9) * forwards;
      bound = std::max(bound, start + work + std::max(0.0, turnLeast - most));
    }
  }
  return bound;
}

static Schedule withoutUpdate(Schedule schedule) {
  for (std::vector<Action> &row : schedule.rows)
    std::erase_if(row, [](const Action &action) { return !isCompute(action.kind); });
  return schedule;
}

/// Moves single actions within their rows and keeps what is no worse.
static void improveOrder(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options,
                         const Clock &clock, std::mt19937_64 &random, SearchResult &result) {
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
  while (!clock.over(result.evaluated) && result.value > std::max(options.stopAt, result.lowerBound) + 1e-9) {
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
  Clock clock(options);
  SearchResult result;
  result.value = unknown;
  result.lowerBound = lowerBound(pipeline, costs, options);

  // Known schedules that fit are where the search starts.
  auto offer = [&](Result<Schedule> schedule) {
    if (!schedule)
      return;
    ++result.evaluated;
    Schedule plain = withoutUpdate(std::move(*schedule));
    Result<Timeline> timeline = simulate(pipeline, plain, costs);
    if (!timeline)
      return;
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
  constexpr double settingsShare = 0.6; // the rest goes to single actions
  std::vector<Setting> best;
  double bestValue = unknown, currentScore = unknown;
  std::vector<Setting> current;
  // Keeps the best by value, and goes on from the best by a score that counts all ranks a little.
  auto evaluate = [&](std::vector<Setting> settings) {
    ++result.evaluated;
    double value = scheduler.run(settings, nullptr), score = value + scheduler.mean;
    if (value < bestValue) {
      bestValue = value;
      best = settings;
    }
    if (value != unknown && score <= currentScore) {
      currentScore = score;
      current = std::move(settings);
    }
  };
  auto good = [&] { return std::min(bestValue, result.value) <= std::max(options.stopAt, result.lowerBound) + 1e-9; };
  for (double reach : {1.0, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5})
    for (int extra : {0, 1, 2, 4})
      for (double patience : {0.0, 0.3, 0.6, 1.0})
        for (int owed : {1 << 20, -1, 1}) {
          if (parts || clock.over(result.evaluated, settingsShare) || good())
            continue;
          std::vector<Setting> settings;
          for (int rank = 0; rank < ranks; ++rank)
            settings.push_back({std::max(1, static_cast<int>(reach * std::min(fill[rank], 1e6) + 1e-9) + extra),
                                patience, owed < 0 ? rank + 1 : owed});
          evaluate(std::move(settings));
        }
  // Then change one or a few ranks' settings at a time and keep what is no worse.
  std::mt19937_64 random(options.seed);
  while (!best.empty() && !clock.over(result.evaluated, settingsShare) && !good()) {
    std::vector<Setting> settings = current;
    int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      int from = static_cast<int>(random() % ranks), to = random() % 3 ? from : static_cast<int>(random() % ranks);
      int which = static_cast<int>(random() % 3);
      int step = (random() % 2 ? 1 : -1) * (1 + static_cast<int>(random() % 3));
      double patience = static_cast<double>(random() % 11) / 10;
      int owed = random() % 2 ? 1 << 20 : static_cast<int>(random() % (2 * ranks));
      for (int rank = std::min(from, to); rank <= std::max(from, to); ++rank) {
        if (which == 0)
          settings[rank].inFlight = std::max(1, settings[rank].inFlight + step);
        else if (which == 1)
          settings[rank].patience = patience;
        else
          settings[rank].owed = owed;
      }
    }
    evaluate(std::move(settings));
  }
  if (bestValue < result.value) {
    result.schedule = emptySchedule(pipeline);
    result.value = scheduler.run(best, &result.schedule);
    result.origin = "list scheduler";
    result.schedule.name = "search";
  }
  if (result.value != unknown)
    improveOrder(pipeline, costs, options, clock, random, result);
  if (result.value == unknown)
    return Error{"no schedule of this pipeline fits into a memory of " + std::to_string(options.maxMemory) +
                 " per rank; allow more, or place fewer stages on a rank"};
  return result;
}

} // namespace braid::plan
