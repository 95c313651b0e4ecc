//===- Samples.cpp - What each sample of a data set costs -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Support/Random.h"

#include <cmath>
#include <numeric>
#include <string>

namespace braid::plan {

std::vector<double> SampleLoads::totals() const {
  std::vector<double> sums;
  for (const std::vector<double> &ofComponent : loads)
    sums.push_back(std::accumulate(ofComponent.begin(), ofComponent.end(), 0.0));
  return sums;
}

SampleLoads SampleLoads::select(const std::vector<int> &samples) const {
  SampleLoads result;
  for (auto [from, to] : {std::pair{&loads, &result.loads}, {&rows, &result.rows}})
    for (const std::vector<double> &values : *from) {
      std::vector<double> &chosen = to->emplace_back();
      chosen.reserve(samples.size());
      for (int sample : samples)
        chosen.push_back(values[sample]);
    }
  return result;
}

Status SampleLoads::check() const {
  if (loads.size() < 2)
    return Error{"there are loads for " + std::to_string(loads.size()) +
                 " components; give them for at least one encoder and the language model"};
  if (rows.size() != loads.size())
    return Error{"there are rows for " + std::to_string(rows.size()) + " components and loads for " +
                 std::to_string(loads.size()) + "; give both for each"};
  for (const auto *lists : {&loads, &rows})
    for (size_t component = 0; component < lists->size(); ++component) {
      const std::vector<double> &values = (*lists)[component];
      if (values.size() != loads[0].size())
        return Error{"component " + std::to_string(component) + " has numbers for " + std::to_string(values.size()) +
                     " samples and component 0 for " + std::to_string(loads[0].size()) + "; give one for each sample"};
      for (size_t sample = 0; sample < values.size(); ++sample)
        if (!std::isfinite(values[sample]) || values[sample] < 0)
          return Error{"sample " + std::to_string(sample) + " has the load or rows " + std::to_string(values[sample]) +
                       " in component " + std::to_string(component) + "; they are finite and not negative"};
    }
  return {};
}

std::vector<int> drawBatch(int size, int count, uint64_t seed, uint64_t step) {
  std::vector<int> batch;
  batch.reserve(count);
  uint64_t position = step * static_cast<uint64_t>(count), samples = static_cast<uint64_t>(size);
  while (batch.size() < static_cast<size_t>(count)) {
    Permutation permutation(samples, mix(seed, position / samples));
    for (uint64_t at = position % samples; at < samples && batch.size() < static_cast<size_t>(count); ++at, ++position)
      batch.push_back(static_cast<int>(permutation[at]));
  }
  return batch;
}

} // namespace braid::plan
