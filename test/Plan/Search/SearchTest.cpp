//===- SearchTest.cpp - Searches against published values and bounds ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches run for a number of schedules instead of a time, so that the results are the same on every machine.
//
//===----------------------------------------------------------------------===//

#include "../Oracles.h"

#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Search/Directions.h"
#include "braid/Plan/Search/Search.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

using namespace braid::plan;

// zero_bubble.md: a forward makes 34h + 5as of memory per layer and token, of which 32h wait for the weight gradient.
TEST(Search, ReachesZeroBubble2pInItsMemoryAndH1In1F1Bs) {
  const double sequence = 1024;
  for (auto &row : readTable("zero_bubble.csv")) {
    double hidden = std::stod(row["hidden"]), heads = std::stod(row["heads"]);
    double made = 34 * hidden + 5 * heads * sequence, kept = 32 * hidden;
    int p = std::stoi(row["p"]), m = std::stoi(row["m"]);
    CostModel costs;
    costs.stages = {{.forward = std::stod(row["F_ms"]),
                     .input = std::stod(row["Bi_ms"]),
                     .weight = std::stod(row["W_ms"]),
                     .activation = 1,
                     .kept = kept / made}};
    costs.latency = std::stod(row["c_ms"]);
    double ideal = m * (costs.stages[0].forward + costs.stages[0].input + costs.stages[0].weight);
    Pipeline pipeline = Pipeline::chain(p, m);
    for (auto [memory, column, slack] : {std::tuple{2.0 * p, "rate_zb2p", 0.0005}, {1.0 * p, "rate_zbh1", 0.00005}}) {
      double published = std::stod(row[column]);
      SearchOptions options{.objective = Objective::Span,
                            .maxMemory = memory,
                            .maxEvaluations = 1500,
                            .stopAt = ideal / (1 - published - slack / 2)};
      Result<SearchResult> found = searchSchedule(pipeline, costs, options);
      ASSERT_TRUE(found) << found.error();
      std::string where = row["model"] + " p " + row["p"] + " m " + row["m"] + " " + column;
      // The simulator says the same, and the verifier accepts.
      Result<Timeline> timeline = simulate(pipeline, found->schedule, costs);
      ASSERT_TRUE(timeline) << timeline.error();
      EXPECT_NEAR(timeline->longestSpan, found->value, 1e-6) << where;
      EXPECT_LE(*std::max_element(timeline->peakMemory.begin(), timeline->peakMemory.end()), memory + 1e-6) << where;
      EXPECT_LE(1 - ideal / timeline->longestSpan, published + slack) << where;
      EXPECT_GE(found->value, found->lowerBound - 1e-6) << where;
      EXPECT_TRUE(verify(pipeline, found->schedule)) << where;
    }
  }
}

// The rows of another search, under its memory: schedules.csv.
TEST(Search, IsNoWorseThanTheReorderedVSchedules) {
  int rows = 0;
  for (auto &row : readTable("schedules.csv")) {
    if (row["schedule"] != "v-half-reordered" && row["schedule"] != "v-min-reordered")
      continue;
    ++rows;
    CostModel costs;
    costs.stages = {{.forward = std::stod(row["F"]) / 2,
                     .input = std::stod(row["Bi"]) / 2,
                     .weight = std::stod(row["W"]) / 2,
                     .activation = 0.5}};
    costs.latency = std::stod(row["c"]);
    Pipeline pipeline = foldedPipeline(std::stoi(row["p"]), std::stoi(row["m"]));
    SearchOptions options{
        .maxMemory = std::stod(row["peak_act"]), .maxEvaluations = 4000, .stopAt = std::stod(row["makespan"])};
    Result<SearchResult> found = searchSchedule(pipeline, costs, options);
    ASSERT_TRUE(found) << found.error();
    EXPECT_TRUE(verify(pipeline, found->schedule));
    EXPECT_LE(found->value, std::stod(row["makespan"]) + 1e-6)
        << row["schedule"] << " p " << row["p"] << " m " << row["m"] << " F " << row["F"] << " Bi " << row["Bi"]
        << " c " << row["c"];
  }
  EXPECT_EQ(rows, 36);
}

