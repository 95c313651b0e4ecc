//===- AmdpBlock.cpp - Where AMDP's split backwards pause -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLimits.h"
#include "Units.h"
#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace braid::plan {

Result<BlockResult> searchAmdpBlock(int ranks, const CostModel &costs, const SearchOptions &options) {
  BlockResult result;
  const int few = 6, many = 10;
  const SearchLimits limits(options);
  // The time of one more block, and whether no rank holds more than `ranks` activations.
  auto measure = [&](auto make) -> Result<double> {
    ++result.evaluated; // also where it does not fit
    double makespans[2];
    for (int i = 0; i < 2; ++i) {
      Pipeline pipeline = amdpPipeline(ranks, ranks * (i ? many : few));
      Result<Schedule> schedule = make(pipeline);
      if (!schedule)
        return Error{schedule.error()};
      Result<Timeline> timeline = simulate(pipeline, schedule->computeOnly(), costs);
      if (!timeline)
        return Error{timeline.error()};
      if (!fitsMemory(*std::max_element(timeline->peakActivation.begin(), timeline->peakActivation.end()),
                      ranks * costs.stage(0).activation))
        return HUGE_VAL;
      makespans[i] = timeline->makespan;
    }
    return (makespans[1] - makespans[0]) / (many - few);
  };
  Result<double> fused = measure([](const Pipeline &pipeline) { return amdp(pipeline, 1); });
  if (!fused)
    return Error{fused.error()};
  result.amdp = *fused;
  for (int rank = 0; rank < ranks; ++rank) {
    double work = 0;
    Pipeline pipeline = amdpPipeline(ranks, ranks);
    for (int direction = 0; direction < pipeline.directions(); ++direction)
      for (int stage = 0; stage < ranks; ++stage)
        if (pipeline.rankOf(stage, direction) == rank) {
          const StageCost &cost = costs.stage(stage);
          work += (cost.forward + cost.input + cost.weight) * ranks / pipeline.directions();
        }
    result.lowerBound = std::max(result.lowerBound, work);
  }
  result.blockTime = HUGE_VAL;
  auto offer = [&](const std::vector<int> &pauses) {
    Result<double> time = measure([&](const Pipeline &pipeline) { return amdpSplit(pipeline, 1, pauses); });
    if (!time || *time == HUGE_VAL || *time > result.blockTime)
      return;
    result.blockTime = *time;
    result.pauses = pauses;
  };
  auto over = [&] {
    if (result.blockTime <= std::max(options.stopAt, result.lowerBound) + 1e-9)
      return true;
    return limits.reached(result.evaluated);
  };
  for (int every : {2, 4, 1})
    for (int phase = 0; phase < 2 * every; ++phase) {
      if (over())
        break;
      std::vector<int> pauses(2 * ranks);
      for (int weight = 0; weight < ranks; ++weight)
        ++pauses[(phase + weight * 2 / every * every) % (2 * ranks)];
      offer(pauses);
    }
  std::mt19937_64 random(options.seed);
  while (!over() && !result.pauses.empty()) {
    std::vector<int> pauses = result.pauses;
    for (int change = 1 + static_cast<int>(random() % 3); change > 0; --change) {
      size_t from = random() % pauses.size(), to = random() % pauses.size();
      while (pauses[from] == 0)
        from = (from + 1) % pauses.size();
      --pauses[from];
      ++pauses[to];
    }
    offer(pauses);
  }
  if (result.pauses.empty())
    return Error{"no split of AMDP's backwards that was tried keeps within " + std::to_string(ranks) +
                 " activations; try more"};
  return result;
}

} // namespace braid::plan
