//===- Collectives.h - The steps of a reshard -------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshard is a sequence of steps: collectives over groups of lanes, local copies, and exchanges. Inside one mesh a
// shortest-path search over layouts finds the sequence of least cost. docs/Reshards.md, section 4.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_RESHARD_COLLECTIVES_H
#define BRAID_PLAN_RESHARD_COLLECTIVES_H

#include "braid/Plan/Reshard/Exchange.h"

#include <optional>
#include <string_view>

namespace braid::plan {

enum class StepKind {
  AllGather,     // the last axes of `dim` become replicated: the group's buffers are concatenated along it
  ReduceScatter, // partial axes become the last of `dim`: the group's buffers are added, each lane keeps a chunk
  AllReduce,     // partial axes become replicated
  AllToAll,      // the last axes of `dim` become the last of `toDim`
  Slice,         // each lane keeps a part of what it holds, or the same in another order
  Pad,           // each lane puts what it holds into a larger buffer of zeros; the axes become partial
  Exchange,      // messages between any ranks
};
std::string_view spelling(StepKind kind); // all_gather, reduce_scatter, ...

struct ReshardStep {
  StepKind kind = StepKind::Slice;
  std::vector<std::string>
      axes; // of collectives, slices and pads, major to minor. A group's lanes differ in these only
  int dim = -1, toDim = -1;
  Sharding before, after;
  braid::plan::Exchange exchange; // of kind Exchange
  int64_t bytes = 0;              // over links, of all ranks together
  double time = 0;                // seconds

  /// all_gather {"dp"} dim 0: [{"dp"}, {}] -> [{}, {}]
  std::string str() const;
};

/// Lanes that differ only in their coordinates along these axes, the last axis fastest.
std::vector<std::vector<int>> groupsOf(const Mesh &mesh, const std::vector<std::string> &axes);

/// Fills in bytes and time from the rest.
void measure(ReshardStep &step, const ValueShape &shape, const Network &links);

/// The transposed step: from the transposed layout after to the transposed layout before.
ReshardStep transposed(const ReshardStep &step, const ValueShape &shape, const Network &links);

/// The cheapest steps from one sharding to another on the same mesh. Both must be right. Rows that the destination
/// holds and the source does not become zero. Nothing if there are so many axes and dims that the search gives up.
std::optional<std::vector<ReshardStep>> searchSteps(const ValueShape &shape, const Sharding &source,
                                                    const Sharding &destination, const Network &links);

/// Ways to get to a sharding by collectives and pads inside its own mesh: first none, then by gathering what was
/// scattered over some of its replicated axes. Where each way begins is without partial axes.
std::vector<std::vector<ReshardStep>> waysInto(const ValueShape &shape, const Sharding &destination,
                                               const Network &links);
/// The same for leaving a sharding: partial axes are reduced and scattered, each replica taking one part before.
std::vector<std::vector<ReshardStep>> waysOutOf(const ValueShape &shape, const Sharding &source, const Network &links);

} // namespace braid::plan

#endif // BRAID_PLAN_RESHARD_COLLECTIVES_H