TEST(Search, SplitBackwardsCloseTheBubbleOfAmdpWithinItsLimits) {
  for (double latency : {0.0, 0.1})
    for (auto [d, most] : {std::pair{4, 400}, {8, 100}, {12, 50}, {16, 30}, {24, 20}, {32, 12}}) {
      CostModel costs;
      costs.stages = {{}};
      costs.latency = latency;
      Result<BlockResult> found = searchAmdpBlock(d, costs, {.maxEvaluations = most});
      ASSERT_TRUE(found) << found.error();
      EXPECT_DOUBLE_EQ(found->lowerBound, 3.0 * d);
      EXPECT_LT(found->blockTime, found->amdp - 1e-6) << "d " << d << " c " << latency;
      if (latency == 0) {
        EXPECT_NEAR(found->blockTime, found->lowerBound, 1e-9) << "d " << d;
      }
      // AMDP's limits: d in flight, one update late at most, and no more mismatched backwards than AMDP has.
      for (int window : {1, 2}) {
        const int updates = 3;
        Pipeline pipeline = amdpPipeline(d, d * window * updates);
        Result<Schedule> split = finish(pipeline, amdpSplit(pipeline, updates, found->pauses), {});
        ASSERT_TRUE(split) << split.error();
        Result<ScheduleFacts> facts = verify(pipeline, *split, {.maxActivations = d});
        ASSERT_TRUE(facts) << facts.error();
        EXPECT_EQ(split->weightVersions, 1);
        EXPECT_EQ(facts->staleness, 1);
        EXPECT_LE(facts->mismatched, int64_t(updates - 1) * (d * d - d / 2));
      }
    }
}

// Every schedule that is tried counts, also one that does not fit: a search that finds none ends.
TEST(Search, BlocksThatDoNotFitCount) {
  CostModel costs;
  costs.stages.resize(4);
  costs.stages[1].activation = 100; // the limit is four times stage 0's
  Result<BlockResult> found = searchAmdpBlock(4, costs, {.maxEvaluations = 50});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().find("keeps within 4 activations"), std::string::npos) << found.error();
  costs.stages[1].activation = 1;
  costs.latency = 0.1; // the lower bound is not reached
  found = searchAmdpBlock(4, costs, {.maxEvaluations = 50});
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->evaluated, 50);
}

/// The best value over all orders of F, I and W on each rank, micro-batches of a stage in order, by trying all of them.
static double bruteForce(const Pipeline &pipeline, const CostModel &costs, const SearchOptions &options) {
  const int m = pipeline.microbatches, ranks = pipeline.numRanks();
  std::vector<std::vector<std::vector<Action>>> orders(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int> hosted;
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      if (pipeline.rankOf(stage) == rank)
        hosted.push_back(stage);
    // Of each stage: how many F, I and W there are so far; none overtakes the kind before it.
    std::vector<std::array<int, 3>> counts(hosted.size());
    std::vector<Action> order;
    std::function<void()> extend = [&] {
      if (order.size() == hosted.size() * 3 * m)
        orders[rank].push_back(order);
      for (size_t at = 0; at < hosted.size(); ++at)
        for (int kind : {0, 1, 2})
          if (counts[at][kind] < (kind == 0 ? m : counts[at][kind - 1])) {
            constexpr ActionKind kinds[] = {ActionKind::Forward, ActionKind::BackwardInput, ActionKind::BackwardWeight};
            order.push_back(compute(kinds[kind], hosted[at], counts[at][kind]++));
            extend();
            order.pop_back();
            --counts[at][kind];
          }
    };
    extend();
  }
  double best = HUGE_VAL;
  std::vector<size_t> choice(ranks, 0);
  while (true) {
    Schedule schedule = emptySchedule(pipeline);
    for (int rank = 0; rank < ranks; ++rank)
      schedule.rows[rank] = orders[rank][choice[rank]];
    if (Result<Timeline> timeline = simulate(pipeline, schedule, costs))
      if (*std::max_element(timeline->peakMemory.begin(), timeline->peakMemory.end()) <= options.maxMemory + 1e-9)
        best = std::min(best, options.objective == Objective::Span ? timeline->longestSpan : timeline->makespan);
    int at = 0;
    while (at < ranks && ++choice[at] == orders[at].size())
      choice[at++] = 0;
    if (at == ranks)
      return best;
  }
}

