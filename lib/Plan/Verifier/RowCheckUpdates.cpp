//===- RowCheckUpdates.cpp - Gradients, tied parameters and steps --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCheck.h"

namespace braid::plan {

Status RowCheck::visitTied(const Action &action) {
  bool gradient = action.kind == ActionKind::SendGrad || action.kind == ActionKind::RecvGrad;
  bool atHome = action.kind == ActionKind::RecvGrad || action.kind == ActionKind::SendParam;
  int home = atHome ? action.stage : action.peer, copy = atHome ? action.peer : action.stage;
  if (!tied(home, copy))
    return fail("unpaired: " + here(action) + " has nothing to carry: no parameter of stage " + std::to_string(home) +
                " has a copy in stage " + std::to_string(copy));
  PlaceState &place = placeOf(action);
  int update = std::min<int>(action.version, schedule.updates - 1);
  if (gradient && !gradientsComplete(action, update) && !atHome)
    return fail("lost gradient: " + here(action) + " comes before the last backward of stage " +
                std::to_string(action.stage));
  if (action.kind == ActionKind::RecvGrad)
    ++place.received[update];
  if (action.kind == ActionKind::SendParam && place.version <= update)
    return fail("wrong weights: " + here(action) + " sends tied parameters before STEP of their home, stage " +
                std::to_string(action.stage));
  tiedMessages[{action.kind, action.direction, home, copy, update}]++;
  return {};
}

bool RowCheck::tied(int home, int copy) const {
  for (const TiedGroup &group : pipeline.tied)
    if (group.home == home && std::count(group.copies.begin(), group.copies.end(), copy))
      return true;
  return false;
}

int RowCheck::tiedDue(int home, int direction) const {
  std::vector<int> copies;
  for (const TiedGroup &group : pipeline.tied)
    if (group.home == home)
      for (int copy : group.copies)
        if (pipeline.rankOf(copy, direction) != pipeline.rankOf(home, direction))
          copies.push_back(copy);
  std::sort(copies.begin(), copies.end());
  return static_cast<int>(std::unique(copies.begin(), copies.end()) - copies.begin());
}

Status RowCheck::visitReduce(const Action &action) {
  if (!gradientsComplete(action, action.version))
    return fail("lost gradient: " + here(action) + " reduces " +
                std::to_string(placeOf(action).gradients[action.version]) + " of " +
                std::to_string(dueOf(action.stage, action.direction, action.version)) + " gradients of stage " +
                std::to_string(action.stage) + "; reduce after the last backward of the update");
  if (placeOf(action).reduced[action.version]++)
    return fail("double gradient: " + here(action) + " reduces the gradient of stage " + std::to_string(action.stage) +
                " a second time");
  return {};
}

Status RowCheck::checkGradients(const Action &action, int stage, int direction) {
  Action own = action;
  own.stage = stage;
  own.direction = static_cast<int16_t>(direction);
  const PlaceState &place = placeOf(own);
  int update = action.version;
  if (!gradientsComplete(own, update))
    return fail("lost gradient: " + here(action) + " uses " + std::to_string(place.gradients[update]) + " of " +
                std::to_string(dueOf(stage, direction, update)) + " gradients of stage " + std::to_string(stage) +
                "; move it behind the last backward of the update");
  if (place.received[update] < tiedDue(stage, direction))
    return fail("lost gradient: " + here(action) + " comes before the gradient of a tied parameter of stage " +
                std::to_string(stage) + " is received from its copies");
  if (shape.directions > 1 && pipeline.stages[stage].trains && !place.reduced[update])
    return fail("lost gradient: " + here(action) + " comes before REDUCE_GRAD of stage " + std::to_string(stage) +
                ", which several directions compute");
  return {};
}

Status RowCheck::visitNorm(const Action &action) {
  for (int direction = 0; direction < shape.directions; ++direction)
    for (int stage = 0; stage < shape.stages; ++stage)
      if (pipeline.stages[stage].trains && onThisRank(stage, direction))
        if (Status status = checkGradients(action, stage, direction); !status)
          return status;
  normOfRank = action.version + 1;
  return {};
}

Status RowCheck::visitStep(const Action &action) {
  PlaceState &place = placeOf(action);
  if (!pipeline.stages[action.stage].trains)
    return fail(here(action) + " steps stage " + std::to_string(action.stage) + ", which has nothing to train");
  if (action.version != place.version)
    return fail("wrong weights: " + here(action) + " is update " + std::to_string(action.version) + " of stage " +
                std::to_string(action.stage) + ", which is at version " + std::to_string(place.version) +
                "; step each update once, in order");
  if (Status status = checkGradients(action, action.stage, action.direction); !status)
    return status;
  if (hasNorm && normOfRank <= action.version)
    return fail("out of order: " + here(action) + " comes before NORM of its update on rank " + std::to_string(rank));
  ++place.version;
  return {};
}

Status RowCheck::checkUpdates() {
  if (!hasStep)
    return {};
  for (int direction = 0; direction < shape.directions; ++direction)
    for (int stage = 0; stage < shape.stages; ++stage) {
      const PlaceState &place = places[size_t(direction) * shape.stages + stage];
      if (pipeline.stages[stage].trains && place.version != schedule.updates) {
        rank = pipeline.rankOf(stage, direction);
        index = static_cast<int>(schedule.rows[rank].size());
        return fail("incomplete: STEP of update " + std::to_string(place.version) + " of stage " +
                    std::to_string(stage) + " is missing from rank " + std::to_string(rank));
      }
    }
  for (const TiedGroup &group : pipeline.tied)
    for (int copy : group.copies)
      for (int direction = 0; direction < shape.directions; ++direction)
        for (int update = 0; update < schedule.updates; ++update) {
          if (pipeline.rankOf(copy, direction) == pipeline.rankOf(group.home, direction))
            continue;
          for (ActionKind kind :
               {ActionKind::SendGrad, ActionKind::RecvGrad, ActionKind::SendParam, ActionKind::RecvParam}) {
            auto found = tiedMessages.find({kind, direction, group.home, copy, update});
            if (found != tiedMessages.end() && found->second == 1)
              continue;
            bool atHome = kind == ActionKind::RecvGrad || kind == ActionKind::SendParam;
            rank = pipeline.rankOf(atHome ? group.home : copy, direction);
            index = static_cast<int>(schedule.rows[rank].size());
            return fail("unpaired: " + std::string(spelling(kind)) + " of the parameters that stage " +
                        std::to_string(copy) + " shares with stage " + std::to_string(group.home) +
                        (found == tiedMessages.end() ? " is missing from rank " : " comes more than once on rank ") +
                        std::to_string(rank));
          }
        }
  return {};
}

} // namespace braid::plan
