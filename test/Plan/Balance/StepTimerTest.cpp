//===- StepTimerTest.cpp - The timer against the simulator, bounds against brute force -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/StepTimer.h"
#include "braid/Plan/Balance/Assignment.h"
#include "braid/Plan/Balance/StepBound.h"
#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Simulator/Simulator.h"
#include "braid/Plan/Support/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace braid::plan;

static StepModel randomModel(Random &random, int encoders) {
  StepModel model;
  for (int component = 0; component <= encoders; ++component) {
    StepComponent &made = model.components.emplace_back();
    made.name = component < encoders ? "encoder" + std::to_string(component) : "language";
    made.shares.resize(1 + random.below(4));
    double sum = 0;
    for (double &share : made.shares)
      sum += share = 0.2 + random.unit();
    for (double &share : made.shares)
      share /= sum;
    made.constant = random.unit();
    made.timePerRow = random.below(2) ? 0 : 0.01 * random.unit();
  }
  model.backward = 1 + random.unit();
  return model;
}

static SampleLoads randomSamples(Random &random, int components, int count) {
  SampleLoads samples;
  for (auto *lists : {&samples.loads, &samples.rows})
    for (int component = 0; component < components; ++component)
      for (std::vector<double> &list = lists->emplace_back(); static_cast<int>(list.size()) < count;)
        list.push_back(static_cast<double>(1 + random.below(random.below(8) ? 9 : 60)));
  return samples;
}

/// Any assignment, with deferral between some pairs.
static Assignment randomAssignment(Random &random, int samples, int microbatches) {
  Assignment assignment(microbatches);
  for (int sample = 0; sample < samples; ++sample)
    assignment.samples[random.below(microbatches)].push_back(sample);
  for (int microbatch = 0; microbatch + 1 < microbatches; ++microbatch)
    if (assignment.hasPartner(microbatch))
      for (int sample : assignment.samples[microbatch])
        if (random.below(2))
          assignment.deferred[microbatch].push_back(sample);
  EXPECT_TRUE(assignment.check(samples));
  return assignment;
}

/// The simulator's costs of these micro-batches.
static CostModel simulatorCosts(const StepModel &model, const MicrobatchLoads &loads) {
  CostModel costs;
  costs.latency = model.latency;
  costs.stages.resize(model.numStages());
  std::vector<std::pair<int, double>> stages; // component, share
  for (size_t component = 0; component < model.components.size(); ++component)
    for (double share : model.components[component].shares)
      stages.push_back({static_cast<int>(component), share});
  costs.timePerByte = 1;
  costs.duration = [stages, loads, backward = model.backward](const Action &action) {
    bool behind = action.kind == ActionKind::FullBackward;
    auto [component, share] = stages[action.stage];
    return share * loads.load[loads.index(component, behind, action.microbatch, action.sub)] * (behind ? backward : 1);
  };
  costs.bytes = [stages, loads, components = model.components](const Action &send) {
    int component = stages[send.stage].first;
    // A gradient is named after the part that takes it; the language model's comes from the partner's backward.
    bool partner = send.kind == ActionKind::SendB && send.sub == 1 && component + 1 == loads.components;
    size_t at =
        loads.index(component, send.kind == ActionKind::SendB, send.microbatch + partner, partner ? 0 : send.sub);
    return components[component].timePerRow * loads.rows[at];
  };
  return costs;
}

