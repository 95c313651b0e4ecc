//===- BalanceTables.cpp - Tables of many balanced steps ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BalanceTables.h"

#include "braid/Plan/Balance/SampleManifest.h"
#include "braid/Plan/Balance/StableBatch.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace braid;
using namespace braid::plan;
using sim::format, sim::joined;

namespace {
/// Means over steps; each method's step time over the lower bound.
struct Means {
  int draws = 0;
  double time[numMethods] = {}, longest[numMethods] = {}, memory[numMethods] = {}, effective = 0;
  std::vector<double> variation[numMethods], deviation[numMethods];
  int longer[numMethods] = {}; // draws in which the shortest is longer than this method
  int evenLonger[numMethods] = {};

  void add(const Comparison &comparison) {
    ++draws;
    effective += comparison.effective;
    const MethodFigures &even = comparison.methods[static_cast<int>(Method::Even)];
    const MethodFigures &shortest = comparison.methods[static_cast<int>(Method::Shortest)];
    for (int method = 0; method < numMethods; ++method) {
      const MethodFigures &figures = comparison.methods[method];
      double ratio = timesAsLong(figures.stepTime, comparison.bound);
      time[method] += ratio;
      longest[method] = std::max(longest[method], ratio);
      memory[method] += figures.peakMemory;
      longer[method] += shortest.stepTime > figures.stepTime * (1 + 1e-9);
      evenLonger[method] += even.stepTime > figures.stepTime * (1 + 1e-9);
      variation[method].resize(figures.variation.size());
      deviation[method].resize(figures.variation.size());
      for (size_t component = 0; component < figures.variation.size(); ++component) {
        variation[method][component] += figures.variation[component];
        deviation[method][component] += figures.deviation[component];
      }
    }
  }
  double mean(const double (&sums)[numMethods], Method method) const { return sums[static_cast<int>(method)] / draws; }
  double of(const std::vector<double> (&sums)[numMethods], Method method, bool language) const {
    const std::vector<double> &list = sums[static_cast<int>(method)];
    double worst = 0; // of the encoders
    if (language)
      return list.back() / draws;
    for (size_t component = 0; component + 1 < list.size(); ++component)
      worst = std::max(worst, list[component] / draws);
    return worst;
  }
};

struct SetMeans {
  std::string name, split;
  Means usual;     // not dominated by one sample
  Means whole;     // of these, where no sample exceeds the mean micro-batch
  Means dominated; // isDominated()
  double evenSeconds = 0, shortestSeconds = 0;
};
} // namespace

/// Of this process on its cores: others on the machine do not count.
static double secondsNow() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

static Result<SetMeans> measure(const sim::SampleSet &set, const sim::TableOptions &options, int count) {
  SetMeans means;
  means.name = set.name;
  means.split = joined(set.split);
  double scale = static_cast<double>(count) / set.samples.size();
  Result<Comparer> comparer = Comparer::create(set.model, options.microbatches, set.samples, scale, options.balance);
  if (!comparer)
    return Error{comparer.error()};
  for (int draw = 0; draw < options.draws; ++draw) {
    SampleLoads samples = set.samples.select(drawBatch(set.samples.size(), count, options.balance.seed, draw));
    Result<Comparison> comparison = comparer->compare(samples, draw);
    if (!comparison)
      return Error{set.name + ": " + comparison.error()};
    if (isDominated(*comparison, options.microbatches))
      means.dominated.add(*comparison);
    else
      means.usual.add(*comparison);
    if (!comparison->large)
      means.whole.add(*comparison);
    for (Aim aim : {Aim::Even, Aim::StepTime}) {
      double start = secondsNow();
      if (Result<Balanced> balanced = comparer->getBalancer(aim).balance(samples); !balanced)
        return Error{balanced.error()};
      (aim == Aim::Even ? means.evenSeconds : means.shortestSeconds) += secondsNow() - start;
    }
  }
  return means;
}

static std::string timeTable(const std::vector<SetMeans> &sets) {
  std::string text = "| set | stages | draws | random | DistTrain-like | DIP-like | even | shortest | worst draw | "
                     "gain on DistTrain-like | on the best other | draws longer than any other |\n"
                     "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const SetMeans &set : sets) {
    const Means &means = set.usual;
    text += "| " + set.name + " | " + set.split + format(" | %d |", means.draws);
    if (means.draws == 0) {
      text += " all dominated by one sample | | | | | | | | |\n";
      continue;
    }
    double best = 1e300;
    int longer = 0;
    for (Method method : {Method::Random, Method::DistTrain, Method::Dip}) {
      best = std::min(best, means.mean(means.time, method));
      longer = std::max(longer, means.longer[static_cast<int>(method)]);
    }
    for (Method method : {Method::Random, Method::DistTrain, Method::Dip, Method::Even, Method::Shortest})
      text += format(" %.3f |", means.mean(means.time, method));
    double shortest = means.mean(means.time, Method::Shortest);
    text += format(" %.3f | %.2fx | %.2fx | %d |\n", means.longest[static_cast<int>(Method::Shortest)],
                   means.mean(means.time, Method::DistTrain) / shortest, best / shortest, longer);
  }
  return text;
}

/// Of something that may be even already: "-".
static std::string timesSmaller(double before, double after) {
  return after > 0 ? format("%.1f", before / after) : std::string("-");
}

