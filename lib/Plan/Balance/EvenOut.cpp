//===- EvenOut.cpp - Exchanges that make loads more even ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Balance.h"
#include "braid/Plan/Support/Random.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace braid::plan {

/// How much more an encoder's deviation counts: deferral still evens out the language model's afterwards.
constexpr double encoderWeight = 5;

/// Of threshold accepting: the first limit, in mean squared deviations of a micro-batch, and how it shrinks, 256 times.
/// A sample of half a micro-batch finds another place only if changes that are far worse may be taken.
constexpr double firstLimit = 10, shrinking = 0.96;
constexpr int limits = 256;

namespace {
/// Loads are divided by their component's mean, so that the components of any set compare.
class Evener {
public:
  Evener(const SampleLoads &samples, Assignment &assignment)
      : components(samples.components()), members(assignment.samples), excess(members.size() * components),
        load(size_t(samples.size()) * components), square(samples.size()) {
    for (int component = 0; component < components; ++component) {
      const std::vector<double> &loads = samples.loads[component];
      double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(members.size());
      double weight = component + 1 < components ? encoderWeight : 1;
      for (size_t microbatch = 0; microbatch < members.size() && mean > 0; ++microbatch)
        excess[microbatch * components + component] = -weight;
      for (int sample = 0; sample < samples.size(); ++sample) {
        double own = mean > 0 ? loads[sample] / mean * weight : 0;
        load[size_t(sample) * components + component] = own;
        square[sample] += 2 * own * own;
      }
    }
    for (size_t microbatch = 0; microbatch < members.size(); ++microbatch)
      for (int sample : members[microbatch])
        add(microbatch, sample, 1);
  }

  /// Takes the best change of the micro-batch that deviates most, or of the next one, until none helps.
  void run(int64_t tests) {
    std::vector<int> order(members.size());
    std::iota(order.begin(), order.end(), 0);
    for (bool changed = true; changed && tests > 0;) {
      std::vector<double> worst(members.size());
      for (size_t microbatch = 0; microbatch < members.size(); ++microbatch)
        for (int component = 0; component < components; ++component)
          worst[microbatch] +=
              excess[microbatch * components + component] * excess[microbatch * components + component];
      std::sort(order.begin(), order.end(),
                [&](int a, int b) { return worst[a] != worst[b] ? worst[a] > worst[b] : a < b; });
      changed = false;
      for (size_t at = 0; at < order.size() && !changed && tests > 0; ++at)
        changed = improve(order[at], tests);
    }
  }

  /// Random exchanges, taken if they raise the sum of squares by less than a limit that shrinks to almost nothing; the
  /// least sum that was met is what remains (threshold accepting; Dueck and Scheuer, 1990).
  void wander(int64_t tries, uint64_t seed) {
    Random random(seed);
    std::vector<int> home(square.size()), best;
    for (size_t microbatch = 0; microbatch < members.size(); ++microbatch)
      for (int sample : members[microbatch])
        home[sample] = static_cast<int>(microbatch);
    double sum = std::inner_product(excess.begin(), excess.end(), excess.begin(), 0.0), least = sum;
    double limit = firstLimit * sum / static_cast<double>(members.size());
    for (int round = 0; round < limits; ++round, limit *= shrinking)
      for (int64_t end = tries / limits; end > 0; --end) {
        // One change in eight is a move, the others are swaps.
        int taken = static_cast<int>(random.below(home.size())), given = -1;
        if (random.below(8) > 0)
          given = static_cast<int>(random.below(home.size()));
        int from = home[taken], to = given < 0 ? static_cast<int>(random.below(members.size())) : home[given];
        if (from == to)
          continue;
        double change = changeOf(taken, from, to, given);
        if (change >= limit)
          continue;
        if (change > 0 && sum < least) {
          least = sum;
          best = home;
        }
        sum += change;
        add(from, taken, -1);
        add(to, taken, 1);
        home[taken] = to;
        if (given >= 0) {
          add(from, given, 1);
          add(to, given, -1);
          home[given] = from;
        }
      }
    if (sum < least)
      best = home;
    if (best.empty())
      return;
    for (std::vector<int> &list : members)
      list.clear();
    for (size_t sample = 0; sample < best.size(); ++sample)
      members[best[sample]].push_back(static_cast<int>(sample));
  }

private:
  /// By how much the sum of squares grows if a sample goes to another micro-batch and one, or none (-1), comes back.
  double changeOf(int taken, int from, int to, int given) const {
    double change = 0;
    for (int component = 0; component < components; ++component) {
      double moved = load[size_t(taken) * components + component];
      if (given >= 0)
        moved -= load[size_t(given) * components + component];
      change += 2 * moved *
                (excess[size_t(to) * components + component] - excess[size_t(from) * components + component] + moved);
    }
    return change;
  }

