//===- Collectives.cpp - The steps of a reshard ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/Collectives.h"
#include "CollectiveTime.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace braid::plan {

std::string_view spelling(StepKind kind) {
  static constexpr std::array<std::string_view, 7> names = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "slice", "pad", "exchange"};
  return names[static_cast<size_t>(kind)];
}

std::string ReshardStep::str() const {
  std::string text(spelling(kind));
  for (size_t i = 0; i < axes.size(); ++i)
    text += (i ? ", \"" : " {\"") + axes[i] + "\"" + (i + 1 == axes.size() ? "}" : "");
  if (dim >= 0)
    text += " dim " + std::to_string(dim);
  if (toDim >= 0)
    text += " to dim " + std::to_string(toDim);
  if (kind == StepKind::Exchange)
    text += " of " + std::to_string(exchange.messages.size()) + " messages and " +
            std::to_string(exchange.copies.size()) + " copies in " + std::to_string(exchange.rounds) + " rounds";
  return text + ": " + before.layout.str() + " -> " + after.layout.str();
}

std::vector<std::vector<int>> groupsOf(const Mesh &mesh, const std::vector<std::string> &axes) {
  std::vector<std::vector<int>> groups;
  std::vector<int> members{0}; // offsets of a group's lanes from its first
  for (const std::string &axis : axes) {
    int index = mesh.indexOf(axis), stride = mesh.stride(index);
    std::vector<int> more;
    for (int offset : members)
      for (int i = 0; i < mesh.axes[index].second; ++i)
        more.push_back(offset + i * stride);
    members = std::move(more);
  }
  for (int lane = 0; lane < mesh.lanes(); ++lane) {
    if (std::any_of(axes.begin(), axes.end(),
                    [&](const std::string &axis) { return mesh.coordinate(lane, mesh.indexOf(axis)) != 0; }))
      continue;
    std::vector<int> &group = groups.emplace_back();
    for (int offset : members)
      group.push_back(lane + offset);
  }
  return groups;
}

/// How many elements lists have in common.
static int64_t commonSize(const Intervals &a, const Intervals &b) {
  int64_t size = 0;
  for (const Interval &x : a)
    for (const Interval &y : b)
      size += std::max<int64_t>(0, std::min(x.end, y.end) - std::max(x.begin, y.begin));
  return size;
}

/// The largest part of each dimension.
static std::vector<int64_t> largestParts(const Division &division) {
  std::vector<int64_t> parts;
  for (const DividedDim &dim : division.dims)
    parts.push_back(*std::max_element(dim.sizes.begin(), dim.sizes.end()));
  return parts;
}

int64_t ringBlock(StepKind kind, int64_t lanes, const std::vector<int64_t> &before, const std::vector<int64_t> &after) {
  auto product = [](const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
  };
  switch (kind) {
  case StepKind::AllGather:
    return product(before);
  case StepKind::ReduceScatter:
    return product(after);
  case StepKind::AllReduce:
    return (product(before) + lanes - 1) / lanes;
  default: { // all-to-all
    int64_t block = 1;
    for (size_t dim = 0; dim < before.size(); ++dim)
      block *= std::min(before[dim], after[dim]);
    return block;
  }
  }
}

static int64_t allLocal(const Division &division) {
  int64_t size = 0;
  for (int lane = 0; lane < division.mesh->lanes(); ++lane)
    size += division.elementsOf(lane);
  return size;
}

void measure(ReshardStep &step, const ValueShape &shape, const Network &links) {
  step.bytes = 0;
  step.time = 0;
  if (step.kind == StepKind::Slice || step.kind == StepKind::Pad)
    return;
  if (step.kind == StepKind::Exchange) {
    step.bytes = step.exchange.elements() * shape.elementBytes;
    step.time = exchangeTime(step.exchange, shape.elementBytes, links);
    return;
  }
  const Mesh &mesh = step.before.mesh;
  int64_t lanes = 1;
  for (const std::string &axis : step.axes)
    lanes *= mesh.axis(axis);
  Division before = divide(shape, step.before), after = divide(shape, step.after);
  int64_t elements = 0;
  switch (step.kind) {
  case StepKind::AllGather:
    elements = allLocal(after) - allLocal(before);
    break;
  case StepKind::ReduceScatter:
    elements = allLocal(before) - allLocal(after);
    break;
  case StepKind::AllReduce:
    elements = allLocal(before) / lanes * (lanes - 1) * 2;
    break;
  default: { // all-to-all
    for (int lane = 0; lane < mesh.lanes(); ++lane) {
      int64_t kept = 1;
      for (int dim = 0; dim < static_cast<int>(before.dims.size()); ++dim)
        kept *= commonSize(before.dims[dim].parts[before.partOf(lane, dim)],
                           after.dims[dim].parts[after.partOf(lane, dim)]);
      elements += after.elementsOf(lane) - kept;
    }
    break;
  }
  }
  step.bytes = elements * shape.elementBytes;
  int64_t block = ringBlock(step.kind, lanes, largestParts(before), largestParts(after));
  step.time = collectiveTime(step.kind, lanes, slowestLink(mesh, step.axes, links), block * shape.elementBytes);
}

