//===- MinimumCut.h - Cheapest nodes between sources and sinks --*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes of least weight without which no path leads from a source to a sink: a maximum flow through nodes (Dinic,
// 1970).
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_MINIMUMCUT_H
#define BRAID_PLAN_SUPPORT_MINIMUMCUT_H

#include <cstdint>
#include <vector>

namespace braid::plan {

class MinimumCut {
public:
  static constexpr int64_t never = int64_t(1) << 60; // the weight of a node that may not be cut

  /// The number of a new node. Weights add up to less than `never`.
  int addNode(int64_t weight);
  void addEdge(int from, int to) { addArc(out(from), in(to), never); }
  void addSource(int node) { addArc(source, in(node), never); }
  void addSink(int node) { addArc(out(node), sink, never); }

  /// The cut nodes in increasing order; of several cuts of one weight the one nearest to the sinks. Every path needs a
  /// node that may be cut.
  std::vector<int> solve();

private:
  struct Arc {
    int to;
    int64_t capacity; // what is left of it
  };
  static constexpr int source = 0, sink = 1;
  static int in(int node) { return 2 + 2 * node; }
  static int out(int node) { return 3 + 2 * node; }
  void addArc(int from, int to, int64_t capacity);
  bool findLevels();
  bool augment();

  int nodes = 0;
  std::vector<Arc> arcs; // an arc and its reverse stand side by side
  std::vector<std::vector<int>> leaving = std::vector<std::vector<int>>(2);
  std::vector<int> level, next;
};

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_MINIMUMCUT_H
