//===- RowCheck.cpp - What each row computes and sends --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCheck.h"

namespace braid::plan {

Status RowCheck::run() {
  if (Status status = checkShape(); !status)
    return status;
  if (Status status = assignMicrobatches(); !status)
    return status;
  facts.peakActivations.assign(schedule.rows.size(), 0);
  for (rank = 0; rank < schedule.ranks(); ++rank) {
    active = 0;
    normOfRank = 0;
    for (index = 0; index < static_cast<int>(schedule.rows[rank].size()); ++index)
      if (Status status = visit(schedule.rows[rank][index]); !status)
        return status;
  }
  if (Status status = checkComputed(); !status)
    return status;
  if (Status status = checkMessages(); !status)
    return status;
  return checkUpdates();
}

Status RowCheck::visit(const Action &action) {
  switch (action.kind) {
  case ActionKind::Forward:
  case ActionKind::Recompute:
  case ActionKind::BackwardInput:
  case ActionKind::BackwardWeight:
  case ActionKind::FullBackward:
    return visitCompute(action);
  case ActionKind::SendF:
  case ActionKind::RecvF:
  case ActionKind::SendB:
  case ActionKind::RecvB:
    return visitMessage(action);
  case ActionKind::SendGrad:
  case ActionKind::RecvGrad:
  case ActionKind::SendParam:
  case ActionKind::RecvParam:
    return visitTied(action);
  case ActionKind::ReduceGrad:
    return visitReduce(action);
  case ActionKind::Norm:
    return visitNorm(action);
  case ActionKind::Step:
    return visitStep(action);
  case ActionKind::Loss:
    if (rank == pipeline.rankOf(action.stage, action.direction) && !forwardsComplete(action))
      return fail(here(action) + " comes before the last forward of stage " + std::to_string(action.stage));
    return {};
  default:
    return {};
  }
}

bool RowCheck::forwardsComplete(const Action &action) const {
  for (int sub = 0; sub < shape.subs; ++sub)
    for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch)
      if (runs[action.direction][microbatch] && pipeline.hasPart(action.stage, microbatch, sub) &&
          !(done[shape.slot(action.direction, action.stage, sub, microbatch)] & doneForward))
        return false;
  return true;
}

Status RowCheck::visitCompute(const Action &action) {
  uint8_t &bits = done[shape.slot(action)];
  uint8_t sets = effect(action.kind);
  bool backward = isBackward(action.kind);
  if (bits & sets & ~doneRecompute)
    return fail(here(action) + " computes again what has been computed: stage " + std::to_string(action.stage) +
                ", micro-batch " + std::to_string(action.microbatch) + (backward ? " backwards" : " forwards") +
                "; remove one of the two");
  if (backward && !pipeline.stages[action.stage].backward)
    return fail(here(action) + " is a backward of stage " + std::to_string(action.stage) +
                ", which has none: nothing behind it needs a gradient");
  if (Status status = checkNeeds(action); !status)
    return status;
  if (action.kind == ActionKind::Recompute && (bits & doneInput))
    return fail("out of order: " + here(action) + " comes after the backward that reads what it computes again");
  if ((sets & doneInput) && pipeline.stages[action.stage].recomputes && !(bits & doneRecompute)) {
    Action recompute = action;
    recompute.kind = ActionKind::Recompute;
    return fail("out of order: " + here(action) + " runs before " + recompute.str() +
                ", which computes again what the stage did not keep");
  }
  if (Status status = checkVersion(action); !status)
    return status;
  bits |= sets;
  // The two parts of a micro-batch are one activation, held as long as one of them is.
  bool holds = pipeline.stages[action.stage].backward && !holdsOtherPart(action);
  if (action.kind == ActionKind::Forward && holds) {
    ++active;
    facts.peakActivations[rank] = std::max(facts.peakActivations[rank], active);
    int limit = options.maxActivations;
    if (static_cast<size_t>(rank) < options.maxActivationsOfRank.size())
      limit = options.maxActivationsOfRank[rank];
    if (limit >= 0 && active > limit)
      return fail("out of memory: " + here(action) + " makes " + std::to_string(active) +
                  " activations in flight on rank " + std::to_string(rank) + ", which may hold " +
                  std::to_string(limit));
  }
  // A stage whose parameters are frozen is done with its activations after the input gradient.
  if (holds && (sets & (pipeline.stages[action.stage].trains ? doneWeight : doneInput)))
    --active;
  if (sets & doneWeight)
    ++placeOf(action).gradients[updateOf(action.microbatch)];
  return {};
}

bool RowCheck::holdsOtherPart(const Action &action) const {
  if (!pipeline.hasPart(action.stage, action.microbatch, 1))
    return false;
  Action other = action;
  other.sub = 1 - action.sub;
  uint8_t bits = done[shape.slot(other)], last = pipeline.stages[action.stage].trains ? doneWeight : doneInput;
  return (bits & doneForward) && !(bits & last);
}

