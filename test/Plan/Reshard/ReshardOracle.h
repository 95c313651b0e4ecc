//===- ReshardOracle.h - What a reshard must do, element by element -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions of docs/Reshards.md spelled out over single elements, without a line of lib/Plan's interval
// arithmetic. A plan is executed by the interpreter and compared with them.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_PLAN_RESHARDORACLE_H
#define BRAID_TEST_PLAN_RESHARDORACLE_H

#include "ReshardInterpreter.h"
#include "braid/Plan/Cost/Hardware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace braid::plan::oracle {

/// Nodes of eight H100.
inline Network h100() { return findHardware("h100")->network(); }

/// A lane's coordinate along a named axis, by counting: the last axis changes fastest.
inline int coordinateOf(const Mesh &mesh, int lane, const std::string &name) {
  std::map<std::string, int> at;
  for (auto axis = mesh.axes.rbegin(); axis != mesh.axes.rend(); ++axis) {
    at[axis->first] = lane % axis->second;
    lane /= axis->second;
  }
  return at.at(name);
}

/// The n-th chunk of a list cut into `count` chunks of the ceiling of its length.
inline std::vector<int64_t> chunkOf(const std::vector<int64_t> &list, int n, int count) {
  int64_t length = static_cast<int64_t>(list.size()), chunk = (length + count - 1) / count;
  return {list.begin() + std::min(length, chunk * n), list.begin() + std::min(length, chunk * (n + 1))};
}

/// The flat index in the whole value of every element that a lane holds, in its order.
inline std::vector<int64_t> elementsOf(const ValueShape &shape, const Sharding &sharding, int lane) {
  std::vector<int64_t> flat{0};
  for (int dim = 0; dim < static_cast<int>(shape.sizes.size()); ++dim) {
    std::vector<int64_t> indices;
    std::vector<std::string> axes = sharding.layout.dims[dim];
    if (dim == shape.rowDim) {
      size_t manifestLane = 0;
      for (const std::string &axis : sharding.rows.axes) {
        manifestLane = manifestLane * sharding.mesh.axis(axis) + coordinateOf(sharding.mesh, lane, axis);
        axes.erase(axes.begin());
      }
      for (const Interval &interval : sharding.rows.lanes.at(manifestLane))
        for (int64_t row = interval.begin; row < interval.end; ++row)
          indices.push_back(row);
    } else {
      for (int64_t i = 0; i < shape.sizes[dim]; ++i)
        indices.push_back(i);
    }
    for (const std::string &axis : axes)
      indices = chunkOf(indices, coordinateOf(sharding.mesh, lane, axis), sharding.mesh.axis(axis));
    std::vector<int64_t> next;
    for (int64_t major : flat)
      for (int64_t index : indices)
        next.push_back(major * shape.sizes[dim] + index);
    flat = std::move(next);
  }
  return flat;
}

/// A lane's place along the partial axes, and along those that divide nothing and are not partial.
inline std::vector<int> placeAlong(const Sharding &sharding, int lane, bool partial) {
  std::vector<int> place;
  for (const auto &[axis, size] : sharding.mesh.axes) {
    auto has = [&](const std::vector<std::string> &list) {
      return std::find(list.begin(), list.end(), axis) != list.end();
    };
    bool divides = std::any_of(sharding.layout.dims.begin(), sharding.layout.dims.end(), has);
    if (!divides && has(sharding.layout.partial) == partial)
      place.push_back(coordinateOf(sharding.mesh, lane, axis));
  }
  return place;
}

inline int64_t wholeSize(const ValueShape &shape) {
  int64_t size = 1;
  for (int64_t dim : shape.sizes)
    size *= dim;
  return size;
}

/// Buffers that hold the value: along partial axes random summands of it, replicas alike.
inline LocalBuffers scatter(const ValueShape &shape, const Sharding &sharding, const std::vector<int64_t> &value,
                            std::mt19937 &random) {
  std::map<std::vector<int>, std::vector<int64_t>> summands;
  std::vector<int64_t> left = value;
  for (int lane = sharding.mesh.lanes() - 1; lane >= 0; --lane) {
    std::vector<int> place = placeAlong(sharding, lane, true);
    if (summands.count(place))
      continue;
    bool last = std::all_of(place.begin(), place.end(), [](int coordinate) { return coordinate == 0; });
    std::vector<int64_t> &part = summands[place] = left;
    for (size_t i = 0; !last && i < part.size(); ++i) {
      part[i] = static_cast<int64_t>(random() % 19) - 9;
      left[i] -= part[i];
    }
  }
  LocalBuffers buffers;
  for (int lane = 0; lane < sharding.mesh.lanes(); ++lane) {
    const std::vector<int64_t> &part = summands.at(placeAlong(sharding, lane, true));
    auto &buffer = buffers.emplace_back();
    for (int64_t element : elementsOf(shape, sharding, lane))
      buffer.push_back(part[element]);
  }
  return buffers;
}