const Link &slowestLink(const Mesh &mesh, const std::vector<std::string> &axes, const Network &links) {
  for (const std::vector<int> &group : groupsOf(mesh, axes))
    for (int lane : group)
      if (links.nodeOf(mesh.ranks[lane]) != links.nodeOf(mesh.ranks[group[0]]))
        return links.across;
  return links.inside;
}

double collectiveTime(StepKind kind, int64_t lanes, const Link &link, int64_t blockBytes) {
  return (kind == StepKind::AllReduce ? 2 : 1) * link.ringPass(double(lanes), double(blockBytes));
}

ReshardStep transposed(const ReshardStep &step, const ValueShape &shape, const Network &links) {
  ReshardStep result = step;
  result.before = {step.after.mesh, step.after.layout.transposed(step.after.mesh), step.after.rows};
  result.after = {step.before.mesh, step.before.layout.transposed(step.before.mesh), step.before.rows};
  switch (step.kind) {
  case StepKind::AllGather:
    result.kind = StepKind::ReduceScatter;
    break;
  case StepKind::ReduceScatter:
    result.kind = StepKind::AllGather;
    break;
  case StepKind::Slice:
    result.kind = StepKind::Pad;
    break;
  case StepKind::Pad:
    result.kind = StepKind::Slice;
    break;
  case StepKind::AllToAll:
    std::swap(result.dim, result.toDim);
    break;
  case StepKind::AllReduce:
    break;
  case StepKind::Exchange:
    result.exchange = transposed(step.exchange);
    break;
  }
  measure(result, shape, links);
  return result;
}

/// The axes of these indices that have more than one lane.
static std::vector<std::string> namesOf(const Mesh &mesh, const std::vector<int> &axes) {
  std::vector<std::string> names;
  for (int axis : axes)
    if (mesh.axes[axis].second > 1)
      names.push_back(mesh.axes[axis].first);
  return names;
}

static void add(std::vector<std::string> &to, const std::vector<std::string> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::vector<std::vector<ReshardStep>> waysInto(const ValueShape &shape, const Sharding &destination,
                                               const Network &links) {
  Division division = divide(shape, destination);
  const std::vector<std::string> &partial = destination.layout.partial;
  std::vector<std::string> replicated = namesOf(destination.mesh, division.replicated);
  std::vector<std::vector<std::string>> sets{{}};
  for (const std::string &axis : replicated)
    sets.push_back({axis});
  if (replicated.size() > 1)
    sets.push_back(replicated);
  std::vector<std::vector<ReshardStep>> ways;
  if (partial.empty())
    ways.emplace_back();
  for (const std::vector<std::string> &scattered : sets) {
    if (scattered.empty() && partial.empty())
      continue;
    for (int dim = 0; dim < static_cast<int>(shape.sizes.size()); ++dim) {
      std::vector<ReshardStep> &way = ways.emplace_back();
      Sharding finer = destination;
      finer.layout.partial.clear();
      add(finer.layout.dims[dim], scattered);
      Sharding finest = finer;
      add(finest.layout.dims[dim], partial);
      finer.layout.partial = partial;
      if (!partial.empty())
        way.push_back({StepKind::Pad, partial, dim, -1, finest, finer, {}});
      if (!scattered.empty())
        way.push_back({StepKind::AllGather, scattered, dim, -1, finer, destination, {}});
      for (ReshardStep &step : way)
        measure(step, shape, links);
    }
  }
  return ways;
}

std::vector<std::vector<ReshardStep>> waysOutOf(const ValueShape &shape, const Sharding &source, const Network &links) {
  const std::vector<std::string> &partial = source.layout.partial;
  if (partial.empty())
    return {{}};
  std::vector<std::string> replicated = namesOf(source.mesh, divide(shape, source).replicated);
  std::vector<std::vector<ReshardStep>> ways;
  for (int dim = 0; dim < static_cast<int>(shape.sizes.size()); ++dim) {
    std::vector<ReshardStep> &way = ways.emplace_back();
    Sharding finer = source;
    add(finer.layout.dims[dim], replicated);
    if (!replicated.empty())
      way.push_back({StepKind::Slice, replicated, dim, -1, source, finer, {}});
    Sharding reduced = finer;
    reduced.layout.partial.clear();
    add(reduced.layout.dims[dim], partial);
    way.push_back({StepKind::ReduceScatter, partial, dim, -1, finer, reduced, {}});
    for (ReshardStep &step : way)
      measure(step, shape, links);
  }
  return ways;
}

} // namespace braid::plan