TEST(StepTimer, AgreesWithTheSimulator) {
  Random random(1);
  for (int trial = 0; trial < 400; ++trial) {
    StepModel model = randomModel(random, 1 + static_cast<int>(random.below(3)));
    model.latency = random.below(2) ? 0 : random.unit();
    if (random.below(4) == 0) // encoder and language stages share ranks
      for (int stage = 0; stage < model.numStages(); ++stage)
        model.placement.push_back(static_cast<int>(random.below(1 + model.numStages() / 2)));
    int microbatches = 1 + static_cast<int>(random.below(12));
    Result<StepTimer> timer = StepTimer::create(model, microbatches);
    ASSERT_TRUE(timer) << timer.error();
    Result<Pipeline> joined = model.pipeline(microbatches);
    ASSERT_TRUE(joined) << joined.error();
    const Pipeline &pipeline = *joined;
    Result<Schedule> schedule = oneFOneB(pipeline, {.messages = false, .update = false});
    ASSERT_TRUE(schedule) << schedule.error();
    for (int step = 0; step < 3; ++step) {
      SampleLoads samples = randomSamples(random, static_cast<int>(model.components.size()), 3 * microbatches);
      MicrobatchLoads loads = loadsOf(model, samples, randomAssignment(random, samples.size(), microbatches));
      Result<Timeline> timeline = simulate(pipeline, *schedule, simulatorCosts(model, loads));
      ASSERT_TRUE(timeline) << timeline.error();
      EXPECT_NEAR(timer->time(loads), timeline->makespan, 1e-9 * timeline->makespan);
      // A longest path is as long as the step, up to the messages on it.
      std::vector<double> growth;
      double time = timer->time(loads, growth), length = 0;
      for (size_t at = 0; at < growth.size(); ++at)
        length += growth[at] * loads.load[at];
      EXPECT_LE(length, time * (1 + 1e-9));
      bool messagesTakeTime = model.latency > 0;
      for (const StepComponent &component : model.components)
        messagesTakeTime |= component.timePerRow > 0;
      if (!messagesTakeTime) {
        EXPECT_NEAR(length, time, 1e-9 * time);
      }
    }
  }
}

// Rows on links and in memory, by hand: encoder and language model of one stage each, two micro-batches.
TEST(StepTimer, RowsTakeTimeAndMemory) {
  StepModel model;
  model.components = {{"vision", {1}, 0, /*timePerRow=*/0.5, /*memoryPerRow=*/2}, {"language", {1}, 0, 0, 1}};
  SampleLoads samples{{{1, 1}, {1, 1}}, {{4, 2}, {10, 20}}};
  Assignment assignment(2);
  assignment.samples = {{0}, {1}};
  Result<StepTimer> timer = StepTimer::create(model, 2);
  ASSERT_TRUE(timer) << timer.error();
  // F0 0-1, sent until 3 | F0 3-4, B0 4-6 | F1 1-2, sent until 3 | F1 6-7, B1 7-9 | B0 6-8, B1 9-11
  EXPECT_DOUBLE_EQ(timer->time(loadsOf(model, samples, assignment)), 11);
  // The encoder holds both micro-batches: 2 (4 + 2) = 12; the language model one: 20.
  EXPECT_DOUBLE_EQ(timer->peakMemory(loadsOf(model, samples, assignment)), 20);
  // Deferred: the language model runs both with micro-batch 1.
  assignment.deferred[0] = {0};
  EXPECT_DOUBLE_EQ(timer->peakMemory(loadsOf(model, samples, assignment)), 30);
}

TEST(StepTimer, RefusesBadModels) {
  StepModel model;
  model.components = {{"language", {1}}};
  EXPECT_NE(StepTimer::create(model, 2).error().find("at least one encoder"), std::string::npos);
  model.components = {{"vision", {0.5, 0.4}}, {"language", {1}}};
  EXPECT_NE(StepTimer::create(model, 2).error().find("'vision' have shares that sum to 0.9"), std::string::npos);
  model.components[0].shares = {0.5, 0.5};
  model.placement = {0};
  EXPECT_NE(StepTimer::create(model, 2).error().find("ranks for 1 stages and there are 3"), std::string::npos);
  model.placement.clear();
  model.backward = -1;
  EXPECT_NE(StepTimer::create(model, 2).error().find("not negative"), std::string::npos);
}

TEST(StepBound, RefusesBadSamples) {
  StepModel model;
  model.components = {{"vision", {1}}, {"language", {1}}};
  Result<StepTimer> timer = StepTimer::create(model, 2);
  ASSERT_TRUE(timer) << timer.error();
  auto error = [&](const SampleLoads &samples) {
    Result<MicrobatchProfile> profile = findProfile(model, *timer, samples);
    return profile ? std::string("found") : profile.error();
  };
  EXPECT_NE(error({{{1}}, {{1}}}).find("loads for 1 components and the step has 2"), std::string::npos);
  EXPECT_NE(error({{{NAN}, {1}}, {{1}, {1}}}).find("sample 0"), std::string::npos);
  EXPECT_NE(error({{{1}, {1}}, {{1}}}).find("give both"), std::string::npos);
}

