//===- VerifierRun.cpp - Runs a table with blocking sends -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank is a sequential process that blocks on named partners only, so the run is confluent: if one order of
// progress ends, every one does, and if one gets stuck, every one does. One run is therefore a proof.
//
//===----------------------------------------------------------------------===//

#include "../Schedule/Collective.h"
#include "VerifierImpl.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace braid::plan {

namespace {
class Run {
public:
  Run(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, const Schedule &schedule,
      int buffers)
      : pipeline(pipeline), graph(graph), shape(shape), schedule(schedule), buffers(buffers),
        withMessages(schedule.hasMessages()), next(schedule.rows.size()), waiting(schedule.rows.size(), true) {
    if (!withMessages)
      done.resize(shape.size());
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      for (const Action &action : schedule.rows[rank])
        if (gathers(action))
          collectives[key(action)].members.insert(rank);
  }

  Status run() {
    for (int rank = schedule.ranks() - 1; rank >= 0; --rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int rank = ready.back();
      ready.pop_back();
      waiting[rank] = false;
      while (next[rank] < schedule.rows[rank].size() && step(rank)) {
      }
      if (misordered)
        return failAt(schedule, *misordered, misorderedAt);
    }
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      if (next[rank] < schedule.rows[rank].size())
        return deadlock(rank);
    return {};
  }

private:
  /// The loss goes from one rank to another, and both rows hold it.
  static bool gathers(const Action &action) { return isCollective(action.kind) || action.kind == ActionKind::Loss; }
  static CollectiveKey key(const Action &action) {
    if (action.kind == ActionKind::Loss)
      return {action.kind, action.stage, action.direction};
    return collectiveKey(action);
  }
  const Action *head(int rank) const {
    return next[rank] < schedule.rows[rank].size() ? &schedule.rows[rank][next[rank]] : nullptr;
  }
  int peerRank(const Action &action) const { return pipeline.rankOf(action.peer, action.direction); }
  void wake(int rank) {
    if (!waiting[rank]) {
      waiting[rank] = true;
      ready.push_back(rank);
    }
  }

  /// Runs the head of the rank's row if it can.
  bool step(int rank) {
    const Action &action = *head(rank);
    if (isMessage(action.kind))
      return buffers > 0 ? exchangeBuffered(rank, action) : exchangeBlocking(rank, action);
    if (gathers(action))
      return gather(rank, action);
    if (withMessages || !isCompute(action.kind)) {
      ++next[rank];
      return true;
    }
    const size_t halves = blockAt(rank);
    for (size_t half = 0; half < halves; ++half)
      if (missing((&action)[half]).stage >= 0)
        return false;
    for (size_t half = 0; half < halves; ++half) {
      const Action &runs = (&action)[half];
      done[shape.slot(runs)] |= effect(runs.kind);
      for (const auto *list : {&graph.consumers, &graph.producers})
        for (int stage : (*list)[runs.stage])
          wake(pipeline.rankOf(stage, runs.direction));
    }
    next[rank] += halves;
    return true;
  }

  /// Actions that start together at the head of the rank's row: 2 of an overlapped block.
  size_t blockAt(int rank) const {
    return head(rank)->joinsNext && next[rank] + 1 < schedule.rows[rank].size() ? 2 : 1;
  }
  /// The action that a blocked rank waits at: of a block, the half that lacks something.
  const Action &waitsAt(int rank) const {
    const Action *action = head(rank);
    bool second = !withMessages && isCompute(action->kind) && blockAt(rank) == 2 && missing(*action).stage < 0;
    return action[second];
  }

  /// What the action waits for: of stage -1 if nothing.
  Part missing(const Action &action) const {
    Part part = {-1, -1, 0};
    forEachNeed(graph, action, [&](const Part &needed, uint8_t bits) {
      if ((done[shape.slot(action, needed)] & bits) == bits)
        return true;
      part = needed;
      return false;
    });
    return part;
  }

  bool exchangeBlocking(int rank, const Action &action) {
    int peer = peerRank(action);
    const Action *other = head(peer);
    if (!other || !areEndsOfOneMessage(action, *other))
      return false;
    ++next[rank];
    ++next[peer];
    wake(peer);
    return true;
  }

