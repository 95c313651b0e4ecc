//===- Dataflow.h - Which action needs which --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows the data dependencies between actions. What has run is kept as a few bits for each
// (direction, stage, part of a micro-batch, micro-batch).
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_DATAFLOW_H
#define BRAID_PLAN_SCHEDULE_DATAFLOW_H

#include "braid/Plan/Schedule/Pipeline.h"
#include "braid/Plan/Schedule/Schedule.h"

#include <cstdint>
#include <vector>

namespace braid::plan {

/// What a stage computes of a micro-batch: all of it or its kept samples (sub 0), or its deferred samples (sub 1).
struct Part {
  int stage, microbatch, sub;
};

/// Sizes of a table: how (direction, stage, sub, micro-batch) is numbered densely.
struct TableShape {
  TableShape(const Pipeline &pipeline, const Schedule &schedule);

  const Pipeline &pipeline;
  int stages, directions, subs, microbatches;

  size_t size() const { return size_t(stages) * directions * subs * microbatches; }
  size_t slot(int direction, int stage, int sub, int microbatch) const {
    return ((size_t(direction) * stages + stage) * subs + sub) * microbatches + microbatch;
  }
  size_t slot(const Action &action) const {
    return slot(action.direction, action.stage, action.sub, action.microbatch);
  }
  size_t slot(const Action &action, const Part &part) const {
    return slot(action.direction, part.stage, part.sub, part.microbatch);
  }
  /// Whether the action's numbers are inside the table, and its part of the micro-batch exists. The part of a message
  /// is that of the stage which makes the value, or takes the gradient.
  bool contains(const Action &action) const {
    bool value = action.kind == ActionKind::RecvF || action.kind == ActionKind::SendB;
    int owner = value ? action.peer : action.stage;
    return action.direction >= 0 && action.direction < directions && action.stage >= 0 && action.stage < stages &&
           action.sub >= 0 && action.microbatch >= (isCompute(action.kind) ? 0 : -1) &&
           action.microbatch < microbatches && action.peer >= (isMessage(action.kind) ? 0 : -1) &&
           action.peer < stages &&
           (action.sub == 0 || (owner >= 0 && pipeline.hasPart(owner, action.microbatch, action.sub)));
  }
};

/// What has run of a (stage, micro-batch).
enum Done : uint8_t { doneForward = 1, doneInput = 2, doneWeight = 4, doneRecompute = 8 };

/// The bits that an action sets.
inline uint8_t effect(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return doneForward;
  case ActionKind::BackwardInput:
    return doneInput;
  case ActionKind::BackwardWeight:
    return doneWeight;
  case ActionKind::FullBackward:
    return doneInput | doneWeight;
  case ActionKind::Recompute:
    return doneRecompute;
  default:
    return 0;
  }
}

inline bool isBackward(ActionKind kind) {
  return kind == ActionKind::BackwardInput || kind == ActionKind::BackwardWeight || kind == ActionKind::FullBackward;
}

/// Calls part(Part) for what `stage` needs of its producer for this part of a micro-batch: one, or with deferral that
/// ends between them the kept samples and all that are deferred to it. Stops and returns false as soon as `part` does.
template <typename Call>
bool forEachPartFrom(const PipelineGraph &graph, int producer, int stage, int microbatch, int sub, Call part) {
  if (graph.defers[producer] == graph.defers[stage])
    return part(Part{producer, microbatch, sub});
  if (!part(Part{producer, microbatch, 0}))
    return false;
  if (static_cast<size_t>(microbatch) < graph.deferredInto.size())
    for (int source : graph.deferredInto[microbatch])
      if (!part(Part{producer, source, 1}))
        return false;
  return true;
}

/// The part of its consumer that reads this part of a stage, and whose gradient comes back for it.
inline Part partAt(const PipelineGraph &graph, int consumer, int microbatch, int sub) {
  if (sub == 0 || graph.defers[consumer])
    return {consumer, microbatch, sub};
  bool known = static_cast<size_t>(microbatch) < graph.partner.size();
  return {consumer, known ? graph.partner[microbatch] : -1, 0};
}

/// Calls need(part, bits) for everything that has to have run, on any rank, before this compute action. Stops and
/// returns false as soon as `need` does. A part of micro-batch -1 does not exist.
template <typename Need> bool forEachNeed(const PipelineGraph &graph, const Action &action, Need need) {
  const Part own = {action.stage, action.microbatch, action.sub};
  switch (action.kind) {
  case ActionKind::Forward:
    for (int producer : graph.producers[action.stage])
      if (!forEachPartFrom(graph, producer, action.stage, action.microbatch, action.sub,
                           [&](const Part &part) { return need(part, doneForward); }))
        return false;
    return true;
  case ActionKind::Recompute:
    return need(own, doneForward);
  case ActionKind::BackwardInput:
  case ActionKind::FullBackward:
    if (!need(own, doneForward))
      return false;
    for (int consumer : graph.gradientConsumers[action.stage])
      if (!need(partAt(graph, consumer, action.microbatch, action.sub), doneInput))
        return false;
    return true;
  case ActionKind::BackwardWeight:
    return need(own, doneInput);
  default:
    return true;
  }
}

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_DATAFLOW_H