/// Whether the buffers hold the value: for each replica, summands add up to it. Elements that no lane of the source
/// holds must be zero.
inline void expectHolds(const ValueShape &shape, const Sharding &sharding, const LocalBuffers &buffers,
                        const std::vector<int64_t> &value, const std::set<int64_t> &known) {
  std::map<std::vector<int>, std::map<int64_t, int64_t>> sums;
  for (int lane = 0; lane < sharding.mesh.lanes(); ++lane) {
    std::vector<int64_t> elements = elementsOf(shape, sharding, lane);
    ASSERT_EQ(buffers[lane].size(), elements.size()) << "lane " << lane;
    for (size_t i = 0; i < elements.size(); ++i)
      sums[placeAlong(sharding, lane, false)][elements[i]] += buffers[lane][i];
  }
  for (const auto &[place, elements] : sums)
    for (const auto &[element, sum] : elements)
      ASSERT_EQ(sum, known.count(element) ? value[element] : 0) << "element " << element;
}

/// Ranks that follow their messages in the global order and block in every send and receive: do all get through?
inline bool finishesBlocking(const Exchange &exchange, std::mt19937 &random) {
  std::map<int, std::vector<const Message *>> rows;
  for (const Message &message : exchange.messages) {
    rows[message.from].push_back(&message);
    rows[message.to].push_back(&message);
  }
  std::map<int, size_t> at;
  std::vector<int> ranks;
  for (const auto &row : rows)
    ranks.push_back(row.first);
  for (bool moved = true; moved;) {
    moved = false;
    std::shuffle(ranks.begin(), ranks.end(), random);
    for (int rank : ranks) {
      if (at[rank] == rows[rank].size())
        continue;
      const Message *next = rows[rank][at[rank]];
      int peer = next->from == rank ? next->to : next->from;
      if (at[peer] < rows[peer].size() && rows[peer][at[peer]] == next) {
        ++at[rank];
        ++at[peer];
        moved = true;
      }
    }
  }
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return at[rank] == rows[rank].size(); });
}

struct Transfers {
  int64_t fewest = 0;  // that any plan needs
  int64_t summing = 0; // to add up all summands of what the source holds and the destination does not want
};

/// The fewest transfers of elements between ranks. For an element with P summands, of which each replica has all, and
/// wanted on D ranks: some rank is the first to hold the sum, which takes P - 1 transfers if it held a summand and P if
/// not, and every other of the D must still receive something. Of the lanes along the destination's partial axes one
/// will do; if the source is partial too, nothing need be added up, and the bound is 0.
inline Transfers fewestTransfers(const ValueShape &shape, const Sharding &source, const Sharding &destination) {
  std::map<int64_t, std::set<int>> holders;
  std::set<std::vector<int>> summands;
  for (int lane = 0; lane < source.mesh.lanes(); ++lane) {
    summands.insert(placeAlong(source, lane, true));
    for (int64_t element : elementsOf(shape, source, lane))
      holders[element].insert(source.mesh.ranks[lane]);
  }
  std::map<int64_t, std::map<std::vector<int>, std::set<int>>> wanted; // element -> replica -> ranks that may hold it
  for (int lane = 0; lane < destination.mesh.lanes(); ++lane)
    for (int64_t element : elementsOf(shape, destination, lane))
      wanted[element][placeAlong(destination, lane, false)].insert(destination.mesh.ranks[lane]);
  Transfers transfers;
  int64_t parts = static_cast<int64_t>(summands.size());
  for (const auto &[element, have] : holders) {
    if (!wanted.count(element)) {
      transfers.summing += parts - 1;
      continue;
    }
    int64_t lacking = 0, replicas = static_cast<int64_t>(wanted[element].size());
    for (const auto &[place, ranks] : wanted[element])
      lacking += std::none_of(ranks.begin(), ranks.end(), [&](int rank) { return have.count(rank) > 0; });
    if (parts == 1)
      transfers.fewest += lacking;
    else if (destination.layout.partial.empty())
      transfers.fewest += parts - 1 + replicas - (lacking < replicas ? 1 : 0);
  }
  return transfers;
}

