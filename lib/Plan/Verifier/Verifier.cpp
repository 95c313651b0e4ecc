//===- Verifier.cpp - Proves that a schedule is right ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifierImpl.h"

#include <map>
#include <tuple>

namespace braid::plan {

namespace {
/// Walks every row once, in order. All needs of an action are local by then: they ran on this rank before, or their
/// value was received before.
class RowCheck {
public:
  RowCheck(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, const Schedule &schedule,
           const VerifyOptions &options, ScheduleFacts &facts)
      : pipeline(pipeline), graph(graph), shape(shape), schedule(schedule), options(options), facts(facts),
        links(graph), withMessages(schedule.hasMessages()), done(shape.size()),
        versions(shape.size(), static_cast<int16_t>(-1)), places(size_t(shape.directions) * shape.stages) {
    if (withMessages)
      messages.resize(size_t(links.count()) * shape.directions * shape.subs * shape.microbatches);
    for (PlaceState &place : places) {
      place.gradients.resize(schedule.updates);
      place.reduced.resize(schedule.updates);
      place.received.resize(schedule.updates);
    }
    for (const std::vector<Action> &row : schedule.rows)
      for (const Action &action : row) {
        hasStep |= action.kind == ActionKind::Step;
        hasNorm |= action.kind == ActionKind::Norm;
      }
  }

