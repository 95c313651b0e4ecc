//===- LowerBound.cpp - What no schedule goes below ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerBound.h"

#include "../Simulator/SimulatorImpl.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

/// Of the quickest message between two stages.
static double leastMessageTime(const Pipeline &pipeline, const CostModel &costs, int from, int to, bool forward) {
  const int source = pipeline.rankOf(from), target = pipeline.rankOf(to);
  if (!costs.bytes || source == target)
    return messageTime(pipeline, costs, from, to, forward);
  const ActionCosts actionCosts(pipeline, costs);
  const int owner = forward ? from : to; // the stage whose parts name messages
  Action send = compute(forward ? ActionKind::SendF : ActionKind::SendB, from, 0);
  send.peer = to;
  double least = unknown;
  for (int microbatch = 0; microbatch < pipeline.microbatches; ++microbatch)
    for (int sub = 0; sub < 2; ++sub)
      if (pipeline.hasPart(owner, microbatch, sub)) {
        send.microbatch = microbatch;
        send.sub = static_cast<int16_t>(sub);
        least = std::min(least, actionCosts.occupies(send, source, target));
      }
  return least + actionCosts.latency(source, target);
}

namespace {
/// Of a stage's actions, which may differ by micro-batch and part: least times, and sums over all. A backward runs
/// whole or in halves, whichever is shorter.
struct StageWork {
  double forward = unknown;  // from its start until its value may leave
  double input = unknown;    // from the backward's start until its gradient may leave
  double backward = unknown; // until all gradients are there
  double activation = unknown, longestForward = 0;
  double allForwards = 0, allInputs = 0, allBackwards = 0;
  double early = 0; // how long before the end of the action that makes it a gradient leaves, at most
};
} // namespace

static StageWork workOf(const Pipeline &pipeline, const CostModel &costs, int stage) {
  ActionCosts actionCosts(pipeline, costs);
  const bool blocks = costs.overlap != Overlap::Sequential;
  const double forwardShare = costs.overlap == Overlap::Atomic ? costs.blockForwardRelease : 1,
               backwardShare = blocks ? costs.blockBackwardRelease : 1;
  const bool alike = !costs.duration && !costs.activation && !pipeline.stages[stage].defers;
  const double count = alike ? pipeline.microbatches : 1;
  StageWork work;
  for (int microbatch = 0; microbatch < (alike ? 1 : pipeline.microbatches); ++microbatch)
    for (int sub = 0; sub < 2; ++sub) {
      if (!pipeline.hasPart(stage, microbatch, sub))
        continue;
      auto duration = [&](ActionKind kind) {
        Action action = compute(kind, stage, microbatch);
        action.sub = static_cast<int16_t>(sub);
        return actionCosts.duration(action);
      };
      double forward = duration(ActionKind::Forward);
      work.forward = std::min(work.forward, forwardShare * forward);
      work.longestForward = std::max(work.longestForward, forward);
      work.allForwards += count * forward;
      if (!pipeline.stages[stage].backward)
        continue;
      Action action = compute(ActionKind::Forward, stage, microbatch);
      action.sub = static_cast<int16_t>(sub);
      work.activation = std::min(work.activation, actionCosts.activation(action));
      double input = duration(ActionKind::BackwardInput), whole = duration(ActionKind::FullBackward),
             halves = input + (pipeline.stages[stage].trains ? duration(ActionKind::BackwardWeight) : 0),
             least = std::min(input, whole), leaves = std::min(input, costs.inputRelease * whole);
      work.input = std::min(work.input, backwardShare * leaves);
      work.backward = std::min({work.backward, whole, halves});
      work.allInputs += count * least;
      work.allBackwards += count * std::min(whole, halves);
      work.early = std::max(work.early, least - leaves);
    }
  if (backwardShare < 1) // the forward of the same block may go on as well
    work.early = unknown;
  return work;
}

static std::vector<StageWork> workOfStages(const Pipeline &pipeline, const CostModel &costs) {
  std::vector<StageWork> works;
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    works.push_back(workOf(pipeline, costs, stage));
  return works;
}

static std::vector<double> turnarounds(const Pipeline &pipeline, const PipelineGraph &graph, const CostModel &costs,
                                       const std::vector<StageWork> &works) {
  auto across = [&](int from, int to, bool forward) { return leastMessageTime(pipeline, costs, from, to, forward); };
  std::vector<double> turn(pipeline.numStages());
  for (int stage = pipeline.numStages() - 1; stage >= 0; --stage) {
    turn[stage] = works[stage].forward;
    for (int consumer : graph.gradientConsumers[stage])
      turn[stage] = std::max(turn[stage], works[stage].forward + across(stage, consumer, true) + turn[consumer] +
                                              works[consumer].input + across(consumer, stage, false));
  }
  return turn;
}

std::vector<double> turnarounds(const Pipeline &pipeline, const PipelineGraph &graph, const CostModel &costs) {
  return turnarounds(pipeline, graph, costs, workOfStages(pipeline, costs));
}

double lowerBound(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options) {
  PipelineGraph graph(pipeline);
  int count = pipeline.numStages(), ranks = pipeline.numRanks();
  auto across = [&](int from, int to, bool forward) { return leastMessageTime(pipeline, costs, from, to, forward); };
  const std::vector<StageWork> works = workOfStages(pipeline, costs);
  // head: earliest start of a stage. tail: from when its input gradient leaves to the end of the last stage that this
  // one leads to.
  std::vector<double> head(count, 0.0), turn = turnarounds(pipeline, graph, costs, works), tail(count, 0.0);
  for (int stage = 0; stage < count; ++stage) {
    for (int producer : graph.producers[stage])
      head[stage] = std::max(head[stage], head[producer] + works[producer].forward + across(producer, stage, true));
    for (int producer : graph.gradientProducers[stage])
      tail[stage] =
          std::max(tail[stage], across(stage, producer, false) +
                                    std::max(works[producer].input + tail[producer], works[producer].backward));
  }
  double bound = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double all = 0, early = unknown, late = unknown, beforeLast = 0, leavesEarly = 0, turnLeast = unknown, forwards = 0,
           smallest = unknown, others = 0;
    for (int stage = 0; stage < count; ++stage) {
      if (pipeline.rankOf(stage) != rank)
        continue;
      const StageWork &work = works[stage];
      all += work.allForwards + work.allBackwards;
      beforeLast += work.allForwards + work.allInputs;
      leavesEarly = std::max(leavesEarly, work.early);
      early = std::min(early, head[stage]);
      late = std::min(late, pipeline.stages[stage].backward ? tail[stage] : 0.0);
      if (pipeline.stages[stage].backward) {
        turnLeast = std::min(turnLeast, turn[stage]);
        forwards = std::max(forwards, work.longestForward);
        smallest = std::min(smallest, work.activation);
      } else {
        others += work.allForwards;
      }
    }
    if (early == unknown)
      continue;
    double start = options.objective == Objective::Makespan ? early : 0;
    bound = std::max(bound, start + all);
    // All forwards and input gradients of the rank precede its last input gradient's way back.
    if (options.objective == Objective::Makespan)
      bound = std::max(bound, start + beforeLast - leavesEarly + late);
    // Before its first input gradient ends up here, a rank runs at most the forwards that its memory holds, and those
    // of stages without a backward, which hold nothing.
    if (options.maxMemory >= 0 && turnLeast != unknown && smallest > 0) {
      double most = std::floor(options.maxMemory / smallest + 1e-9) * forwards + others;
      bound = std::max(bound, start + all + std::max(0.0, turnLeast - most));
    }
  }
  return bound;
}

} // namespace braid::plan
