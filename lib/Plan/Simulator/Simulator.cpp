//===- Simulator.cpp - When each action of a schedule runs ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Simulator/Simulator.h"
#include "../Schedule/Collective.h"
#include "SimulatorImpl.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace braid::plan {

double Timeline::bubble() const {
  double most = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
  return makespan > 0 ? 1 - most / makespan : 0;
}

double Timeline::spanBubble() const {
  double most = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
  return longestSpan > 0 ? 1 - most / longestSpan : 0;
}

namespace {
constexpr double never = -1;

/// Ranks run their rows as far as they can, in any order: results do not depend on it. Only where messages share links
/// does one result change when another one leaves; then results are released in the order of time.
class Simulation {
public:
  Simulation(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, const Schedule &schedule,
             const CostModel &costs, Timeline &timeline)
      : pipeline(pipeline), graph(graph), shape(shape), schedule(schedule), costs(costs), actionCosts(pipeline, costs),
        timeline(timeline), timed(costs.links != Links::Free), forwardEnd(shape.size(), never),
        inputEnd(shape.size(), never), next(schedule.rows.size()), free(schedule.rows.size(), 0.0),
        waiting(schedule.rows.size(), true) {
    timeline.start.reserve(schedule.rows.size());
    timeline.end.reserve(schedule.rows.size());
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      timeline.start.emplace_back(schedule.rows[rank].size());
      timeline.end.emplace_back(schedule.rows[rank].size());
      for (const Action &action : schedule.rows[rank])
        if (isCollective(action.kind))
          collectives[collectiveKey(action)].members.insert(rank);
    }
    timeline.busy.assign(schedule.rows.size(), 0.0);
    if (costs.links == Links::Ports)
      sending.assign(schedule.rows.size(), 0.0), receiving = sending;
  }

  Status run() {
    for (int rank = schedule.ranks() - 1; rank >= 0; --rank)
      ready.push_back(rank);
    while (true) {
      while (!ready.empty()) {
        int rank = ready.back();
        ready.pop_back();
        waiting[rank] = false;
        while (next[rank] < schedule.rows[rank].size() && step(rank)) {
        }
      }
      if (results.empty())
        break;
      // Nothing that is still to come can end before the earliest result that is known.
      Completion result = results.top();
      results.pop();
      release(result.rank, schedule.rows[result.rank][result.index], result.time);
      wake(result.rank);
    }
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      if (next[rank] < schedule.rows[rank].size())
        return Error{"the schedule stops: rank " + std::to_string(rank) + " waits for ever at " +
                     schedule.rows[rank][next[rank]].str() + "; verify it to see why"};
    if (!timed)
      std::stable_sort(timeline.transfers.begin(), timeline.transfers.end(),
                       [](const Transfer &a, const Transfer &b) { return a.ready < b.ready; });
    return {};
  }

private:
  struct TimedCollective : Collective {
    double latest = 0;
  };
  struct Completion {
    double time;
    int rank;
    size_t index;
    bool operator<(const Completion &other) const {
      return std::tie(time, rank, index) > std::tie(other.time, other.rank, other.index);
    }
  };
  void wake(int rank) {
    if (!waiting[rank]) {
      waiting[rank] = true;
      ready.push_back(rank);
    }
  }

  /// When all inputs of a compute action are on its rank, or `never`.
  double inputsAt(int rank, const Action &action) {
    double at = 0;
    bool known = forEachNeed(graph, action, [&](const Part &part, uint8_t bits) {
      bool forward = bits == doneForward;
      size_t slot = shape.slot(action, part);
      double end = forward ? forwardEnd[slot] : inputEnd[slot];
      if (end == never)
        return false;
      int source = pipeline.rankOf(part.stage, action.direction);
      if (source != rank && !costs.blockingSends) {
        // A message is named by the part of the stage that makes the value, or takes the gradient.
        Action send = action;
        send.kind = forward ? ActionKind::SendF : ActionKind::SendB;
        send.stage = part.stage;
        send.peer = action.stage;
        if (forward) {
          send.microbatch = part.microbatch;
          send.sub = static_cast<int16_t>(part.sub);
        }
        end = timed ? arrivals.at(messageKey(send))
                    : end + actionCosts.occupies(send, source, rank) + actionCosts.latency(source, rank);
      }
      at = std::max(at, end);
      return true;
    });
    return known ? at : never;
  }

