//===- CollectiveSearch.cpp - The cheapest steps inside one mesh ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dijkstra's algorithm over layouts. A state is a layout and the rows that its manifest axes divide. Moves are limited
// to those that can be of use: an axis that is where the destination wants it stays, an axis moves only to where the
// destination has it, unless it is reduced. Exchanges are tried from states without partial axes.
//
//===----------------------------------------------------------------------===//

#include "CollectiveTime.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <set>

namespace braid::plan {

namespace {
struct State {
  std::vector<std::vector<int>> dims; // axes
  std::vector<int> partial;           // sorted
  int rows = 0;                       // which of the search's rows

  auto operator<=>(const State &) const = default;
};

struct Move {
  StepKind kind = StepKind::Slice;
  std::vector<int> axes;
  int dim = -1, toDim = -1;
  Exchange exchange;
};

struct Reached {
  double time = 0;
  int64_t moves = 0;
  std::optional<State> from;
  Move move;
  bool done = false;
};

class CollectiveSearch {
public:
  CollectiveSearch(const ValueShape &shape, const Sharding &source, const Sharding &destination, const Network &links)
      : shape(shape), mesh(source.mesh), destination(destination), links(links) {
    start = stateOf(source);
    goal = stateOf(destination);
    for (size_t count = 0; shape.rowDim >= 0 && count <= destination.rows.axes.size(); ++count)
      family.push_back(number(merged(destination.rows, destination.rows.axes.size() - count)));
  }

