//===- BalanceReport.h - Balanced and other orders side by side ---*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All methods get the same samples, the same stages and the same table of K micro-batches, except `paper`, whose table
// has effectiveMicrobatches(). What differs is which sample is where.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_BALANCEREPORT_H
#define BRAID_PLAN_BALANCE_BALANCEREPORT_H

#include "braid/Plan/Balance/Balance.h"

#include <map>
#include <string_view>
#include <vector>

namespace braid::plan {

enum class Method { Random, DistTrain, Dip, Paper, Even, Shortest };
constexpr int numMethods = static_cast<int>(Method::Shortest) + 1;
std::string_view methodName(Method method);

struct MethodFigures {
  Assignment assignment;
  double stepTime = 0;
  double peakMemory = 0;
  // [component], of the samples' forward loads in its micro-batches, up to the last with samples
  std::vector<double> variation, deviation;
};

struct Comparison {
  double bound = 0;                   // no method's step takes less, nor any other with their numbers of micro-batches
  int effective = 0;                  // the paper's number of micro-batches
  bool large = false;                 // some sample has more of a component's load than a mean micro-batch
  std::vector<MethodFigures> methods; // by Method
};

/// How many times as long one takes as another; where neither takes any time, as long.
inline double timesAsLong(double time, double other) { return time == 0 && other == 0 ? 1 : time / other; }

/// One sample has the load of at least two mean micro-batches, so that the paper's rule leaves half of them or less.
inline bool isDominated(const Comparison &comparison, int microbatches) {
  return 2 * comparison.effective <= microbatches;
}

/// Compares step after step.
class Comparer {
public:
  static Result<Comparer> create(const StepModel &model, int microbatches, const SampleLoads &typical, double scale,
                                 const BalanceOptions &options);
  Result<Comparison> compare(const SampleLoads &samples, uint64_t seed);
  Balancer &getBalancer(Aim aim) { return aim == Aim::Even ? even : shortest; }

private:
  Comparer(Balancer even, Balancer shortest, int boundRounds)
      : even(std::move(even)), shortest(std::move(shortest)), boundRounds(boundRounds) {}

  Balancer even, shortest;
  int boundRounds;
  std::map<int, StepTimer> timers; // of the paper's tables, by number of micro-batches
};

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_BALANCEREPORT_H
