//===- Dataflow.h - Which action needs which --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows the data dependencies between actions. What has run is kept as a few bits for each
// (direction, stage, sub-micro-batch, micro-batch).
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_DATAFLOW_H
#define BRAID_PLAN_DATAFLOW_H

#include "braid/Plan/Pipeline.h"
#include "braid/Plan/Schedule.h"

#include <cstdint>
#include <vector>

namespace braid::plan {

/// Sizes of a table: how (direction, stage, sub, micro-batch) is numbered densely.
struct TableShape {
  TableShape(const Pipeline &pipeline, const Schedule &schedule);

  int stages, directions, subs, microbatches;

  size_t size() const { return size_t(stages) * directions * subs * microbatches; }
  size_t slot(int direction, int stage, int sub, int microbatch) const {
    return ((size_t(direction) * stages + stage) * subs + sub) * microbatches + microbatch;
  }
  size_t slot(const Action &action) const {
    return slot(action.direction, action.stage, action.sub, action.microbatch);
  }
  size_t slot(const Action &action, int stage) const {
    return slot(action.direction, stage, action.sub, action.microbatch);
  }
  /// Whether the action's numbers are inside the table.
  bool contains(const Action &action) const {
    return action.direction >= 0 && action.direction < directions && action.stage >= 0 && action.stage < stages &&
           action.sub >= 0 && action.sub < subs && action.microbatch < microbatches;
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

/// Calls need(stage, bits) for everything that has to have run, on any rank, before this compute action. Stops and
/// returns false as soon as `need` does.
template <typename Need> bool forEachNeed(const PipelineGraph &graph, const Action &action, Need need) {
  switch (action.kind) {
  case ActionKind::Forward:
    for (int producer : graph.producers[action.stage])
      if (!need(producer, doneForward))
        return false;
    return true;
  case ActionKind::Recompute:
    return need(action.stage, doneForward);
  case ActionKind::BackwardInput:
  case ActionKind::FullBackward:
    if (!need(action.stage, doneForward))
      return false;
    for (int consumer : graph.gradientConsumers[action.stage])
      if (!need(consumer, doneInput))
        return false;
    return true;
  case ActionKind::BackwardWeight:
    return need(action.stage, doneInput);
  default:
    return true;
  }
}

} // namespace braid::plan

#endif // BRAID_PLAN_DATAFLOW_H
