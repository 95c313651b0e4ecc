//===- Balance.cpp - Even micro-batches from uneven samples ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Balance.h"
#include "braid/Plan/Balance/Deferral.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <array>
#include <limits>

namespace braid::plan {

Result<Balancer> Balancer::create(const StepModel &model, int microbatches, const SampleLoads &typical, double scale,
                                  const BalanceOptions &options) {
  Result<StepTimer> timer = StepTimer::create(model, microbatches);
  if (!timer)
    return Error{timer.error()};
  Result<MicrobatchProfile> profile = findProfile(model, *timer, typical, scale, options.profileRounds);
  if (!profile)
    return Error{profile.error()};
  return Balancer(model, std::move(*timer), std::move(*profile), options);
}

double Balancer::boundOf(const SampleLoads &samples) const {
  return std::max(profile.bound.of(samples), longestTrip(model, samples));
}

/// Changes that evening out looks at with Effort::Quick.
constexpr int quickTests = 1000;

int evaluationsFor(int samples, int microbatches) {
  constexpr double base = 130, samplesAtBase = 16, most = 8000;
  double sparse = samplesAtBase * microbatches / std::max(samples, 1);
  return static_cast<int>(std::clamp(base * sparse * sparse * sparse, base, most));
}

/// Random exchanges that evening out tries for each step that may be timed: some ms with 4 samples a micro-batch.
constexpr int triesPerEvaluation = 24;

/// Steps to time from which on several assignments are improved before one is chosen.
constexpr int evaluationsToCompare = 1000;

/// Numbers of micro-batches worth trying: all of them, the paper's, and some between.
static std::vector<int> candidateCounts(int effective, int all) {
  std::vector<int> counts{all};
  for (int count : {(effective + all) / 2, effective})
    if (count < counts.back())
      counts.push_back(count);
  return counts;
}

Result<Balanced> Balancer::balance(const SampleLoads &samples) {
  if (Status status = model.checkSamples(samples); !status)
    return Error{status.error()};
  int count = timer.microbatches();
  struct Start {
    double time = std::numeric_limits<double>::infinity();
    Assignment assignment;
    bool operator<(const Start &other) const { return time < other.time; }
  };
  enum Kind { Deferring, Whole, Profiled, Rows, Even };
  std::array<Start, 5> starts; // the shortest of each kind
  double leastMemory = std::numeric_limits<double>::infinity();
  auto consider = [&](Kind kind, Assignment assignment) {
    MicrobatchLoads loads = loadsOf(model, samples, assignment);
    if (options.maxMemory >= 0) {
      double memory = timer.peakMemory(loads);
      leastMemory = std::min(leastMemory, memory);
      if (memory > options.maxMemory)
        return;
    }
    double time = timer.time(loads);
    if (time < starts[kind].time)
      starts[kind] = {time, std::move(assignment)};
  };
  bool quick = options.effort == Effort::Quick;
  std::vector<int> counts{count};
  if (!quick)
    counts = candidateCounts(effectiveMicrobatches(samples, count), count);
  std::array<std::vector<int>, 2> order = longestFirst(model, samples);
  int evaluations = options.evaluations < 0 ? evaluationsFor(samples.size(), count) : options.evaluations;
  for (int used : counts) {
    Assignment whole = assignLongestFirst(model, samples, used, order);
    evenOut(samples, whole, quick ? quickTests : options.tests);
    Assignment deferred = pairAndDefer(samples, whole);
    if (options.aim == Aim::StepTime) {
      consider(Deferring, widen(deferred, count));
      consider(Whole, widen(whole, count));
    }
    // What Aim::Even chooses from. With Aim::StepTime too, so that its step is never the longer one.
    if (!quick && used == count) {
      evenOutFurther(samples, whole, int64_t(evaluations) * triesPerEvaluation, options.seed);
      deferred = pairAndDefer(samples, whole);
    }
    // Deferral may not pay, or pay in loads and not in time.
    int language = samples.components() - 1;
    if (deviation(loadsOf(model, samples, deferred), language) < deviation(loadsOf(model, samples, whole), language))
      consider(Even, widen(std::move(deferred), count));
    consider(Even, widen(std::move(whole), count));
  }
  if (!quick && starts[Even].assignment.microbatches() > 0)
    consider(Even, smallestOutside(model, samples, starts[Even].assignment));
  if (options.aim == Aim::StepTime)
    consider(Profiled, assignToProfile(model, samples, profile.shares));
  auto found = [&] { return std::min_element(starts.begin(), starts.end()); };
  if (found()->assignment.microbatches() == 0) {
    // Memory goes with rows: even rows need least.
    SampleLoads rows{samples.rows, samples.rows};
    Assignment even = assignLongestFirst(model, rows, count);
    evenOut(rows, even, options.tests);
    consider(Rows, std::move(even));
  }
  if (found()->assignment.microbatches() == 0)
    return Error{"no assignment to " + std::to_string(count) + " micro-batches that was tried fits the memory of " +
                 decimal(options.maxMemory) + "; the best needs " + decimal(leastMemory) +
                 ". Give more memory, more micro-batches or fewer samples"};
  if (options.aim == Aim::StepTime) {
    auto shorten = [&](Start &start, int times) {
      start.time = shortenStep(model, timer, samples, start.assignment, times, options.maxMemory, options.seed);
    };
    // With time enough every kind gets a share of it: the shortest one at first is not always so in the end.
    if (evaluations >= evaluationsToCompare)
      for (Kind kind : {Deferring, Whole, Profiled, Rows})
        if (starts[kind].assignment.microbatches() > 0) {
          shorten(starts[kind], evaluations / 8);
          evaluations -= evaluations / 8;
        }
    shorten(*found(), evaluations);
  }
  Balanced best;
  best.stepTime = found()->time;
  best.assignment = std::move(found()->assignment);
  best.peakMemory = timer.peakMemory(loadsOf(model, samples, best.assignment));
  for (const std::vector<int> &list : best.assignment.samples)
    best.used += !list.empty();
  return best;
}

} // namespace braid::plan
