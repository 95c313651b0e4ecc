//===- StableBatch.cpp - How many samples fix the split of devices --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/StableBatch.h"
#include "braid/Plan/Support/Random.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

Result<std::vector<int>> splitDevices(const std::vector<double> &loads, int devices) {
  if (loads.empty() || devices < static_cast<int>(loads.size()))
    return Error{std::to_string(devices) + " devices cannot be split over " + std::to_string(loads.size()) +
                 " components; each takes at least one"};
  std::vector<int> split(loads.size(), 1);
  for (int rest = devices - static_cast<int>(loads.size()); rest > 0; --rest) {
    size_t worst = 0;
    for (size_t component = 1; component < loads.size(); ++component)
      if (loads[component] * split[worst] > loads[worst] * split[component])
        worst = component;
    ++split[worst];
  }
  return split;
}

int stableTrials(double alpha, double error) {
  return static_cast<int>(std::ceil(std::log(alpha) / std::log(1 - error) - 1e-12));
}

static std::vector<double> drawTotals(const SampleLoads &samples, int size, Random &random) {
  std::vector<double> totals(samples.components());
  for (int drawn = 0; drawn < size; ++drawn) {
    size_t sample = random.below(samples.size());
    for (int component = 0; component < samples.components(); ++component)
      totals[component] += samples.loads[component][sample];
  }
  return totals;
}

Result<std::vector<std::vector<int>>> drawSplits(const SampleLoads &samples, int devices, int size, int count,
                                                 uint64_t seed) {
  if (Status status = samples.check(); !status)
    return Error{status.error()};
  if (samples.size() == 0)
    return Error{"no batch can be drawn from no samples"};
  Random random(mix(seed, size));
  std::vector<std::vector<int>> splits;
  for (int batch = 0; batch < count; ++batch) {
    Result<std::vector<int>> split = splitDevices(drawTotals(samples, size, random), devices);
    if (!split)
      return Error{split.error()};
    splits.push_back(std::move(*split));
  }
  return splits;
}

Result<StableBatch> findStableBatch(const SampleLoads &samples, int devices, const StableBatchOptions &options) {
  if (!(options.alpha > 0 && options.alpha < 1 && options.error > 0 && options.error < 1))
    return Error{"alpha is " + std::to_string(options.alpha) + " and the error " + std::to_string(options.error) +
                 "; both lie between 0 and 1"};
  int trials = stableTrials(options.alpha, options.error);
  StableBatch result;
  for (int64_t size = 1; size <= options.maxSize; size *= 2) {
    Result<std::vector<std::vector<int>>> splits =
        drawSplits(samples, devices, static_cast<int>(size), trials + 1, options.seed);
    if (!splits)
      return Error{splits.error()};
    result.split = splits->front();
    if (std::all_of(splits->begin(), splits->end(), [&](const auto &split) { return split == splits->front(); })) {
      result.size = static_cast<int>(size);
      return result;
    }
  }
  return result;
}

} // namespace braid::plan