  using MessageKey = std::tuple<size_t, int, bool>;
  MessageKey messageKey(const Action &send) const {
    bool forward = send.kind == ActionKind::SendF;
    // The slot of the part that names it, and the stage at the other end.
    return {shape.slot(send, Part{forward ? send.stage : send.peer, send.microbatch, send.sub}),
            forward ? send.peer : send.stage, forward};
  }

  /// Puts a message on its link.
  void transfer(Action send, double end) {
    int from = pipeline.rankOf(send.stage, send.direction), to = pipeline.rankOf(send.peer, send.direction);
    if (from == to)
      return;
    double occupies = actionCosts.occupies(send, from, to), leaves = end;
    if (costs.links == Links::Serial) {
      double &busyUntil = links[{from, to}];
      leaves = std::max(end, busyUntil);
      busyUntil = leaves + occupies;
    } else if (costs.links == Links::Ports && !actionCosts.local(from, to)) {
      double &out = sending[costs.portOf.empty() ? from : costs.portOf[from]],
             &in = receiving[costs.portOf.empty() ? to : costs.portOf[to]];
      leaves = std::max({end, out, in});
      out = in = leaves + occupies;
    }
    double arrives = leaves + occupies + actionCosts.latency(from, to);
    if (timed)
      arrivals[messageKey(send)] = arrives;
    timeline.transfers.push_back({send, from, to, end, leaves, arrives, actionCosts.bytes(send)});
  }

  /// A result is there: its readers may go on, and its messages leave.
  void release(int rank, const Action &action, double time) {
    uint8_t bits = effect(action.kind);
    size_t slot = shape.slot(action);
    if (bits & doneForward)
      forwardEnd[slot] = time;
    if (bits & doneInput)
      inputEnd[slot] = time;
    if (!(bits & (doneForward | doneInput)))
      return;
    bool forward = bits & doneForward;
    const std::vector<int> &readers = (forward ? graph.consumers : graph.gradientProducers)[action.stage];
    if ((timed || costs.keepTransfers) && !costs.blockingSends)
      for (int reader : readers) {
        Action send = action;
        send.joinsNext = false;
        send.kind = forward ? ActionKind::SendF : ActionKind::SendB;
        send.version = 0;
        send.peer = reader;
        if (forward) {
          transfer(send, time);
          continue;
        }
        forEachPartFrom(graph, reader, action.stage, action.microbatch, action.sub, [&](const Part &part) {
          send.microbatch = part.microbatch;
          send.sub = static_cast<int16_t>(part.sub);
          transfer(send, time);
          return true;
        });
      }
    for (int reader : readers)
      wake(pipeline.rankOf(reader, action.direction));
  }

  void complete(int rank, size_t index, double time) {
    if (timed)
      results.push({time, rank, index});
    else
      release(rank, schedule.rows[rank][index], time);
  }

  void place(int rank, size_t index, double start, double end) {
    timeline.start[rank][index] = start;
    timeline.end[rank][index] = end;
    free[rank] = end;
  }