/// Two directions as two chains of one pipeline, each through all ranks.
static Pipeline twoChains(int ranks, int microbatches) {
  Pipeline pipeline = Pipeline::chain(2 * ranks, microbatches, foldedPipeline(ranks, 1).placement[0]);
  std::erase_if(pipeline.edges, [&](const Edge &edge) { return edge.to == ranks; });
  return pipeline;
}

// Thousands of small pipelines with random costs of stages, latency and memory, against all orders. The bound is a
// bound, what is found can be had, and it is the optimum: of one chain always, of two in 98 of 100.
TEST(Search, AgreesWithBruteForceOnSmallPipelines) {
  std::mt19937_64 random(21);
  auto below = [&](int count) { return static_cast<int>(random() % count); };
  const std::vector<Pipeline> shapes = {Pipeline::chain(1, 1), Pipeline::chain(1, 2), Pipeline::chain(1, 4),
                                        Pipeline::chain(2, 1), Pipeline::chain(2, 2), Pipeline::chain(2, 3),
                                        Pipeline::chain(3, 1), Pipeline::chain(3, 2), Pipeline::chain(4, 2),
                                        foldedPipeline(1, 1),  foldedPipeline(2, 1),  loopedPipeline(2, 2, 1),
                                        twoChains(2, 1)};
  const int trials = 2400;
  int impossible = 0, together = 0, missed = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Pipeline &pipeline = shapes[trial % shapes.size()];
    CostModel costs;
    bool even = below(2);
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      costs.stages.push_back(
          even && stage ? costs.stages[0]
                        : StageCost{.forward = 1.0 + below(4), .input = 1.0 + below(4), .weight = 1.0 + below(4)});
    costs.latency = 0.5 * below(3);
    SearchOptions options{.objective = below(3) ? Objective::Makespan : Objective::Span,
                          .maxMemory = 1.0 + below(4),
                          .maxEvaluations = 2000};
    double exact = bruteForce(pipeline, costs, options);
    Result<SearchResult> found = searchSchedule(pipeline, costs, options);
    if (exact == HUGE_VAL) {
      EXPECT_FALSE(found);
      ++impossible;
      continue;
    }
    ASSERT_TRUE(found) << found.error();
    EXPECT_LE(found->lowerBound, exact + 1e-9);
    EXPECT_GE(found->value, exact - 1e-9);
    const bool optimal = found->value <= exact + 1e-9;
    if (trial % shapes.size() + 1 == shapes.size()) { // two chains
      ++together;
      missed += !optimal;
      continue;
    }
    EXPECT_TRUE(optimal) << pipeline.numRanks() << " ranks, " << pipeline.numStages() << " stages, "
                         << pipeline.microbatches << " micro-batches: " << found->value << ", the best is " << exact;
    EXPECT_TRUE(verify(pipeline, found->schedule));
  }
  std::printf("%d small pipelines, %d fit no memory; of %d with two chains %d are not the best\n", trials, impossible,
              together, missed);
  EXPECT_LT(impossible, trials / 10);
  EXPECT_LE(missed, together / 50);
}

