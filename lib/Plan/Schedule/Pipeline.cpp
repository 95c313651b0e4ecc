//===- Pipeline.cpp - Stages, placement and edges that a schedule runs ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Pipeline.h"

#include <algorithm>

namespace braid::plan {

int Pipeline::numRanks() const {
  int last = -1;
  for (const std::vector<int> &ranks : placement)
    for (int rank : ranks)
      last = std::max(last, rank);
  return last + 1;
}

Pipeline Pipeline::chain(int count, int microbatches, std::vector<int> placement) {
  Pipeline pipeline;
  pipeline.stages.resize(count);
  pipeline.microbatches = microbatches;
  for (int stage = 0; placement.size() < static_cast<size_t>(count); ++stage)
    placement.push_back(static_cast<int>(placement.size()));
  pipeline.placement.push_back(std::move(placement));
  for (int stage = 0; stage + 1 < count; ++stage)
    pipeline.edges.push_back({stage, stage, stage + 1, true});
  return pipeline;
}

Status Pipeline::check() const {
  auto named = [](const char *what, int number) { return std::string(what) + " " + std::to_string(number); };
  if (stages.empty())
    return Error{"the pipeline has no stages; give it at least one"};
  if (microbatches < 1)
    return Error{"the pipeline has " + std::to_string(microbatches) + " micro-batches; give it at least one"};
  if (placement.empty())
    return Error{"the pipeline has no placement; give each stage a rank"};
  for (size_t direction = 0; direction < placement.size(); ++direction) {
    if (placement[direction].size() != stages.size())
      return Error{named("direction", static_cast<int>(direction)) + " places " +
                   std::to_string(placement[direction].size()) + " stages and the pipeline has " +
                   std::to_string(stages.size()) + "; give each stage one rank"};
    for (int rank : placement[direction])
      if (rank < 0)
        return Error{named("direction", static_cast<int>(direction)) + " places a stage on rank " +
                     std::to_string(rank) + "; ranks count from 0"};
  }
  for (const Edge &edge : edges) {
    if (edge.from < 0 || edge.to >= numStages() || edge.from >= edge.to)
      return Error{named("edge", edge.id) + " goes from stage " + std::to_string(edge.from) + " to stage " +
                   std::to_string(edge.to) + " of " + std::to_string(numStages()) +
                   "; number the stages so that every edge goes to a later one"};
    if (edge.carriesGradient && (!stages[edge.from].backward || !stages[edge.to].backward))
      return Error{named("edge", edge.id) + " carries a gradient from stage " + std::to_string(edge.to) + " to stage " +
                   std::to_string(edge.from) +
                   ", one of which has no backward; drop the gradient or give both a backward"};
  }
  for (const Edge &edge : edges)
    if (stages[edge.to].defers && !stages[edge.from].defers)
      return Error{named("stage", edge.to) + " defers samples and reads stage " + std::to_string(edge.from) +
                   ", which does not; let every stage in front of one that defers do so too"};
  for (int microbatch = 0; microbatch < static_cast<int>(partner.size()); ++microbatch)
    if (partner[microbatch] >= 0 && (partner[microbatch] >= microbatches || partner[microbatch] <= microbatch))
      return Error{named("micro-batch", microbatch) + " defers samples to micro-batch " +
                   std::to_string(partner[microbatch]) + " of " + std::to_string(microbatches) +
                   "; name a later one of this step, or -1 for none"};
  for (const TiedGroup &group : tied) {
    std::vector<int> members = group.copies;
    members.push_back(group.home);
    for (int stage : members)
      if (stage < 0 || stage >= numStages())
        return Error{"a tied parameter lives in stage " + std::to_string(stage) + " of " + std::to_string(numStages()) +
                     "; name existing stages"};
  }
  if (lossStage >= numStages())
    return Error{"the loss is in stage " + std::to_string(lossStage) + " of " + std::to_string(numStages())};
  return {};
}

PipelineGraph::PipelineGraph(const Pipeline &pipeline) {
  int count = pipeline.numStages();
  producers.resize(count);
  consumers.resize(count);
  gradientProducers.resize(count);
  gradientConsumers.resize(count);
  for (const Edge &edge : pipeline.edges) {
    producers[edge.to].push_back(edge.from);
    consumers[edge.from].push_back(edge.to);
    if (edge.carriesGradient) {
      gradientProducers[edge.to].push_back(edge.from);
      gradientConsumers[edge.from].push_back(edge.to);
    }
  }
  for (auto *lists : {&producers, &consumers, &gradientProducers, &gradientConsumers})
    for (std::vector<int> &list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  for (const Stage &stage : pipeline.stages)
    defers.push_back(stage.defers);
  partner = pipeline.partner;
  if (std::find(defers.begin(), defers.end(), 1) != defers.end()) {
    deferredInto.resize(pipeline.microbatches);
    for (int microbatch = 0; microbatch < static_cast<int>(partner.size()); ++microbatch)
      if (partner[microbatch] >= 0 && partner[microbatch] < pipeline.microbatches)
        deferredInto[partner[microbatch]].push_back(microbatch);
  }
  depth.assign(count, 1);
  for (int stage = count - 1; stage >= 0; --stage)
    for (int next : pipeline.stages[stage].backward ? gradientConsumers[stage] : consumers[stage])
      depth[stage] = std::max(depth[stage], depth[next] + 1);
}

} // namespace braid::plan