  Status run() {
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

private:
  struct PlaceState { // what is known of a (direction, stage) while its row is walked
    int version = 0;
    std::vector<int> gradients, reduced, received; // of each update: weight gradients, reductions, tied gradients
  };
  enum Message : uint8_t { sentForward = 1, receivedForward = 2, sentBackward = 4, receivedBackward = 8 };

  PlaceState &placeOf(const Action &action) { return places[size_t(action.direction) * shape.stages + action.stage]; }
  size_t messageSlot(int link, const Action &action) const {
    return ((size_t(link) * shape.directions + action.direction) * shape.subs + action.sub) * shape.microbatches +
           action.microbatch;
  }
  Error fail(const std::string &message) const { return failAt(schedule, message, {{rank, index}}); }
  std::string here(const Action &action) const {
    return action.str() + " (rank " + std::to_string(rank) + ", action " + std::to_string(index) + ")";
  }
  static Action partOf(Action action, const Part &part) {
    action.stage = part.stage;
    action.microbatch = part.microbatch;
    action.sub = static_cast<int16_t>(part.sub);
    action.peer = -1;
    return action;
  }
  bool onThisRank(int stage, int direction) const { return pipeline.rankOf(stage, direction) == rank; }
  /// The update that a micro-batch's gradient belongs to.
  int updateOf(int microbatch) const {
    return static_cast<int>(int64_t(microbatch) * schedule.updates / microbatchRange);
  }

  Status checkShape() {
    if (schedule.rows.size() < static_cast<size_t>(pipeline.numRanks()))
      return Error{"the table has " + std::to_string(schedule.rows.size()) + " rows and the pipeline uses " +
                   std::to_string(pipeline.numRanks()) + " ranks; give each rank a row"};
    if (schedule.updates < 1 || pipeline.microbatches % schedule.updates)
      return Error{std::to_string(pipeline.microbatches) + " micro-batches do not divide into " +
                   std::to_string(schedule.updates) + " updates; choose a multiple"};
    for (rank = 0; rank < schedule.ranks(); ++rank)
      for (index = 0; index < static_cast<int>(schedule.rows[rank].size()); ++index) {
        const Action &action = schedule.rows[rank][index];
        if (action.kind == ActionKind::Idle)
          continue;
        if (action.stage >= shape.stages || action.direction >= shape.directions || action.stage < 0 ||
            action.direction < 0)
          return fail(here(action) + " names a stage or direction that the pipeline does not have: it has " +
                      std::to_string(shape.stages) + " stages and " + std::to_string(shape.directions) +
                      " direction(s)");
        if (isMessage(action.kind) && (action.peer < 0 || action.peer >= shape.stages))
          return fail(here(action) + " names stage " + std::to_string(action.peer) +
                      " at its other end, which the pipeline does not have");
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
      }
    return {};
  }

  std::string whyNoPart(const Action &action) const {
    bool value = action.kind == ActionKind::RecvF || action.kind == ActionKind::SendB;
    int stage = value ? action.peer : action.stage;
    if (action.sub != 1)
      return "a micro-batch has part 0, its kept samples, and part 1, its deferred ones";
    if (!pipeline.stages[stage].defers)
      return "stage " + std::to_string(stage) + " does not defer";
    return "micro-batch " + std::to_string(action.microbatch) + " has no partner that takes them";
  }

  /// Finds which micro-batches run in which direction. Directions may number theirs from 0 each or share one
  /// numbering.
  Status assignMicrobatches() {
    runs.assign(shape.directions, std::vector<uint8_t>(shape.microbatches));
    for (const std::vector<Action> &row : schedule.rows)
      for (const Action &action : row)
        if (action.kind == ActionKind::Forward && action.sub == 0)
          runs[action.direction][action.microbatch] = 1;
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

  Status visit(const Action &action) {
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

  bool forwardsComplete(const Action &action) const {
    for (int sub = 0; sub < shape.subs; ++sub)
      for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch)
        if (runs[action.direction][microbatch] && pipeline.hasPart(action.stage, microbatch, sub) &&
            !(done[shape.slot(action.direction, action.stage, sub, microbatch)] & doneForward))
          return false;
    return true;
  }

  Status visitCompute(const Action &action) {
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

  bool holdsOtherPart(const Action &action) const {
    if (!pipeline.hasPart(action.stage, action.microbatch, 1))
      return false;
    Action other = action;
    other.sub = 1 - action.sub;
    uint8_t bits = done[shape.slot(other)], last = pipeline.stages[action.stage].trains ? doneWeight : doneInput;
    return (bits & doneForward) && !(bits & last);
  }

  Status checkNeeds(const Action &action) {
    Status status;
    forEachNeed(graph, action, [&](const Part &part, uint8_t bits) {
      const int stage = part.stage;
      bool local = onThisRank(stage, action.direction);
      if (!local && !withMessages)
        return true; // the run finds these
      bool backward = stage != action.stage && bits == doneInput;
      if (local) {
        if ((done[shape.slot(action, part)] & bits) == bits)
          return true;
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

  Status checkVersion(const Action &action) {
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

  Status visitMessage(const Action &action) {
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
                               : partAt(graph, action.stage, action.peer, action.microbatch, action.sub);
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

  Status visitTied(const Action &action) {
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

  bool tied(int home, int copy) const {
    for (const TiedGroup &group : pipeline.tied)
      if (group.home == home && std::count(group.copies.begin(), group.copies.end(), copy))
        return true;
    return false;
  }
  /// Tied gradients that a home gets from other ranks, one per stage that holds copies.
  int tiedDue(int home, int direction) const {
    std::vector<int> copies;
    for (const TiedGroup &group : pipeline.tied)
      if (group.home == home)
        for (int copy : group.copies)
          if (pipeline.rankOf(copy, direction) != pipeline.rankOf(home, direction))
            copies.push_back(copy);
    std::sort(copies.begin(), copies.end());
    return static_cast<int>(std::unique(copies.begin(), copies.end()) - copies.begin());
  }
  bool gradientsComplete(const Action &action, int update) {
    const Stage &stage = pipeline.stages[action.stage];
    return !stage.backward || !stage.trains ||
           placeOf(action).gradients[update] == dueOf(action.stage, action.direction, update);
  }

  /// Weight gradients of an update: one for each micro-batch, and one for each deferred part.
  int dueOf(int stage, int direction, int update) const {
    return gradientsDue[direction][update] + (pipeline.stages[stage].defers ? deferredDue[direction][update] : 0);
  }

  Status visitReduce(const Action &action) {
    if (!gradientsComplete(action, action.version))
      return fail("lost gradient: " + here(action) + " reduces " +
                  std::to_string(placeOf(action).gradients[action.version]) + " of " +
                  std::to_string(dueOf(action.stage, action.direction, action.version)) + " gradients of stage " +
                  std::to_string(action.stage) + "; reduce after the last backward of the update");
    if (placeOf(action).reduced[action.version]++)
      return fail("double gradient: " + here(action) + " reduces the gradient of stage " +
                  std::to_string(action.stage) + " a second time");
    return {};
  }

  Status checkGradients(const Action &action, int stage, int direction) {
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

  Status visitNorm(const Action &action) {
    for (int direction = 0; direction < shape.directions; ++direction)
      for (int stage = 0; stage < shape.stages; ++stage)
        if (pipeline.stages[stage].trains && onThisRank(stage, direction))
          if (Status status = checkGradients(action, stage, direction); !status)
            return status;
    normOfRank = action.version + 1;
    return {};
  }

  Status visitStep(const Action &action) {
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

  Status checkComputed() {
    for (int direction = 0; direction < shape.directions; ++direction)
      for (int sub = 0; sub < shape.subs; ++sub)
        for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
          if (!runs[direction][microbatch])
            continue;
          for (int stage = 0; stage < shape.stages; ++stage) {
            if (!pipeline.hasPart(stage, microbatch, sub))
              continue;
            uint8_t bits = done[shape.slot(direction, stage, sub, microbatch)];
            Action missing = compute(ActionKind::Forward, stage, microbatch, direction);
            missing.sub = static_cast<int16_t>(sub);
            if (bits & doneForward) {
              const Stage &info = pipeline.stages[stage];
              if (!info.backward)
                continue;
              missing.kind = (bits & doneInput) ? ActionKind::BackwardWeight : ActionKind::FullBackward;
              if ((bits & doneInput) && ((bits & doneWeight) || !info.trains))
                continue;
            }
            rank = pipeline.rankOf(stage, direction);
            index = static_cast<int>(schedule.rows[rank].size());
            return fail("incomplete: " + missing.str() + " is missing from rank " + std::to_string(rank));
          }
        }
    return {};
  }

  Status checkMessages() {
    if (!withMessages)
      return {};
    for (int direction = 0; direction < shape.directions; ++direction)
      for (int stage = 0; stage < shape.stages; ++stage)
        for (int consumer : graph.consumers[stage]) {
          if (pipeline.rankOf(stage, direction) == pipeline.rankOf(consumer, direction))
            continue;
          bool gradient = std::binary_search(graph.gradientConsumers[stage].begin(),
                                             graph.gradientConsumers[stage].end(), consumer);
          uint8_t due = sentForward | receivedForward | (gradient ? sentBackward | receivedBackward : 0);
          for (int sub = 0; sub < shape.subs; ++sub)
            for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
              if (!runs[direction][microbatch] || !pipeline.hasPart(stage, microbatch, sub))
                continue;
              Action action = compute(ActionKind::SendF, stage, microbatch, direction);
              action.sub = static_cast<int16_t>(sub);
              uint8_t bits = messages[messageSlot(links.find(stage, consumer), action)];
              if ((bits & due) == due)
                continue;
              uint8_t missing = due & ~bits;
              bool backward = !(missing & (sentForward | receivedForward));
              bool send = missing & (sentForward | sentBackward);
              action.kind = backward ? (send ? ActionKind::SendB : ActionKind::RecvB)
                                     : ((missing & sentForward) ? ActionKind::SendF : ActionKind::RecvF);
              bool atConsumer = action.kind == ActionKind::SendB || action.kind == ActionKind::RecvF;
              action.stage = atConsumer ? consumer : stage;
              action.peer = atConsumer ? stage : consumer;
              rank = pipeline.rankOf(action.stage, direction);
              index = static_cast<int>(schedule.rows[rank].size());
              Action other = action;
              other.kind = counterpart(action.kind);
              std::swap(other.stage, other.peer);
              return fail("unpaired: " + action.str() + " is missing from rank " + std::to_string(rank) +
                          "; its other end is " + other.str() + " of rank " +
                          std::to_string(pipeline.rankOf(other.stage, direction)));
            }
        }
    return {};
  }

  Status checkUpdates() {
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

  const Pipeline &pipeline;
  const PipelineGraph &graph;
  const TableShape &shape;
  const Schedule &schedule;
  const VerifyOptions &options;
  ScheduleFacts &facts;
  Links links;
  bool withMessages, hasStep = false, hasNorm = false;
  std::vector<uint8_t> done, messages;
  std::vector<int16_t> versions; // that each forward read
  std::vector<PlaceState> places;
  std::vector<std::vector<uint8_t>> runs;                  // [direction][micro-batch]
  std::vector<std::vector<int>> gradientsDue, deferredDue; // [direction][update]: of micro-batches, of deferred parts
  std::map<std::tuple<ActionKind, int, int, int, int>, int> tiedMessages;
  int microbatchRange = 1;
  int rank = 0, index = 0, active = 0, normOfRank = 0;
};
} // namespace

Result<ScheduleFacts> verify(const Pipeline &pipeline, const Schedule &schedule, const VerifyOptions &options) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  PipelineGraph graph(pipeline);
  TableShape shape(pipeline, schedule);
  ScheduleFacts facts;
  if (Status status = RowCheck(pipeline, graph, shape, schedule, options, facts).run(); !status)
    return Error{status.error()};
  if (Status status = runToEnd(pipeline, graph, shape, schedule, options.buffers); !status)
    return Error{status.error()};
  return facts;
}

} // namespace braid::plan
