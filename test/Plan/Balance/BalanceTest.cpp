//===- BalanceTest.cpp - Assignments against brute force and by property ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Balance.h"
#include "braid/Plan/Balance/BalanceBaselines.h"
#include "braid/Plan/Balance/Deferral.h"
#include "braid/Plan/Balance/SampleManifest.h"
#include "braid/Plan/Balance/StableBatch.h"
#include "braid/Plan/Support/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace braid::plan;

static StepModel twoByTwo() {
  StepModel model;
  model.components = {{"vision", {0.5, 0.5}}, {"language", {0.5, 0.5}}};
  return model;
}

static SampleLoads randomSamples(Random &random, int components, int count, int most) {
  SampleLoads samples;
  for (auto *lists : {&samples.loads, &samples.rows})
    for (int component = 0; component < components; ++component)
      for (std::vector<double> &list = lists->emplace_back(); static_cast<int>(list.size()) < count;)
        list.push_back(static_cast<double>(random.below(most)));
  return samples;
}

TEST(SubsetSums, NearestAgainstAllSubsets) {
  Random random(1);
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<int> weights(random.below(11));
    for (int &weight : weights)
      weight = static_cast<int>(random.below(trial % 3 ? 9 : 130));
    int total = std::accumulate(weights.begin(), weights.end(), 0);
    double target = random.unit() * (total + 4) - 2;
    if (trial % 4 == 0)
      target = std::round(2 * target) / 2; // halfway between two sums, or at one
    int best = 0;
    for (int subset = 0; subset < 1 << weights.size(); ++subset) {
      int sum = 0;
      for (size_t item = 0; item < weights.size(); ++item)
        sum += subset >> item & 1 ? weights[item] : 0;
      if (std::pair(std::abs(sum - target), sum) < std::pair(std::abs(best - target), best))
        best = sum;
    }
    SubsetSums sums(weights);
    std::vector<int> chosen = sums.subset(sums.nearest(target));
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
    int sum = 0;
    for (int item : chosen)
      sum += weights.at(item);
    EXPECT_EQ(sum, best); // of two equally near, the smaller
  }
}

TEST(BottleneckMatching, SmallestAgainstAllMatchings) {
  Random random(2);
  for (int trial = 0; trial < 4000; ++trial) {
    size_t lefts = random.below(6), rights = random.below(6);
    std::vector<double> alone(lefts);
    std::vector<std::vector<double>> paired(lefts, std::vector<double>(rights));
    for (size_t left = 0; left < lefts; ++left) {
      alone[left] = static_cast<double>(random.below(20));
      for (double &value : paired[left])
        value = static_cast<double>(random.below(20));
    }
    // Every i alone or with a free j.
    double best = 1e300;
    auto search = [&](auto &self, size_t left, unsigned taken, double worst) -> void {
      if (left == lefts) {
        best = std::min(best, worst);
        return;
      }
      self(self, left + 1, taken, std::max(worst, alone[left]));
      for (size_t right = 0; right < rights; ++right)
        if (!(taken >> right & 1))
          self(self, left + 1, taken | 1u << right, std::max(worst, paired[left][right]));
    };
    search(search, 0, 0, 0);
    BottleneckMatching found = matchBottleneck(alone, paired);
    double worst = 0;
    std::vector<int> taken(rights);
    for (size_t left = 0; left < lefts; ++left) {
      int right = found.partner[left];
      worst = std::max(worst, right < 0 ? alone[left] : paired[left].at(right));
      if (right >= 0) {
        EXPECT_EQ(taken.at(right)++, 0);
        EXPECT_GT(alone[left], found.value);
      }
    }
    if (lefts) {
      EXPECT_LE(worst, found.value);
      // `best` counts from 0; a limit that is not among the costs cannot be returned.
      EXPECT_EQ(found.value, best);
    }
  }
}