/// Seconds of what always works inside one mesh: add up what is partial, gather every dimension whole, and keep a part.
/// Rings pass their steps' largest blocks over the slower link, if the mesh has any.
inline double wholeTime(const ValueShape &shape, const Sharding &source, const Network &links) {
  const Mesh &mesh = source.mesh;
  bool oneNode = std::all_of(mesh.ranks.begin(), mesh.ranks.end(),
                             [&](int rank) { return links.nodeOf(rank) == links.nodeOf(mesh.ranks[0]); });
  auto pass = [&](int64_t lanes, int64_t block) {
    double bytes = double(block * shape.elementBytes), inside = links.inside.ringPass(double(lanes), bytes);
    return oneNode ? inside : std::max(inside, links.across.ringPass(double(lanes), bytes));
  };
  auto lanesOf = [&](const std::vector<std::string> &axes) {
    int64_t lanes = 1;
    for (const std::string &axis : axes)
      lanes *= mesh.axis(axis);
    return lanes;
  };
  std::vector<int64_t> sizes(shape.sizes.size()); // largest of any lane
  for (int lane = 0; lane < mesh.lanes(); ++lane) {
    std::vector<std::set<int64_t>> indices(sizes.size());
    for (int64_t element : elementsOf(shape, source, lane))
      for (size_t dim = sizes.size(); dim-- > 0; element /= shape.sizes[dim])
        indices[dim].insert(element % shape.sizes[dim]);
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      sizes[dim] = std::max(sizes[dim], static_cast<int64_t>(indices[dim].size()));
  }
  auto local = [&] { return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>()); };
  int64_t summands = lanesOf(source.layout.partial);
  double time = 2 * pass(summands, (local() + summands - 1) / summands);
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    time += pass(lanesOf(source.layout.dims[dim]), local());
    sizes[dim] = shape.sizes[dim];
  }
  return time;
}

inline LocalBuffers noise(const ValueShape &shape, const Sharding &sharding, std::mt19937 &random) {
  LocalBuffers buffers;
  for (int lane = 0; lane < sharding.mesh.lanes(); ++lane)
    for (auto &buffer = buffers.emplace_back(); buffer.size() < elementsOf(shape, sharding, lane).size();)
      buffer.push_back(static_cast<int64_t>(random() % 19) - 9);
  return buffers;
}

inline int64_t product(const LocalBuffers &a, const LocalBuffers &b) {
  int64_t sum = 0;
  for (size_t lane = 0; lane < a.size(); ++lane)
    for (size_t i = 0; i < a[lane].size(); ++i)
      sum += a[lane][i] * b[lane][i];
  return sum;
}

/// Everything that must hold of a plan, executed forwards.
inline void expectRight(const ReshardPlan &plan, std::mt19937 &random) {
  std::vector<int64_t> value(wholeSize(plan.shape));
  for (int64_t &element : value)
    element = static_cast<int64_t>(random() % 199) - 99;
  std::set<int64_t> known;
  for (int lane = 0; lane < plan.source.mesh.lanes(); ++lane)
    for (int64_t element : elementsOf(plan.shape, plan.source, lane))
      known.insert(element);
  Result<LocalBuffers> result = interpret(plan, scatter(plan.shape, plan.source, value, random));
  ASSERT_TRUE(result) << result.error();
  ASSERT_EQ(result->size(), plan.destination.mesh.ranks.size());
  expectHolds(plan.shape, plan.destination, *result, value, known);
  for (const ReshardStep &step : plan.steps) {
    ASSERT_TRUE(finishesBlocking(step.exchange, random)) << step.str();
    std::set<std::pair<int, int>> busy, pairs; // (round, rank), (from, to)
    for (const Message &message : step.exchange.messages) {
      ASSERT_TRUE(busy.insert({message.round, message.from}).second && busy.insert({message.round, message.to}).second);
      ASSERT_TRUE(pairs.insert({message.from, message.to}).second);
      ASSERT_NE(message.from, message.to);
    }
  }
}

/// <Ax, y> = <x, A'y> on buffers that hold anything, and the adjoint is a right plan itself.
inline void expectAdjoint(const ReshardPlan &plan, std::mt19937 &random) {
  ReshardPlan back = adjoint(plan);
  LocalBuffers x = noise(plan.shape, plan.source, random), y = noise(plan.shape, plan.destination, random);
  Result<LocalBuffers> forward = interpret(plan, x), backward = interpret(back, y);
  ASSERT_TRUE(forward) << forward.error();
  ASSERT_TRUE(backward) << backward.error();
  ASSERT_EQ(product(*forward, y), product(x, *backward));
  ASSERT_EQ(back.bytes(), plan.bytes());
  expectRight(back, random);
}

inline std::string describe(const ReshardPlan &plan) {
  std::string text = plan.source.str() + "\n  -> " + plan.destination.str() + "\n";
  for (const ReshardStep &step : plan.steps)
    text += "  " + step.str() + "\n";
  return text;
}

} // namespace braid::plan::oracle

#endif // BRAID_TEST_PLAN_RESHARDORACLE_H
