//===- ReshardFuzzer.cpp - Any bytes as a reshard -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/ReshardFile.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<ReshardProblem> problem = parseReshard(std::string(reinterpret_cast<const char *>(data), size), "a.yaml");
  if (!problem) {
    if (problem.error().rfind("a.yaml:", 0) != 0)
      __builtin_trap(); // every error says where
    return 0;
  }
  if (problem->source.mesh.lanes() > 64 || problem->destination.mesh.lanes() > 64 || problem->shape.sizes.size() > 4)
    return 0;
  Result<ReshardPlan> plan = planReshard(problem->shape, problem->source, problem->destination, problem->links);
  if (plan && adjoint(adjoint(*plan)).bytes() != plan->bytes())
    __builtin_trap();
  return 0;
}
