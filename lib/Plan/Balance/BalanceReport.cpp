//===- BalanceReport.cpp - Balanced and other orders side by side ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/BalanceReport.h"
#include "braid/Plan/Balance/BalanceBaselines.h"

#include <algorithm>
#include <numeric>

namespace braid::plan {

/// Without the empty micro-batches at its end.
static Assignment trimmed(Assignment assignment) {
  while (!assignment.samples.empty() && assignment.samples.back().empty()) {
    assignment.samples.pop_back();
    assignment.deferred.pop_back();
  }
  return assignment;
}

/// Steps that the search of a DIP-like order may time: more than our own local improvement does by default.
constexpr int dipEvaluations = 200;

std::string_view methodName(Method method) {
  static constexpr std::string_view names[] = {"random", "DistTrain-like", "DIP-like", "paper", "even", "shortest"};
  return names[static_cast<int>(method)];
}

Result<Comparer> Comparer::create(const StepModel &model, int microbatches, const SampleLoads &typical, double scale,
                                  const BalanceOptions &options) {
  BalanceOptions aimed = options;
  aimed.aim = Aim::Even;
  Result<Balancer> even = Balancer::create(model, microbatches, typical, scale, aimed);
  if (!even)
    return Error{even.error()};
  Balancer shortest = *even;
  shortest.setAim(Aim::StepTime);
  return Comparer(std::move(*even), std::move(shortest), options.boundRounds);
}

Result<Comparison> Comparer::compare(const SampleLoads &samples, uint64_t seed) {
  Result<Balanced> evened = even.balance(samples), shortened = shortest.balance(samples);
  for (Result<Balanced> *result : {&evened, &shortened})
    if (!*result)
      return Error{result->error()};
  const StepModel &model = even.getModel();
  StepTimer &timer = even.getTimer();
  int microbatches = timer.microbatches();
  Comparison comparison;
  comparison.bound = std::max(even.boundOf(samples), tightenBound(model, timer, samples, boundRounds).of(samples));
  comparison.effective = effectiveMicrobatches(samples, microbatches);
  for (const std::vector<double> &loads : samples.loads)
    if (!loads.empty())
      comparison.large |= *std::max_element(loads.begin(), loads.end()) * microbatches >
                          std::accumulate(loads.begin(), loads.end(), 0.0);
  auto known = timers.find(comparison.effective);
  if (known == timers.end()) {
    Result<StepTimer> made = StepTimer::create(model, comparison.effective);
    if (!made)
      return Error{made.error()};
    known = timers.emplace(comparison.effective, std::move(*made)).first;
  }
  StepModel bare = model; // what a launch costs is no load of samples
  for (StepComponent &component : bare.components)
    component.constant = 0;
  auto add = [&](StepTimer &with, Assignment assignment) {
    MicrobatchLoads loads = loadsOf(model, samples, assignment);
    MethodFigures &figures = comparison.methods.emplace_back();
    figures.stepTime = with.time(loads);
    figures.peakMemory = with.peakMemory(loads);
    MicrobatchLoads used = loadsOf(bare, samples, trimmed(assignment));
    for (int component = 0; component < samples.components(); ++component) {
      figures.variation.push_back(variation(used, component));
      figures.deviation.push_back(deviation(used, component));
    }
    figures.assignment = std::move(assignment);
  };
  add(timer, randomOrder(samples, microbatches, seed));
  add(timer, distTrainOrder(model, samples, microbatches));
  add(timer, dipOrder(model, timer, samples, dipEvaluations, seed));
  add(known->second, assignEntrain(model, samples, comparison.effective));
  // The paper's table has fewer micro-batches, and so fewer launches: where these weigh, it has a bound of its own.
  if (comparison.methods.back().stepTime < comparison.bound)
    comparison.bound =
        std::min(comparison.bound, std::max(longestTrip(model, samples),
                                            tightenBound(model, known->second, samples, boundRounds).of(samples)));
  add(timer, std::move(evened->assignment));
  add(timer, std::move(shortened->assignment));
  return comparison;
}

} // namespace braid::plan
