//===- Deferral.cpp - Moving LLM work to a partner micro-batch ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Deferral.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace braid::plan {

SubsetSums::SubsetSums(std::vector<int> given) : weights(std::move(given)) {
  total = std::accumulate(weights.begin(), weights.end(), 0);
  words = total / 64 + 1;
  reach.assign((weights.size() + 1) * words, 0);
  reach[0] = 1;
  for (size_t item = 0; item < weights.size(); ++item) {
    const uint64_t *before = &reach[item * words];
    uint64_t *after = &reach[(item + 1) * words];
    size_t jump = weights[item] / 64, bits = weights[item] % 64;
    std::copy(before, before + words, after);
    for (size_t word = jump; word < words; ++word) {
      after[word] |= before[word - jump] << bits;
      if (bits && word > jump)
        after[word] |= before[word - jump - 1] >> (64 - bits);
    }
  }
}

int SubsetSums::nearest(double target) const {
  const uint64_t *sums = &reach[weights.size() * words];
  int floor = static_cast<int>(std::floor(std::clamp(target, 0.0, static_cast<double>(total))));
  size_t word = floor / 64;
  uint64_t low = ~uint64_t(0) >> (63 - floor % 64); // up to and with the floor
  uint64_t bits = sums[word] & low;
  while (bits == 0) // 0 is always reached
    bits = sums[--word];
  int below = static_cast<int>(word * 64) + 63 - std::countl_zero(bits);
  word = floor / 64;
  bits = sums[word] & ~low;
  while (bits == 0 && ++word < words)
    bits = sums[word];
  if (bits == 0)
    return below;
  int above = static_cast<int>(word * 64) + std::countr_zero(bits);
  return above - target < target - below ? above : below;
}

