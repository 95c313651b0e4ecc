//===- StepBound.cpp - How short a step can be ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/StepBound.h"

#include <algorithm>
#include <numeric>

namespace braid::plan {

double StepBound::of(const SampleLoads &samples) const {
  double sum = constant;
  size_t choices = perLoad[0].size();
  std::vector<double> costs(choices);
  for (int sample = 0; sample < samples.size(); ++sample) {
    std::fill(costs.begin(), costs.end(), 0.0);
    for (int component = 0; component < samples.components(); ++component) {
      double load = samples.loads[component][sample];
      const double *price = perLoad[component].data();
      for (size_t choice = 0; choice < choices; ++choice)
        costs[choice] += load * price[choice];
    }
    sum += *std::min_element(costs.begin(), costs.end());
  }
  return sum;
}

constexpr int maxGroups = 12;

/// Sums of the loads of samples whose proportions are alike, times `scale`.
static SampleLoads groupByProportion(const SampleLoads &samples, double scale) {
  std::vector<int> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  auto proportion = [&](int sample) {
    double sum = 0;
    for (const std::vector<double> &loads : samples.loads)
      sum += loads[sample];
    return sum > 0 ? samples.loads.back()[sample] / sum : 0.0;
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return proportion(a) < proportion(b); });
  double total = 0, before = 0;
  for (const std::vector<double> &loads : samples.loads)
    total += std::accumulate(loads.begin(), loads.end(), 0.0);
  SampleLoads groups;
  groups.loads.assign(samples.components(), std::vector<double>(maxGroups));
  // Groups of about the same load; those without any do not matter.
  for (int sample : order) {
    int group = total > 0 ? std::min(maxGroups - 1, static_cast<int>(before / total * maxGroups)) : 0;
    for (int component = 0; component < samples.components(); ++component) {
      groups.loads[component][group] += samples.loads[component][sample] * scale;
      before += samples.loads[component][sample];
    }
  }
  return groups;
}

namespace {
class Game {
public:
  Game(const StepModel &model, StepTimer &timer, const SampleLoads &groups, bool deferral)
      : timer(timer), groups(groups), components(groups.components()), count(timer.microbatches()),
        loads(components, count), choices(deferral ? count + count / 2 : count), fixed(loads.load.size()),
        pathMean(loads.load.size()), regret(maxGroups, std::vector<double>(choices)), play(regret), mean(regret),
        answered(regret) {
    for (std::vector<double> &start : play)
      std::fill_n(start.begin(), count, 1.0 / count);
    mean = play;
    for (int component = 0; component < components; ++component)
      for (bool backward : {false, true})
        for (int microbatch = 0; microbatch < count; ++microbatch)
          fixed[loads.index(component, backward, microbatch)] = model.components[component].constant;
  }

  void round(int number) {
    const double weight = 4.0 / (number + 4); // later rounds weigh more
    // The path answers little of the last play and much of all: answers to the last one alone jump to and fro.
    for (size_t group = 0; group < play.size(); ++group)
      for (size_t choice = 0; choice < choices; ++choice)
        answered[group][choice] = mean[group][choice] + 0.05 * (play[group][choice] - mean[group][choice]);
    spread(answered);
    timer.time(loads, path);
    for (size_t at = 0; at < path.size(); ++at)
      pathMean[at] += (path[at] - pathMean[at]) * weight;
    std::vector<std::vector<double>> prices = pricesOf(path);
    std::vector<double> costs(choices);
    for (int group = 0; group < maxGroups; ++group) {
      std::vector<double> &now = play[group], &regrets = regret[group], &average = mean[group];
      std::fill(costs.begin(), costs.end(), 0.0);
      for (int component = 0; component < components; ++component)
        for (size_t choice = 0; choice < choices; ++choice)
          costs[choice] += groups.loads[component][group] * prices[component][choice];
      double paid = std::inner_product(costs.begin(), costs.end(), now.begin(), 0.0), sum = 0;
      for (size_t choice = 0; choice < choices; ++choice) {
        regrets[choice] = std::max(0.0, regrets[choice] + paid - costs[choice]);
        sum += regrets[choice];
      }
      for (size_t choice = 0; choice < choices; ++choice) {
        if (sum > 0)
          now[choice] = regrets[choice] / sum;
        average[choice] += (now[choice] - average[choice]) * weight;
      }
    }
  }

