//===- OrderRun.h - Puts actions into one global order ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SCHEDULE_ORDERRUN_H
#define BRAID_LIB_PLAN_SCHEDULE_ORDERRUN_H

#include "Collective.h"
#include "braid/Plan/Schedule/Dataflow.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace braid::plan {

/// Some of the ranks, visited in increasing order.
class RankSet {
public:
  explicit RankSet(int ranks) : words((ranks + 63) / 64) {}

  void add(int rank) {
    words[rank / 64] |= uint64_t(1) << (rank % 64);
    some = true;
  }
  bool empty() const { return !some; }
  /// Takes all out, one after the other; none may be added meanwhile.
  template <typename Visit> void drain(Visit visit) {
    for (size_t word = 0; word < words.size(); ++word)
      for (uint64_t &bits = words[word]; bits; bits &= bits - 1)
        visit(static_cast<int>(word * 64 + std::countr_zero(bits)));
    some = false;
  }

private:
  std::vector<uint64_t> words;
  bool some = false;
};

/// Runs queues of actions in unit time (F, I, W: 1, B: 2) and reports starts and ends in one global order. A rank takes
/// the best ready head of its queues, of an overlapped block both halves. What this gives is an order; the simulator
/// gives times.
class OrderRun {
public:
  struct Queue {
    int phase = 0;
    std::span<const Action> actions; // the caller's
  };
  using Queues = std::vector<std::vector<Queue>>; // [rank][queue]

  OrderRun(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, Queues queues)
      : pipeline(pipeline), graph(graph), shape(shape), queues(std::move(queues)), done(shape.size()),
        forwards(size_t(shape.directions) * shape.stages) {
    for (size_t rank = 0; rank < this->queues.size(); ++rank)
      for (const Queue &queue : this->queues[rank])
        for (const Action &action : queue.actions)
          if (isCollective(action.kind))
            collectives[collectiveKey(action)].members.insert(static_cast<int>(rank));
  }