// LPT is within 4/3 - 1/(3K) of the best (Graham, 1969), in one group; in two groups Entrain claims 2 - 1/K.
TEST(LongestFirst, WithinItsGuarantee) {
  Random random(3);
  for (int trial = 0; trial < 1500; ++trial) {
    int count = 1 + static_cast<int>(random.below(8)), microbatches = 2 + static_cast<int>(random.below(2));
    SampleLoads samples = randomSamples(random, 2, count, 20);
    double best = 1e300;
    for (int code = 0, all = static_cast<int>(std::pow(microbatches, count) + 0.5); code < all; ++code) {
      std::vector<double> sums(microbatches);
      for (int sample = 0, rest = code; sample < count; ++sample, rest /= microbatches)
        sums[rest % microbatches] += samples.loads[0][sample];
      best = std::min(best, *std::max_element(sums.begin(), sums.end()));
    }
    Assignment found = assignLongestFirst(twoByTwo(), samples, microbatches);
    ASSERT_TRUE(found.check(count));
    auto most = [&](const Assignment &assignment) {
      double result = 0;
      for (const std::vector<int> &list : assignment.samples) {
        double sum = 0;
        for (int sample : list)
          sum += samples.loads[0][sample];
        result = std::max(result, sum);
      }
      return result;
    };
    EXPECT_LE(most(found), (2 - 1.0 / microbatches) * best + 1e-9);
  }
}

// What evening out ends with cannot be improved by any one move or swap.
TEST(EvenOut, EndsInALocalOptimum) {
  Random random(4);
  for (int trial = 0; trial < 300; ++trial) {
    int count = 4 + static_cast<int>(random.below(9)), microbatches = 2 + static_cast<int>(random.below(4));
    SampleLoads samples = randomSamples(random, 2, count, 30);
    samples.loads[1].assign(count, 0); // one component: its deviation is what is made small
    Assignment assignment = randomOrder(samples, microbatches, trial);
    auto squares = [&](const Assignment &of) { return deviation(loadsOf(twoByTwo(), samples, of), 0); };
    double before = squares(assignment);
    evenOut(samples, assignment, 1 << 20);
    ASSERT_TRUE(assignment.check(count));
    double after = squares(assignment);
    EXPECT_LE(after, before + 1e-9);
    for (int from = 0; from < microbatches; ++from)
      for (size_t taken = 0; taken < assignment.samples[from].size(); ++taken)
        for (int to = 0; to < microbatches; ++to)
          for (int given = -1; to != from && given < static_cast<int>(assignment.samples[to].size()); ++given) {
            Assignment other = assignment;
            int sample = other.samples[from][taken];
            if (given < 0) {
              other.samples[from].erase(other.samples[from].begin() + taken);
              other.samples[to].push_back(sample);
            } else
              std::swap(other.samples[from][taken], other.samples[to][given]);
            EXPECT_GE(squares(other), after - 1e-6);
          }
  }
}

// What going on ends with, against all assignments of a few samples: never worse than before, almost always the best,
// and more often than single exchanges find it. Encoders count five times as much.
TEST(EvenOut, FurtherIsTheBestOfAll) {
  Random random(14);
  const int trials = 200;
  int best = 0, bestBefore = 0;
  for (int trial = 0; trial < trials; ++trial) {
    int count = 5 + static_cast<int>(random.below(4)), microbatches = 2 + static_cast<int>(random.below(2));
    SampleLoads samples = randomSamples(random, 2, count, 1000);
    std::vector<double> totals = samples.totals();
    auto squares = [&](const std::vector<int> &home) {
      double sum = 0;
      for (int component : {0, 1})
        for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
          double load = 0;
          for (int sample = 0; sample < count; ++sample)
            load += home[sample] == microbatch ? samples.loads[component][sample] : 0;
          double excess = (component == 0 ? 5 : 1) * (load / totals[component] * microbatches - 1);
          sum += excess * excess;
        }
      return sum;
    };
    auto squaresOf = [&](const Assignment &assignment) {
      std::vector<int> home(count, -1);
      for (int microbatch = 0; microbatch < microbatches; ++microbatch)
        for (int sample : assignment.samples[microbatch])
          home[sample] = microbatch;
      return squares(home);
    };
    double least = 1e300;
    std::vector<int> home(count, 0);
    for (bool more = true; more;) {
      least = std::min(least, squares(home));
      int at = 0;
      while (at < count && ++home[at] == microbatches)
        home[at++] = 0;
      more = at < count;
    }
    Assignment assignment = randomOrder(samples, microbatches, trial);
    evenOut(samples, assignment, 1 << 20);
    double before = squaresOf(assignment);
    Assignment same = assignment;
    evenOutFurther(samples, assignment, 20000, trial);
    ASSERT_TRUE(assignment.check(count));
    double after = squaresOf(assignment);
    EXPECT_LE(after, before + 1e-9);
    EXPECT_GE(after, least - 1e-9);
    best += after <= least + 1e-9;
    bestBefore += before <= least + 1e-9;
    evenOutFurther(samples, same, 20000, trial);
    EXPECT_EQ(same, assignment); // it depends on the seed only
  }
  EXPECT_GE(best, trials * 95 / 100);
  EXPECT_LT(bestBefore, best);
}

