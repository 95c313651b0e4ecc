//===- VerifierImpl.h - What the verifier's parts share -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_VERIFIER_VERIFIERIMPL_H
#define BRAID_LIB_PLAN_VERIFIER_VERIFIERIMPL_H

#include "braid/Plan/Schedule/Dataflow.h"
#include "braid/Plan/Schedule/Grid.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <algorithm>

namespace braid::plan {

/// An error that draws the table around the places that it speaks of.
inline Error failAt(const Schedule &schedule, const std::string &message, const std::vector<Place> &places) {
  std::string grid = drawAround(schedule, places);
  return Error{message + (grid.empty() ? "" : "\n" + grid)};
}

inline std::string at(const Schedule &schedule, Place place) {
  const std::vector<Action> &row = schedule.rows[place.rank];
  std::string what = place.index < static_cast<int>(row.size()) ? row[place.index].str() : std::string("its end");
  return what + " (rank " + std::to_string(place.rank) + ", action " + std::to_string(place.index) + ")";
}

/// Numbers the links: one per ordered pair of stages that an edge joins.
class Links {
public:
  explicit Links(const PipelineGraph &graph) : graph(graph), first(graph.consumers.size() + 1) {
    for (size_t stage = 0; stage < graph.consumers.size(); ++stage)
      first[stage + 1] = first[stage] + static_cast<int>(graph.consumers[stage].size());
  }
  int count() const { return first.back(); }
  /// -1 if no edge joins them.
  int find(int from, int to) const {
    const std::vector<int> &list = graph.consumers[from];
    auto at = std::lower_bound(list.begin(), list.end(), to);
    return at == list.end() || *at != to ? -1 : first[from] + static_cast<int>(at - list.begin());
  }

private:
  const PipelineGraph &graph;
  std::vector<int> first;
};

/// Runs the table with blocking sends, or with links that buffer some messages; fails if it does not end.
Status runToEnd(const Pipeline &pipeline, const PipelineGraph &graph, const TableShape &shape, const Schedule &schedule,
                int buffers);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_VERIFIER_VERIFIERIMPL_H