std::vector<int> SubsetSums::subset(int sum) const {
  std::vector<int> chosen;
  for (size_t item = weights.size(); item-- > 0;)
    if (!reached(item, sum)) {
      chosen.push_back(static_cast<int>(item));
      sum -= weights[item];
    }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

namespace {
/// Maximum matchings of the left nodes that must be served, for growing limits.
class Matcher {
public:
  Matcher(const std::vector<double> &alone, const std::vector<std::vector<double>> &paired)
      : alone(alone), paired(paired), rights(paired.empty() ? 0 : paired[0].size()) {}

  /// Whether all lefts with alone > limit can be matched; `partnerOf` then holds how.
  bool feasible(double limit) {
    partnerOf.assign(alone.size(), -1);
    ownerOf.assign(rights, -1);
    std::vector<int> needy;
    for (size_t left = 0; left < alone.size(); ++left)
      if (alone[left] > limit)
        needy.push_back(static_cast<int>(left));
    if (needy.size() > rights)
      return false;
    size_t matched = 0;
    while (layer(needy, limit)) {
      size_t before = matched;
      for (int left : needy)
        if (partnerOf[left] < 0 && augment(left, limit))
          ++matched;
      if (matched == before)
        break;
    }
    return matched == needy.size();
  }

  std::vector<int> partnerOf; // of each left

private:
  /// Breadth first: distance of each left from the free ones along alternating paths. False if no free right is met.
  bool layer(const std::vector<int> &needy, double limit) {
    distance.assign(alone.size(), -1);
    std::vector<int> queue;
    for (int left : needy)
      if (partnerOf[left] < 0) {
        distance[left] = 0;
        queue.push_back(left);
      }
    bool found = false;
    for (size_t head = 0; head < queue.size(); ++head)
      for (size_t right = 0; right < rights; ++right) {
        if (paired[queue[head]][right] > limit)
          continue;
        int owner = ownerOf[right];
        found |= owner < 0;
        if (owner >= 0 && distance[owner] < 0) {
          distance[owner] = distance[queue[head]] + 1;
          queue.push_back(owner);
        }
      }
    return found;
  }

  bool augment(int left, double limit) {
    for (size_t right = 0; right < rights; ++right) {
      if (paired[left][right] > limit)
        continue;
      int owner = ownerOf[right];
      if (owner >= 0 && (distance[owner] != distance[left] + 1 || !augment(owner, limit)))
        continue;
      partnerOf[left] = static_cast<int>(right);
      ownerOf[right] = left;
      return true;
    }
    distance[left] = -1; // a dead end for this phase
    return false;
  }

  const std::vector<double> &alone;
  const std::vector<std::vector<double>> &paired;
  size_t rights;
  std::vector<int> ownerOf, distance;
};
} // namespace

BottleneckMatching matchBottleneck(const std::vector<double> &alone, const std::vector<std::vector<double>> &paired) {
  std::vector<double> limits = alone;
  for (const std::vector<double> &row : paired)
    limits.insert(limits.end(), row.begin(), row.end());
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  Matcher matcher(alone, paired);
  BottleneckMatching result;
  if (limits.empty())
    return result;
  // The largest limit is feasible: nobody needs a partner then.
  size_t low = 0, high = limits.size() - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (matcher.feasible(limits[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  matcher.feasible(limits[low]);
  result.value = limits[low];
  result.partner = std::move(matcher.partnerOf);
  return result;
}

Assignment pairAndDefer(const SampleLoads &samples, const Assignment &assignment, int steps) {
  const std::vector<double> &load = samples.loads.back();
  int count = assignment.microbatches(), half = count / 2;
  std::vector<double> sums(count);
  for (int microbatch = 0; microbatch < count; ++microbatch)
    for (int sample : assignment.samples[microbatch])
      sums[microbatch] += load[sample];
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sums[a] > sums[b]; });
  double step = count ? sums[order[0]] / steps : 0;

  // Overloaded i is order[i], underloaded j is order[count - 1 - j]: the one with least work comes first.
  auto under = [&](int j) { return order[count - 1 - j]; };
  std::vector<double> alone(half);
  std::vector<std::vector<double>> paired(half, std::vector<double>(half));
  std::vector<SubsetSums> subsets;
  auto sumToDefer = [&](int i, int j) {
    return step > 0 ? subsets[i].nearest((sums[order[i]] - sums[under(j)]) / 2 / step) : 0;
  };
  for (int i = 0; i < half; ++i) {
    alone[i] = sums[order[i]];
    const std::vector<int> &mine = assignment.samples[order[i]];
    std::vector<int> weights;
    for (int sample : mine)
      weights.push_back(step > 0 ? static_cast<int>(std::lround(load[sample] / step)) : 0);
    subsets.emplace_back(std::move(weights));
    // Many partners want the same sum.
    int known = -1;
    double weight = 0;
    for (int j = 0; j < half; ++j) {
      if (int sum = sumToDefer(i, j); sum != known) {
        known = sum;
        weight = 0;
        for (int item : subsets[i].subset(sum))
          weight += load[mine[item]];
      }
      paired[i][j] = std::max(alone[i] - weight, sums[under(j)] + weight);
    }
  }
  BottleneckMatching matching = matchBottleneck(alone, paired);

  std::vector<char> taken(half);
  for (int j : matching.partner)
    if (j >= 0)
      taken[j] = true;
  Assignment result;
  auto append = [&](int microbatch, std::vector<int> deferred) {
    result.samples.push_back(assignment.samples[microbatch]);
    result.deferred.push_back(std::move(deferred));
  };
  for (int i = 0, free = 0; i < half; ++i) {
    int j = matching.partner[i];
    std::vector<int> deferred;
    if (j >= 0) {
      for (int item : subsets[i].subset(sumToDefer(i, j)))
        deferred.push_back(assignment.samples[order[i]][item]);
    } else {
      while (taken[free])
        ++free;
      taken[j = free] = true;
    }
    append(order[i], std::move(deferred));
    append(under(j), {});
  }
  if (count % 2)
    append(order[half], {});
  return result;
}

} // namespace braid::plan
