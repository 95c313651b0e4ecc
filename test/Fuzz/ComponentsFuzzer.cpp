//===- ComponentsFuzzer.cpp - Any bytes as components of a model ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Verifier/Verifier.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // One component a line.
  std::string text(reinterpret_cast<const char *>(data), size);
  std::vector<Component> components;
  size_t stages = 0;
  for (size_t from = 0; from <= text.size() && components.size() < 8;) {
    size_t to = std::min(text.find('\n', from), text.size());
    if (Result<Component> component = Component::parse(std::string_view(text).substr(from, to - from))) {
      for (int rank : component->ranks)
        if (rank > 64)
          return 0;
      stages += component->ranks.size();
      components.push_back(std::move(*component));
    }
    from = to + 1;
  }
  if (stages > 64)
    return 0;
  Result<Pipeline> pipeline = joinComponents(components, 4);
  if (!pipeline)
    return 0;
  // What joins can be scheduled, and is right.
  for (bool phases : {false, true}) {
    Result<Schedule> schedule = phases ? threePhase(*pipeline) : oneFOneB(*pipeline);
    if (!schedule || !verify(*pipeline, *schedule))
      __builtin_trap();
  }
  return 0;
}
