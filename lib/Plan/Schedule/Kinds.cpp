//===- Kinds.cpp - Schedules by name --------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Schedule/Dataflow.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <functional>

namespace braid::plan {

Pipeline loopedPipeline(int ranks, int chunks, int microbatches) {
  std::vector<int> placement;
  for (int stage = 0; stage < ranks * chunks; ++stage)
    placement.push_back(stage % ranks);
  return Pipeline::chain(ranks * chunks, microbatches, std::move(placement));
}

Pipeline foldedPipeline(int ranks, int microbatches) {
  std::vector<int> placement;
  for (int stage = 0; stage < 2 * ranks; ++stage)
    placement.push_back(std::min(stage, 2 * ranks - 1 - stage));
  return Pipeline::chain(2 * ranks, microbatches, std::move(placement));
}

Pipeline mirroredPipeline(int ranks, int microbatches) {
  Pipeline pipeline = Pipeline::chain(ranks, microbatches);
  pipeline.placement.push_back(pipeline.placement[0]);
  std::reverse(pipeline.placement[1].begin(), pipeline.placement[1].end());
  return pipeline;
}

Pipeline amdpPipeline(int ranks, int microbatches) {
  Pipeline pipeline = Pipeline::chain(ranks, microbatches);
  pipeline.placement.clear();
  for (int direction = 0; direction < std::max(1, ranks / 2); ++direction) {
    std::vector<int> &placement = pipeline.placement.emplace_back();
    for (int stage = 0; stage < ranks; ++stage)
      placement.push_back((direction % 2 == 0 ? 2 * direction + stage : 2 * direction - stage + ranks + 1) % ranks);
  }
  return pipeline;
}

Result<Pipeline> colocatedPipeline(int ranks, int microbatches) {
  Component encoder{.name = "encoder", .ranks = {}, .readers = {{"llm"}}, .lanes = true},
      model{.name = "llm", .ranks = {}};
  for (int rank = 0; rank < ranks; ++rank)
    encoder.ranks.push_back(rank);
  model.ranks = encoder.ranks;
  return joinComponents({encoder, model}, microbatches);
}

namespace {
struct Maker {
  ScheduleKind kind;
  std::function<Result<Pipeline>(const ScheduleRequest &)> pipeline;
  std::function<Result<Schedule>(const Pipeline &, const ScheduleRequest &, const GenerateOptions &)> schedule;
};
} // namespace

static const std::vector<Maker> &makers() {
  using Request = ScheduleRequest;
  using Made = Result<Pipeline>;
  auto chain = [](const Request &r) -> Made { return Pipeline::chain(r.ranks, r.microbatches); };
  auto looped = [](const Request &r) -> Made { return loopedPipeline(r.ranks, r.chunks, r.microbatches); };
  auto folded = [](const Request &r) -> Made { return foldedPipeline(r.ranks, r.microbatches); };
  auto mirrored = [](const Request &r) -> Made { return mirroredPipeline(r.ranks, r.microbatches); };
  auto many = [](const Request &r) -> Made { return amdpPipeline(r.ranks, r.microbatches); };
  auto colocated = [](const Request &r) { return colocatedPipeline(r.ranks, r.microbatches); };
  using Options = GenerateOptions;
  static const std::vector<Maker> all = {
      {{"gpipe", "all forwards, then all backwards"},
       chain,
       [](const Pipeline &p, const Request &, const Options &o) { return gpipe(p, o); }},
      {{.name = "1f1b", .summary = "a forward and a backward in turn; few activations", .readsEager = true},
       chain,
       [](const Pipeline &p, const Request &, const Options &o) { return oneFOneB(p, o); }},
      {{.name = "interleaved",
        .summary = "1f1b over several chunks per rank; a smaller bubble for more messages",
        .readsChunks = true},
       looped,
       [](const Pipeline &p, const Request &, const Options &) { return interleaved(p); }},
      {{.name = "looped_bfs", .summary = "each chunk runs all micro-batches before the next", .readsChunks = true},
       looped,
       [](const Pipeline &p, const Request &, const Options &) { return loopedBfs(p); }},
      {{"zb_h1", "weight gradients fill the bubble, in 1f1b's memory"},
       chain,
       [](const Pipeline &p, const Request &, const Options &) { return zeroBubbleH(p, 1); }},
      {{"zb_h2", "no bubble where F = I = W, in twice 1f1b's memory"},
       chain,
       [](const Pipeline &p, const Request &, const Options &) { return zeroBubbleH(p, 2); }},
      {{"zb_v", "no bubble where F = I = W, in 1f1b's memory; two chunks per rank"},
       folded,
       [](const Pipeline &p, const Request &, const Options &) { return zeroBubbleV(p); }},
      {{"v_half", "about half of 1f1b's memory and two thirds of its bubble"},
       folded,
       [](const Pipeline &p, const Request &, const Options &) { return vHalf(p); }},
      {{"v_min", "about a third of 1f1b's memory"},
       folded,
       [](const Pipeline &p, const Request &, const Options &) { return vMin(p); }},
      {{"chimera", "two directions; half the bubble for two copies of the weights"},
       mirrored,
       [](const Pipeline &p, const Request &, const Options &) { return chimera(p); }},
      {{"dualpipe", "two directions with overlapped forward-backward blocks"},
       mirrored,
       [](const Pipeline &p, const Request &, const Options &) { return dualPipe(p); }},
      {{"dualpipev", "dualpipe folded onto one set of weights"},
       folded,
       [](const Pipeline &p, const Request &, const Options &) { return dualPipeV(p); }},
      {{.name = "2bw",
        .summary = "no flush: gradients one update late, two versions of the weights",
        .readsUpdates = true},
       chain,
       [](const Pipeline &p, const Request &r, const Options &) { return twoBW(p, r.updates); }},
      {{.name = "amdp",
        .summary = "half as many directions as ranks; no flush, one version, only some gradients late",
        .readsUpdates = true},
       many,
       [](const Pipeline &p, const Request &r, const Options &) { return amdp(p, r.updates); }},
      {{.name = "amdp_split", .summary = "amdp with split backwards, which closes its bubble", .readsUpdates = true},
       many,
       [](const Pipeline &p, const Request &r, const Options &) { return amdpSplit(p, r.updates); }},
      {{"three_phase", "encoder and language model on the same ranks: encoder forwards, 1f1b, encoder backwards"},
       colocated,
       [](const Pipeline &p, const Request &, const Options &o) { return threePhase(p, o); }},
  };
  return all;
}

const std::vector<ScheduleKind> &scheduleKinds() {
  static const std::vector<ScheduleKind> kinds = [] {
    std::vector<ScheduleKind> result;
    for (const Maker &maker : makers())
      result.push_back(maker.kind);
    return result;
  }();
  return kinds;
}

static Result<const Maker *> makerOf(const std::string &kind) {
  std::vector<std::string> names;
  for (const Maker &maker : makers()) {
    if (maker.kind.name == kind)
      return &maker;
    names.push_back(maker.kind.name);
  }
  return Error{"unknown schedule '" + kind + "'" + suggest(kind, names)};
}

/// finish() comes once, whatever the maker does.
static Result<Schedule> finished(const Maker &maker, const Pipeline &pipeline, const ScheduleRequest &request,
                                 const GenerateOptions &options) {
  GenerateOptions plain = options;
  plain.messages = plain.update = plain.recompute = false;
  Result<Schedule> schedule = maker.schedule(pipeline, request, plain);
  if (schedule)
    dropIdleBackwards(pipeline, *schedule);
  return finish(pipeline, std::move(schedule), options);
}

Result<Schedule> scheduleOf(const Pipeline &pipeline, const ScheduleRequest &request, const GenerateOptions &options) {
  Result<const Maker *> maker = makerOf(request.kind);
  if (!maker)
    return Error{maker.error()};
  return finished(**maker, pipeline, request, options);
}

Result<PlannedSchedule> makeSchedule(const ScheduleRequest &request, const GenerateOptions &options) {
  struct Size {
    const char *what;
    int value, most;
  };
  for (auto [what, value, most] : {Size{"ranks", request.ranks, 1 << 16},
                                   {"micro-batches", request.microbatches, INT32_MAX},
                                   {"chunks", request.chunks, 1024},
                                   {"updates", request.updates, maxVersion}})
    if (value < 1 || value > most)
      return Error{"a schedule of " + std::to_string(value) + " " + what + " cannot be made; choose 1 to " +
                   std::to_string(most)};
  Result<const Maker *> maker = makerOf(request.kind);
  if (!maker)
    return Error{maker.error()};
  constexpr int64_t mostCells = 1 << 25;
  int64_t stages = int64_t(request.ranks) * request.chunks;
  if (!request.components.empty()) {
    stages = 0;
    for (const Component &component : request.components)
      stages += static_cast<int64_t>(component.ranks.size());
  }
  if (stages * request.microbatches > mostCells)
    return Error{"a table of " + std::to_string(stages) + " stages and " + std::to_string(request.microbatches) +
                 " micro-batches is too large; let their product be at most " + std::to_string(mostCells)};
  if (request.kind.starts_with("amdp") && int64_t(request.ranks) * request.ranks > mostCells)
    return Error{std::to_string(request.ranks) + " ranks in half as many directions are too many; choose at most 5792"};
  Result<Pipeline> pipeline = request.components.empty() ? (*maker)->pipeline(request)
                                                         : joinComponents(request.components, request.microbatches);
  if (!pipeline)
    return Error{pipeline.error()};
  for (Stage &stage : pipeline->stages)
    stage.recomputes = request.recomputes && stage.backward;
  Result<Schedule> schedule = finished(**maker, *pipeline, request, options);
  if (!schedule)
    return Error{schedule.error()};
  return PlannedSchedule{std::move(*pipeline), std::move(*schedule)};
}

} // namespace braid::plan