// Joined components, with deferral too: what is found is right and no worse than 1F1B.
TEST(Search, JoinedPipelines) {
  for (const char *flags : {"", ":defers"}) {
    std::vector<Component> components;
    for (std::string text : {std::string("v:0-1:llm") + flags, std::string("a:2:llm"), std::string("llm:3-4")}) {
      Result<Component> component = Component::parse(text);
      ASSERT_TRUE(component) << component.error();
      components.push_back(*component);
    }
    Result<Pipeline> pipeline = joinComponents(components, 6);
    ASSERT_TRUE(pipeline) << pipeline.error();
    CostModel costs;
    costs.stages = {{}};
    Result<SearchResult> found = searchSchedule(*pipeline, costs, {.maxEvaluations = 300});
    ASSERT_TRUE(found) << found.error();
    Result<ScheduleFacts> facts = verify(*pipeline, found->schedule);
    ASSERT_TRUE(facts) << facts.error();
    EXPECT_LE(found->value, 3.0 * (6 + 4 - 1));
    EXPECT_GE(found->value, found->lowerBound - 1e-9);
    costs.duration = [](const Action &) { return 1.0; };
    EXPECT_FALSE(searchSchedule(*pipeline, costs, {.maxEvaluations = 1}));
  }
}

// Simulated steps of known schedules, with all that makes actions of one stage differ: a bound is below every one.
TEST(Search, BoundIsBelowEverySimulatedStep) {
  std::mt19937_64 random(5);
  auto below = [&](int count) { return static_cast<int>(random() % count); };
  auto share = [&] { return 0.25 * below(5); };
  const std::vector<std::vector<std::string>> models = {{"v:0:llm:defers", "llm:1-2"},
                                                        {"v:0-1:llm:defers", "a:2:llm:defers", "llm:3"},
                                                        {"v:0:llm:frozen", "llm:0-1"},
                                                        {"v:0:llm", "llm:1-2"}};
  const std::vector<std::string> kinds = {"gpipe", "1f1b", "zb_h1", "interleaved", "dualpipev", "v_half"};
  for (int trial = 0; trial < 3000; ++trial) {
    ScheduleRequest request{.kind = kinds[below(6)], .ranks = 1 + below(3), .microbatches = 1 + below(6)};
    if (below(2)) {
      request.kind = "1f1b";
      for (const std::string &text : models[below(4)])
        request.components.push_back(*Component::parse(text));
    }
    Result<PlannedSchedule> planned = makeSchedule(request, {.messages = false, .update = false});
    if (!planned)
      continue;
    const Pipeline &pipeline = planned->pipeline;
    CostModel costs;
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      costs.stages.push_back({.forward = 0.0 + below(5), .input = 0.0 + below(5), .weight = 0.0 + below(5)});
    costs.latency = below(3);
    costs.deferredShare = share();
    costs.inputRelease = share();
    costs.blockForwardRelease = share();
    costs.blockBackwardRelease = share();
    costs.overlap = below(2) ? Overlap::Atomic : Overlap::Early;
    costs.timePerByte = below(2);
    costs.forwardBytes = costs.backwardBytes = 2;
    uint64_t seed = random();
    auto drawn = [seed](const Action &action) {
      return static_cast<double>(std::hash<std::string>()(std::to_string(seed) + action.str()) % 5);
    };
    if (below(2))
      costs.duration = [drawn](Action action) {
        action.joinsNext = false;
        return drawn(action);
      };
    if (below(2))
      costs.bytes = drawn;
    if (below(2)) { // two ranks of a machine
      costs.portOf.assign(planned->schedule.ranks(), 0);
      costs.portOf.back() = planned->schedule.ranks() - 1;
      costs.localLatency = below(2);
    }
    Result<Timeline> timeline = simulate(pipeline, planned->schedule, costs);
    ASSERT_TRUE(timeline) << timeline.error();
    const std::string where = request.kind + ", trial " + std::to_string(trial);
    EXPECT_LE(lowerBound(pipeline, costs, {}), timeline->makespan + 1e-9) << where;
    EXPECT_LE(lowerBound(pipeline, costs, {.objective = Objective::Span}), timeline->longestSpan + 1e-9) << where;
  }
}

