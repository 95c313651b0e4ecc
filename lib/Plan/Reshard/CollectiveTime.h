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

/// A ring of this many lanes that passes on one block each round. The block is the largest that any lane has.
double collectiveTime(StepKind kind, int64_t lanes, const Link &link, int64_t blockBytes);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_RESHARD_COLLECTIVETIME_H
