//===- Kinds.h - Schedules by name ------------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_KINDS_H
#define BRAID_PLAN_SCHEDULE_KINDS_H

#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Schedule/Generators.h"

#include <string>
#include <vector>

namespace braid::plan {

struct ScheduleKind {
  std::string name;    // as in plan.yaml and on the command line
  std::string summary; // one line
  // Of a request, what only some kinds read.
  bool readsChunks = false, readsUpdates = false, readsEager = false;
};
/// All that makeSchedule() knows, in the order of docs/Schedules.md.
const std::vector<ScheduleKind> &scheduleKinds();

struct ScheduleRequest {
  std::string kind = "1f1b";
  int ranks = 4;
  int microbatches = 8;    // of the whole table
  int chunks = 2;          // stages per rank, for interleaved and looped_bfs
  int updates = 1;         // for 2bw and amdp
  bool recomputes = false; // every stage with a backward
  /// What the pipeline consists of, instead of a chain over `ranks`. 1f1b, gpipe and three_phase schedule any.
  std::vector<Component> components = {};
};

struct PlannedSchedule {
  Pipeline pipeline;
  Schedule schedule;
};

/// A chain of stages placed as the kind wants it, or the components, and its schedule.
Result<PlannedSchedule> makeSchedule(const ScheduleRequest &request, const GenerateOptions &options = {});

/// The schedule of this kind for a pipeline that exists. It is refused if the kind's rule does not cover it.
Result<Schedule> scheduleOf(const Pipeline &pipeline, const ScheduleRequest &request,
                            const GenerateOptions &options = {});

/// Placements. Stage s on rank s mod ranks, on rank min(s, 2 ranks-1-s), on ranks s and ranks-1-s, and AMDP's.
Pipeline loopedPipeline(int ranks, int chunks, int microbatches);
Pipeline foldedPipeline(int ranks, int microbatches);
Pipeline mirroredPipeline(int ranks, int microbatches);
Pipeline amdpPipeline(int ranks, int microbatches);
/// An encoder and a language model on the same ranks: a lane of the encoder and a stage of the model on each.
Result<Pipeline> colocatedPipeline(int ranks, int microbatches);

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_KINDS_H
