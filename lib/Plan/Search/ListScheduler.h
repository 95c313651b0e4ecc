//===- ListScheduler.h - Builds schedules in time order --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SEARCH_LISTSCHEDULER_H
#define BRAID_LIB_PLAN_SEARCH_LISTSCHEDULER_H

#include "LowerBound.h"

#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace braid::plan {

/// What a rank prefers when it has a choice.
struct Setting {
  int inFlight;    // forwards that may run before their input gradients, per stage of the rank
  double patience; // share of a weight gradient's duration that must be free before one is started in a wait
  int owed;        // weight gradients that may wait before they come first
};

/// The order of forwards and input gradients in a known schedule.
class Guide {
public:
  struct Pass {
    double start;
    int stage, microbatch;
    bool forward;
  };

  Guide(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline);

  std::string name;                                                          // the schedule's
  const std::vector<Pass> &passesOf(int rank) const { return passes[rank]; } // by start
  double start(int stage, int microbatch, bool forward) const {
    return starts[forward][size_t(stage) * microbatches + microbatch];
  }

private:
  int microbatches;
  std::vector<std::vector<Pass>> passes;
  std::vector<double> starts[2]; // input gradients, forwards
};

/// Builds a schedule in time order. A free rank takes: an input gradient or a forward, whichever its in-flight target
/// asks for, of its latest stage first; else a weight gradient, if the wait for the next known arrival is long enough;
/// else it waits. With a guide it takes of what can run what comes first there. Memory is never exceeded.
class ListScheduler {
public:
  ListScheduler(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options);

  /// The objective's value, or `unknown` if this setting gets stuck. `schedule` may be nullptr.
  /// So may `guide`.
  double run(const std::vector<Setting> &settings, const Guide *guide, int firstChain, Schedule *schedule);
  /// A chain's first stage; its name for run(), which lets this chain go first where several could.
  int chainOf(int stage) const { return chain[stage]; }

  /// Of the last run: the mean over ranks of what the objective takes the maximum of. It shows progress where the
  /// maximum does not move.
  double mean = 0;

private:
  size_t slot(int stage, int microbatch) const { return size_t(stage) * m + microbatch; }
  double kept(int stage) const {
    const StageCost &cost = costs.stage(stage);
    return !pipeline.stages[stage].trains ? 0 : cost.kept < 0 ? cost.activation : cost.kept;
  }
  double across(int from, int to, bool forward) const { return messageTime(pipeline, costs, from, to, forward); }

  double forwardReady(int stage) const;
  double inputReady(int stage) const;

  /// Of the forwards and input gradients of a rank.
  struct Choice {
    int stage = -1; // to run now; -1: none can
    bool forward = false;
    bool blocked = false;     // one could, if there were memory
    double arrival = unknown; // when the next one can
  };
  Choice byTargets(int rank, double now, const Setting &setting);
  Choice byGuide(int rank, double now, const Setting &setting);
  /// Whether what the guide has before this stage's next forward still fits if that runs first.
  bool leavesRoom(int rank, int stage) const;

  bool choose(int rank, double now, const Setting &setting, Action &action);
  void start(int rank, double now, const Action &action);

  const Pipeline &pipeline;
  const CostModel &costs;
  const SearchOptions &options;
  const Guide *guide = nullptr;
  PipelineGraph graph;
  int m;
  std::vector<std::vector<int>> hosted;
  std::vector<int> chain; // of each stage: its first stage
  int firstChain = 0;
  bool severalChains = false;
  std::vector<double> forwardEnd, inputEnd, memory, freeAt, first, last;
  std::vector<int> nextForward, nextInput, nextWeight;
  std::vector<size_t> nextPass; // of each rank, in the guide: all before have run
  std::vector<std::deque<std::pair<double, double>>> releases;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> wakes;
};

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SEARCH_LISTSCHEDULER_H
