//===- Generators.cpp - Schedules made from a pipeline --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Schedule/Dataflow.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>

namespace braid::plan {

TableShape::TableShape(const Pipeline &pipeline, const Schedule &schedule)
    : pipeline(pipeline), stages(pipeline.numStages()), directions(pipeline.directions()), subs(1),
      microbatches(std::max(pipeline.microbatches, schedule.microbatches)) {
  for (const Stage &stage : pipeline.stages)
    subs = std::max(subs, stage.defers ? 2 : 1);
}

namespace {
/// Runs queues of actions in unit time (F, I, W: 1, B: 2) and reports starts and ends in one global order. A rank takes
/// the best ready head of its queues. What this gives is an order; the simulator gives times.
class OrderRun {
public:
  struct Queue {
    int phase = 0;
    std::vector<Action> actions;
  };
  using Queues = std::vector<std::vector<Queue>>; // [rank][queue]

  OrderRun(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, Queues queues)
      : pipeline(pipeline), graph(graph), shape(shape), queues(std::move(queues)), done(shape.size()),
        forwards(size_t(shape.directions) * shape.stages) {
    for (size_t rank = 0; rank < this->queues.size(); ++rank)
      for (const Queue &queue : this->queues[rank])
        for (const Action &action : queue.actions)
          if (isCollective(action.kind))
            collectives[key(action)].members.insert(static_cast<int>(rank));
  }