Status RowCheck::checkNeeds(const Action &action) {
  Status status;
  forEachNeed(graph, action, [&](const Part &part, uint8_t bits) {
    const int stage = part.stage;
    bool local = onThisRank(stage, action.direction);
    if (!local && !withMessages)
      return true; // the run finds these
    bool backward = stage != action.stage && bits == doneInput;
    if (local) {
      // Halves of a block run at one time: what the other half computes is not there yet.
      const Action *other = otherHalf();
      bool overlaps = other && shape.slot(*other) == shape.slot(action, part) && (effect(other->kind) & bits);
      if ((done[shape.slot(action, part)] & bits) == bits && !overlaps)
        return true;
      if (overlaps) {
        status = fail("out of order: " + here(action) + " overlaps with " + other->str() +
                      ", whose result it needs; let them follow each other, or overlap other micro-batches");
        return false;
      }
      Action needed = partOf(action, part);
      needed.version = 0;
      needed.kind = bits == doneForward ? ActionKind::Forward : ActionKind::BackwardInput;
      status = fail("out of order: " + here(action) + " runs before " + needed.str() +
                    (bits == doneInput ? " (or its full backward)" : "") + ", whose result it needs");
      return false;
    }
    int link = backward ? links.find(action.stage, stage) : links.find(stage, action.stage);
    uint8_t received = backward ? receivedBackward : receivedForward;
    // A gradient is named by the part that it is for, a value by the part that it comes from.
    Action receive = backward ? action : partOf(action, part);
    receive.stage = action.stage;
    if (link < 0 || (messages[messageSlot(link, receive)] & received))
      return true;
    receive.kind = backward ? ActionKind::RecvB : ActionKind::RecvF;
    receive.peer = stage;
    receive.version = 0;
    status = fail("out of order: " + here(action) + " runs before " + receive.str() + ", whose value it needs");
    return false;
  });
  return status;
}

Status RowCheck::checkVersion(const Action &action) {
  const int now = placeOf(action).version, reads = action.version, update = updateOf(action.microbatch);
  const int kept = schedule.weightVersions;
  if (reads > now)
    return fail("wrong weights: " + here(action) + " reads version " + std::to_string(reads) +
                " of the weights of stage " + std::to_string(action.stage) +
                " before the step that makes it; the rank holds version " + std::to_string(now));
  if (reads <= now - kept)
    return fail("wrong weights: " + here(action) + " reads version " + std::to_string(reads) +
                " of the weights of stage " + std::to_string(action.stage) + ", and after its step the rank holds " +
                (kept == 1 ? "only version " + std::to_string(now)
                           : "versions " + std::to_string(now - kept + 1) + " to " + std::to_string(now)));
  if (hasStep && isBackward(action.kind) && now > update)
    return fail("lost gradient: " + here(action) + " comes after STEP of update " + std::to_string(update) +
                ", to which its gradient belongs");
  int16_t &forward = versions[shape.slot(action)];
  if (action.kind == ActionKind::Forward) {
    forward = static_cast<int16_t>(reads);
    return {};
  }
  // What a gradient was taken at is the older of the two versions that its forward and backward read.
  int taken = std::min<int>(forward, reads), staleness = update - taken;
  facts.staleness = std::max(facts.staleness, staleness);
  if ((effect(action.kind) & doneInput) && forward != reads)
    ++facts.mismatched;
  if (staleness > schedule.staleness)
    return fail("stale: " + here(action) + " takes a gradient at version " + std::to_string(taken) +
                " of the weights for update " + std::to_string(update) + ", " + std::to_string(staleness) +
                " update(s) late, and the schedule allows " + std::to_string(schedule.staleness));
  return {};
}

Status RowCheck::visitMessage(const Action &action) {
  bool forwardValue = action.kind == ActionKind::SendF || action.kind == ActionKind::RecvF;
  bool sends = isSend(action.kind);
  if (action.microbatch < 0)
    return fail(here(action) + " needs a micro-batch");
  // The value goes from `from` to `to`; a gradient the other way.
  int from = forwardValue == sends ? action.stage : action.peer,
      to = forwardValue == sends ? action.peer : action.stage;
  int link = from < to ? links.find(from, to) : -1;
  bool carries = forwardValue ||
                 std::binary_search(graph.gradientConsumers[from].begin(), graph.gradientConsumers[from].end(), to);
  if (link < 0 || !carries)
    return fail("unpaired: " + here(action) + " has nothing to carry: no edge " +
                (forwardValue ? "goes" : "brings a gradient back") + " from stage " +
                std::to_string(forwardValue ? from : to) + " to stage " + std::to_string(forwardValue ? to : from));
  if (pipeline.rankOf(action.peer, action.direction) == rank)
    return fail(here(action) + " is not needed: both of its stages live on rank " + std::to_string(rank));
  uint8_t bit = forwardValue ? (sends ? sentForward : receivedForward) : (sends ? sentBackward : receivedBackward);
  uint8_t &bits = messages[messageSlot(link, action)];
  if (bits & bit)
    return fail("unpaired: " + here(action) + (sends ? " is sent" : " is received") + " twice");
  if (sends) {
    uint8_t needed = forwardValue ? doneForward : doneInput;
    Part made = forwardValue ? Part{action.stage, action.microbatch, action.sub}
                             : partAt(graph, action.stage, action.microbatch, action.sub);
    if (!(done[shape.slot(action, made)] & needed)) {
      Action compute = partOf(action, made);
      compute.kind = forwardValue ? ActionKind::Forward : ActionKind::FullBackward;
      compute.peer = -1;
      return fail("out of order: " + here(action) + " sends before " + compute.str() + " has computed the value");
    }
    ++facts.messages;
  }
  bits |= bit;
  return {};
}

} // namespace braid::plan
