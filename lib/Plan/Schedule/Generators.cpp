//===- Generators.cpp - Schedules made from a pipeline --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"
#include "OrderRun.h"
#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Schedule/Dataflow.h"

#include <algorithm>

namespace braid::plan {

TableShape::TableShape(const Pipeline &pipeline, const Schedule &schedule)
    : pipeline(pipeline), stages(pipeline.numStages()), directions(pipeline.directions()), subs(1),
      microbatches(std::max(pipeline.microbatches, schedule.microbatches)) {
  for (const Stage &stage : pipeline.stages)
    subs = std::max(subs, stage.defers ? 2 : 1);
}

Schedule emptySchedule(const Pipeline &pipeline) {
  Schedule schedule;
  schedule.stages = pipeline.numStages();
  schedule.microbatches = pipeline.microbatches;
  schedule.directions = pipeline.directions();
  schedule.placement = pipeline.placement;
  schedule.rows.resize(pipeline.numRanks());
  return schedule;
}

Result<Schedule> mergeSequences(const Pipeline &pipeline, const std::vector<Sequence> &sequences) {
  Schedule schedule = emptySchedule(pipeline);
  OrderRun::Queues queues(schedule.ranks());
  for (const Sequence &sequence : sequences)
    queues[sequence.rank].push_back({sequence.phase, sequence.actions});
  bool merges = false;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    size_t count = 0;
    for (const OrderRun::Queue &queue : queues[rank])
      count += queue.actions.size();
    schedule.rows[rank].reserve(count);
    merges |= queues[rank].size() > 1;
  }
  if (!merges) { // each rank's order is given
    for (const Sequence &sequence : sequences)
      schedule.rows[sequence.rank] = sequence.actions;
    return schedule;
  }
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
  for (std::vector<Action> &row : schedule.rows) {
    for (const Action &action : row) {
      if (isMessage(action.kind))
        return Error{"the schedule holds " + action.str() + " already; add messages to a table of computations"};
      if (!shape.contains(action))
        return Error{"'" + action.str() + "' is outside the pipeline of " + std::to_string(shape.stages) + " stages, " +
                     std::to_string(shape.microbatches) + " micro-batches and " + std::to_string(shape.directions) +
                     " directions"};
    }
    std::erase_if(row, [](const Action &action) { return action.kind == ActionKind::Idle; });
  }
  OrderRun::Queues queues;
  std::vector<std::vector<Action>> rows(schedule.rows.size());
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    queues.push_back({{0, schedule.rows[rank]}});
    rows[rank].reserve(3 * schedule.rows[rank].size()); // most actions receive one value and send one
  }
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

void addRecompute(const Pipeline &pipeline, Schedule &schedule, bool early) {
  for (std::vector<Action> &row : schedule.rows) {
    std::vector<Action> with;
    for (const Action &action : row) {
      bool again = (effect(action.kind) & doneInput) && pipeline.stages[action.stage].recomputes;
      if (again) {
        Action recompute = action;
        recompute.kind = ActionKind::Recompute;
        recompute.joinsNext = false;
        auto at = with.end();
        while (at != with.begin() && (at[-1].joinsNext || (early && isReceive(at[-1].kind))))
          --at;
        with.insert(at, recompute);
      }
      with.push_back(action);
    }
    row = std::move(with);
  }
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
  if (options.recompute)
    addRecompute(pipeline, *schedule, options.recomputeEarly);
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
  return named(mergeSequences(pipeline, sequences), all ? "gpipe" : "1f1b", pipeline, options);
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
  return named(mergeSequences(pipeline, sequences), "three_phase", pipeline, options);
}

} // namespace braid::plan
