//===- CollectiveTime.h - What a collective costs ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_RESHARD_COLLECTIVETIME_H
#define BRAID_LIB_PLAN_RESHARD_COLLECTIVETIME_H

#include "braid/Plan/Reshard/Collectives.h"

namespace braid::plan {

/// Of the links that join lanes of a group.
const Link &slowestLink(const Mesh &mesh, const std::vector<std::string> &axes, const Network &links);

/// Elements that a ring of this many lanes passes on each round: the largest block that any lane has. `before` and
/// `after` are the largest parts of each dimension.
int64_t ringBlock(StepKind kind, int64_t lanes, const std::vector<int64_t> &before, const std::vector<int64_t> &after);

double collectiveTime(StepKind kind, int64_t lanes, const Link &link, int64_t blockBytes);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_RESHARD_COLLECTIVETIME_H
