//===- PlannerFuzzer.cpp - Any bytes as the planner's input ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Planner/Planner.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Result<PlannerProblem> problem = parsePlannerProblem(text, "m.yaml");
  if (!problem) {
    if (problem.error().rfind("m.yaml", 0) != 0)
      __builtin_trap(); // every error names the file
    return 0;
  }
  int layers = 0;
  for (const PlannerComponent &component : problem->components)
    layers += component.model.layers;
  if (layers > 16 || problem->devices > 16 || problem->batch > 64)
    return 0;
  Result<PlannerResult> found = searchPlans(*problem, {.keep = 1, .simulate = false});
  if (!found)
    return 0;
  const Evaluation &best = found->best.front();
  if (!(best.seconds >= 0) || best.peakBytes > problem->hardware.memory ||
      best.candidate.ranks() > problem->devices)
    __builtin_trap();
  // The plan that is written can be read.
  if (!parsePlan(planYaml(*problem, best), "plan.yaml"))
    __builtin_trap();
  return 0;
}
