//===- Reshard.h - From one mesh, layout and rows to another ----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One planner for every change of layout: boundary edges between modules, reshards inside one, gradients to a
// parameter's home. docs/Reshards.md. Replaces the boundary transforms of the heterogeneous-parallelism paper (section
// 2.2 in our reading), which want one data-parallel size to divide the other and a payload that is replicated.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_RESHARD_RESHARD_H
#define BRAID_PLAN_RESHARD_RESHARD_H

#include "braid/Plan/Reshard/Collectives.h"

namespace braid::plan {

struct ReshardPlan {
  ValueShape shape;
  Sharding source, destination;
  Network links;
  std::vector<ReshardStep> steps;

  int64_t bytes() const;            // over links, of all ranks together
  double time() const;              // seconds; the steps follow each other
  const Exchange *exchange() const; // the messages, if a step has any
};

struct ReshardOptions {
  /// Rows of the destination that no source lane holds become zero. Without, they are an error.
  bool missingRows = false;
  std::string name = "the value"; // in messages
};

Result<ReshardPlan> planReshard(const ValueShape &shape, const Sharding &source, const Sharding &destination,
                                const Network &links, const ReshardOptions &options = {});

/// The transposed plan: takes gradients of what `plan` makes to gradients of what it takes. What a side held replicated
/// it holds partial here, and the reverse.
ReshardPlan adjoint(const ReshardPlan &plan);

/// What the same boundary costs if one lane of each source region sends all of it to one lane of each destination
/// region, which broadcasts it: the transform of the paper, for comparison. Neither side may be partial.
struct LeaderBroadcast {
  int64_t bytes = 0;       // over links, of all ranks together
  int64_t busiestSent = 0; // by one rank to the other side
  double time = 0;
};
LeaderBroadcast leaderBroadcast(const ReshardPlan &plan);

/// The most bytes that one rank sends in steps of kind Exchange.
int64_t busiestSent(const ReshardPlan &plan);

} // namespace braid::plan

#endif // BRAID_PLAN_RESHARD_RESHARD_H