TEST(EvenOut, FurtherTakesAnyNumberOfSamples) {
  for (int count : {0, 1, 2}) {
    SampleLoads samples{{std::vector<double>(count, 0.0), std::vector<double>(count, 1.0)},
                        {std::vector<double>(count, 1.0), std::vector<double>(count, 1.0)}};
    for (int microbatches : {1, 2, 5}) {
      Assignment assignment = randomOrder(samples, microbatches, 1);
      evenOutFurther(samples, assignment, 1000, 1);
      EXPECT_TRUE(assignment.check(count));
    }
  }
}

// Small ones are first and last, and what is in micro-batches and pairs stays together.
TEST(SmallestOutside, KeepsMicrobatchesAndPairs) {
  SampleLoads samples{{{5, 1, 4, 2, 3}, {5, 1, 4, 2, 3}}, {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}};
  Assignment assignment(5);
  for (int sample = 0; sample < 5; ++sample)
    assignment.samples[sample] = {sample};
  std::vector<std::vector<int>> order = {{1}, {4}, {0}, {2}, {3}}; // loads 1 3 5 4 2
  EXPECT_EQ(smallestOutside(twoByTwo(), samples, assignment).samples, order);
  order.resize(7); // empty ones stay behind
  EXPECT_EQ(smallestOutside(twoByTwo(), samples, widen(assignment, 7)).samples, order);
  // Two pairs of equal weight keep their order, and the last one has no partner.
  assignment.deferred[2] = {2};
  Assignment ordered = smallestOutside(twoByTwo(), samples, assignment);
  std::vector<std::vector<int>> pairs = {{0}, {1}, {2}, {3}, {4}}, deferred = {{}, {}, {2}, {}, {}};
  EXPECT_EQ(ordered.samples, pairs);
  EXPECT_EQ(ordered.deferred, deferred);
  samples.loads[0][0] = 6; // now the first pair is the larger one
  ordered = smallestOutside(twoByTwo(), samples, assignment);
  pairs = {{2}, {3}, {0}, {1}, {4}};
  deferred = {{2}, {}, {}, {}, {}};
  EXPECT_EQ(ordered.samples, pairs);
  EXPECT_EQ(ordered.deferred, deferred);
}

// Partners: overloaded first, its partner right behind it, both no worse than the overloaded one was.
TEST(Deferral, PairsAsThePaperSays) {
  Random random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    int microbatches = 1 + static_cast<int>(random.below(9)), count = static_cast<int>(random.below(40));
    SampleLoads samples = randomSamples(random, 2, count, 50);
    Assignment before = randomOrder(samples, microbatches, trial), after = pairAndDefer(samples, before);
    ASSERT_EQ(after.microbatches(), microbatches);
    Status status = after.check(count);
    ASSERT_TRUE(status) << status.error();
    auto sum = [&](const std::vector<int> &list) {
      double result = 0;
      for (int sample : list)
        result += samples.loads[1][sample];
      return result;
    };
    double most = 0, mostAfter = 0;
    std::vector<double> sums;
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      most = std::max(most, sum(before.samples[microbatch]));
      mostAfter = std::max(mostAfter, sum(after.languageSamples(microbatch)));
      sums.push_back(sum(after.samples[microbatch]));
    }
    EXPECT_LE(mostAfter, most + most / 512 * count); // loads are rounded to a 512th
    // Micro-batches are the same, only ordered: overloaded ones at even places.
    std::vector<std::vector<int>> a = before.samples, b = after.samples;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    EXPECT_EQ(a, b);
    for (int over = 0; over + 1 < microbatches; over += 2)
      for (int under = 1; under < microbatches; under += 2)
        EXPECT_GE(sums[over], sums[under]);
    for (int microbatch = 1; microbatch < microbatches; microbatch += 2)
      EXPECT_TRUE(after.deferred[microbatch].empty());
  }
}

