//===- Guide.cpp - Builds schedules in the order of a known one -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Repeated patterns as V-Half's leave holes while the pipeline fills and drains, where nothing precedes or follows. A
// rank that runs whatever the pattern has next and can run already fills them, and keeps the pattern's order, and its
// memory, in between.
//
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"
#include "Units.h"

#include <algorithm>

namespace braid::plan {

static constexpr double tiny = 1e-9;

Guide::Guide(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline)
    : name(schedule.name), microbatches(pipeline.microbatches), passes(schedule.ranks()) {
  for (std::vector<double> &list : starts)
    list.assign(size_t(pipeline.numStages()) * microbatches, unknown);
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (size_t index = 0; index < schedule.rows[rank].size(); ++index) {
      const Action &action = schedule.rows[rank][index];
      bool forward = action.kind == ActionKind::Forward;
      if (!forward && action.kind != ActionKind::BackwardInput && action.kind != ActionKind::FullBackward)
        continue;
      double start = timeline.start[rank][index];
      passes[rank].push_back({start, action.stage, action.microbatch, forward});
      starts[forward][size_t(action.stage) * microbatches + action.microbatch] = start;
    }
}

bool ListScheduler::leavesRoom(int rank, int stage) const {
  if (options.maxMemory < 0 || !pipeline.stages[stage].backward)
    return true;
  double held = memory[rank] + costs.stage(stage).activation;
  if (!fitsMemory(held, options.maxMemory))
    return false;
  // Weight gradients that wait may run before what follows.
  for (int other : hosted[rank])
    if (pipeline.stages[other].backward)
      held -= (nextInput[other] - nextWeight[other]) * kept(other);
  const std::vector<Guide::Pass> &passes = guide->passesOf(rank);
  for (size_t at = nextPass[rank]; at < passes.size(); ++at) {
    const Guide::Pass &pass = passes[at];
    if (pass.forward && pass.stage == stage && pass.microbatch == nextForward[stage])
      break;
    if (pass.microbatch < (pass.forward ? nextForward : nextInput)[pass.stage] || !pipeline.stages[pass.stage].backward)
      continue;
    held += (pass.forward ? 1 : -1) * costs.stage(pass.stage).activation;
    if (!fitsMemory(held, options.maxMemory))
      return false;
  }
  return true;
}

ListScheduler::Choice ListScheduler::byGuide(int rank, double now, const Setting &setting) {
  const std::vector<Guide::Pass> &passes = guide->passesOf(rank);
  for (size_t &at = nextPass[rank]; at < passes.size(); ++at)
    if (passes[at].microbatch >= (passes[at].forward ? nextForward : nextInput)[passes[at].stage])
      break;
  Choice choice;
  double first = unknown, firstBlocked = unknown;
  for (int stage : hosted[rank]) {
    const Stage &info = pipeline.stages[stage];
    if (info.backward && nextInput[stage] < m && nextInput[stage] < nextForward[stage]) {
      double at = inputReady(stage), start = guide->start(stage, nextInput[stage], false);
      if (at > now + tiny)
        choice.arrival = std::min(choice.arrival, at);
      else if (start < first) {
        first = start;
        choice.stage = stage;
        choice.forward = false;
      }
    }
    if (nextForward[stage] == m || (info.backward && nextForward[stage] - nextInput[stage] >= setting.inFlight))
      continue;
    double at = forwardReady(stage), start = guide->start(stage, nextForward[stage], true);
    bool fits = leavesRoom(rank, stage);
    if (at > now + tiny) {
      if (fits)
        choice.arrival = std::min(choice.arrival, at);
    } else if (!fits)
      firstBlocked = std::min(firstBlocked, start);
    else if (start < first) {
      first = start;
      choice.stage = stage;
      choice.forward = true;
    }
  }
  choice.blocked = firstBlocked < first;
  return choice;
}

} // namespace braid::plan
