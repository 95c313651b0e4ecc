//===- Reshard.cpp - From one mesh, layout and rows to another ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/Reshard.h"
#include "CollectiveTime.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace braid::plan {

int64_t ReshardPlan::bytes() const {
  int64_t bytes = 0;
  for (const ReshardStep &step : steps)
    bytes += step.bytes;
  return bytes;
}

double ReshardPlan::time() const {
  double time = 0;
  for (const ReshardStep &step : steps)
    time += step.time;
  return time;
}

const Exchange *ReshardPlan::exchange() const {
  for (const ReshardStep &step : steps)
    if (step.kind == StepKind::Exchange)
      return &step.exchange;
  return nullptr;
}

/// What all lanes hold, from the first row on.
static std::vector<Interval> sortedIntervals(const Rows &rows) {
  std::vector<Interval> list;
  for (const Intervals &lane : rows.lanes)
    list.insert(list.end(), lane.begin(), lane.end());
  std::sort(list.begin(), list.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
  return list;
}

/// The first row that `wanted` holds and `held` does not; -1 if there is none.
static int64_t firstMissing(const Rows &held, const Rows &wanted) {
  std::vector<Interval> have = sortedIntervals(held);
  size_t at = 0;
  for (Interval want : sortedIntervals(wanted))
    for (int64_t row = want.begin; row < want.end;) {
      while (at < have.size() && have[at].end <= row)
        ++at;
      if (at == have.size() || have[at].begin > row)
        return row;
      row = have[at].end;
    }
  return -1;
}

/// The sharding with its axes replaced by the finer ones that they are made of.
static Sharding refined(const Sharding &sharding, const Mesh &mesh,
                        const std::vector<std::vector<std::string>> &finer) {
  auto replaced = [&](const std::vector<std::string> &axes) {
    std::vector<std::string> result;
    for (const std::string &axis : axes) {
      const std::vector<std::string> &parts = finer[sharding.mesh.indexOf(axis)];
      result.insert(result.end(), parts.begin(), parts.end());
    }
    return result;
  };
  Sharding result{mesh, {{}, replaced(sharding.layout.partial)}, {replaced(sharding.rows.axes), sharding.rows.lanes}};
  for (const auto &axes : sharding.layout.dims)
    result.layout.dims.push_back(replaced(axes));
  return result;
}

/// Whether every lane holds the same rows of both. Finer axes cut ragged rows at other places: 5 rows over 4 lanes are
/// 2, 2, 1, 0, and over 2 x 2 lanes 2, 1, 2, 0.
static bool sameRows(const ValueShape &shape, const Sharding &a, const Sharding &b) {
  if (shape.rowDim < 0)
    return true;
  Division first = divide(shape, a), second = divide(shape, b);
  for (int lane = 0; lane < a.mesh.lanes(); ++lane)
    if (first.dims[shape.rowDim].parts[first.partOf(lane, shape.rowDim)] !=
        second.dims[shape.rowDim].parts[second.partOf(lane, shape.rowDim)])
      return false;
  return true;
}

/// The source without the rows that the destination does not want, where no even axis cuts the rows of a lane.
static Sharding wantedOf(const ValueShape &shape, const Sharding &source, const Rows &wanted) {
  if (shape.rowDim < 0 || source.layout.dims[shape.rowDim].size() != source.rows.axes.size())
    return source;
  const std::vector<Interval> sorted = sortedIntervals(wanted);
  Sharding result = source;
  for (Intervals &lane : result.rows.lanes) {
    Intervals kept;
    for (Interval interval : lane) {
      auto at = std::upper_bound(sorted.begin(), sorted.end(), interval.begin,
                                 [](int64_t row, Interval want) { return row < want.end; });
      for (; at != sorted.end() && at->begin < interval.end; ++at)
        append(kept, {std::max(at->begin, interval.begin), std::min(at->end, interval.end)});
    }
    lane = std::move(kept);
  }
  return result;
}

/// Whether a rank of one mesh shares a node with another rank of the other.
static bool shareNodes(const Mesh &source, const Mesh &destination, const Network &links) {
  std::unordered_set<int> nodes;
  for (int rank : source.ranks)
    nodes.insert(links.nodeOf(rank));
  return std::any_of(destination.ranks.begin(), destination.ranks.end(),
                     [&](int rank) { return nodes.count(links.nodeOf(rank)); });
}

/// Tries all ways out of the source with all ways into the destination: fewest bytes, then least time.
static std::vector<ReshardStep> stepsBetween(const ValueShape &shape, const Sharding &source,
                                             const Sharding &destination, const Network &links) {
  std::vector<bool> nearFirst{false};
  if (shareNodes(source.mesh, destination.mesh, links))
    nearFirst.push_back(true);
  struct Candidate {
    int64_t bytes = 0;
    double time = 0;
    const std::vector<ReshardStep> *out = nullptr, *in = nullptr;
    ReshardStep exchange;
  };
  std::optional<Candidate> best;
  std::vector<std::vector<ReshardStep>> outs = waysOutOf(shape, source, links),
                                        ins = waysInto(shape, destination, links);
  for (const std::vector<ReshardStep> &out : outs) {
    const Sharding &from = out.empty() ? source : out.back().after;
    Division fromDivision = divide(shape, from);
    for (const std::vector<ReshardStep> &in : ins) {
      const Sharding &to = in.empty() ? destination : in.front().before;
      int64_t bytes = 0;
      double time = 0;
      for (const auto *steps : {&out, &in})
        for (const ReshardStep &step : *steps) {
          bytes += step.bytes;
          time += step.time;
        }
      Division toDivision = divide(shape, to);
      for (bool near : nearFirst) {
        Candidate candidate{bytes, time, &out, &in, {StepKind::Exchange, {}, -1, -1, from, to, {}}};
        candidate.exchange.exchange = planExchange(fromDivision, toDivision, links, near);
        measure(candidate.exchange, shape, links);
        candidate.bytes += candidate.exchange.bytes;
        candidate.time += candidate.exchange.time;
        if (!best || std::pair(candidate.bytes, candidate.time) < std::pair(best->bytes, best->time))
          best = std::move(candidate);
      }
    }
  }
  std::vector<ReshardStep> steps = *best->out;
  steps.push_back(std::move(best->exchange));
  steps.insert(steps.end(), best->in->begin(), best->in->end());
  return steps;
}

Result<ReshardPlan> planReshard(const ValueShape &shape, const Sharding &source, const Sharding &destination,
                                const Network &links, const ReshardOptions &options) {
  if (links.ranksPerNode < 1)
    return Error{"a node has " + std::to_string(links.ranksPerNode) + " ranks; it has at least 1"};
  if (Status status = checkSharding(shape, source, options.name + " at the source"); !status)
    return Error{status.error()};
  if (Status status = checkSharding(shape, destination, options.name + " at the destination"); !status)
    return Error{status.error()};
  if (shape.rowDim >= 0 && !options.missingRows)
    if (int64_t row = firstMissing(source.rows, destination.rows); row >= 0)
      return Error{options.name + ": the destination needs row " + std::to_string(row) +
                   ", and no lane of the source holds it; give the sample to a lane of the source, or leave it out "
                   "at the destination"};
  ReshardPlan plan{shape, source, destination, links, {}};
  if (shape.rowDim < 0)
    plan.source.rows = plan.destination.rows = {};
  Sharding from = plan.source, to = plan.destination;
  bool common = false;
  if (Result<Refinement> finer = refineMeshes(source.mesh, destination.mesh)) {
    Sharding finerFrom = refined(from, finer->mesh, finer->first), finerTo = refined(to, finer->mesh, finer->second);
    common = sameRows(shape, from, finerFrom) && sameRows(shape, to, finerTo);
    if (common) {
      from = std::move(finerFrom);
      to = std::move(finerTo);
    }
  }
  // Collectives need not carry rows that stay behind; an exchange sends none of them anyway.
  if (Sharding wanted = wantedOf(shape, from, to.rows);
      wanted.rows != from.rows && (common || !source.layout.partial.empty())) {
    plan.steps.push_back({StepKind::Slice, {}, shape.rowDim, -1, from, wanted, {}});
    from = std::move(wanted);
  }
  std::optional<std::vector<ReshardStep>> found = common ? searchSteps(shape, from, to, links) : std::nullopt;
  std::vector<ReshardStep> steps = found ? std::move(*found) : stepsBetween(shape, from, to, links);
  std::move(steps.begin(), steps.end(), std::back_inserter(plan.steps));
  return plan;
}

ReshardPlan adjoint(const ReshardPlan &plan) {
  auto opposite = [](const Sharding &sharding) {
    return Sharding{sharding.mesh, sharding.layout.transposed(sharding.mesh), sharding.rows};
  };
  ReshardPlan result{plan.shape, opposite(plan.destination), opposite(plan.source), plan.links, {}};
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step)
    result.steps.push_back(transposed(*step, plan.shape, plan.links));
  return result;
}