// One giant sample caps the paper's K; figures by hand.
TEST(Balance, EffectiveMicrobatches) {
  SampleLoads samples{{{10, 1, 1, 1, 1, 1, 1, 1, 1, 2}, std::vector<double>(10, 1)}, {}};
  EXPECT_EQ(effectiveMicrobatches(samples, 8), 2); // 20 / 10
  samples.loads[0][0] = 1;
  EXPECT_EQ(effectiveMicrobatches(samples, 8), 5); // 11 / 2
  EXPECT_EQ(effectiveMicrobatches(samples, 3), 3);
  samples.loads[0].assign(10, 0);
  EXPECT_EQ(effectiveMicrobatches(samples, 8), 8);
  // Equal samples fill one micro-batch each, though ten times 0.1 adds up to less than 1.
  samples.loads[0].assign(10, 0.1);
  EXPECT_EQ(effectiveMicrobatches(samples, 10), 10);
}

TEST(Balance, PropertiesOfWhatItReturns) {
  Random random(6);
  for (int trial = 0; trial < 60; ++trial) {
    int encoders = 1 + static_cast<int>(random.below(2));
    StepModel model;
    for (int component = 0; component <= encoders; ++component)
      model.components.push_back({"c" + std::to_string(component), {0.5, 0.5}, random.unit(), 0, 1});
    int microbatches = 1 + static_cast<int>(random.below(12)), count = static_cast<int>(random.below(80));
    SampleLoads samples = randomSamples(random, encoders + 1, count, random.below(2) ? 10 : 100);
    double evenMemory = 0, evenTime = 0;
    for (Aim aim : {Aim::Even, Aim::StepTime}) {
      BalanceOptions options{.aim = aim, .profileRounds = 300};
      Result<Balancer> balancer = Balancer::create(model, microbatches, samples, 1, options);
      ASSERT_TRUE(balancer) << balancer.error();
      Result<Balanced> balanced = balancer->balance(samples);
      ASSERT_TRUE(balanced) << balanced.error();
      Status status = balanced->assignment.check(count);
      ASSERT_TRUE(status) << status.error();
      EXPECT_EQ(balanced->assignment.microbatches(), microbatches);
      MicrobatchLoads loads = loadsOf(model, samples, balanced->assignment);
      EXPECT_NEAR(balancer->getTimer().time(loads), balanced->stepTime, 1e-9 * balanced->stepTime);
      EXPECT_LE(balancer->boundOf(samples), balanced->stepTime * (1 + 1e-9));
      // The same numbers give the same assignment, from another balancer too.
      Result<Balancer> another = Balancer::create(model, microbatches, samples, 1, options);
      ASSERT_TRUE(another) << another.error();
      EXPECT_EQ(another->balance(samples)->assignment, balanced->assignment);
      // Within the memory that even micro-batches need, the shortest step is found too; too little is refused.
      if (aim == Aim::Even) {
        evenMemory = balanced->peakMemory;
        evenTime = balanced->stepTime;
        options.maxMemory = evenMemory / 1000;
        Result<Balanced> none = Balancer::create(model, microbatches, samples, 1, options)->balance(samples);
        if (balanced->peakMemory > 0) {
          ASSERT_FALSE(none);
          EXPECT_NE(none.error().find("the best needs"), std::string::npos);
        }
        continue;
      }
      EXPECT_LE(balanced->stepTime, evenTime * (1 + 1e-9));
      options.maxMemory = evenMemory;
      Result<Balanced> tight = Balancer::create(model, microbatches, samples, 1, options)->balance(samples);
      ASSERT_TRUE(tight) << tight.error();
      EXPECT_LE(tight->peakMemory, evenMemory * (1 + 1e-9));
      EXPECT_LE(tight->stepTime, evenTime * (1 + 1e-9));
    }
  }
}

