//===- Partition.cpp - Consecutive parts of equal weight ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Partition.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace braid::plan {

/// Of the weights with these sums from the first on, in so many parts.
static double leastLargestSum(const std::vector<double> &prefix, int parts) {
  const double inf = std::numeric_limits<double>::infinity();
  int count = static_cast<int>(prefix.size()) - 1;
  std::vector<double> before(count + 1, inf), best;
  before[0] = 0;
  for (int part = 1; part <= parts; ++part) {
    best.assign(count + 1, inf);
    for (int end = part; end <= count; ++end)
      for (int start = part == 1 ? 0 : end - 1; start >= part - 1; --start) {
        double sum = prefix[end] - prefix[start];
        best[end] = std::min(best[end], std::max(before[start], sum));
        if (sum >= best[end])
          break; // what starts earlier has a larger sum: weights are not negative
      }
    std::swap(before, best);
  }
  return before[count];
}

Result<std::vector<int>> partitionEvenly(const std::vector<double> &weights, int parts) {
  int count = static_cast<int>(weights.size());
  if (parts < 1 || parts > count)
    return Error{"cannot cut " + std::to_string(count) + " pieces into " + std::to_string(parts) + " non-empty parts"};
  std::vector<double> prefix(count + 1);
  for (int i = 0; i < count; ++i)
    prefix[i + 1] = prefix[i] + weights[i];
  const double inf = std::numeric_limits<double>::infinity();
  const double most = leastLargestSum(prefix, parts);
  // before[i] and best[i]: (sum of squares, largest sum) of the first i weights in one part less and in `part` parts,
  // no sum above the least possible; from[p][i]: where the last of p parts starts.
  using Cost = std::pair<double, double>;
  std::vector<Cost> before(count + 1, Cost{inf, 0}), best;
  std::vector<std::vector<int>> from(parts + 1, std::vector<int>(count + 1, 0));
  before[0] = {0, 0};
  for (int part = 1; part <= parts; ++part) {
    best.assign(count + 1, Cost{inf, 0});
    for (int end = part; end <= count; ++end)
      for (int start = end - 1; start >= part - 1 && prefix[end] - prefix[start] <= most; --start) {
        double sum = prefix[end] - prefix[start];
        Cost cost{before[start].first + sum * sum, std::max(before[start].second, sum)};
        if (cost <= best[end]) { // of equal cuts the one that starts earliest
          best[end] = cost;
          from[part][end] = start;
        }
      }
    std::swap(before, best);
  }
  std::vector<int> starts(parts);
  for (int part = parts, end = count; part > 0; --part)
    end = starts[part - 1] = from[part][end];
  return starts;
}

} // namespace braid::plan
