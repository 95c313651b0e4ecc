//===- RowCheckShape.cpp - What a table names must exist -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCheck.h"

namespace braid::plan {

Status RowCheck::checkShape() {
  if (schedule.rows.size() < static_cast<size_t>(pipeline.numRanks()))
    return Error{"the table has " + std::to_string(schedule.rows.size()) + " rows and the pipeline uses " +
                 std::to_string(pipeline.numRanks()) + " ranks; give each rank a row"};
  if (schedule.updates < 1 || pipeline.microbatches % schedule.updates)
    return Error{std::to_string(pipeline.microbatches) + " micro-batches do not divide into " +
                 std::to_string(schedule.updates) + " updates; choose a multiple"};
  for (PlaceState &place : places)
    for (std::vector<int> *counts : {&place.gradients, &place.reduced, &place.received})
      counts->resize(schedule.updates);
  runs.assign(shape.directions, std::vector<uint8_t>(shape.microbatches));
  for (rank = 0; rank < schedule.ranks(); ++rank)
    for (index = 0; index < static_cast<int>(schedule.rows[rank].size()); ++index) {
      const Action &action = schedule.rows[rank][index];
      if (action.kind == ActionKind::Idle)
        continue;
      if (action.stage >= shape.stages || action.direction >= shape.directions || action.stage < 0 ||
          action.direction < 0)
        return fail(here(action) + " names a stage or direction that the pipeline does not have: it has " +
                    std::to_string(shape.stages) + " stages and " + std::to_string(shape.directions) + " direction(s)");
      if (isMessage(action.kind) && (action.peer < 0 || action.peer >= shape.stages))
        return fail(here(action) + " names stage " + std::to_string(action.peer) +
                    " at its other end, which the pipeline does not have");
      const std::vector<Action> &row = schedule.rows[rank];
      if (action.joinsNext &&
          (!isCompute(action.kind) || size_t(index) + 1 == row.size() || !isCompute(row[index + 1].kind)))
        return fail(here(action) + " is the first half of an overlapped block, and no computation follows it; let two "
                                   "computations overlap");
      if (isCompute(action.kind) && action.microbatch < 0)
        return fail(here(action) + " needs a micro-batch");
      if (action.microbatch < -1 || action.microbatch >= shape.microbatches)
        return fail(here(action) + " names a micro-batch that the pipeline does not have: it has " +
                    std::to_string(pipeline.microbatches));
      if (!shape.contains(action))
        return fail(here(action) + " names deferred samples that there are not: " + whyNoPart(action));
      bool lossAtRankZero = action.kind == ActionKind::Loss && rank == 0;
      if (!onThisRank(action.stage, action.direction) && !lossAtRankZero)
        return fail(here(action) + " is on the wrong rank: stage " + std::to_string(action.stage) +
                    (shape.directions > 1 ? " of direction " + std::to_string(action.direction) : "") +
                    " lives on rank " + std::to_string(pipeline.rankOf(action.stage, action.direction)));
      bool perUpdate =
          action.kind == ActionKind::Step || action.kind == ActionKind::ReduceGrad || action.kind == ActionKind::Norm;
      if (perUpdate && (action.version < 0 || action.version >= schedule.updates))
        return fail(here(action) + " belongs to update " + std::to_string(action.version) + " of a table with " +
                    std::to_string(schedule.updates));
      hasStep |= action.kind == ActionKind::Step;
      hasNorm |= action.kind == ActionKind::Norm;
      if (action.kind == ActionKind::Forward && action.sub == 0)
        runs[action.direction][action.microbatch] = 1;
    }
  return {};
}

std::string RowCheck::whyNoPart(const Action &action) const {
  bool value = action.kind == ActionKind::RecvF || action.kind == ActionKind::SendB;
  int stage = value ? action.peer : action.stage;
  if (action.sub != 1)
    return "a micro-batch has part 0, its kept samples, and part 1, its deferred ones";
  if (!pipeline.stages[stage].defers)
    return "stage " + std::to_string(stage) + " does not defer";
  return "micro-batch " + std::to_string(action.microbatch) + " has no partner that takes them";
}

Status RowCheck::assignMicrobatches() {
  int total = 0;
  microbatchRange = 1;
  for (int direction = 0; direction < shape.directions; ++direction)
    for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch)
      if (runs[direction][microbatch]) {
        ++total;
        microbatchRange = std::max(microbatchRange, microbatch + 1);
      }
  if (total != pipeline.microbatches) {
    std::string missing;
    if (shape.directions == 1)
      for (int microbatch = 0; microbatch < pipeline.microbatches && missing.empty(); ++microbatch)
        if (!runs[0][microbatch])
          missing = "; no rank runs a forward of micro-batch " + std::to_string(microbatch);
    return Error{"incomplete: the table runs " + std::to_string(total) + " micro-batches and the pipeline has " +
                 std::to_string(pipeline.microbatches) + missing};
  }
  gradientsDue.assign(shape.directions, std::vector<int>(schedule.updates));
  deferredDue = gradientsDue;
  for (int direction = 0; direction < shape.directions; ++direction)
    for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
      if (!runs[direction][microbatch])
        continue;
      int update = updateOf(microbatch), partner = pipeline.partnerOf(microbatch);
      ++gradientsDue[direction][update];
      if (partner < 0 || shape.subs == 1)
        continue;
      ++deferredDue[direction][update];
      if (!runs[direction][partner])
        return Error{"micro-batch " + std::to_string(microbatch) + " defers samples to micro-batch " +
                     std::to_string(partner) + ", which does not run in direction " + std::to_string(direction) +
                     "; partners follow each other in one direction"};
      if (updateOf(partner) != update)
        return Error{"micro-batch " + std::to_string(microbatch) + " of update " + std::to_string(update) +
                     " defers samples to micro-batch " + std::to_string(partner) + " of update " +
                     std::to_string(updateOf(partner)) + "; samples may not leave their update"};
    }
  return {};
}

} // namespace braid::plan