  std::optional<std::vector<ReshardStep>> run() {
    constexpr int mostStates = 4000;
    relax(start, std::nullopt, 0, {});
    for (int states = 0; !queue.empty() && states < mostStates; ++states) {
      State state = queue.top().second;
      queue.pop();
      Reached &reached = found[state];
      if (reached.done)
        continue;
      reached.done = true;
      if (state == goal)
        break;
      moveFrom(state);
      bool local = reached.from && (reached.move.kind == StepKind::Slice || reached.move.kind == StepKind::Pad);
      if (state.partial.empty() && !local)
        exchangeFrom(state);
    }
    if (!found.count(goal))
      return std::nullopt;
    std::vector<ReshardStep> steps;
    for (std::optional<State> at = goal; found[*at].from; at = found[*at].from) {
      Move &move = found[*at].move;
      ReshardStep step{move.kind,       namesOf(move.axes),      move.dim, move.toDim, shardingOf(*found[*at].from),
                       shardingOf(*at), std::move(move.exchange)};
      measure(step, shape, links);
      steps.push_back(std::move(step));
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

private:
  const ValueShape &shape;
  const Mesh &mesh;
  const Sharding &destination;
  const Network &links;
  State start, goal;
  std::vector<Rows> rowsTable;
  std::vector<int> family; // the destination's rows over 0, 1, ... of their axes
  std::map<State, Reached> found;
  using Entry = std::pair<std::pair<double, int64_t>, State>; // (time, moves), state
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::map<std::vector<int>, const Link *> linkOf;
  std::map<std::pair<int, int>, bool> holdsCache;
  std::map<std::pair<int, size_t>, int> mergedCache;
  std::map<std::pair<int, std::vector<int>>, bool> finalRowsCache;
  std::optional<std::vector<std::vector<ReshardStep>>> ways; // into the destination
  int exchangesTried = 0;

  int number(const Rows &rows) {
    auto at = std::find(rowsTable.begin(), rowsTable.end(), rows);
    if (at == rowsTable.end())
      at = rowsTable.insert(at, rows);
    return static_cast<int>(at - rowsTable.begin());
  }

  State stateOf(const Sharding &sharding) {
    State state;
    for (const auto &axes : sharding.layout.dims) {
      std::vector<int> &dim = state.dims.emplace_back();
      for (const std::string &axis : axes)
        dim.push_back(mesh.indexOf(axis));
    }
    for (const std::string &axis : sharding.layout.partial)
      state.partial.push_back(mesh.indexOf(axis));
    std::sort(state.partial.begin(), state.partial.end());
    state.rows = shape.rowDim < 0 ? 0 : number(sharding.rows);
    return state;
  }

  std::vector<std::string> namesOf(const std::vector<int> &axes) const {
    std::vector<std::string> names;
    for (int axis : axes)
      names.push_back(mesh.axes[axis].first);
    return names;
  }

  Sharding shardingOf(const State &state) const {
    Sharding sharding{mesh, {{}, namesOf(state.partial)}, {}};
    for (const std::vector<int> &dim : state.dims)
      sharding.layout.dims.push_back(namesOf(dim));
    if (shape.rowDim >= 0)
      sharding.rows = rowsTable[state.rows];
    return sharding;
  }

  /// The rows when the last `count` manifest axes have been gathered: their lanes' lists one after the other.
  Rows merged(const Rows &rows, size_t count) const {
    size_t lanes = 1;
    for (size_t i = rows.axes.size() - count; i < rows.axes.size(); ++i)
      lanes *= mesh.axis(rows.axes[i]);
    Rows result{{rows.axes.begin(), rows.axes.end() - static_cast<long>(count)}, {}};
    for (size_t lane = 0; lane < rows.lanes.size(); ++lane) {
      if (lane % lanes == 0)
        result.lanes.emplace_back();
      for (Interval interval : rows.lanes[lane])
        append(result.lanes.back(), interval);
    }
    return result;
  }

  size_t manifestAxes(const State &state) const { return shape.rowDim < 0 ? 0 : rowsTable[state.rows].axes.size(); }

  /// Whether each lane of the coarser rows holds what the lanes of the finer rows under it hold.
  bool holds(int coarse, int fine) {
    auto [at, added] = holdsCache.try_emplace({coarse, fine});
    if (!added)
      return at->second;
    const std::vector<Intervals> &outer = rowsTable[coarse].lanes, &inner = rowsTable[fine].lanes;
    size_t ratio = inner.size() / outer.size();
    bool all = true;
    for (size_t lane = 0; lane < inner.size() && all; ++lane)
      all = contains(outer[lane / ratio], inner[lane]);
    return at->second = all;
  }

  /// Whether every lane of a state holds what it has to hold of the row dimension in the end.
  bool holdsFinalRows(const State &state) {
    auto [at, added] = finalRowsCache.try_emplace({state.rows, state.dims[shape.rowDim]});
    if (!added)
      return at->second;
    Division have = divide(shape, shardingOf(state)), want = divide(shape, destination);
    bool all = true;
    for (int lane = 0; lane < mesh.lanes() && all; ++lane)
      all = contains(have.dims[shape.rowDim].parts[have.partOf(lane, shape.rowDim)],
                     want.dims[shape.rowDim].parts[want.partOf(lane, shape.rowDim)]);
    return at->second = all;
  }

  static bool contains(Intervals outer, const Intervals &inner) {
    std::sort(outer.begin(), outer.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
    for (Interval want : inner)
      for (int64_t begin = want.begin; begin < want.end;) {
        auto next = std::upper_bound(outer.begin(), outer.end(), begin,
                                     [](int64_t value, Interval interval) { return value < interval.end; });
        if (next == outer.end() || next->begin > begin)
          return false;
        begin = next->end;
      }
    return true;
  }

  int64_t largestPart(const State &state, int dim) const {
    int64_t size = shape.sizes[dim];
    size_t first = 0;
    if (dim == shape.rowDim) {
      size = 0;
      for (const Intervals &lane : rowsTable[state.rows].lanes)
        size = std::max(size, sizeOf(lane));
      first = manifestAxes(state);
    }
    for (size_t i = first; i < state.dims[dim].size(); ++i)
      size = (size + mesh.axes[state.dims[dim][i]].second - 1) / mesh.axes[state.dims[dim][i]].second;
    return size;
  }

  std::vector<int64_t> largestParts(const State &state) const {
    std::vector<int64_t> parts;
    for (int dim = 0; dim < static_cast<int>(state.dims.size()); ++dim)
      parts.push_back(largestPart(state, dim));
    return parts;
  }

  void relax(const State &state, const std::optional<State> &from, double time, Move move) {
    int64_t moves = from ? found[*from].moves + 1 : 0;
    auto [at, added] = found.try_emplace(state);
    Reached &reached = at->second;
    if (!added && std::pair(reached.time, reached.moves) <= std::pair(time, moves))
      return;
    reached = {time, moves, from, std::move(move), false};
    queue.push({{time, moves}, state});
  }

  void step(const State &from, const State &to, Move move) {
    if (move.kind == StepKind::Slice || move.kind == StepKind::Pad) {
      relax(to, from, found[from].time, std::move(move));
      return;
    }
    int64_t lanes = 1;
    for (int axis : move.axes)
      lanes *= mesh.axes[axis].second;
    int64_t block = ringBlock(move.kind, lanes, largestParts(from), largestParts(to));
    const Link *&link = linkOf[move.axes];
    if (!link)
      link = &slowestLink(mesh, namesOf(move.axes), links);
    double time = collectiveTime(move.kind, lanes, *link, block * shape.elementBytes);
    relax(to, from, found[from].time + time, std::move(move));
  }

  static bool contains(const std::vector<int> &list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }

  /// How many axes of the dimension are where the destination wants them.
  size_t settled(const State &state, int dim) const {
    const std::vector<int> &have = state.dims[dim], &want = goal.dims[dim];
    size_t count = std::mismatch(have.begin(), have.end(), want.begin(), want.end()).first - have.begin();
    return dim == shape.rowDim && state.rows != goal.rows ? 0 : count;
  }

  /// Without the last `count` axes of the dimension.
  State without(const State &state, int dim, size_t count) {
    State result = state;
    result.dims[dim].resize(state.dims[dim].size() - count);
    if (size_t manifest = manifestAxes(state); dim == shape.rowDim && result.dims[dim].size() < manifest) {
      size_t gathered = manifest - result.dims[dim].size();
      auto [at, added] = mergedCache.try_emplace({state.rows, gathered});
      if (added)
        at->second = number(merged(rowsTable[state.rows], gathered));
      result.rows = at->second;
    }
    return result;
  }

  void moveFrom(const State &state) {
    int dims = static_cast<int>(state.dims.size());
    for (int dim = 0; dim < dims; ++dim)
      for (size_t count = 1; count <= state.dims[dim].size() - settled(state, dim); ++count) {
        std::vector<int> axes(state.dims[dim].end() - static_cast<long>(count), state.dims[dim].end());
        State rest = without(state, dim, count);
        step(state, rest, {StepKind::AllGather, axes, dim, -1, {}});
        if (std::all_of(axes.begin(), axes.end(), [&](int axis) { return contains(goal.partial, axis); })) {
          State padded = rest;
          padded.partial.insert(padded.partial.end(), axes.begin(), axes.end());
          std::sort(padded.partial.begin(), padded.partial.end());
          step(state, padded, {StepKind::Pad, axes, dim, -1, {}});
        }
        for (int to = 0; to < dims; ++to)
          if (to != dim && std::any_of(axes.begin(), axes.end(), [&](int axis) { return wants(to, axis); }))
            step(state, appended(rest, to, axes), {StepKind::AllToAll, axes, dim, to, {}});
      }
    reduceFrom(state);
    sliceFrom(state);
  }

  /// Whether the destination has the axis here, and divides evenly by it.
  bool wants(int dim, int axis) const {
    auto at = std::find(goal.dims[dim].begin(), goal.dims[dim].end(), axis);
    if (at == goal.dims[dim].end())
      return false;
    return dim != shape.rowDim || at - goal.dims[dim].begin() >= static_cast<long>(manifestAxes(goal));
  }

  static State appended(State state, int dim, const std::vector<int> &axes) {
    state.dims[dim].insert(state.dims[dim].end(), axes.begin(), axes.end());
    return state;
  }

  void reduceFrom(const State &state) {
    std::vector<int> unwanted;
    for (int axis : state.partial)
      if (!contains(goal.partial, axis))
        unwanted.push_back(axis);
    std::vector<std::vector<int>> sets;
    for (int axis : unwanted)
      sets.push_back({axis});
    if (unwanted.size() > 1)
      sets.push_back(unwanted);
    for (const std::vector<int> &axes : sets) {
      State reduced = state;
      std::erase_if(reduced.partial, [&](int axis) { return contains(axes, axis); });
      step(state, reduced, {StepKind::AllReduce, axes, -1, -1, {}});
      for (int dim = 0; dim < static_cast<int>(state.dims.size()); ++dim)
        step(state, appended(reduced, dim, axes), {StepKind::ReduceScatter, axes, dim, -1, {}});
    }
  }

  void sliceFrom(const State &state) {
    std::vector<bool> used(mesh.axes.size());
    for (const std::vector<int> &dim : state.dims)
      for (int axis : dim)
        used[axis] = true;
    for (int axis : state.partial)
      used[axis] = true;
    for (int axis = 0; axis < static_cast<int>(mesh.axes.size()); ++axis)
      for (int dim = 0; !used[axis] && dim < static_cast<int>(state.dims.size()); ++dim)
        if (wants(dim, axis) || contains(goal.partial, axis))
          step(state, appended(state, dim, {axis}), {StepKind::Slice, {axis}, dim, -1, {}});
    if (shape.rowDim < 0)
      return;
    // Rows as the destination wants them, if every lane has its own.
    const std::vector<int> &have = state.dims[shape.rowDim], &final = goal.dims[shape.rowDim];
    if ((have != final || state.rows != goal.rows) &&
        std::all_of(have.begin(), have.end(), [&](int axis) { return contains(final, axis); }) &&
        std::all_of(final.begin(), final.end(), [&](int axis) { return !used[axis] || contains(have, axis); }) &&
        holdsFinalRows(state)) {
      State sliced = state;
      sliced.rows = goal.rows;
      sliced.dims[shape.rowDim] = final;
      std::vector<int> fresh;
      for (int axis : final)
        if (!contains(have, axis))
          fresh.push_back(axis);
      step(state, sliced, {StepKind::Slice, fresh, shape.rowDim, -1, {}});
    }
    // One more axis of the destination's manifest, while no even axis follows.
    size_t count = manifestAxes(state);
    if (have.size() != count)
      return;
    for (size_t next = count; next <= count + 1 && next < family.size(); ++next) {
      bool matches = std::equal(have.begin(), have.end(), final.begin(), final.begin() + static_cast<long>(count));
      if (!matches || family[next] == state.rows || (next > count && used[final[count]]) ||
          !holds(state.rows, family[next]))
        continue;
      State sliced = state;
      sliced.rows = family[next];
      if (next > count)
        sliced.dims[shape.rowDim].push_back(final[count]);
      step(state, sliced,
           {StepKind::Slice, next > count ? std::vector<int>{final[count]} : std::vector<int>{}, shape.rowDim, -1, {}});
    }
  }

  /// Tries an exchange to the destination and to what can be gathered to it.
  void exchangeFrom(const State &state) {
    constexpr int mostLanes = 1 << 15; // in all exchanges together, so that the search stays fast
    double time = found[state].time;
    auto best = found.find(goal);
    if (exchangesTried * mesh.lanes() > mostLanes ||
        (best != found.end() && best->second.time <= time + std::min(links.inside.latency, links.across.latency)))
      return;
    ++exchangesTried;
    if (!ways)
      ways = waysInto(shape, destination, links);
    Division from = divide(shape, shardingOf(state));
    for (size_t i = 0; i < ways->size() && (i == 0 || exchangesTried * mesh.lanes() <= mostLanes); ++i) {
      const std::vector<ReshardStep> &way = (*ways)[i];
      const Sharding &to = way.empty() ? destination : way.front().before;
      Exchange exchange = planExchange(from, divide(shape, to), links, /*nearFirst=*/true);
      double taken = exchangeTime(exchange, shape.elementBytes, links);
      relax(stateOf(to), state, time + taken, {StepKind::Exchange, {}, -1, -1, std::move(exchange)});
    }
  }
};
} // namespace

std::optional<std::vector<ReshardStep>> searchSteps(const ValueShape &shape, const Sharding &source,
                                                    const Sharding &destination, const Network &links) {
  return CollectiveSearch(shape, source, destination, links).run();
}

} // namespace braid::plan