// A rank that waits for its first gradient in little memory may run a frozen encoder's forwards, which hold nothing.
// 3 micro-batches of an encoder's 3 and of F 1, I 1, W 4 are 27 on rank 0: it never waits.
TEST(Search, FrozenForwardsFillTheWaitThatMemoryLeaves) {
  std::vector<Component> components = {*Component::parse("v:0:llm:frozen"), *Component::parse("llm:0-2")};
  Result<Pipeline> pipeline = joinComponents(components, 3);
  ASSERT_TRUE(pipeline) << pipeline.error();
  CostModel costs;
  costs.stages = {{.forward = 3}, {.weight = 4}, {}, {}};
  const SearchOptions options{.maxMemory = 2, .maxEvaluations = 1000};
  Result<SearchResult> found = searchSchedule(*pipeline, costs, options);
  ASSERT_TRUE(found) << found.error();
  EXPECT_DOUBLE_EQ(found->value, 27);
  EXPECT_DOUBLE_EQ(found->lowerBound, 27);
}

// Orders of chains know neither deferral nor frozen stages: what the search makes of them is whole, and no more.
TEST(Search, KnownOrdersFitPartsAndFrozenStages) {
  const std::vector<std::vector<std::string>> models = {
      {"v:0:llm:defers", "llm:1::defers"}, {"v:0:llm", "a:1-2:llm:frozen", "llm:3-4"}, {"v:0:llm", "llm:1-2::frozen"}};
  for (const std::vector<std::string> &model : models)
    for (int64_t evaluations : {1, 300}) {
      std::vector<Component> components;
      for (const std::string &text : model)
        components.push_back(*Component::parse(text));
      Result<Pipeline> pipeline = joinComponents(components, 4);
      ASSERT_TRUE(pipeline) << pipeline.error();
      CostModel costs;
      costs.stages = {{}};
      Result<SearchResult> found = searchSchedule(*pipeline, costs, {.maxEvaluations = evaluations});
      ASSERT_TRUE(found) << found.error();
      Result<ScheduleFacts> facts = verify(*pipeline, found->schedule);
      EXPECT_TRUE(facts) << model[1] << ": " << facts.error();
      EXPECT_GE(found->value, found->lowerBound - 1e-9) << model[1];
    }
}

TEST(Search, RefusesMemoryThatHoldsNothing) {
  CostModel costs;
  costs.stages = {{}};
  Result<SearchResult> found = searchSchedule(Pipeline::chain(2, 2), costs, {.maxMemory = 0.5, .maxEvaluations = 10});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().find("memory of 0.5"), std::string::npos) << found.error();
  // One micro-batch at a time fits where any does, however few schedules are tried.
  Result<DirectionsResult> one = searchDirections(4, 2, 8, 1, costs, {.maxMemory = 1, .maxEvaluations = 10});
  ASSERT_TRUE(one) << one.error();
  EXPECT_EQ(one->peakActivation, 1);
}

// With much memory and few tries directions run one after the other. No stream takes less than its bound all the same.
TEST(Search, DirectionsThatTakeTurnsAreTimedAsAWhole) {
  CostModel costs;
  costs.stages = {{.weight = 1.53}};
  for (int memory : {10, 20, 40}) {
    Result<DirectionsResult> found =
        searchDirections(5, 3, 18, 2, costs, {.maxMemory = double(memory), .maxEvaluations = 1});
    ASSERT_TRUE(found) << found.error();
    EXPECT_GE(found->blockTime, found->lowerBound - 1e-9);
  }
}

TEST(Search, AnyNumberOfDirections) {
  for (int d : {3, 4, 5, 6, 7, 8, 10})
    for (int directions = 1; directions <= d / 2; ++directions) {
      CostModel costs;
      costs.stages = {{}};
      // Three windows of two blocks; a multiple of the directions.
      int microbatches = 3 * 2 * d * directions;
      Result<DirectionsResult> found = searchDirections(d, directions, microbatches, 3, costs, {.maxEvaluations = 300});
      ASSERT_TRUE(found) << "d " << d << " directions " << directions << ": " << found.error();
      Schedule whole = found->schedule;
      ASSERT_TRUE(addMessages(found->pipeline, whole));
      Result<ScheduleFacts> facts = verify(found->pipeline, whole, {.maxActivations = d});
      ASSERT_TRUE(facts) << facts.error();
      EXPECT_LE(facts->staleness, 1);
      EXPECT_GE(found->blockTime, found->lowerBound - 1e-6);
      // AMDP's limit on late micro-batches, and better than its bubble of 1/(3d+1) for every d.
      EXPECT_LE(found->mismatched, d);
      EXPECT_LT(found->blockTime, 3 * d + 1 - 1e-6) << "d " << d << " directions " << directions;
      std::printf(
          "d %d, %d directions, %d stages per rank: block %.3f by %s, bubble %.2f %%, %g activations, %d late\n", d,
          directions, directions, found->blockTime, found->origin.c_str(),
          100 * (1 - found->lowerBound / found->blockTime), found->peakActivation, found->mismatched);
    }
}