  bool exchangeBuffered(int rank, const Action &action) {
    int peer = peerRank(action);
    bool sends = isSend(action.kind);
    uint64_t link = (uint64_t(sends ? rank : peer) << 32) | uint32_t(sends ? peer : rank);
    std::deque<Place> &queue = channels[link];
    if (sends) {
      if (queue.size() >= static_cast<size_t>(buffers))
        return false;
      queue.push_back({rank, static_cast<int>(next[rank])});
    } else {
      if (queue.empty())
        return false;
      const Place sent = queue.front();
      if (!areEndsOfOneMessage(action, schedule.rows[sent.rank][sent.index])) {
        misorderedAt = {{rank, static_cast<int>(next[rank])}, sent};
        misordered = "messages are out of order: " + at(schedule, sent) + " is sent before what " +
                     at(schedule, misorderedAt[0]) + " waits for; let both ranks name their messages in one order";
        return false;
      }
      queue.pop_front();
    }
    ++next[rank];
    wake(peer);
    return true;
  }

  bool gather(int rank, const Action &action) {
    Collective &collective = collectives[key(action)];
    if (collective.arrived.insert(rank).second && collective.complete())
      for (int member : collective.members)
        if (member != rank)
          wake(member);
    if (!collective.complete())
      return false;
    ++next[rank];
    return true;
  }

  /// The rank that a blocked rank waits for, and why.
  std::pair<int, std::string> waitsFor(int rank) {
    const Action &action = waitsAt(rank);
    if (isMessage(action.kind))
      return {peerRank(action), "reach " + otherEnd(action).str()};
    if (gathers(action)) {
      const Collective &collective = collectives[key(action)];
      for (int member : collective.members)
        if (!collective.arrived.count(member))
          return {member, "reach " + std::string(spelling(action.kind))};
    }
    Part part = missing(action);
    if (part.stage < 0)
      return {rank, "go on"};
    bool forward = action.kind == ActionKind::Forward || part.stage == action.stage;
    Action needed = compute(forward ? ActionKind::Forward : ActionKind::FullBackward, part.stage, part.microbatch,
                            action.direction);
    needed.sub = static_cast<int16_t>(part.sub);
    return {pipeline.rankOf(part.stage, action.direction), "run " + needed.str()};
  }

  Error deadlock(int rank) {
    // Follow who waits for whom until a rank comes up again or one that has ended.
    std::vector<int> path;
    std::vector<int> position(schedule.rows.size(), -1);
    std::vector<std::string> reasons;
    while (head(rank) && position[rank] < 0) {
      position[rank] = static_cast<int>(path.size());
      path.push_back(rank);
      auto [other, reason] = waitsFor(rank);
      reasons.push_back(reason + " on rank " + std::to_string(other));
      rank = other;
    }
    std::vector<Place> places;
    std::string text;
    size_t first = 0;
    if (head(rank)) {
      first = position[rank];
      text = "deadlock: these " + std::to_string(path.size() - first) + " ranks wait for each other in a cycle";
      if (path.size() - first == 1)
        text = "deadlock: rank " + std::to_string(rank) + " waits for an action that is later in its own row";
    } else {
      text = "deadlock: rank " + std::to_string(rank) + " has ended, and others wait for it";
    }
    constexpr size_t mostLines = 16;
    for (size_t i = first; i < path.size(); ++i) {
      places.push_back({path[i], static_cast<int>(next[path[i]])});
      if (i - first < mostLines)
        text += "\n  rank " + std::to_string(path[i]) + " waits at " + waitsAt(path[i]).str() + " to " + reasons[i];
      else if (i - first == mostLines)
        text += "\n  ...";
    }
    text += buffers > 0 ? "\nMove one of these actions, or give the links more buffers."
                        : "\nMove one of these actions so that both ends of each link reach it in one order.";
    return failAt(schedule, text, places);
  }

  const Pipeline &pipeline;
  const PipelineGraph &graph;
  const TableShape &shape;
  const Schedule &schedule;
  int buffers;
  bool withMessages;
  std::vector<size_t> next;
  std::vector<char> waiting; // queued in `ready`
  std::vector<int> ready;
  std::vector<uint8_t> done;
  std::map<CollectiveKey, Collective> collectives;
  std::unordered_map<uint64_t, std::deque<Place>> channels;
  std::optional<std::string> misordered;
  std::vector<Place> misorderedAt;
};
} // namespace

Status runToEnd(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, const Schedule &schedule,
                int buffers) {
  return Run(pipeline, graph, shape, schedule, buffers).run();
}

} // namespace braid::plan