  StepBound bound() const {
    return {pricesOf(pathMean), std::inner_product(fixed.begin(), fixed.end(), pathMean.begin(), 0.0)};
  }
  double boundValue() const { return bound().of(groups); }
  /// Time of the mean play, were samples divisible.
  double value() {
    spread(mean);
    return timer.time(loads);
  }
  /// Of the mean play, forwards.
  std::vector<std::vector<double>> shares() {
    spread(mean);
    std::vector<std::vector<double>> result(components, std::vector<double>(count));
    for (int component = 0; component < components; ++component) {
      double sum = 0;
      for (int microbatch = 0; microbatch < count; ++microbatch) {
        size_t at = loads.index(component, false, microbatch);
        sum += result[component][microbatch] = loads.load[at] - fixed[at];
      }
      for (double &share : result[component])
        share = sum > 0 ? share / sum : 1.0 / count;
    }
    return result;
  }

private:
  /// Calls visit(choice, index of the forward's load, index of the backward's).
  template <typename Visit> void forEachChoice(int component, Visit visit) const {
    bool language = component + 1 == components;
    for (int microbatch = 0; microbatch < count; ++microbatch)
      visit(microbatch, loads.index(component, false, microbatch), loads.index(component, true, microbatch));
    for (int microbatch = 0; microbatch + 1 < count && choices > static_cast<size_t>(count); microbatch += 2)
      visit(count + microbatch / 2, loads.index(component, false, microbatch + language, !language),
            loads.index(component, true, microbatch + language, !language));
  }
  std::vector<std::vector<double>> pricesOf(const std::vector<double> &growth) const {
    std::vector<std::vector<double>> prices(components, std::vector<double>(choices));
    for (int component = 0; component < components; ++component)
      forEachChoice(component, [&](int choice, size_t forward, size_t backward) {
        prices[component][choice] = growth[forward] + growth[backward];
      });
    return prices;
  }
  void spread(const std::vector<std::vector<double>> &plays) {
    loads.load = fixed;
    for (int component = 0; component < components; ++component) {
      std::vector<double> sums(choices);
      for (int group = 0; group < maxGroups; ++group)
        for (size_t choice = 0; choice < sums.size(); ++choice)
          sums[choice] += plays[group][choice] * groups.loads[component][group];
      forEachChoice(component, [&](int choice, size_t forward, size_t backward) {
        loads.load[forward] += sums[choice];
        loads.load[backward] += sums[choice];
      });
    }
  }

  StepTimer &timer;
  const SampleLoads &groups;
  int components, count;
  MicrobatchLoads loads;
  size_t choices;
  std::vector<double> fixed, path, pathMean;
  std::vector<std::vector<double>> regret, play, mean, answered; // [group][choice]
};
} // namespace

Result<MicrobatchProfile> findProfile(const StepModel &model, StepTimer &timer, const SampleLoads &typical,
                                      double scale, int rounds) {
  if (Status status = model.checkSamples(typical); !status)
    return Error{status.error()};
  SampleLoads groups = groupByProportion(typical, scale);
  // Without deferral, which costs memory and gains little here, for the profile; with it for the bound.
  Game simple(model, timer, groups, false), whole(model, timer, groups, true);
  MicrobatchProfile best{simple.shares(), whole.bound()};
  double value = simple.value(), bound = whole.boundValue();
  for (int round = 0; round < rounds; ++round) {
    simple.round(round);
    whole.round(round);
    if (round % 100 != 99 && round + 1 != rounds)
      continue;
    if (double next = simple.value(); next < value) {
      value = next;
      best.shares = simple.shares();
    }
    if (double next = whole.boundValue(); next > bound) {
      bound = next;
      best.bound = whole.bound();
    }
  }
  return best;
}

StepBound tightenBound(const StepModel &model, StepTimer &timer, const SampleLoads &samples, int rounds) {
  SampleLoads groups = groupByProportion(samples, 1);
  Game game(model, timer, groups, true);
  StepBound best = game.bound();
  double bound = best.of(samples);
  for (int round = 0; round < rounds; ++round) {
    game.round(round);
    if (round % 100 != 99 && round + 1 != rounds)
      continue;
    StepBound next = game.bound();
    if (double value = next.of(samples); value > bound) {
      bound = value;
      best = std::move(next);
    }
  }
  return best;
}

double longestTrip(const StepModel &model, const SampleLoads &samples) {
  double longest = 0;
  int language = samples.components() - 1;
  // Encoders run side by side.
  for (int sample = 0; sample < samples.size(); ++sample) {
    double encoder = 0;
    for (int component = 0; component < language; ++component)
      encoder = std::max(encoder, samples.loads[component][sample] + model.components[component].constant);
    longest = std::max(longest, encoder + samples.loads[language][sample] + model.components[language].constant);
  }
  return longest * (1 + model.backward);
}

} // namespace braid::plan
