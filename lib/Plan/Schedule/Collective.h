//===- Collective.h - Ranks that wait for each other ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_SCHEDULE_COLLECTIVE_H
#define BRAID_LIB_PLAN_SCHEDULE_COLLECTIVE_H

#include "braid/Plan/Schedule/Schedule.h"

#include <set>
#include <tuple>

namespace braid::plan {

/// Whether all ranks with this action of one update wait for each other at it.
inline bool isCollective(ActionKind kind) { return kind == ActionKind::Norm || kind == ActionKind::ReduceGrad; }

/// Actions with one key are one collective: a norm is of all stages, a reduction of one.
using CollectiveKey = std::tuple<ActionKind, int, int>;
inline CollectiveKey collectiveKey(const Action &action) {
  return {action.kind, action.kind == ActionKind::Norm ? -1 : action.stage, action.version};
}

struct Collective {
  std::set<int> members, arrived; // ranks

  bool complete() const { return arrived.size() == members.size(); }
};

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_SCHEDULE_COLLECTIVE_H