TEST(Balance, RefusesBadSamples) {
  Result<Balancer> balancer = Balancer::create(twoByTwo(), 2, {{{1}, {1}}, {{1}, {1}}}, 1, {.profileRounds = 10});
  ASSERT_TRUE(balancer) << balancer.error();
  EXPECT_NE(balancer->balance({{{1}, {1}, {1}}, {{1}, {1}, {1}}}).error().find("3 components"), std::string::npos);
  EXPECT_NE(balancer->balance({{{1}, {-1}}, {{1}, {1}}}).error().find("sample 0"), std::string::npos);
  EXPECT_NE(balancer->balance({{{1}, {1, 2}}, {{1}, {1}}}).error().find("2 samples"), std::string::npos);
}

// Local improvement against the best of all assignments and orders.
TEST(ShortenStep, NearTheBestOfAll) {
  Random random(7);
  double sum = 0;
  const int trials = 40;
  for (int trial = 0; trial < trials; ++trial) {
    StepModel model = twoByTwo();
    SampleLoads samples = randomSamples(random, 2, 6, 20);
    Result<StepTimer> timer = StepTimer::create(model, 3);
    ASSERT_TRUE(timer) << timer.error();
    double best = 1e300;
    for (int code = 0; code < 729; ++code)
      for (int late = 0; late < 64; ++late) {
        Assignment assignment(3);
        for (int sample = 0, rest = code; sample < 6; ++sample, rest /= 3) {
          assignment.samples[rest % 3].push_back(sample);
          if (late >> sample & 1)
            assignment.deferred[rest % 3].push_back(sample);
        }
        if (assignment.check(6))
          best = std::min(best, timer->time(loadsOf(model, samples, assignment)));
      }
    Assignment assignment = randomOrder(samples, 3, trial);
    double before = timer->time(loadsOf(model, samples, assignment));
    double after = shortenStep(model, *timer, samples, assignment, 300, -1, trial);
    ASSERT_TRUE(assignment.check(6));
    EXPECT_NEAR(timer->time(loadsOf(model, samples, assignment)), after, 1e-9 * after + 1e-9);
    EXPECT_LE(after, before + 1e-9);
    EXPECT_GE(after, best - 1e-9);
    sum += best > 0 ? after / best : 1;
  }
  EXPECT_LT(sum / trials, 1.05);
}

TEST(Balance, ReplicasShareTheLanguageLoad) {
  Random random(8);
  for (int trial = 0; trial < 100; ++trial) {
    int replicas = 1 + static_cast<int>(random.below(6)), count = static_cast<int>(random.below(200));
    SampleLoads samples = randomSamples(random, 2, count, 100);
    std::vector<std::vector<int>> lists = assignReplicas(twoByTwo(), samples, replicas);
    std::vector<int> seen(count);
    std::vector<double> sums;
    double largest = 0;
    for (const std::vector<int> &list : lists) {
      double sum = 0;
      for (int sample : list) {
        ++seen[sample];
        sum += samples.loads[1][sample];
        largest = std::max(largest, samples.loads[1][sample]);
      }
      sums.push_back(sum);
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), count);
    // A sample goes to the least loaded replica, so two replicas differ by one sample at most.
    EXPECT_LE(*std::max_element(sums.begin(), sums.end()) - *std::min_element(sums.begin(), sums.end()),
              largest + 1e-9);
  }
}

