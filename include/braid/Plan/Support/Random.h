//===- Random.h - Random numbers that are the same everywhere -----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The standard library's distributions differ from one library to the next, and what every rank computes for itself
// must not. These depend on their arguments only.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_RANDOM_H
#define BRAID_PLAN_SUPPORT_RANDOM_H

#include <cstdint>

namespace braid::plan {

/// A bijection of 64-bit numbers without visible pattern. (Steele, Lea and Flood, SplitMix, 2014)
constexpr uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}
constexpr uint64_t mix(uint64_t first, uint64_t second) { return mix(mix(first) ^ second); }

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() { return mix(state++); }
  /// Uniform in 0 .. count-1; count > 0.
  uint64_t below(uint64_t count) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

/// A random permutation of 0 .. size-1 of which any element is found at once, without the others: four Feistel rounds
/// on the smallest even number of bits, walked until the result is in range.
class Permutation {
public:
  Permutation(uint64_t size, uint64_t seed) : size(size), seed(seed) {
    while (halfBits < 32 && (uint64_t(1) << (2 * halfBits)) < size)
      ++halfBits;
  }
  uint64_t operator[](uint64_t index) const {
    const uint64_t mask = (uint64_t(1) << halfBits) - 1;
    do {
      uint64_t left = index >> halfBits, right = index & mask;
      for (uint64_t round = 0; round < 4; ++round) {
        uint64_t next = left ^ (mix(seed + round, right) & mask);
        left = right;
        right = next;
      }
      index = (left << halfBits) | right;
    } while (index >= size);
    return index;
  }

private:
  uint64_t size, seed;
  int halfBits = 1;
};

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_RANDOM_H