  void add(size_t microbatch, int sample, double sign) {
    for (int component = 0; component < components; ++component)
      excess[microbatch * components + component] += sign * load[size_t(sample) * components + component];
  }

  /// Finds the change that lowers the sum of squares most: one sample goes to another micro-batch, and one of that
  /// micro-batch's, or none, comes back. If a load d goes from excess a to excess b, the sum changes by
  /// (a - d)^2 + (b + d)^2 - a^2 - b^2 = 2 d (b - a + d); with d = taken - given and D = b - a this is
  /// 2 taken (D + taken) - 2 (D + 2 taken) given + 2 given^2, of which the first term is the same for all given. That
  /// is -D^2 / 2 at least, whatever is exchanged, so most micro-batches need no look.
  bool improve(int from, int64_t &tests) {
    double best = -1e-12;
    size_t bestTo = 0, bestTaken = 0;
    int bestGiven = -1;
    std::vector<double> slope(components), least(members.size());
    for (size_t to = 0; to < members.size(); ++to)
      for (int component = 0; component < components; ++component) {
        double apart = excess[to * components + component] - excess[from * components + component];
        least[to] -= apart * apart / 2;
      }
    for (size_t taken = 0; taken < members[from].size(); ++taken) {
      const double *mine = &load[size_t(members[from][taken]) * components];
      for (size_t to = 0; to < members.size(); ++to) {
        if (static_cast<int>(to) == from)
          continue;
        const std::vector<int> &others = members[to];
        tests -= static_cast<int64_t>(others.size()) + 1;
        if (least[to] >= best)
          continue;
        double alone = 0;
        for (int component = 0; component < components; ++component) {
          double apart = excess[to * components + component] - excess[from * components + component];
          alone += 2 * mine[component] * (apart + mine[component]);
          slope[component] = 2 * (apart + 2 * mine[component]);
        }
        if (alone < best) {
          best = alone;
          bestTo = to;
          bestTaken = taken;
          bestGiven = -1;
        }
        for (size_t given = 0; given < others.size(); ++given) {
          const double *theirs = &load[size_t(others[given]) * components];
          double change = alone + square[others[given]];
          for (int component = 0; component < components; ++component)
            change -= slope[component] * theirs[component];
          if (change < best) {
            best = change;
            bestTo = to;
            bestTaken = taken;
            bestGiven = static_cast<int>(given);
          }
        }
      }
    }
    if (best >= -1e-12)
      return false;
    int taken = members[from][bestTaken];
    add(from, taken, -1);
    add(bestTo, taken, 1);
    if (bestGiven < 0) {
      members[from].erase(members[from].begin() + bestTaken);
      members[bestTo].push_back(taken);
      return true;
    }
    int given = members[bestTo][bestGiven];
    add(from, given, 1);
    add(bestTo, given, -1);
    std::swap(members[from][bestTaken], members[bestTo][bestGiven]);
    return true;
  }

  int components;
  std::vector<std::vector<int>> &members;
  std::vector<double> excess; // of each micro-batch's load over the mean, weighted
  std::vector<double> load;   // of each sample, weighted
  std::vector<double> square; // twice the sum of the squares of its loads
};
} // namespace

void evenOut(const SampleLoads &samples, Assignment &assignment, int64_t tests) {
  if (assignment.microbatches() > 1)
    Evener(samples, assignment).run(tests);
}

void evenOutFurther(const SampleLoads &samples, Assignment &assignment, int64_t tries, uint64_t seed) {
  if (assignment.microbatches() > 1 && samples.size() > 0)
    Evener(samples, assignment).wander(tries, seed);
}

} // namespace braid::plan