  /// `started` and `ended` take (rank, action). An error names what cannot run.
  template <typename Started, typename Ended> Status run(Started started, Ended ended) {
    int ranks = static_cast<int>(queues.size());
    heads.resize(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      heads[rank].assign(queues[rank].size(), 0);
    busy.assign(ranks, false);
    std::vector<int> wake(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      wake[rank] = rank;
    int64_t now = 0;
    while (true) {
      std::sort(wake.begin(), wake.end());
      wake.erase(std::unique(wake.begin(), wake.end()), wake.end());
      bool again = false;
      for (int rank : wake)
        if (const Action *action = busy[rank] ? nullptr : take(rank)) {
          started(rank, *action);
          busy[rank] = true;
          events.push({now + cost(action->kind), rank, action});
          again |= action->kind == ActionKind::Forward;
        }
      // A collective is complete: its other members go on.
      if (!complete.empty()) {
        wake = std::move(complete);
        complete.clear();
        continue;
      }
      // A forward that started may let a producer run further ahead.
      if (again && anyThrottled) {
        anyThrottled = false;
        wake.assign(throttled.begin(), throttled.end());
        throttled.clear();
        continue;
      }
      wake.clear();
      if (events.empty()) {
        if (throttled.empty() || !throttle)
          break;
        // Rows fixed beforehand may need more run-ahead than the rule gives.
        throttle = false;
        wake.assign(throttled.begin(), throttled.end());
        throttled.clear();
        continue;
      }
      now = events.top().time;
      while (!events.empty() && events.top().time == now) {
        Event event = events.top();
        events.pop();
        busy[event.rank] = false;
        throttle = true;
        if (isCompute(event.action->kind)) {
          done[shape.slot(*event.action)] |= effect(event.action->kind);
          for (const auto *list : {&graph.consumers, &graph.producers})
            for (int stage : (*list)[event.action->stage])
              wake.push_back(pipeline.rankOf(stage, event.action->direction));
        }
        ended(event.rank, *event.action);
        wake.push_back(event.rank);
      }
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
  struct Event {
    int64_t time;
    int rank;
    const Action *action;
    bool operator<(const Event &other) const { return time != other.time ? time > other.time : rank > other.rank; }
  };

  /// Members of a collective wait for each other; messages behind it must not be placed before it on any of them.
  using Key = std::tuple<ActionKind, int, int>;
  struct Collective {
    std::set<int> members, arrived;
  };
  static bool isCollective(ActionKind kind) { return kind == ActionKind::Norm || kind == ActionKind::ReduceGrad; }
  static Key key(const Action &action) {
    return {action.kind, action.kind == ActionKind::Norm ? -1 : action.stage, action.version};
  }
  bool gathered(int rank, const Action &action) {
    Collective &collective = collectives[key(action)];
    if (collective.arrived.insert(rank).second && collective.arrived.size() == collective.members.size())
      complete.insert(complete.end(), collective.members.begin(), collective.members.end());
    return collective.arrived.size() == collective.members.size();
  }

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

  const Action *take(int rank) {
    const Action *best = nullptr;
    size_t from = 0;
    int phase = std::numeric_limits<int>::max();
    for (size_t queue = 0; queue < queues[rank].size(); ++queue)
      if (heads[rank][queue] < queues[rank][queue].actions.size())
        phase = std::min(phase, queues[rank][queue].phase);
    for (size_t queue = 0; queue < queues[rank].size(); ++queue) {
      if (heads[rank][queue] == queues[rank][queue].actions.size() || queues[rank][queue].phase > phase)
        continue;
      const Action &action = queues[rank][queue].actions[heads[rank][queue]];
      if (best && !before(action, *best))
        continue;
      if (!ready(action) || (isCollective(action.kind) && !gathered(rank, action)))
        continue;
      if (runsAhead(action)) {
        throttled.push_back(rank);
        anyThrottled = true;
        continue;
      }
      best = &action;
      from = queue;
    }
    if (best) {
      ++heads[rank][from];
      if (best->kind == ActionKind::Forward)
        ++forwards[size_t(best->direction) * shape.stages + best->stage];
    }
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
  std::vector<char> busy;
  std::vector<int> throttled;
  bool anyThrottled = false, throttle = true;
  std::priority_queue<Event> events;
  std::map<Key, Collective> collectives;
  std::vector<int> complete; // members of a collective that has just gathered
};
} // namespace

Schedule emptySchedule(const Pipeline &pipeline) {
  Schedule schedule;
  schedule.stages = pipeline.numStages();
  schedule.microbatches = pipeline.microbatches;
  schedule.directions = pipeline.directions();
  schedule.placement = pipeline.placement;
  schedule.rows.resize(pipeline.numRanks());
  return schedule;
}

Result<Schedule> mergeSequences(const Pipeline &pipeline, std::vector<Sequence> sequences) {
  Schedule schedule = emptySchedule(pipeline);
  OrderRun::Queues queues(schedule.ranks());
  for (Sequence &sequence : sequences)
    queues[sequence.rank].push_back({sequence.phase, std::move(sequence.actions)});
  PipelineGraph graph(pipeline);
  TableShape shape(pipeline, schedule);
  OrderRun run(pipeline, graph, shape, std::move(queues));
  Status status = run.run([&](int rank, const Action &action) { schedule.rows[rank].push_back(action); },
                          [](int, const Action &) {});
  if (!status)
    return Error{status.error()};
  return schedule;
}

Status addMessages(const Pipeline &pipeline, Schedule &schedule) {
  if (Status status = pipeline.check(); !status)
    return status;
  PipelineGraph graph(pipeline);
  TableShape shape(pipeline, schedule);
  OrderRun::Queues queues(schedule.rows.size());
  for (size_t rank = 0; rank < schedule.rows.size(); ++rank)
    for (const Action &action : schedule.rows[rank]) {
      if (isMessage(action.kind))
        return Error{"the schedule holds " + action.str() + " already; add messages to a table of computations"};
      if (!shape.contains(action))
        return Error{"'" + action.str() + "' is outside the pipeline of " + std::to_string(shape.stages) + " stages, " +
                     std::to_string(shape.microbatches) + " micro-batches and " + std::to_string(shape.directions) +
                     " directions"};
      if (action.kind == ActionKind::Idle)
        continue;
      if (queues[rank].empty())
        queues[rank].emplace_back();
      queues[rank][0].actions.push_back(action);
    }
  std::vector<std::vector<Action>> rows(schedule.rows.size());
  auto exchange = [&](const Action &action, ActionKind kind, int to) {
    int source = pipeline.rankOf(action.stage, action.direction), target = pipeline.rankOf(to, action.direction);
    if (source == target)
      return;
    Action send = action;
    send.kind = kind;
    send.joinsNext = false;
    send.version = 0;
    send.peer = to;
    Action receive = send;
    receive.kind = counterpart(kind);
    receive.stage = to;
    receive.peer = action.stage;
    rows[source].push_back(send);
    rows[target].push_back(receive);
  };
  OrderRun run(pipeline, graph, shape, std::move(queues));
  Status status = run.run(
      [&](int rank, const Action &action) { rows[rank].push_back(action); },
      [&](int, Action action) {
        if (action.kind == ActionKind::Forward)
          for (int consumer : graph.consumers[action.stage])
            exchange(action, ActionKind::SendF, consumer);
        else if (action.kind == ActionKind::FullBackward || action.kind == ActionKind::BackwardInput)
          for (int producer : graph.gradientProducers[action.stage])
            // A gradient is named by the part that it is for: one message for each.
            forEachPartFrom(graph, producer, action.stage, action.microbatch, action.sub, [&](const Part &part) {
              Action named = action;
              named.microbatch = part.microbatch;
              named.sub = static_cast<int16_t>(part.sub);
              exchange(named, ActionKind::SendB, producer);
              return true;
            });
      });
  if (!status)
    return status;
  schedule.rows = std::move(rows);
  return {};
}

void addUpdate(const Pipeline &pipeline, Schedule &schedule, const GenerateOptions &options) {
  auto at = [&](ActionKind kind, int stage, int direction, int peer = -1) {
    Action action = compute(kind, stage, -1, direction);
    action.peer = peer;
    return action;
  };
  // One message for each ordered pair of stages, however many groups they share.
  std::vector<std::pair<int, int>> pairs; // (home, copy)
  for (const TiedGroup &group : pipeline.tied)
    for (int copy : group.copies)
      if (copy != group.home)
        pairs.push_back({group.home, copy});
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  auto exchange = [&](ActionKind kind, int from, int to, int direction) {
    int source = pipeline.rankOf(from, direction), target = pipeline.rankOf(to, direction);
    if (source == target)
      return;
    schedule.rows[source].push_back(at(kind, from, direction, to));
    schedule.rows[target].push_back(at(counterpart(kind), to, direction, from));
  };

  for (int direction = 0; direction < pipeline.directions(); ++direction)
    for (auto [home, copy] : pairs)
      exchange(ActionKind::SendGrad, copy, home, direction);
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    if (pipeline.stages[stage].trains && (pipeline.directions() > 1 || options.reduceGradients))
      for (int direction = 0; direction < pipeline.directions(); ++direction)
        schedule.rows[pipeline.rankOf(stage, direction)].push_back(at(ActionKind::ReduceGrad, stage, direction));
  // One norm per rank, written with the first stage that lives there.
  std::vector<bool> normed(schedule.rows.size());
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    for (int direction = 0; direction < pipeline.directions(); ++direction) {
      int rank = pipeline.rankOf(stage, direction);
      if (!normed[rank])
        schedule.rows[rank].push_back(at(ActionKind::Norm, stage, direction));
      normed[rank] = true;
    }
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    if (pipeline.stages[stage].trains)
      for (int direction = 0; direction < pipeline.directions(); ++direction)
        schedule.rows[pipeline.rankOf(stage, direction)].push_back(at(ActionKind::Step, stage, direction));
  for (int direction = 0; direction < pipeline.directions(); ++direction)
    for (auto [home, copy] : pairs)
      exchange(ActionKind::SendParam, home, copy, direction);
  int loss = pipeline.getLossStage();
  for (int direction = 0; direction < pipeline.directions(); ++direction) {
    int rank = pipeline.rankOf(loss, direction);
    schedule.rows[rank].push_back(at(ActionKind::Loss, loss, direction));
    if (rank != 0)
      schedule.rows[0].push_back(at(ActionKind::Loss, loss, direction));
  }
}

Result<Schedule> finish(const Pipeline &pipeline, Result<Schedule> schedule, const GenerateOptions &options) {
  if (!schedule)
    return schedule;
  if (options.messages)
    if (Status status = addMessages(pipeline, *schedule); !status)
      return Error{status.error()};
  // Tables that update inside, as AMDP's, have their steps already.
  bool steps = false;
  for (const std::vector<Action> &row : schedule->rows)
    for (const Action &action : row)
      steps |= action.kind == ActionKind::Step;
  if (options.update && !steps)
    addUpdate(pipeline, *schedule, options);
  return schedule;
}

/// What a stage runs at the place of a micro-batch's forward: with deferral its two parts.
static void addForwards(const Pipeline &pipeline, int stage, int microbatch, std::vector<Action> &actions) {
  for (int sub = 0; pipeline.hasPart(stage, microbatch, sub); ++sub) {
    actions.push_back(compute(ActionKind::Forward, stage, microbatch));
    actions.back().sub = static_cast<int16_t>(sub);
  }
}

/// What it runs at the place of the backward: its kept part, and those whose gradients come with this micro-batch's.
static void addBackwards(const Pipeline &pipeline, const PipelineGraph &graph, int stage, int microbatch,
                         std::vector<Action> &actions) {
  if (!pipeline.stages[stage].backward)
    return;
  actions.push_back(compute(ActionKind::FullBackward, stage, microbatch));
  if (pipeline.stages[stage].defers)
    for (int source : graph.deferredInto[microbatch]) {
      actions.push_back(compute(ActionKind::FullBackward, stage, source));
      actions.back().sub = 1;
    }
}

/// `ahead` forwards, then a forward and a backward in turn, then the backwards that are left.
static Sequence alternate(const Pipeline &pipeline, const PipelineGraph &graph, int stage, int ahead) {
  Sequence sequence{.rank = pipeline.rankOf(stage)};
  int count = pipeline.microbatches, forward = 0;
  for (; forward < std::min(ahead, count); ++forward)
    addForwards(pipeline, stage, forward, sequence.actions);
  for (int backward = 0; backward < count; ++backward) {
    if (forward < count)
      addForwards(pipeline, stage, forward++, sequence.actions);
    addBackwards(pipeline, graph, stage, backward, sequence.actions);
  }
  return sequence;
}

static Status checkOneDirection(const Pipeline &pipeline, const char *names) {
  if (Status status = pipeline.check(); !status)
    return status;
  if (pipeline.directions() != 1)
    return Error{std::string(names) + " run in one direction and the pipeline has " +
                 std::to_string(pipeline.directions()) + "; choose chimera, dualpipe or amdp"};
  return {};
}

static Result<Schedule> named(Result<Schedule> schedule, const char *name, const Pipeline &pipeline,
                              const GenerateOptions &options) {
  if (!schedule)
    return schedule;
  schedule->name = name;
  return finish(pipeline, std::move(schedule), options);
}

/// The two classic orders differ in one number: the forwards before the first backward.
static Result<Schedule> warmThenAlternate(const Pipeline &pipeline, const GenerateOptions &options, bool all) {
  if (Status status = checkOneDirection(pipeline, "GPipe and 1F1B"); !status)
    return Error{status.error()};
  PipelineGraph graph(pipeline);
  std::vector<Sequence> sequences;
  for (int stage = 0; stage < pipeline.numStages(); ++stage) {
    int inFlight = std::max(graph.depth[stage], pipeline.stages[stage].defers ? options.eager : 0);
    sequences.push_back(alternate(pipeline, graph, stage, all ? pipeline.microbatches : inFlight - 1));
  }
  return named(mergeSequences(pipeline, std::move(sequences)), all ? "gpipe" : "1f1b", pipeline, options);
}

Result<Schedule> gpipe(const Pipeline &pipeline, const GenerateOptions &options) {
  return warmThenAlternate(pipeline, options, true);
}

Result<Schedule> oneFOneB(const Pipeline &pipeline, const GenerateOptions &options) {
  return warmThenAlternate(pipeline, options, false);
}

Result<Schedule> threePhase(const Pipeline &pipeline, const GenerateOptions &options) {
  if (Status status = checkOneDirection(pipeline, "The three phases"); !status)
    return Error{status.error()};
  PipelineGraph graph(pipeline);
  const int last = pipeline.stages[pipeline.getLossStage()].component;
  std::vector<Sequence> sequences;
  for (int stage = 0; stage < pipeline.numStages(); ++stage) {
    if (pipeline.stages[stage].component == last) {
      sequences.push_back(alternate(pipeline, graph, stage, graph.depth[stage] - 1));
      sequences.back().phase = 1;
      continue;
    }
    Sequence forwards{.rank = pipeline.rankOf(stage), .phase = 0},
        backwards{.rank = pipeline.rankOf(stage), .phase = 2};
    for (int microbatch = 0; microbatch < pipeline.microbatches; ++microbatch) {
      addForwards(pipeline, stage, microbatch, forwards.actions);
      addBackwards(pipeline, graph, stage, microbatch, backwards.actions);
    }
    sequences.push_back(std::move(forwards));
    sequences.push_back(std::move(backwards));
  }
  return named(mergeSequences(pipeline, std::move(sequences)), "three_phase", pipeline, options);
}

} // namespace braid::plan
