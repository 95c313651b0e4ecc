//===- ShapeOracleRandom.cpp - Random sizes and dims ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

#include <algorithm>

namespace braid::oracle {

Sizes Random::sizes(int64_t leastRank, int64_t mostRank) {
  Sizes sizes(between(leastRank, mostRank));
  for (int64_t &entry : sizes)
    entry = size();
  return sizes;
}

int64_t Random::dim(int64_t rank) {
  int64_t count = std::max<int64_t>(rank, 1);
  return chance(0.02) ? pick<int64_t>({count, -count - 1}) : between(-count, count - 1);
}

Sizes Random::dims(int64_t rank) {
  Sizes all;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (chance(0.5))
      all.push_back(chance(0.3) ? dim - rank : dim);
  std::shuffle(all.begin(), all.end(), engine);
  return all;
}

Sizes Random::broadcastable(Sizes sizes) {
  sizes.erase(sizes.begin(), sizes.begin() + (chance(0.3) ? below(sizes.size() + 1) : 0));
  for (int64_t &size : sizes)
    if (chance(0.25))
      size = 1;
  return spoiled(sizes);
}

Sizes Random::spoiled(Sizes sizes, double probability) {
  if (!chance(probability))
    return sizes;
  if (!sizes.empty() && chance(0.6))
    sizes[below(sizes.size())] += 1;
  else if (!sizes.empty() && chance(0.5))
    sizes.pop_back();
  else
    sizes.push_back(size());
  return sizes;
}

Number Random::number() {
  switch (below(3)) {
  case 0:
    return true;
  case 1:
    return int64_t(2);
  default:
    return 1.5;
  }
}

} // namespace braid::oracle