// AMDP's own directions, and so its hosted stages, at its own latency: no bubble for any d of its list, within its
// limits.
TEST(Search, PatternsCloseTheBubbleOfAmdpWithLatency) {
  for (int d : {4, 8, 12, 16, 24, 32})
    for (double latency : {0.0, 0.1}) {
      CostModel costs;
      costs.stages = {{}};
      costs.latency = latency;
      const int updates = 4;
      for (int blocks : {1, 2, 4}) { // of a window
        Result<DirectionsResult> found =
            searchDirections(d, d / 2, updates * blocks * d, updates, costs, {.maxEvaluations = 100});
        ASSERT_TRUE(found) << "d " << d << ": " << found.error();
        EXPECT_EQ(found->pipeline.placement, amdpPipeline(d, d).placement);
        EXPECT_NEAR(found->blockTime, 3 * d, 1e-6) << "d " << d << " c " << latency;
        EXPECT_EQ(found->schedule.weightVersions, 1);
        EXPECT_LE(found->mismatched, d);
        Schedule whole = found->schedule;
        ASSERT_TRUE(addMessages(found->pipeline, whole));
        Result<ScheduleFacts> facts = verify(found->pipeline, whole, {.maxActivations = d});
        ASSERT_TRUE(facts) << facts.error();
        EXPECT_LE(facts->staleness, 1);
      }
    }
}

// Where F, I and W differ: shorter than AMDP under the same costs, in its directions and within its limits.
TEST(Search, DirectionsWithUnequalCosts) {
  for (auto [f, i, w, c, gap] :
       {std::tuple{1.0, 1.15, 0.85, 0.08, 0.01}, {3.0, 2.0, 1.0, 0.3, 0.05}, {1.0, 2.0, 1.5, 0.2, 0.1}})
    for (int d : {4, 8, 12}) {
      CostModel costs;
      costs.stages = {{.forward = f, .input = i, .weight = w}};
      costs.latency = c;
      Result<BlockResult> amdp = searchAmdpBlock(d, costs, {.maxEvaluations = 10});
      ASSERT_TRUE(amdp) << amdp.error();
      Result<DirectionsResult> found = searchDirections(d, d / 2, 24 * d, 4, costs, {.maxEvaluations = 300});
      ASSERT_TRUE(found) << found.error();
      EXPECT_LT(found->blockTime, amdp->amdp) << "d " << d << " F " << f;
      EXPECT_LE(found->blockTime, found->lowerBound * (1 + gap)) << "d " << d << " F " << f;
      Schedule whole = found->schedule;
      ASSERT_TRUE(addMessages(found->pipeline, whole));
      Result<ScheduleFacts> facts = verify(found->pipeline, whole, {.maxActivations = d});
      ASSERT_TRUE(facts) << facts.error();
      EXPECT_LE(facts->staleness, 1);
      std::printf("d %d, F %g I %g W %g c %g: block %.3f, amdp %.3f, bound %g, %d late\n", d, f, i, w, c,
                  found->blockTime, amdp->amdp, found->lowerBound, found->mismatched);
    }
}