static int64_t busiestSender(const Exchange &exchange) {
  std::unordered_map<int, int64_t> sent;
  int64_t most = 0;
  for (const Message &message : exchange.messages)
    most = std::max(most, sent[message.from] += message.elements);
  return most;
}

int64_t busiestSent(const ReshardPlan &plan) {
  int64_t most = 0;
  for (const ReshardStep &step : plan.steps)
    if (step.kind == StepKind::Exchange)
      most = std::max(most, busiestSender(step.exchange) * plan.shape.elementBytes);
  return most;
}

/// The sharding on the lanes that lead their replicas: last or first along every axis that divides nothing.
static Sharding leadersOf(const Sharding &sharding, bool last) {
  Sharding leaders{{}, sharding.layout, sharding.rows};
  std::vector<std::string> replicated = sharding.layout.transposed(sharding.mesh).partial;
  for (const auto &axis : sharding.mesh.axes)
    if (std::find(replicated.begin(), replicated.end(), axis.first) == replicated.end())
      leaders.mesh.axes.push_back(axis);
  for (const std::vector<int> &group : groupsOf(sharding.mesh, replicated))
    leaders.mesh.ranks.push_back(sharding.mesh.ranks[last ? group.back() : group.front()]);
  return leaders;
}

LeaderBroadcast leaderBroadcast(const ReshardPlan &plan) {
  const auto &[shape, source, destination, links, steps] = plan;
  Exchange exchange = planExchange(divide(shape, leadersOf(source, true)), divide(shape, leadersOf(destination, false)),
                                   links, /*nearFirst=*/false);
  LeaderBroadcast result;
  result.bytes = exchange.elements() * shape.elementBytes;
  result.busiestSent = busiestSender(exchange) * shape.elementBytes;
  Division division = divide(shape, destination);
  std::vector<std::string> replicated = destination.layout.transposed(destination.mesh).partial;
  double broadcast = 0;
  for (const std::vector<int> &group : groupsOf(destination.mesh, replicated)) {
    int64_t bytes = division.elementsOf(group.front()) * shape.elementBytes, lanes = static_cast<int64_t>(group.size());
    if (lanes == 1)
      continue;
    result.bytes += bytes * (lanes - 1);
    // A pipelined broadcast: its latency grows with the depth of the tree, its bytes pass every link once.
    bool inside = std::all_of(group.begin(), group.end(), [&](int lane) {
      return links.nodeOf(destination.mesh.ranks[lane]) == links.nodeOf(destination.mesh.ranks[group.front()]);
    });
    const Link &link = inside ? links.inside : links.across;
    double depth = std::bit_width(static_cast<uint64_t>(lanes - 1));
    broadcast = std::max(broadcast, link.time(double(bytes), depth));
  }
  result.time = exchangeTime(exchange, shape.elementBytes, links) + broadcast;
  return result;
}

} // namespace braid::plan