// No assignment at all is below the bound: all K^n of them, with every way to defer.
TEST(StepBound, BelowEveryAssignment) {
  Random random(2);
  for (int trial = 0; trial < 60; ++trial) {
    StepModel model = randomModel(random, 1 + static_cast<int>(random.below(2)));
    int microbatches = 2 + static_cast<int>(random.below(3)), count = microbatches == 4 ? 4 : 5;
    Result<StepTimer> timer = StepTimer::create(model, microbatches);
    ASSERT_TRUE(timer) << timer.error();
    SampleLoads samples = randomSamples(random, static_cast<int>(model.components.size()), count);
    Result<MicrobatchProfile> profile = findProfile(model, *timer, samples, 1, 1000);
    ASSERT_TRUE(profile) << profile.error();
    double bound = std::max(profile->bound.of(samples), longestTrip(model, samples)), best = 1e300;
    double tight = tightenBound(model, *timer, samples, 1000).of(samples);
    int all = 1;
    for (int sample = 0; sample < count; ++sample)
      all *= microbatches;
    for (int code = 0; code < all; ++code)
      for (int late = 0; late < 1 << count; ++late) {
        Assignment assignment(microbatches);
        for (int sample = 0, rest = code; sample < count; ++sample, rest /= microbatches) {
          assignment.samples[rest % microbatches].push_back(sample);
          if (late >> sample & 1)
            assignment.deferred[rest % microbatches].push_back(sample);
        }
        if (assignment.check(count))
          best = std::min(best, timer->time(loadsOf(model, samples, assignment)));
      }
    EXPECT_LE(bound, best * (1 + 1e-9));
    EXPECT_LE(tight, best * (1 + 1e-9));
    EXPECT_GE(bound, best * 0.6); // and it says something
  }
}

// Samples all alike and as fine as one likes. A linear program over the loads of 32 micro-batches and the starts of all
// actions (solved with HiGHS) needs 3.3794 if both components' loads keep their proportions, and 3.3724 if the
// encoder's backwards may also be deferred by one.
TEST(StepBound, MeetsTheProfile) {
  StepModel model;
  model.components = {{"vision", {0.25, 0.25, 0.25, 0.25}}, {"language", {0.25, 0.25, 0.25, 0.25}}};
  Result<StepTimer> timer = StepTimer::create(model, 32);
  ASSERT_TRUE(timer) << timer.error();
  SampleLoads samples{{{4}, {4}}, {{1}, {1}}};
  Result<MicrobatchProfile> profile = findProfile(model, *timer, samples, 1, 20000);
  ASSERT_TRUE(profile) << profile.error();
  MicrobatchLoads loads(2, 32), equal(2, 32);
  for (int component = 0; component < 2; ++component)
    for (bool backward : {false, true})
      for (int microbatch = 0; microbatch < 32; ++microbatch) {
        loads.load[loads.index(component, backward, microbatch)] = 4 * profile->shares[component][microbatch];
        equal.load[loads.index(component, backward, microbatch)] = 4.0 / 32;
      }
  EXPECT_NEAR(timer->time(equal), 3 * (1 + 7.0 / 32), 1e-9); // 1F1B's closed form
  double bound = profile->bound.of(samples), time = timer->time(loads);
  EXPECT_LE(bound, 3.3794);
  EXPECT_GT(bound, 3.3794 * 0.99);
  // The bound lets a sample defer both ways, so the second program is what it comes to.
  double tight = tightenBound(model, *timer, samples, 20000).of(samples);
  EXPECT_LE(tight, 3.3724 * (1 + 1e-4));
  EXPECT_GT(tight, 3.3724 * 0.996);
  EXPECT_GE(time, 3.3794 * (1 - 1e-4));
  EXPECT_LT(time, 3.3794 * 1.005);
}