  bool step(int rank) {
    const std::vector<Action> &row = schedule.rows[rank];
    size_t index = next[rank];
    const Action &action = row[index];
    if (isCompute(action.kind)) {
      bool block = action.joinsNext && index + 1 < row.size() && costs.overlap != Overlap::Sequential;
      // Layers that are recomputed one by one are so when their backward can run.
      bool replay = costs.stage(action.stage).replayed >= 0 && isReplay(shape, row, index);
      double inputs = inputsAt(rank, replay ? row[index + 1] : action);
      if (inputs == never)
        return false;
      double length = actionCosts.duration(action);
      if (!block) {
        double start = std::max(free[rank], inputs);
        place(rank, index, start, start + length);
        timeline.busy[rank] += length;
        complete(rank, index, start + (action.kind == ActionKind::FullBackward ? costs.inputRelease * length : length));
        ++next[rank];
        return true;
      }
      double others = inputsAt(rank, row[index + 1]);
      if (others == never)
        return false;
      double start = std::max({free[rank], inputs, others}),
             lengths[2] = {length, actionCosts.duration(row[index + 1])};
      double whole = lengths[0] + lengths[1];
      timeline.busy[rank] += whole;
      next[rank] += 2;
      for (size_t half = 0; half < 2; ++half) {
        bool forward = row[index + half].kind == ActionKind::Forward;
        place(rank, index + half, start, start + whole);
        double released = forward ? costs.blockForwardRelease * whole : costs.blockBackwardRelease * whole;
        if (forward && costs.overlap == Overlap::Early)
          released = std::min(whole, lengths[half]);
        complete(rank, index + half, start + released);
      }
      return true;
    }
    if (isMessage(action.kind) && costs.blockingSends)
      return exchange(rank, index, action);
    if (isCollective(action.kind))
      return gather(rank, index, action);
    double length = action.kind == ActionKind::Step ? costs.stage(action.stage).update : 0;
    place(rank, index, free[rank], free[rank] + length);
    ++next[rank];
    return true;
  }

  bool exchange(int rank, size_t index, const Action &action) {
    int peer = pipeline.rankOf(action.peer, action.direction);
    if (peer < 0 || next[peer] >= schedule.rows[peer].size())
      return false;
    const Action &other = schedule.rows[peer][next[peer]];
    if (!areEndsOfOneMessage(action, other))
      return false;
    double start = std::max(free[rank], free[peer]);
    bool values = action.kind <= ActionKind::RecvB; // tied parameters take the latency only
    Action send = isSend(action.kind) ? action : other;
    int from = isSend(action.kind) ? rank : peer, to = isSend(action.kind) ? peer : rank;
    double end = start + actionCosts.latency(from, to) + (values ? actionCosts.occupies(send, from, to) : 0);
    size_t peerIndex = next[peer];
    place(rank, index, start, end);
    place(peer, peerIndex, start, end);
    ++next[rank];
    ++next[peer];
    wake(peer);
    return true;
  }

  bool gather(int rank, size_t index, const Action &action) {
    TimedCollective &collective = collectives[collectiveKey(action)];
    if (collective.arrived.insert(rank).second) {
      collective.latest = std::max(collective.latest, free[rank]);
      if (collective.complete())
        for (int member : collective.members)
          if (member != rank)
            wake(member);
    }
    if (!collective.complete())
      return false;
    double length = action.kind == ActionKind::Norm ? costs.norm : costs.reduce;
    double start = std::max(free[rank], collective.latest);
    place(rank, index, start, start + length);
    ++next[rank];
    return true;
  }

  const Pipeline &pipeline;
  const PipelineGraph &graph;
  const TableShape &shape;
  const Schedule &schedule;
  const CostModel &costs;
  ActionCosts actionCosts;
  Timeline &timeline;
  const bool timed; // release results in the order of time
  std::vector<double> forwardEnd, inputEnd;
  std::vector<size_t> next;
  std::vector<double> free;
  std::vector<char> waiting;
  std::vector<int> ready;
  std::priority_queue<Completion> results;
  std::map<CollectiveKey, TimedCollective> collectives;
  std::map<std::pair<int, int>, double> links; // until when they are busy
  std::vector<double> sending, receiving;      // the same of ports
  std::map<MessageKey, double> arrivals;
};
} // namespace

double actionDuration(const Pipeline &pipeline, const CostModel &costs, const Action &action) {
  return ActionCosts(pipeline, costs).duration(action);
}

