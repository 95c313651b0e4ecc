//===- ListScheduler.cpp - Builds schedules in time order ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"
#include "Units.h"

#include <algorithm>
#include <tuple>

namespace braid::plan {

ListScheduler::ListScheduler(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options)
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

double ListScheduler::run(const std::vector<Setting> &settings, const Guide *by, int goesFirst, Schedule *schedule) {
  guide = by;
  firstChain = goesFirst;
  const int stages = pipeline.numStages(), ranks = pipeline.numRanks();
  forwardEnd.assign(size_t(stages) * m, unknown);
  inputEnd.assign(size_t(stages) * m, unknown);
  nextForward.assign(stages, 0);
  nextInput.assign(stages, 0);
  nextWeight.assign(stages, 0);
  nextPass.assign(ranks, 0);
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

double ListScheduler::forwardReady(int stage) const {
  double at = 0;
  for (int producer : graph.producers[stage])
    at = std::max(at, forwardEnd[slot(producer, nextForward[stage])] + across(producer, stage, true));
  return at;
}

double ListScheduler::inputReady(int stage) const {
  double at = forwardEnd[slot(stage, nextInput[stage])];
  for (int consumer : graph.gradientConsumers[stage])
    at = std::max(at, inputEnd[slot(consumer, nextInput[stage])] + across(consumer, stage, false));
  return at;
}

static constexpr double tiny = 1e-9;

ListScheduler::Choice ListScheduler::byTargets(int rank, double now, const Setting &setting) {
  Choice choice;
  // Of several chains the one that is behind comes first, or they would drift apart.
  std::vector<int> &order = hosted[rank];
  if (severalChains) {
    auto behind = [&](int stage) {
      int least = m;
      for (int other : order)
        if (chain[other] == chain[stage])
          least = std::min(least, nextInput[other]);
      return std::tuple(least, (chain[stage] + pipeline.numStages() - firstChain) % pipeline.numStages(), -stage);
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
                fitsMemory(memory[rank] + costs.stage(stage).activation + reserve, options.maxMemory);
    bool wanted = !info.backward || inFlight < setting.inFlight || !earliest;
    if (choice.stage < 0) {
      bool forwardNow = forwardAt <= now + tiny && wanted;
      if (forwardNow && fits) {
        choice.stage = stage;
        choice.forward = true;
      } else if (inputAt <= now + tiny) {
        choice.stage = stage;
        choice.forward = false;
      }
      choice.blocked |= forwardNow && !fits;
    }
    if (inputAt > now + tiny)
      choice.arrival = std::min(choice.arrival, inputAt);
    if (forwardAt > now + tiny && wanted && fits)
      choice.arrival = std::min(choice.arrival, forwardAt);
  }
  choice.blocked &= !choice.forward;
  return choice;
}

bool ListScheduler::choose(int rank, double now, const Setting &setting, Action &action) {
  // Memory of backwards that have ended by now.
  auto &pending = releases[rank];
  while (!pending.empty() && pending.front().first <= now + tiny) {
    memory[rank] -= pending.front().second;
    pending.pop_front();
  }
  Choice choice = guide ? byGuide(rank, now, setting) : byTargets(rank, now, setting);
  int owed = 0, oldest = -1; // stage of the oldest weight gradient
  for (int stage : hosted[rank]) {
    if (!pipeline.stages[stage].backward || !pipeline.stages[stage].trains)
      continue;
    owed += nextInput[stage] - nextWeight[stage];
    if (nextWeight[stage] < nextInput[stage] && inputEnd[slot(stage, nextWeight[stage])] <= now + tiny &&
        (oldest < 0 || inputEnd[slot(stage, nextWeight[stage])] < inputEnd[slot(oldest, nextWeight[oldest])]))
      oldest = stage;
  }
  bool weightFirst = oldest >= 0 && (owed > setting.owed || choice.blocked);
  if (choice.stage >= 0 && !weightFirst) {
    action = compute(choice.forward ? ActionKind::Forward : ActionKind::BackwardInput, choice.stage,
                     choice.forward ? nextForward[choice.stage] : nextInput[choice.stage]);
    return true;
  }
  if (oldest >= 0 && (weightFirst || choice.arrival == unknown ||
                      choice.arrival - now >= setting.patience * costs.stage(oldest).weight - tiny)) {
    action = compute(ActionKind::BackwardWeight, oldest, nextWeight[oldest]);
    return true;
  }
  if (choice.arrival != unknown)
    wakes.push({choice.arrival, rank});
  return false;
}

void ListScheduler::start(int rank, double now, const Action &action) {
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

} // namespace braid::plan
