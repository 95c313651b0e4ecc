//===- Generators.h - Schedules made from a pipeline ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generator decides in which order each rank computes; addMessages() then places sends and receives, and addUpdate()
// the end of the step. All of them are rules, none a copied table.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_GENERATORS_H
#define BRAID_PLAN_GENERATORS_H

#include "braid/Plan/Pipeline.h"
#include "braid/Plan/Schedule.h"

namespace braid::plan {

struct GenerateOptions {
  bool messages = true;         // add sends and receives
  bool update = true;           // add tied parameters, NORM, STEP and LOSS
  bool reduceGradients = false; // add REDUCE_GRAD to stages in one direction too: they have data-parallel lanes
};

/// All forwards, then all backwards. (Huang et al., GPipe, 2019)
Result<Schedule> gpipe(const Pipeline &pipeline, const GenerateOptions &options = {});

/// Per stage depth-1 forwards, then a forward and a backward in turn, then the backwards that are left; depth counts the
/// stages from this one to the end of the longest path. Ranks with several stages run backwards first and among these
/// the later stage. (Narayanan et al., PipeDream-Flush, 2021)
Result<Schedule> oneFOneB(const Pipeline &pipeline, const GenerateOptions &options = {});

/// Merges one list of actions per (direction, stage) into one per rank: whatever is ready first, backwards before
/// forwards. `sequences[direction][stage]`.
Result<Schedule> mergeStages(const Pipeline &pipeline, const std::vector<std::vector<std::vector<Action>>> &sequences);

/// Adds a send and a receive wherever a value or gradient goes to another rank. Both ends get them in one global order
/// in which the values come to exist, so blocking sends cannot deadlock. The schedule must hold no messages yet.
Status addMessages(const Pipeline &pipeline, Schedule &schedule);

/// Appends what ends a step: tied gradients to their homes, REDUCE_GRAD where a stage has several directions, NORM,
/// STEP, tied values to their copies, LOSS.
void addUpdate(const Pipeline &pipeline, Schedule &schedule, const GenerateOptions &options = {});

} // namespace braid::plan

#endif // BRAID_PLAN_GENERATORS_H
