//===- OneFOneB.cpp - GPipe, 1F1B and the three phases --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Schedule/Generators.h"

#include <algorithm>

namespace braid::plan {

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
