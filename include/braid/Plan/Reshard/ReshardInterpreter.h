//===- ReshardInterpreter.h - A reshard on plain arrays ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of a reshard's steps, executed on one machine: the reference for tests and for runtimes.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_RESHARD_RESHARDINTERPRETER_H
#define BRAID_PLAN_RESHARD_RESHARDINTERPRETER_H

#include "braid/Plan/Reshard/Reshard.h"

namespace braid::plan {

/// What the lanes of a sharding hold, each with the last dimension fastest.
using LocalBuffers = std::vector<std::vector<int64_t>>;

/// Fails if a step's buffers do not have the sizes that its layouts say.
Result<LocalBuffers> interpret(const ReshardPlan &plan, LocalBuffers buffers);

} // namespace braid::plan

#endif // BRAID_PLAN_RESHARD_RESHARDINTERPRETER_H
