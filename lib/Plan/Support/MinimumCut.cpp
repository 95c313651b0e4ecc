//===- MinimumCut.cpp - Cheapest nodes between sources and sinks ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/MinimumCut.h"

#include <algorithm>

namespace braid::plan {

int MinimumCut::addNode(int64_t weight) {
  int node = nodes++;
  leaving.resize(2 + 2 * nodes);
  addArc(in(node), out(node), weight);
  return node;
}

void MinimumCut::addArc(int from, int to, int64_t capacity) {
  leaving[from].push_back(static_cast<int>(arcs.size()));
  arcs.push_back({to, capacity});
  leaving[to].push_back(static_cast<int>(arcs.size()));
  arcs.push_back({from, 0});
}

/// Distances from the source along arcs with capacity left. Whether the sink has one.
bool MinimumCut::findLevels() {
  level.assign(leaving.size(), -1);
  level[source] = 0;
  std::vector<int> queue = {source};
  for (size_t at = 0; at < queue.size(); ++at)
    for (int arc : leaving[queue[at]])
      if (arcs[arc].capacity > 0 && level[arcs[arc].to] < 0) {
        level[arcs[arc].to] = level[queue[at]] + 1;
        queue.push_back(arcs[arc].to);
      }
  return level[sink] >= 0;
}

/// Sends flow along one shortest path, whose arcs each lead to the next level. False where none is left.
bool MinimumCut::augment() {
  std::vector<int> path;
  int at = source;
  while (at != sink) {
    int &arc = next[at];
    const int count = static_cast<int>(leaving[at].size());
    while (arc < count && (arcs[leaving[at][arc]].capacity == 0 || level[arcs[leaving[at][arc]].to] != level[at] + 1))
      ++arc;
    if (arc < count) {
      path.push_back(leaving[at][arc]);
      at = arcs[path.back()].to;
      continue;
    }
    if (path.empty())
      return false;
    at = arcs[path.back() ^ 1].to; // a dead end: back, and past the arc that led here
    path.pop_back();
    ++next[at];
  }
  int64_t least = never;
  for (int arc : path)
    least = std::min(least, arcs[arc].capacity);
  for (int arc : path) {
    arcs[arc].capacity -= least;
    arcs[arc ^ 1].capacity += least;
  }
  return true;
}

std::vector<int> MinimumCut::solve() {
  while (findLevels()) {
    next.assign(leaving.size(), 0);
    while (augment()) {
    }
  }
  // What still reaches the sink is behind the cut.
  std::vector<bool> behind(leaving.size());
  behind[sink] = true;
  std::vector<int> queue = {sink};
  for (size_t at = 0; at < queue.size(); ++at)
    for (int arc : leaving[queue[at]])
      if (arcs[arc ^ 1].capacity > 0 && !behind[arcs[arc].to]) {
        behind[arcs[arc].to] = true;
        queue.push_back(arcs[arc].to);
      }
  std::vector<int> cut;
  for (int node = 0; node < nodes; ++node)
    if (!behind[in(node)] && behind[out(node)])
      cut.push_back(node);
  return cut;
}

} // namespace braid::plan
