//===- Generators.cpp - Schedules made from a pipeline --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"
#include "OrderRun.h"
#include "braid/Plan/Schedule/Dataflow.h"

#include <algorithm>

namespace braid::plan {

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
    rows[source].push_back(send);
    rows[target].push_back(otherEnd(send));
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

void addUpdate(const Pipeline &pipeline, Schedule &schedule) {
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
    const Action send = at(kind, from, direction, to);
    schedule.rows[source].push_back(send);
    schedule.rows[target].push_back(otherEnd(send));
  };

  for (int direction = 0; direction < pipeline.directions(); ++direction)
    for (auto [home, copy] : pairs)
      exchange(ActionKind::SendGrad, copy, home, direction);
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    if (pipeline.stages[stage].trains && pipeline.directions() > 1)
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

void dropIdleBackwards(const Pipeline &pipeline, Schedule &schedule) {
  auto isIdle = [&](const Action &action) {
    const Stage &stage = pipeline.stages[action.stage];
    return isBackward(action.kind) && (!stage.backward || (action.kind == ActionKind::BackwardWeight && !stage.trains));
  };
  for (std::vector<Action> &row : schedule.rows) {
    std::vector<Action> kept;
    for (const Action &action : row)
      if (!isIdle(action))
        kept.push_back(action);
      else if (!kept.empty() && kept.back().joinsNext)
        kept.back().joinsNext = action.joinsNext;
    row = std::move(kept);
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
    addUpdate(pipeline, *schedule);
  return schedule;
}

} // namespace braid::plan