  /// `started` and `ended` take (rank, action). An error names what cannot run.
  template <typename Started, typename Ended> Status run(Started started, Ended ended) {
    int ranks = static_cast<int>(queues.size());
    heads.resize(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      heads[rank].assign(queues[rank].size(), 0);
    std::vector<std::span<const Action>> running(ranks); // empty: the rank is free
    constexpr int horizon = maxCost + 1;
    std::vector<RankSet> ends(horizon, RankSet(ranks)); // by time modulo the horizon: what ends then
    RankSet wake(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      wake.add(rank);
    auto wakeAll = [&](std::vector<int> &list) {
      for (int rank : list)
        wake.add(rank);
      list.clear();
    };
    for (int64_t now = 0;;) {
      bool again = false;
      wake.drain([&](int rank) {
        const std::span<const Action> taken = running[rank].empty() ? take(rank) : std::span<const Action>();
        if (taken.empty())
          return;
        running[rank] = taken;
        int length = 0;
        for (const Action &action : taken) {
          started(rank, action);
          length += cost(action.kind);
          again |= action.kind == ActionKind::Forward;
        }
        ends[(now + length) % horizon].add(rank);
      });
      // A collective is complete: its other members go on.
      if (!complete.empty()) {
        wakeAll(complete);
        continue;
      }
      // A forward that started may let a producer run further ahead.
      if (again && anyThrottled) {
        anyThrottled = false;
        wakeAll(throttled);
        continue;
      }
      int wait = 0;
      while (wait < horizon && ends[(now + wait) % horizon].empty())
        ++wait;
      if (wait == horizon) {
        if (throttled.empty() || !throttle)
          break;
        // Rows fixed beforehand may need more run-ahead than the rule gives.
        throttle = false;
        wakeAll(throttled);
        continue;
      }
      now += wait;
      ends[now % horizon].drain([&](int rank) {
        const std::span<const Action> taken = std::exchange(running[rank], {});
        throttle = true;
        for (const Action &action : taken) {
          if (isCompute(action.kind)) {
            done[shape.slot(action)] |= effect(action.kind);
            for (const auto *list : {&graph.consumers, &graph.producers})
              for (int stage : (*list)[action.stage])
                wake.add(pipeline.rankOf(stage, action.direction));
          }
          ended(rank, action);
        }
        wake.add(rank);
      });
    }
    for (int rank = 0; rank < ranks; ++rank)
      for (size_t queue = 0; queue < queues[rank].size(); ++queue)
        if (heads[rank][queue] < queues[rank][queue].actions.size())
          return Error{"the order of actions cannot run: rank " + std::to_string(rank) + " waits for ever at " +
                       queues[rank][queue].actions[heads[rank][queue]].str() +
                       "; verify the schedule to see what it waits for"};
    return {};
  }

private:
  /// Messages behind a collective must not be placed before it on any of its members.
  bool gathered(int rank, const Action &action) {
    Collective &collective = collectives[collectiveKey(action)];
    if (collective.arrived.insert(rank).second && collective.complete())
      complete.insert(complete.end(), collective.members.begin(), collective.members.end());
    return collective.complete();
  }

  static constexpr int maxCost = 4; // of a block
  static int cost(ActionKind kind) { return kind == ActionKind::FullBackward ? 2 : isCompute(kind) ? 1 : 0; }

  bool ready(const Action &action) {
    return forEachNeed(graph, action,
                       [&](const Part &part, uint8_t bits) { return (done[shape.slot(action, part)] & bits) == bits; });
  }

  /// A stage without a backward has nothing that holds it back; it runs ahead of its consumers by no more than they are
  /// apart in depth, or its outputs would pile up there.
  bool runsAhead(const Action &action) const {
    if (!throttle || action.kind != ActionKind::Forward || pipeline.stages[action.stage].backward)
      return false;
    size_t base = size_t(action.direction) * shape.stages;
    for (int consumer : graph.consumers[action.stage])
      if (forwards[base + action.stage] >=
          forwards[base + consumer] + std::max(1, graph.depth[action.stage] - graph.depth[consumer]))
        return true;
    return false;
  }

  std::span<const Action> take(int rank) {
    std::span<const Action> best;
    size_t from = 0;
    int phase = std::numeric_limits<int>::max();
    for (size_t queue = 0; queue < queues[rank].size(); ++queue)
      if (heads[rank][queue] < queues[rank][queue].actions.size())
        phase = std::min(phase, queues[rank][queue].phase);
    for (size_t queue = 0; queue < queues[rank].size(); ++queue) {
      if (heads[rank][queue] == queues[rank][queue].actions.size() || queues[rank][queue].phase > phase)
        continue;
      const std::span<const Action> left = queues[rank][queue].actions.subspan(heads[rank][queue]),
                                    head = left.first(left[0].joinsNext && left.size() > 1 ? 2 : 1);
      if (!best.empty() && !before(head[0], best[0]))
        continue;
      if (!std::all_of(head.begin(), head.end(), [&](const Action &action) { return ready(action); }) ||
          (isCollective(head[0].kind) && !gathered(rank, head[0])))
        continue;
      if (std::any_of(head.begin(), head.end(), [&](const Action &action) { return runsAhead(action); })) {
        throttled.push_back(rank);
        anyThrottled = true;
        continue;
      }
      best = head;
      from = queue;
    }
    if (best.empty())
      return best;
    heads[rank][from] += best.size();
    for (const Action &action : best)
      if (action.kind == ActionKind::Forward)
        ++forwards[size_t(action.direction) * shape.stages + action.stage];
    return best;
  }

  static bool before(const Action &a, const Action &b) {
    bool backwardA = a.kind != ActionKind::Forward, backwardB = b.kind != ActionKind::Forward;
    if (backwardA != backwardB)
      return backwardA;
    if (a.stage != b.stage)
      return a.stage > b.stage;
    return a.microbatch < b.microbatch;
  }

  const Pipeline &pipeline;
  const PipelineGraph &graph;
  const TableShape &shape;
  Queues queues;
  std::vector<std::vector<size_t>> heads;
  std::vector<uint8_t> done;
  std::vector<int> forwards; // started, for each (direction, stage)
  std::vector<int> throttled;
  bool anyThrottled = false, throttle = true;
  std::map<CollectiveKey, Collective> collectives;
  std::vector<int> complete; // members of a collective that has just gathered
};

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SCHEDULE_ORDERRUN_H
