//===- LongestFirst.cpp - Greedy assignments ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Balance.h"
#include "braid/Plan/Balance/Deferral.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace braid::plan {

int effectiveMicrobatches(const SampleLoads &samples, int microbatches) {
  constexpr double rounding = 1e-9; // of sums: ten equal loads of 0.1 are ten micro-batches, not 9.999...
  double count = microbatches;
  for (int component = 0; component + 1 < samples.components(); ++component) {
    double sum = 0, largest = 0;
    for (double load : samples.loads[component]) {
      sum += load;
      largest = std::max(largest, load);
    }
    if (largest > 0)
      count = std::min(count, sum / largest * (1 + rounding));
  }
  return std::max(1, static_cast<int>(count));
}

/// Time of each sample on the slowest stage of the busiest of the components first .. last-1.
static std::vector<double> longestTimes(const StepModel &model, const SampleLoads &samples, int first, int last) {
  std::vector<double> times(samples.size());
  for (int component = first; component < last; ++component) {
    double slowest = model.slowest(component);
    for (int sample = 0; sample < samples.size(); ++sample)
      times[sample] = std::max(times[sample], slowest * samples.loads[component][sample]);
  }
  return times;
}

/// Longest first; equals keep their order.
static void sortByTime(std::vector<int> &order, const std::vector<double> &times) {
  std::vector<std::pair<double, int>> keys;
  keys.reserve(order.size());
  for (int sample : order)
    keys.push_back({-times[sample], sample});
  std::sort(keys.begin(), keys.end());
  std::transform(keys.begin(), keys.end(), order.begin(), [](const auto &key) { return key.second; });
}

/// Deals samples out in this order, each to the place with the least load so far; calls give(place, sample).
template <typename Give>
static void giveToLeast(const std::vector<int> &order, const std::vector<double> &loads, int places,
                        std::vector<double> &filled, Give give) {
  using Load = std::pair<double, int>;
  std::vector<Load> least; // a heap, the least at its top
  for (int place = 0; place < places; ++place)
    least.push_back({filled[place], place});
  std::make_heap(least.begin(), least.end(), std::greater<>());
  for (int sample : order) {
    Load top = least[0];
    give(top.second, sample);
    filled[top.second] = top.first += loads[sample];
    size_t at = 0; // the top sinks to its new place
    for (size_t child = 1; child < least.size(); child = 2 * at + 1) {
      child += child + 1 < least.size() && least[child + 1] < least[child];
      if (top <= least[child])
        break;
      least[at] = least[child];
      at = child;
    }
    least[at] = top;
  }
}

std::array<std::vector<int>, 2> longestFirst(const StepModel &model, const SampleLoads &samples) {
  int encoders = samples.components() - 1;
  std::vector<double> times = longestTimes(model, samples, 0, encoders);
  // Entrain gives no threshold between coarse and fine; this is the median.
  const std::vector<double> &language = samples.loads.back();
  std::vector<int> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  auto middle = order.begin() + order.size() / 2;
  std::nth_element(order.begin(), middle, order.end(),
                   [&](int a, int b) { return language[a] != language[b] ? language[a] > language[b] : a < b; });
  std::array<std::vector<int>, 2> groups = {{{order.begin(), middle}, {middle, order.end()}}};
  for (std::vector<int> &group : groups)
    sortByTime(group, times);
  return groups;
}

Assignment assignLongestFirst(const StepModel &model, const SampleLoads &samples, int microbatches) {
  return assignLongestFirst(model, samples, microbatches, longestFirst(model, samples));
}

