//===- RowCheck.h - Walks the rows of a table ------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_VERIFIER_ROWCHECK_H
#define BRAID_LIB_PLAN_VERIFIER_ROWCHECK_H

#include "VerifierImpl.h"

#include <map>
#include <tuple>

namespace braid::plan {

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
  }

  Status run();

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
  /// The first half of the overlapped block that the action at hand ends.
  const Action *otherHalf() const {
    const Action *before = index > 0 ? &schedule.rows[rank][index - 1] : nullptr;
    return before && before->joinsNext ? before : nullptr;
  }
  bool onThisRank(int stage, int direction) const { return pipeline.rankOf(stage, direction) == rank; }
  /// The update that a micro-batch's gradient belongs to.
  int updateOf(int microbatch) const {
    return static_cast<int>(int64_t(microbatch) * schedule.updates / microbatchRange);
  }

  Status checkShape();

  std::string whyNoPart(const Action &action) const;

  /// Finds which micro-batches run in which direction. Directions may number theirs from 0 each or share one
  /// numbering.
  Status assignMicrobatches();

  Status visit(const Action &action);

  bool forwardsComplete(const Action &action) const;

  Status visitCompute(const Action &action);

  bool holdsOtherPart(const Action &action) const;

  Status checkNeeds(const Action &action);

  Status checkVersion(const Action &action);

  Status visitMessage(const Action &action);

  Status visitTied(const Action &action);

  bool tied(int home, int copy) const;
  /// Tied gradients that a home gets from other ranks, one per stage that holds copies.
  int tiedDue(int home, int direction) const;
  bool gradientsComplete(const Action &action, int update) {
    const Stage &stage = pipeline.stages[action.stage];
    return !stage.backward || !stage.trains ||
           placeOf(action).gradients[update] == dueOf(action.stage, action.direction, update);
  }

  /// Weight gradients of an update: one for each micro-batch, and one for each deferred part.
  int dueOf(int stage, int direction, int update) const {
    return gradientsDue[direction][update] + (pipeline.stages[stage].defers ? deferredDue[direction][update] : 0);
  }

  Status visitReduce(const Action &action);

  Status checkGradients(const Action &action, int stage, int direction);

  Status visitNorm(const Action &action);

  Status visitStep(const Action &action);

  Status checkComputed();

  Status checkMessages();

  Status checkUpdates();

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

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_VERIFIER_ROWCHECK_H
