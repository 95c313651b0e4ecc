//===- Periodic.cpp - Streams that repeat one pattern ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Periodic.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace braid::plan {

namespace {
/// What is taken of a rank's period.
class Circle {
public:
  Circle(double period, double grid, double phase) : period(period), grid(grid), phase(phase) {}

  /// The earliest start at or after `from` where `length` is free, or -1.
  double earliest(double from, double length) const {
    double start = onGrid(from);
    // Each step passes one taken piece; after two rounds there is no place.
    for (size_t step = 0; step <= 2 * taken.size() + 1; ++step) {
      double after = start;
      for (auto [begin, end] : taken) {
        // The copy of the piece that ends last before or around this start.
        double shift = std::floor((start + length - begin - tiny) / period) * period;
        if (begin + shift < start + length - tiny && end + shift > start + tiny)
          after = std::max(after, end + shift);
      }
      if (after == start)
        return length <= period + tiny ? start : -1;
      start = onGrid(after);
    }
    return -1;
  }
  void take(double start, double length) {
    double begin = start - std::floor(start / period) * period;
    taken.push_back({begin, begin + length});
  }

private:
  static constexpr double tiny = 1e-9;
  double onGrid(double time) const { return grid > 0 ? phase + std::ceil((time - phase) / grid - 1e-9) * grid : time; }
  double period, grid, phase;
  std::vector<std::pair<double, double>> taken;
};
} // namespace

std::optional<PeriodicPattern> placePeriodic(const Pipeline &pipeline, const CostModel &costs, double period,
                                             double grid, double phase, std::mt19937_64 &random) {
  const int count = pipeline.numStages();
  PipelineGraph graph(pipeline);
  PeriodicPattern pattern;
  pattern.period = period;
  pattern.starts.assign(count, {0, 0, 0});
  std::vector<Circle> circles;
  for (int rank = 0; rank < pipeline.numRanks(); ++rank)
    circles.emplace_back(period, grid, phase * rank);
  // Stages that edges join are one chain; the chains come in a random order.
  std::vector<int> chain(count);
  std::vector<std::vector<int>> chains;
  for (int stage = 0; stage < count; ++stage) {
    if (graph.producers[stage].empty()) {
      chain[stage] = static_cast<int>(chains.size());
      chains.emplace_back();
    } else {
      chain[stage] = chain[graph.producers[stage].front()];
    }
    chains[chain[stage]].push_back(stage);
  }
  std::shuffle(chains.begin(), chains.end(), random);
  auto across = [&](int from, int to) { return pipeline.rankOf(from) == pipeline.rankOf(to) ? 0.0 : costs.latency; };
  auto place = [&](int stage, double from, double length, double &start) {
    Circle &circle = circles[pipeline.rankOf(stage)];
    start = circle.earliest(from, length);
    if (start < 0)
      return false;
    circle.take(start, length);
    return true;
  };
  // Forwards and input gradients of a chain that starts at `begin`; whether they fit.
  auto placeChain = [&](const std::vector<int> &stages, double begin) {
    for (int stage : stages) {
      double from = begin;
      for (int producer : graph.producers[stage])
        from = std::max(from, pattern.starts[producer][0] + costs.stage(producer).forward + across(producer, stage));
      if (!place(stage, from, costs.stage(stage).forward, pattern.starts[stage][0]))
        return false;
    }
    for (auto at = stages.rbegin(); at != stages.rend(); ++at) {
      double from = pattern.starts[*at][0] + costs.stage(*at).forward;
      for (int consumer : graph.gradientConsumers[*at])
        from = std::max(from, pattern.starts[consumer][1] + costs.stage(consumer).input + across(consumer, *at));
      if (!place(*at, from, costs.stage(*at).input, pattern.starts[*at][1]))
        return false;
    }
    return true;
  };
  for (const std::vector<int> &stages : chains) {
    // Of some starts the one with the shortest way through: it waits least, and so holds least.
    const std::vector<Circle> before = circles;
    const int offsets = chains.size() == 1 ? 1 : 24;
    double bestBegin = -1, shortest = 0;
    for (int offset = 0; offset < offsets; ++offset) {
      double begin = offsets == 1 ? 0 : period * double(random() % 1024) / 1024;
      if (grid > 0)
        begin = std::floor(begin / grid) * grid;
      bool fits = placeChain(stages, begin);
      circles = before;
      double way = fits ? pattern.starts[stages.front()][1] - pattern.starts[stages.front()][0] : 0;
      if (!fits || (bestBegin >= 0 && way >= shortest))
        continue;
      bestBegin = begin;
      shortest = way;
    }
    if (bestBegin < 0)
      return std::nullopt;
    placeChain(stages, bestBegin);
  }
  // Weight gradients wait for nobody: they take what is left, the latest input gradients first, so that the last one
  // of a window is soon done.
  std::vector<int> order(count);
  for (int stage = 0; stage < count; ++stage)
    order[stage] = stage;
  std::sort(order.begin(), order.end(), [&](int a, int b) { return pattern.starts[a][1] > pattern.starts[b][1]; });
  for (int stage : order)
    if (!place(stage, pattern.starts[stage][1] + costs.stage(stage).input, costs.stage(stage).weight,
               pattern.starts[stage][2]))
      return std::nullopt;
  return pattern;
}

Schedule unroll(const Pipeline &pipeline, const PeriodicPattern &pattern) {
  struct Timed {
    double start;
    Action action;
  };
  Schedule schedule = emptySchedule(pipeline);
  schedule.name = "periodic";
  std::vector<std::vector<Timed>> rows(schedule.rows.size());
  constexpr ActionKind kinds[3] = {ActionKind::Forward, ActionKind::BackwardInput, ActionKind::BackwardWeight};
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    for (int which = 0; which < 3; ++which)
      for (int microbatch = 0; microbatch < pipeline.microbatches; ++microbatch)
        rows[pipeline.rankOf(stage)].push_back(
            {pattern.starts[stage][which] + microbatch * pattern.period, compute(kinds[which], stage, microbatch)});
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    std::sort(rows[rank].begin(), rows[rank].end(), [](const Timed &a, const Timed &b) {
      return std::tuple(a.start, a.action.stage, a.action.kind, a.action.microbatch) <
             std::tuple(b.start, b.action.stage, b.action.kind, b.action.microbatch);
    });
    for (const Timed &timed : rows[rank])
      schedule.rows[rank].push_back(timed.action);
  }
  return schedule;
}

} // namespace braid::plan
