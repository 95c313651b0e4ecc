//===- Philox.h - Counter-based random numbers --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011), section 3.3:
// four words for each counter and key, without any state, so any element of any tensor is found by itself.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_PHILOX_H
#define BRAID_RUNTIME_ATEN_PHILOX_H

#include <array>
#include <cstdint>

namespace braid::runtime {

struct PhiloxKey {
  uint32_t low, high;
};

using PhiloxBlock = std::array<uint32_t, 4>;

/// The block of a counter.
inline PhiloxBlock philox(PhiloxBlock c, PhiloxKey key) {
  constexpr uint32_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57, weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    uint64_t product0 = uint64_t(multiplier0) * c[0], product1 = uint64_t(multiplier1) * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key.low, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key.high, static_cast<uint32_t>(product0)};
    key.low += weyl0;
    key.high += weyl1;
  }
  return c;
}

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_PHILOX_H