Assignment assignLongestFirst(const StepModel &model, const SampleLoads &samples, int microbatches,
                              const std::array<std::vector<int>, 2> &groups) {
  int encoders = samples.components() - 1;
  Assignment assignment(microbatches);
  std::vector<double> slowest;
  for (int encoder = 0; encoder < encoders; ++encoder)
    slowest.push_back(model.slowest(encoder));
  std::vector<std::vector<double>> loads(encoders, std::vector<double>(microbatches));
  for (const std::vector<int> &group : groups) {
    if (encoders == 1) {
      giveToLeast(group, samples.loads[0], microbatches, loads[0],
                  [&](int microbatch, int sample) { assignment.samples[microbatch].push_back(sample); });
      continue;
    }
    for (int sample : group) {
      int best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
        double busiest = 0;
        for (int encoder = 0; encoder < encoders; ++encoder)
          busiest = std::max(busiest, slowest[encoder] * (loads[encoder][microbatch] + samples.loads[encoder][sample]));
        if (busiest < least) {
          least = busiest;
          best = microbatch;
        }
      }
      assignment.samples[best].push_back(sample);
      for (int encoder = 0; encoder < encoders; ++encoder)
        loads[encoder][best] += samples.loads[encoder][sample];
    }
  }
  return assignment;
}

Assignment assignEntrain(const StepModel &model, const SampleLoads &samples, int microbatches) {
  return pairAndDefer(samples, assignLongestFirst(model, samples, microbatches));
}

Assignment assignToProfile(const StepModel &model, const SampleLoads &samples,
                           const std::vector<std::vector<double>> &shares) {
  int components = samples.components(), microbatches = static_cast<int>(shares[0].size());
  std::vector<double> totals = samples.totals(), slowest;
  std::vector<std::vector<double>> left = shares; // time on the slowest stage until the share is reached
  for (int component = 0; component < components; ++component) {
    slowest.push_back(model.slowest(component));
    for (double &share : left[component])
      share *= totals[component] * slowest[component];
  }
  std::vector<int> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  sortByTime(order, longestTimes(model, samples, 0, components));
  Assignment assignment(microbatches);
  for (int sample : order) {
    int best = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      double remains = std::numeric_limits<double>::infinity();
      for (int component = 0; component < components; ++component)
        remains =
            std::min(remains, left[component][microbatch] - slowest[component] * samples.loads[component][sample]);
      if (remains > most) {
        most = remains;
        best = microbatch;
      }
    }
    assignment.samples[best].push_back(sample);
    for (int component = 0; component < components; ++component)
      left[component][best] -= slowest[component] * samples.loads[component][sample];
  }
  return assignment;
}

Assignment smallestOutside(const StepModel &model, const SampleLoads &samples, const Assignment &assignment) {
  int count = assignment.microbatches();
  while (count > 0 && assignment.samples[count - 1].empty())
    --count;
  bool paired = std::any_of(assignment.deferred.begin(), assignment.deferred.end(),
                            [](const std::vector<int> &list) { return !list.empty(); });
  int size = paired ? 2 : 1, groups = count / size;
  std::vector<double> times(groups);
  for (int component = 0; component < samples.components(); ++component)
    for (int microbatch = 0; microbatch < groups * size; ++microbatch)
      for (int sample : assignment.samples[microbatch])
        times[microbatch / size] += model.slowest(component) * samples.loads[component][sample];
  std::vector<int> order(groups), places(groups);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return times[a] < times[b]; });
  for (int at = 0; at < groups; ++at)
    places[at % 2 ? groups - 1 - at / 2 : at / 2] = order[at];
  Assignment result = assignment; // what is behind the groups stays there
  for (int at = 0; at < groups * size; ++at) {
    int from = places[at / size] * size + at % size;
    result.samples[at] = assignment.samples[from];
    result.deferred[at] = assignment.deferred[from];
  }
  return result;
}

Assignment widen(Assignment assignment, int microbatches) {
  if (assignment.microbatches() < microbatches) {
    assignment.samples.resize(microbatches);
    assignment.deferred.resize(microbatches);
  }
  return assignment;
}

std::vector<std::vector<int>> assignReplicas(const StepModel &model, const SampleLoads &samples, int replicas) {
  std::vector<int> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  sortByTime(order, longestTimes(model, samples, 0, samples.components() - 1));
  std::vector<std::vector<int>> result(replicas);
  std::vector<double> filled(replicas);
  giveToLeast(order, samples.loads.back(), replicas, filled,
              [&](int replica, int sample) { result[replica].push_back(sample); });
  for (std::vector<int> &mine : result) // as drawn: one replica's manifest is what balance() makes of the batch
    std::sort(mine.begin(), mine.end());
  return result;
}

} // namespace braid::plan
