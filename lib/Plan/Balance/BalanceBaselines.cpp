//===- BalanceBaselines.cpp - What balancing is compared with -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/BalanceBaselines.h"
#include "braid/Plan/Support/Random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace braid::plan {

/// Cuts a list into parts whose sizes differ by one at most.
static Assignment cut(const std::vector<int> &order, int microbatches) {
  Assignment assignment(microbatches);
  size_t from = 0;
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
    size_t to = order.size() * (microbatch + 1) / microbatches;
    assignment.samples[microbatch].assign(order.begin() + from, order.begin() + to);
    from = to;
  }
  return assignment;
}

static Assignment asTheyCome(const SampleLoads &samples, int microbatches) {
  std::vector<int> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  return cut(order, microbatches);
}

Assignment randomOrder(const SampleLoads &samples, int microbatches, uint64_t seed) {
  std::vector<int> order(samples.size());
  Permutation permutation(samples.size(), seed);
  for (size_t at = 0; at < order.size(); ++at)
    order[at] = static_cast<int>(permutation[at]);
  return cut(order, microbatches);
}

Assignment distTrainOrder(const StepModel &model, const SampleLoads &samples, int microbatches) {
  Assignment given = asTheyCome(samples, microbatches);
  MicrobatchLoads loads = loadsOf(model, samples, given);
  int language = samples.components() - 1;
  double encoderTime = model.slowest(0), languageTime = model.slowest(language);
  auto forward = [&](int microbatch) { return encoderTime * loads.forward(0, microbatch); };
  // The time that the language model takes for a micro-batch, without the encoder's backward of it.
  auto interval = [&](int microbatch) {
    return (1 + model.backward) * languageTime * loads.forward(language, microbatch) -
           model.backward * forward(microbatch);
  };
  std::vector<int> rest(microbatches);
  std::iota(rest.begin(), rest.end(), 0);
  std::stable_sort(rest.begin(), rest.end(), [&](int a, int b) { return forward(a) < forward(b); });
  int drain = std::min<int>(static_cast<int>(model.numStages()) - 1, microbatches - 1);
  std::vector<int> order{rest[0]}, rear(rest.begin() + 1, rest.begin() + 1 + drain);
  rest.erase(rest.begin(), rest.begin() + 1 + drain);
  while (!rest.empty()) {
    double wanted = interval(order.back());
    auto nearest = std::min_element(rest.begin(), rest.end(), [&](int a, int b) {
      return std::abs(forward(a) - wanted) < std::abs(forward(b) - wanted);
    });
    order.push_back(*nearest);
    rest.erase(nearest);
  }
  order.insert(order.end(), rear.rbegin(), rear.rend());
  Assignment assignment(microbatches);
  for (int at = 0; at < microbatches; ++at)
    assignment.samples[at] = given.samples[order[at]];
  return assignment;
}

Assignment dipOrder(const StepModel &model, StepTimer &timer, const SampleLoads &samples, int evaluations,
                    uint64_t seed) {
  Assignment assignment = asTheyCome(samples, timer.microbatches());
  Random random(seed);
  double best = timer.time(loadsOf(model, samples, assignment));
  for (int evaluation = 1; evaluation < evaluations; ++evaluation) {
    size_t a = random.below(assignment.samples.size()), b = random.below(assignment.samples.size());
    std::swap(assignment.samples[a], assignment.samples[b]);
    double time = timer.time(loadsOf(model, samples, assignment));
    if (time <= best)
      best = time;
    else
      std::swap(assignment.samples[a], assignment.samples[b]);
  }
  return assignment;
}

} // namespace braid::plan
