//===- MinimumCutTest.cpp - Cuts against all subsets ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/MinimumCut.h"
#include "braid/Plan/Support/Random.h"

#include "gtest/gtest.h"

using namespace braid::plan;

namespace {
struct Graph {
  std::vector<int64_t> weights;
  std::vector<std::pair<int, int>> edges; // to larger numbers
  std::vector<int> sources, sinks;

  bool isCutBy(unsigned removed) const {
    std::vector<bool> reached(weights.size());
    for (int source : sources)
      reached[source] = !(removed >> source & 1);
    for (size_t node = 0; node < weights.size(); ++node) // in order, so one sweep is enough
      for (auto [from, to] : edges)
        if (from == static_cast<int>(node) && reached[from] && !(removed >> to & 1))
          reached[to] = true;
    for (int sink : sinks)
      if (reached[sink])
        return false;
    return true;
  }

  /// -1 where no cut leaves out the nodes that may not be cut.
  int64_t leastWeight() const {
    int64_t least = -1;
    for (unsigned removed = 0; removed < 1u << weights.size(); ++removed) {
      int64_t weight = 0;
      for (size_t node = 0; node < weights.size(); ++node)
        weight = std::min(MinimumCut::never, weight + ((removed >> node & 1) ? weights[node] : 0));
      if (weight < MinimumCut::never && (least < 0 || weight < least) && isCutBy(removed))
        least = weight;
    }
    return least;
  }

  std::vector<int> solve() const {
    MinimumCut cut;
    for (int64_t weight : weights)
      cut.addNode(weight);
    for (auto [from, to] : edges)
      cut.addEdge(from, to);
    for (int source : sources)
      cut.addSource(source);
    for (int sink : sinks)
      cut.addSink(sink);
    return cut.solve();
  }
};
} // namespace

TEST(MinimumCut, IsAsLightAsTheLightestSubset) {
  Random random(7);
  int cutGraphs = 0;
  for (int round = 0; round < 400; ++round) {
    Graph graph;
    int count = 2 + static_cast<int>(random.below(9));
    for (int node = 0; node < count; ++node) {
      graph.weights.push_back(random.below(4) ? 1 + static_cast<int64_t>(random.below(9)) : MinimumCut::never);
      for (int to = node + 1; to < count; ++to)
        if (random.below(3) == 0)
          graph.edges.push_back({node, to});
      if (random.below(3) == 0)
        graph.sources.push_back(node);
      if (random.below(3) == 0)
        graph.sinks.push_back(node);
    }
    int64_t least = graph.leastWeight();
    if (least < 0)
      continue; // a path of nodes that may not be cut
    ++cutGraphs;
    unsigned removed = 0;
    int64_t weight = 0;
    for (int node : graph.solve()) {
      removed |= 1u << node;
      weight += graph.weights[node];
    }
    EXPECT_EQ(weight, least);
    EXPECT_TRUE(graph.isCutBy(removed));
  }
  EXPECT_GT(cutGraphs, 100);
}

TEST(MinimumCut, OfEqualCutsTheOneNearestToTheSinks) {
  Graph chain{{5, MinimumCut::never, 5, 7}, {{0, 1}, {1, 2}, {2, 3}}, {0}, {3}};
  EXPECT_EQ(chain.solve(), std::vector<int>{2});
}
