//===- Verifier.h - Proves that a schedule is right -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What holds of a verified table:
//   complete   every stage computes every micro-batch once, forwards and, where it has a backward, backwards
//   paired     every value that crosses ranks has one send and one receive, and there are no others
//   ordered    an action runs after what it needs, and both ends of a link agree on the order of their messages
//   live       it ends, even if a send blocks until its receive is reached, and with bounded buffers
//   versions   an action reads weights that its rank holds, and no gradient is older than the staleness allowed
//   gradients  each is summed before the reduction, norm and step of its update, reduced once, and none comes later
//   memory     no rank holds more activations than allowed
// Errors draw the table around the action that fails and, for a deadlock, name the cycle.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_VERIFIER_VERIFIER_H
#define BRAID_PLAN_VERIFIER_VERIFIER_H

#include "braid/Plan/Schedule/Pipeline.h"
#include "braid/Plan/Schedule/Schedule.h"

#include <vector>

namespace braid::plan {

struct VerifyOptions {
  int buffers = 0;         // messages that a link holds: 0 means that a send blocks until its receive is reached
  int maxActivations = -1; // (stage, micro-batch) activations that a rank may hold at once; -1: any number
  std::vector<int> maxActivationsOfRank = {}; // the same for each rank, where given
};

struct ScheduleFacts {
  std::vector<int> peakActivations; // of each rank: forwards whose last backward has not run
  int64_t messages = 0;
  int staleness = 0;      // most updates between the weights a gradient was taken at and those it changes
  int64_t mismatched = 0; // (stage, micro-batch) whose backward read other weights than their forward
};

/// Checks one direction's or several directions' table, with or without messages, with or without an update at its end.
Result<ScheduleFacts> verify(const Pipeline &pipeline, const Schedule &schedule, const VerifyOptions &options = {});

} // namespace braid::plan

#endif // BRAID_PLAN_VERIFIER_VERIFIER_H