// A synchronous step in several directions: with two, no longer than Chimera and DualPipe in the memory of either; at
// F = I = W as short as the bound, in the memory of 1F1B.
TEST(Search, StepsInSeveralDirections) {
  for (auto [p, m, directions] : {std::tuple{4, 8, 2}, {4, 16, 2}, {8, 16, 2}, {8, 32, 2}, {8, 32, 4}, {12, 48, 6}})
    for (auto [f, i, w, c] : {std::tuple{1.0, 1.0, 1.0, 0.0}, {1.0, 1.0, 1.0, 0.1}, {1.0, 1.15, 0.85, 0.08}}) {
      CostModel costs;
      costs.stages = {{.forward = f, .input = i, .weight = w}};
      costs.latency = c;
      std::string where = std::to_string(p) + " ranks, " + std::to_string(m) + " micro-batches, " +
                          std::to_string(directions) + " directions, I " + std::to_string(i) + ", c " +
                          std::to_string(c);
      Result<DirectionsResult> found =
          searchDirections(p, directions, m, 1, costs, {.maxMemory = double(p), .maxEvaluations = 600});
      ASSERT_TRUE(found) << found.error();
      EXPECT_GE(found->blockTime, found->lowerBound - 1e-9);
      EXPECT_LE(found->blockTime, found->lowerBound * (c > 0 ? 1.07 : 1) + 1e-9) << where;
      Schedule whole = found->schedule;
      ASSERT_TRUE(addMessages(found->pipeline, whole));
      Result<ScheduleFacts> facts = verify(found->pipeline, whole, {.maxActivations = p});
      ASSERT_TRUE(facts) << facts.error();
      EXPECT_EQ(facts->staleness, 0);
      Result<Timeline> timeline = simulate(found->pipeline, found->schedule.computeOnly(), costs);
      ASSERT_TRUE(timeline) << timeline.error();
      EXPECT_NEAR(timeline->makespan, found->blockTime, 1e-9) << where;
      std::printf("%s: %g, bound %g by %s\n", where.c_str(), found->blockTime, found->lowerBound,
                  found->origin.c_str());
      for (const char *kind : {"chimera", "dualpipe"}) {
        Result<PlannedSchedule> known =
            makeSchedule({.kind = kind, .ranks = p, .microbatches = m}, {.messages = false, .update = false});
        ASSERT_TRUE(known) << known.error();
        Result<Timeline> timed = simulate(known->pipeline, known->schedule, costs);
        ASSERT_TRUE(timed) << timed.error();
        if (directions == 2) {
          EXPECT_LT(found->blockTime, timed->makespan) << where << ", " << kind;
        }
      }
    }
}

// A window that ends too late for the one after the next is not offered.
TEST(Search, RefusesWindowsThatAreTooShort) {
  CostModel costs;
  costs.stages = {{}};
  costs.latency = 5;
  Result<DirectionsResult> found = searchDirections(8, 4, 8 * 8, 16, costs, {.maxEvaluations = 20});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().find("choose fewer updates"), std::string::npos) << found.error();
}

// What a search finds depends on the schedules it may try. A time limit ends it early and changes nothing else.
TEST(Search, TheClockOnlyEndsIt) {
  CostModel costs;
  costs.stages = {{.forward = 1, .input = 1.2, .weight = 0.7}};
  costs.latency = 0.3;
  Pipeline pipeline = Pipeline::chain(4, 12);
  auto search = [&](double seconds) {
    Result<SearchResult> found =
        searchSchedule(pipeline, costs, {.maxMemory = 5, .maxEvaluations = 400, .seconds = seconds});
    EXPECT_TRUE(found) << found.error();
    return *found;
  };
  SearchResult free = search(-1), ample = search(1e9), none = search(0);
  EXPECT_EQ(free.schedule.csv(), ample.schedule.csv());
  EXPECT_EQ(free.evaluated, ample.evaluated);
  EXPECT_LT(none.evaluated, free.evaluated);
  EXPECT_GE(none.value, free.value);
  EXPECT_TRUE(verify(pipeline, none.schedule));
}

TEST(Search, DirectionsArePlacedAsChimeraAndAmdp) {
  for (int d : {4, 8, 12}) {
    EXPECT_EQ(directionsPipeline(d, 2, d).placement, mirroredPipeline(d, d).placement);
    EXPECT_EQ(directionsPipeline(d, d / 2, d).placement, amdpPipeline(d, d).placement);
  }
}