// All splits of few devices.
TEST(StableBatch, SplitsAgainstAllSplits) {
  Random random(9);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> loads(1 + random.below(3));
    for (double &load : loads)
      load = static_cast<double>(random.below(30));
    int devices = static_cast<int>(random.below(12));
    Result<std::vector<int>> split = splitDevices(loads, devices);
    if (devices < static_cast<int>(loads.size())) {
      EXPECT_FALSE(split);
      continue;
    }
    auto most = [&](const std::vector<int> &of) {
      double result = 0;
      for (size_t component = 0; component < loads.size(); ++component)
        result = std::max(result, loads[component] / of[component]);
      return result;
    };
    EXPECT_EQ(std::accumulate(split->begin(), split->end(), 0), devices);
    double best = 1e300;
    for (int a = 1; a <= devices; ++a)
      for (int b = loads.size() > 1 ? 1 : 0; b <= (loads.size() > 1 ? devices : 0); ++b) {
        std::vector<int> other{a};
        if (loads.size() > 1)
          other.push_back(loads.size() > 2 ? b : devices - a);
        if (loads.size() > 2)
          other.push_back(devices - a - b);
        if (std::all_of(other.begin(), other.end(), [](int part) { return part > 0; }) &&
            std::accumulate(other.begin(), other.end(), 0) == devices)
          best = std::min(best, most(other));
      }
    EXPECT_NEAR(most(*split), best, 1e-9);
  }
}

TEST(StableBatch, TrialsAndSizes) {
  EXPECT_EQ(stableTrials(0.05, 0.05), 59); // the paper's k
  EXPECT_EQ(stableTrials(0.5, 0.5), 1);
  // Samples all alike are stable at once; a fair coin at the boundary never is.
  SampleLoads alike{{{1, 1}, {3, 3}}, {{1, 1}, {1, 1}}};
  Result<StableBatch> found = findStableBatch(alike, 8);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->size, 1);
  EXPECT_EQ(found->split, (std::vector<int>{2, 6}));
  SampleLoads torn{{{1, 0}, {0, 1}}, {{1, 1}, {1, 1}}};
  found = findStableBatch(torn, 3, {.maxSize = 64});
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->size, 0);
  EXPECT_FALSE(findStableBatch(torn, 1));
  EXPECT_FALSE(findStableBatch({{{}, {}}, {{}, {}}}, 4));
  EXPECT_FALSE(findStableBatch(torn, 3, {.alpha = 0}));
}

// The same on every rank; different where anything is placed differently; every sample of the batch once.
TEST(SampleManifest, SameForAllAndHashed) {
  Random random(10);
  SampleLoads index = randomSamples(random, 2, 300, 50);
  auto make = [&](const SampleLoads &of, uint64_t seed, uint64_t step, int replicas) {
    Result<Balancer> balancer = Balancer::create(twoByTwo(), 6, index, 0.1, {.profileRounds = 200});
    EXPECT_TRUE(balancer);
    Result<SampleManifest> manifest = makeManifest(*balancer, of, 96, replicas, seed, step);
    EXPECT_TRUE(manifest) << manifest.error();
    return *manifest;
  };
  SampleManifest manifest = make(index, 5, 7, 3);
  EXPECT_EQ(manifest.hash(), make(index, 5, 7, 3).hash());
  EXPECT_EQ(manifest.json(), make(index, 5, 7, 3).json());
  EXPECT_NE(manifest.hash(), make(index, 6, 7, 3).hash());
  EXPECT_NE(manifest.hash(), make(index, 5, 8, 3).hash());
  EXPECT_NE(manifest.hash(), make(index, 5, 7, 2).hash());
  std::vector<int> batch = drawBatch(300, 96, 5, 7);
  SampleLoads changed = index;
  changed.loads[0][batch[0]] += 1000;
  EXPECT_NE(manifest.hash(), make(changed, 5, 7, 3).hash());
  SampleManifest swapped = manifest;
  std::swap(swapped.replicas[0].samples[0], swapped.replicas[1].samples[0]);
  EXPECT_NE(manifest.hash(), swapped.hash());
  for (bool language : {false, true}) {
    std::vector<int> all;
    for (int replica = 0; replica < 3; ++replica)
      for (int microbatch = 0; microbatch < 6; ++microbatch) {
        std::vector<int> some = manifest.samplesOf(replica, microbatch, language);
        all.insert(all.end(), some.begin(), some.end());
      }
    std::vector<int> expected = batch;
    std::sort(all.begin(), all.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(all, expected);
  }
}
