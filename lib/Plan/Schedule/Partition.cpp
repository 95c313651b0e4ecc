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

Result<std::vector<int>> partitionEvenly(const std::vector<double> &weights, int parts) {
  int count = static_cast<int>(weights.size());
  if (parts < 1 || parts > count)
    return Error{"cannot cut " + std::to_string(count) + " pieces into " + std::to_string(parts) + " non-empty parts"};
  std::vector<double> prefix(count + 1);
  for (int i = 0; i < count; ++i)
    prefix[i + 1] = prefix[i] + weights[i];
  // best[p][i]: (largest sum, sum of squares) of the first i weights in p parts; from[p][i]: where the last part
  // starts.
  using Cost = std::pair<double, double>;
  const Cost never{std::numeric_limits<double>::infinity(), 0};
  std::vector<std::vector<Cost>> best(parts + 1, std::vector<Cost>(count + 1, never));
  std::vector<std::vector<int>> from(parts + 1, std::vector<int>(count + 1, 0));
  best[0][0] = {0, 0};
  for (int part = 1; part <= parts; ++part)
    for (int end = part; end <= count; ++end)
      for (int start = part - 1; start < end; ++start) {
        double sum = prefix[end] - prefix[start];
        Cost cost{std::max(best[part - 1][start].first, sum), best[part - 1][start].second + sum * sum};
        if (cost < best[part][end]) {
          best[part][end] = cost;
          from[part][end] = start;
        }
      }
  std::vector<int> starts(parts);
  for (int part = parts, end = count; part > 0; --part)
    end = starts[part - 1] = from[part][end];
  return starts;
}

} // namespace braid::plan
