//===- LowerBound.cpp - What no schedule goes below ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerBound.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

std::vector<double> turnarounds(const Pipeline &pipeline, const PipelineGraph &graph, const CostModel &costs) {
  auto across = [&](int from, int to, bool forward) { return messageTime(pipeline, costs, from, to, forward); };
  std::vector<double> turn(pipeline.numStages());
  for (int stage = pipeline.numStages() - 1; stage >= 0; --stage) {
    turn[stage] = costs.stage(stage).forward;
    for (int consumer : graph.gradientConsumers[stage])
      turn[stage] = std::max(turn[stage], costs.stage(stage).forward + across(stage, consumer, true) + turn[consumer] +
                                              costs.stage(consumer).input + across(consumer, stage, false));
  }
  return turn;
}

double lowerBound(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options) {
  PipelineGraph graph(pipeline);
  int count = pipeline.numStages(), ranks = pipeline.numRanks();
  double m = pipeline.microbatches;
  auto across = [&](int from, int to, bool forward) { return messageTime(pipeline, costs, from, to, forward); };
  // head: earliest start of a stage. tail: from the end of its input gradient to the end of the last stage that this
  // one leads to.
  std::vector<double> head(count, 0.0), turn = turnarounds(pipeline, graph, costs), tail(count, 0.0);
  for (int stage = 0; stage < count; ++stage) {
    for (int producer : graph.producers[stage])
      head[stage] =
          std::max(head[stage], head[producer] + costs.stage(producer).forward + across(producer, stage, true));
    for (int producer : graph.gradientProducers[stage])
      tail[stage] =
          std::max(tail[stage],
                   across(stage, producer, false) + costs.stage(producer).input +
                       std::max(tail[producer], pipeline.stages[producer].trains ? costs.stage(producer).weight : 0.0));
  }
  double bound = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double work = 0, early = unknown, late = unknown, beforeLast = 0, turnLeast = unknown, forwards = 0,
           smallest = unknown;
    for (int stage = 0; stage < count; ++stage) {
      if (pipeline.rankOf(stage) != rank)
        continue;
      const StageCost &cost = costs.stage(stage);
      const Stage &info = pipeline.stages[stage];
      double own = m * (cost.forward + (info.backward ? cost.input + (info.trains ? cost.weight : 0) : 0));
      work += own;
      beforeLast += m * (cost.forward + (info.backward ? cost.input : 0));
      early = std::min(early, head[stage]);
      late = std::min(late, info.backward ? tail[stage] : 0.0);
      if (info.backward) {
        turnLeast = std::min(turnLeast, turn[stage]);
        forwards = std::max(forwards, cost.forward);
        smallest = std::min(smallest, cost.activation);
      }
    }
    if (early == unknown)
      continue;
    double start = options.objective == Objective::Makespan ? early : 0;
    bound = std::max(bound, start + work);
    // All forwards and input gradients of the rank precede its last input gradient's way back.
    if (options.objective == Objective::Makespan)
      bound = std::max(bound, start + beforeLast + late);
    // Before its first input gradient ends up here, a rank runs at most the forwards that its memory holds.
    if (options.maxMemory >= 0 && turnLeast != unknown && smallest > 0) {
      double most = std::floor(options.maxMemory / smallest + 1e-9) * forwards;
      bound = std::max(bound, start + work + std::max(0.0, turnLeast - most));
    }
  }
  return bound;
}

} // namespace braid::plan
