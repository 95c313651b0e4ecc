//===- PlanFileFuzzer.cpp - Any bytes as plan.yaml ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Support/Text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  auto plan = braid::plan::parsePlan(text, "plan.yaml");
  if (plan)
    (void)plan->componentOf("net.layers.0.mlp");
  else if (plan.error().rfind("plan.yaml:", 0) != 0)
    __builtin_trap(); // every error says where
  return 0;
}