static std::string variationTable(const std::vector<SetMeans> &sets) {
  std::string text = "| set | random | DistTrain-like | even | shortest | draws without a large sample | deviation of "
                     "even, times smaller |\n|---|---|---|---|---|---|---|\n";
  for (const SetMeans &set : sets) {
    text += "| " + set.name + " |";
    for (Method method : {Method::Random, Method::DistTrain, Method::Even, Method::Shortest})
      text += set.usual.draws ? format(" %.3f / %.3f |", set.usual.of(set.usual.variation, method, false),
                                       set.usual.of(set.usual.variation, method, true))
                              : std::string(" |");
    text += format(" %d |", set.whole.draws);
    if (set.whole.draws) {
      text += " ";
      for (bool language : {false, true})
        text += (language ? " / " : "") + timesSmaller(set.whole.of(set.whole.deviation, Method::DistTrain, language),
                                                       set.whole.of(set.whole.deviation, Method::Even, language));
    }
    text += " |\n";
  }
  return text;
}

static std::string dominatedTable(const std::vector<SetMeans> &sets) {
  std::string text = "| set | draws | the paper's K | random | DistTrain-like | DIP-like | paper | even | shortest |\n"
                     "|---|---|---|---|---|---|---|---|---|\n";
  for (const SetMeans &set : sets) {
    const Means &means = set.dominated;
    if (!means.draws)
      continue;
    text += "| " + set.name + format(" | %d | %.1f |", means.draws, means.effective / means.draws);
    for (Method method :
         {Method::Random, Method::DistTrain, Method::Dip, Method::Paper, Method::Even, Method::Shortest})
      text += format(" %.3f |", means.mean(means.time, method));
    text += "\n";
  }
  return text;
}

static Result<std::string> stableTable(const std::vector<sim::SampleSet> &sets, int devices) {
  constexpr int fresh = 1000;
  std::string text =
      "| set | split | smallest stable batch | other splits in 1,000 fresh batches | splits at batch 1 |\n"
      "|---|---|---|---|---|\n";
  for (const sim::SampleSet &set : sets) {
    Result<StableBatch> found = findStableBatch(set.samples, devices);
    if (!found)
      return Error{set.name + ": " + found.error()};
    text += "| " + set.name + " | " + joined(found->split) + " | ";
    if (found->size) {
      Result<std::vector<std::vector<int>>> splits = drawSplits(set.samples, devices, found->size, fresh, 1000003);
      if (!splits)
        return Error{splits.error()};
      text += format("%d | %.1f %% | ", found->size,
                     100.0 * (fresh - std::count(splits->begin(), splits->end(), found->split)) / fresh);
    } else {
      text += "none | | ";
    }
    Result<std::vector<std::vector<int>>> single = drawSplits(set.samples, devices, 1, fresh, 1000003);
    if (!single)
      return Error{single.error()};
    auto [least, most] = std::minmax_element(single->begin(), single->end());
    text += joined(*least) + " .. " + joined(*most) + " |\n";
  }
  return text;
}

static Result<std::string> durationTable(const std::vector<sim::SampleSet> &sets, const sim::TableOptions &options) {
  // One batch for a large cluster; a quick balancer, as every rank does this for all replicas.
  constexpr int replicas = 512, count = 100000;
  std::string text = "| set | one batch of 100,000 samples on 512 replicas, ms |\n|---|---|\n";
  for (const sim::SampleSet &set : sets) {
    BalanceOptions quick = options.balance;
    quick.aim = Aim::Even;
    quick.effort = Effort::Quick;
    Result<Balancer> balancer = Balancer::create(set.model, options.microbatches, set.samples,
                                                 static_cast<double>(count) / replicas / set.samples.size(), quick);
    if (!balancer)
      return Error{balancer.error()};
    double best = 1e300;
    for (int trial = 0; trial < 3; ++trial) {
      double start = secondsNow();
      if (Result<SampleManifest> manifest = makeManifest(*balancer, set.samples, count, replicas, 1, trial); !manifest)
        return Error{manifest.error()};
      best = std::min(best, secondsNow() - start);
    }
    text += "| " + set.name + format(" | %.0f |\n", best * 1e3);
  }
  return text;
}

std::string sim::joined(const std::vector<int> &values) {
  std::string text;
  for (int value : values)
    text += (text.empty() ? "" : ":") + std::to_string(value);
  return text;
}

Result<std::string> sim::balanceTables(const std::vector<std::string> &files, const SampleOptions &samples,
                                       const TableOptions &options) {
  std::vector<SampleSet> sets;
  for (const std::string &file : files) {
    Result<SampleSet> set = loadSamples(file, samples);
    if (!set)
      return Error{set.error()};
    sets.push_back(std::move(*set));
  }
  std::string text, durations = "| samples | set | even, ms | shortest, ms |\n|---|---|---|---|\n";
  for (int count : options.counts) {
    std::vector<SetMeans> means;
    for (const SampleSet &set : sets) {
      Result<SetMeans> measured = measure(set, options, count);
      if (!measured)
        return Error{measured.error()};
      means.push_back(std::move(*measured));
      durations += format("| %d | ", count) + set.name +
                   format(" | %.2f | %.2f |\n", 1e3 * means.back().evenSeconds / options.draws,
                          1e3 * means.back().shortestSeconds / options.draws);
    }
    std::string head = format("%d samples, %d micro-batches\n\n", count, options.microbatches);
    text += "### Step time over the lower bound, " + head + timeTable(means) +
            "\n### Variation of loads, encoder / "
            "language model, " +
            head + variationTable(means) + "\n### Draws with one giant sample, " + head + dominatedTable(means) + "\n";
  }
  Result<std::string> stable = stableTable(sets, options.devices);
  if (!stable)
    return stable;
  text += format("### Stable batches, %d devices\n\n", options.devices) + *stable;
  Result<std::string> large = durationTable(sets, options);
  if (!large)
    return large;
  return text + "\n### Time of balancing on this machine\n\n" + durations + "\n" + *large;
}
