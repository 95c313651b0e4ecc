//===- TwoTimes.cpp - A program that uses braid's planning library --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/PlanLibrary.md explains it: what 1F1B and ZB-H1 take on eight H100s whose stages differ, with messages of 64 MiB.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Cost/Hardware.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <cstdio>

using namespace braid::plan;

int main() {
  Result<Hardware> h100 = findHardware("h100");
  if (!h100) {
    std::fprintf(stderr, "%s\n", h100.error().c_str());
    return 1;
  }
  CostModel costs;
  costs.latency = h100->node.latency;
  costs.timePerByte = 1 / h100->node.bandwidth;
  costs.forwardBytes = costs.backwardBytes = 64 << 20;
  for (int stage = 0; stage < 8; ++stage) // seconds; the last stage has the head
    costs.stages.push_back({.forward = stage < 7 ? 0.010 : 0.013, .input = 0.012, .weight = 0.009});

  for (const char *kind : {"1f1b", "zb_h1"}) {
    Result<PlannedSchedule> planned = makeSchedule({.kind = kind, .ranks = 8, .microbatches = 32});
    if (!planned) {
      std::fprintf(stderr, "%s\n", planned.error().c_str());
      return 1;
    }
    Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule);
    Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, costs);
    if (!facts || !timeline) {
      std::fprintf(stderr, "%s\n", (facts ? timeline.error() : facts.error()).c_str());
      return 1;
    }
    std::printf("%-6s %.4f s, bubble %.1f %%, at most %d activations on rank 0\n", kind, timeline->makespan,
                100 * timeline->bubble(), facts->peakActivations[0]);
  }
  return 0;
}
