//===- Balance.h - Even micro-batches from uneven samples ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each step, the samples of a batch are spread over replicas and micro-batches. docs/Balancing.md explains how. All of
// it depends on the samples' loads and the options only, so every rank finds the same without a message.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_BALANCE_H
#define BRAID_PLAN_BALANCE_BALANCE_H

#include "braid/Plan/Balance/Assignment.h"
#include "braid/Plan/Balance/StepBound.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace braid::plan {

enum class Aim {
  Even,     // equal loads in all micro-batches, as Entrain
  StepTime, // whatever makes the step shortest: small micro-batches first and last
};

enum class Effort {
  Quick, // one assignment by the paper's rules, evened out a little: for batches of very many replicas
  Usual,
};

struct BalanceOptions {
  Aim aim = Aim::StepTime;
  Effort effort = Effort::Usual;
  double maxMemory = -1; // that a rank may hold of its activations; -1: any
  int evaluations = -1;  // steps that local improvement may time; -1: more where samples are few (evaluationsFor())
  int tests = 20000;     // changes that evening out may look at
  int profileRounds = 4000;
  int boundRounds = 8000; // of the game for the bound that a comparison prints
  uint64_t seed = 1;
};

struct Balanced {
  Assignment assignment;
  double stepTime = 0;
  double peakMemory = 0; // of the worst rank
  int used = 0;          // micro-batches that have samples
};

/// Balances one replica's samples, step after step. The table always has `microbatches` micro-batches; some may stay
/// empty.
class Balancer {
public:
  /// The profile and the bound are worked out at a usual batch: these samples, each `scale` times.
  static Result<Balancer> create(const StepModel &model, int microbatches, const SampleLoads &typical, double scale,
                                 const BalanceOptions &options = {});

  /// Fails if a sample's numbers are wrong, or if no assignment that it finds fits the memory.
  Result<Balanced> balance(const SampleLoads &samples);

  void setAim(Aim aim) { options.aim = aim; }
  StepTimer &getTimer() { return timer; }
  const StepModel &getModel() const { return model; }
  /// No assignment of these samples to this table takes less.
  double boundOf(const SampleLoads &samples) const;

private:
  Balancer(const StepModel &model, StepTimer timer, MicrobatchProfile profile, const BalanceOptions &options)
      : model(model), timer(std::move(timer)), profile(std::move(profile)), options(options) {}

  StepModel model;
  StepTimer timer;
  MicrobatchProfile profile;
  BalanceOptions options;
};

/// Steps to time if nobody says how many. The fewer samples a micro-batch has, the worse whole samples fit, and the
/// more changes are worth a try.
int evaluationsFor(int samples, int microbatches);

/// Entrain's K: one sample larger than a micro-batch caps the number of useful ones, min over encoders of sum /
/// largest.
int effectiveMicrobatches(const SampleLoads &samples, int microbatches);

/// Entrain's first level: samples with much language load, then those with little; in each group the longest first to
/// the micro-batch with the least encoder load (LPT, Graham 1969). Several encoders: least load of the busiest one.
Assignment assignLongestFirst(const StepModel &model, const SampleLoads &samples, int microbatches);
/// The order in which samples are dealt out, of each group: the same for any number of micro-batches.
std::array<std::vector<int>, 2> longestFirst(const StepModel &model, const SampleLoads &samples);
Assignment assignLongestFirst(const StepModel &model, const SampleLoads &samples, int microbatches,
                              const std::array<std::vector<int>, 2> &groups);

/// Swaps and moves samples while that makes the sum of squared deviations from the mean loads smaller, over all
/// components and micro-batches. Looks at `tests` changes at most. The assignment has no deferred samples.
void evenOut(const SampleLoads &samples, Assignment &assignment, int64_t tests);

/// Goes on where no single change helps: random ones, at first also worse ones. Never ends with a larger sum than it
/// began with. The assignment has no deferred samples.
void evenOutFurther(const SampleLoads &samples, Assignment &assignment, int64_t tries, uint64_t seed);

/// The same micro-batches, those with least load first and last, where the pipeline fills and drains. Where any defers,
/// pairs stay together, and the last one of an odd number stays last; so do empty ones.
Assignment smallestOutside(const StepModel &model, const SampleLoads &samples, const Assignment &assignment);

/// Both levels, with K micro-batches: what the paper does if K = effectiveMicrobatches().
Assignment assignEntrain(const StepModel &model, const SampleLoads &samples, int microbatches);

/// Longest first to the micro-batch that is furthest from its share of the totals.
Assignment assignToProfile(const StepModel &model, const SampleLoads &samples,
                           const std::vector<std::vector<double>> &shares);

/// The same with empty micro-batches behind, up to this many.
Assignment widen(Assignment assignment, int microbatches);

/// Changes the assignment as long as that shortens the step: moves, swaps, other orders, other deferrals. Times at most
/// `evaluations` steps. Never longer than before.
double shortenStep(const StepModel &model, StepTimer &timer, const SampleLoads &samples, Assignment &assignment,
                   int evaluations, double maxMemory, uint64_t seed);

/// Global batch to replicas: longest encoder load first, each to the replica with the least language load so far.
/// Returns the samples of each replica.
std::vector<std::vector<int>> assignReplicas(const StepModel &model, const SampleLoads &samples, int replicas);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_BALANCE_H
