//===- HardwareFuzzer.cpp - Any bytes as figures of hardware ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Cost/Hardware.h"

#include <cmath>

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Result<std::vector<Hardware>> parsed = parseHardware(text, "h.yaml");
  if (!parsed) {
    if (parsed.error().rfind("h.yaml:", 0) != 0)
      __builtin_trap(); // every error says where
    return 0;
  }
  // Whatever the figures are, a message takes some finite time.
  for (const Hardware &hardware : *parsed) {
    Network links = hardware.network();
    for (const Link *link : {&links.inside, &links.across})
      if (!(link->time(1e6) >= 0) || !std::isfinite(link->ringPass(8, 1e6)))
        __builtin_trap();
    if (!std::isfinite(hardware.seconds(allReduce(hardware, RankGroup::strided(16, 2, hardware), 1e6))))
      __builtin_trap();
  }
  return 0;
}
