//===- SimulatorImpl.h - Costs of single actions and messages -----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SIMULATOR_SIMULATORIMPL_H
#define BRAID_LIB_PLAN_SIMULATOR_SIMULATORIMPL_H

#include "braid/Plan/Schedule/Dataflow.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <algorithm>

namespace braid::plan {

/// What a cost model says of single actions and messages of a pipeline.
class ActionCosts {
public:
  ActionCosts(const Pipeline &pipeline, const CostModel &costs) : pipeline(pipeline), costs(costs) {}

  double duration(const Action &action) const {
    if (costs.duration)
      return costs.duration(action);
    const StageCost &cost = costs.stage(action.stage);
    const double weight = pipeline.stages[action.stage].trains ? cost.weight : 0;
    return share(action) * (action.kind == ActionKind::Forward          ? cost.forward
                            : action.kind == ActionKind::BackwardInput  ? cost.input
                            : action.kind == ActionKind::BackwardWeight ? weight
                            : action.kind == ActionKind::FullBackward   ? cost.input + weight
                            : cost.recompute < 0                        ? cost.forward
                                                                        : cost.recompute);
  }

  /// Memory that the forward of this action's part makes.
  double activation(const Action &action) const {
    if (!costs.activation)
      return share(action) * costs.stage(action.stage).activation;
    Action forward = action;
    forward.kind = ActionKind::Forward;
    return costs.activation(forward);
  }
  /// Of it, what waits for the weight gradient.
  double kept(const Action &action) const {
    const StageCost &cost = costs.stage(action.stage);
    if (!pipeline.stages[action.stage].trains)
      return 0;
    return activation(action) * (cost.kept < 0 || cost.activation <= 0 ? 1 : cost.kept / cost.activation);
  }
  double checkpoint(const Action &action) const { return share(action) * costs.stage(action.stage).checkpoint; }
  /// Memory that a recomputation makes.
  double recomputed(const Action &action, bool rightBefore) const {
    const StageCost &cost = costs.stage(action.stage);
    double all = activation(action) - checkpoint(action);
    return rightBefore && cost.replayed >= 0 ? std::min(all, share(action) * cost.replayed) : all;
  }

  double bytes(const Action &send) const {
    return costs.bytes ? costs.bytes(send) : send.kind == ActionKind::SendF ? costs.forwardBytes : costs.backwardBytes;
  }
  bool local(int from, int to) const { return !costs.portOf.empty() && costs.portOf[from] == costs.portOf[to]; }
  /// What the message occupies its link for.
  double occupies(const Action &send, int from, int to) const {
    double perByte = local(from, to) ? costs.localTimePerByte : costs.timePerByte;
    return perByte == 0 ? 0 : perByte * bytes(send);
  }
  double latency(int from, int to) const { return local(from, to) ? costs.localLatency : costs.latency; }

private:
  double share(const Action &action) const {
    if (!pipeline.stages[action.stage].defers || pipeline.partnerOf(action.microbatch) < 0)
      return 1;
    return action.sub ? costs.deferredShare : 1 - costs.deferredShare;
  }

  const Pipeline &pipeline;
  const CostModel &costs;
};

/// Whether what runs at `index` is a recomputation, and its backward comes next.
inline bool isReplay(const TableShape &shape, const std::vector<Action> &row, size_t index) {
  return row[index].kind == ActionKind::Recompute && index + 1 < row.size() &&
         (effect(row[index + 1].kind) & doneInput) && shape.slot(row[index]) == shape.slot(row[index + 1]);
}

/// Walks a rank's actions in order and reports every change of its memory: change(time, activations, weightInputs).
/// `recomputed` says of each slot of the table whether its forward is.
template <typename Change>
void forEachMemoryChange(const Pipeline &pipeline, const Schedule &schedule, const ActionCosts &costs,
                         const TableShape &shape, const std::vector<bool> &recomputed, const Timeline &timeline,
                         int rank, Change change) {
  const std::vector<Action> &row = schedule.rows[rank];
  for (size_t index = 0; index < row.size(); ++index) {
    const Action &action = row[index];
    if (!isCompute(action.kind) || !pipeline.stages[action.stage].backward)
      continue;
    bool again = !recomputed.empty() && recomputed[shape.slot(action)];
    double whole =
        again ? costs.checkpoint(action) + costs.recomputed(action, index > 0 && isReplay(shape, row, index - 1))
              : costs.activation(action); // what a backward lets go
    switch (action.kind) {
    case ActionKind::Forward:
      change(timeline.start[rank][index], again ? costs.checkpoint(action) : whole, 0.0);
      break;
    case ActionKind::Recompute:
      change(timeline.start[rank][index], costs.recomputed(action, isReplay(shape, row, index)), 0.0);
      break;
    case ActionKind::BackwardInput:
      change(timeline.end[rank][index], -whole, costs.kept(action));
      break;
    case ActionKind::BackwardWeight:
      change(timeline.end[rank][index], 0.0, -costs.kept(action));
      break;
    case ActionKind::FullBackward:
      change(timeline.end[rank][index], -whole, 0.0);
      break;
    default:
      break;
    }
  }
}

/// Of each slot of the table, whether it has a RECOMPUTE; empty if none has.
std::vector<bool> recomputedSlots(const Schedule &schedule, const TableShape &shape);

/// Memory of weights, gradients and optimizer on each rank.
std::vector<double> stateOfRanks(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SIMULATOR_SIMULATORIMPL_H