static Status checkCosts(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs) {
  if (costs.stages.size() != 1 && costs.stages.size() != pipeline.stages.size())
    return Error{"there are costs for " + std::to_string(costs.stages.size()) + " stages and the pipeline has " +
                 std::to_string(pipeline.numStages()) + "; give one for each, or one for all"};
  if (costs.blockingSends && !schedule.hasMessages())
    return Error{"blocking sends need a table with messages; add them first"};
  if (costs.blockingSends && costs.links != Links::Free)
    return Error{"blocking sends take turns already; leave the links free"};
  if (!costs.portOf.empty() && costs.portOf.size() != schedule.rows.size())
    return Error{"there are ports of " + std::to_string(costs.portOf.size()) + " ranks and the table has " +
                 std::to_string(schedule.ranks()) + "; give one for each"};
  for (int port : costs.portOf)
    if (port < 0 || port >= schedule.ranks())
      return Error{"a rank has port " + std::to_string(port) + "; number ports from 0, at most one for each rank"};
  for (double share : {costs.blockForwardRelease, costs.blockBackwardRelease, costs.inputRelease, costs.deferredShare})
    if (!(share >= 0 && share <= 1))
      return Error{"a release point or share of " + std::to_string(share) + " is not between 0 and 1"};
  if (schedule.rows.size() < static_cast<size_t>(pipeline.numRanks()))
    return Error{"the table has " + std::to_string(schedule.ranks()) + " rows and the pipeline uses " +
                 std::to_string(pipeline.numRanks()) + " ranks; give each rank a row"};
  return {};
}

Result<Timeline> simulate(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  if (Status status = checkCosts(pipeline, schedule, costs); !status)
    return Error{status.error()};
  TableShape shape(pipeline, schedule);
  for (const std::vector<Action> &row : schedule.rows)
    for (const Action &action : row)
      if (action.kind != ActionKind::Idle && !shape.contains(action))
        return Error{action.str() + " is outside the pipeline; verify the schedule first"};
  PipelineGraph graph(pipeline);
  Timeline timeline;
  if (Status status = Simulation(pipeline, graph, shape, schedule, costs, timeline).run(); !status)
    return Error{status.error()};
  ActionCosts actionCosts(pipeline, costs);
  std::vector<bool> recomputed = recomputedSlots(schedule, shape);
  std::vector<double> state = stateOfRanks(pipeline, schedule, costs);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const std::vector<Action> &row = schedule.rows[rank];
    double first = -1, last = 0, heldActivations = 0, mostActivations = 0;
    for (size_t index = 0; index < row.size(); ++index) {
      const Action &action = row[index];
      timeline.makespan = std::max(timeline.makespan, timeline.end[rank][index]);
      if (!isCompute(action.kind))
        continue;
      if (first < 0)
        first = timeline.start[rank][index];
      last = std::max(last, timeline.end[rank][index]);
      const Stage &stage = pipeline.stages[action.stage];
      if (!stage.backward)
        continue;
      if (action.kind == ActionKind::Forward)
        heldActivations += actionCosts.activation(action);
      else if (effect(action.kind) & (stage.trains ? doneWeight : doneInput))
        heldActivations -= actionCosts.activation(action);
      mostActivations = std::max(mostActivations, heldActivations);
    }
    timeline.longestSpan = std::max(timeline.longestSpan, last - std::max(first, 0.0));
    // Rows run in order, so changes come in order too, up to the two halves of a block.
    double held = 0, most = 0;
    forEachMemoryChange(pipeline, schedule, actionCosts, shape, recomputed, timeline, rank,
                        [&](double, double activations, double weightInputs) {
                          held += activations + weightInputs;
                          most = std::max(most, held);
                        });
    timeline.peakMemory.push_back(most + state[rank]);
    timeline.peakActivation.push_back(mostActivations);
  }
  return timeline;
}

} // namespace braid::plan
