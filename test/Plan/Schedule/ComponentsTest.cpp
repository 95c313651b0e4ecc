//===- ComponentsTest.cpp - Joined pipelines, three phases and deferral ---===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

using namespace braid::plan;

template <typename T> static T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error());
  return result ? *result : T{};
}

static Pipeline joined(const std::vector<const char *> &texts, int microbatches) {
  std::vector<Component> components;
  for (const char *text : texts)
    components.push_back(must(Component::parse(text)));
  return must(joinComponents(components, microbatches));
}

static std::string row(const Schedule &schedule, int rank) {
  std::string text;
  for (const Action &action : schedule.rows[rank])
    text += (text.empty() ? "" : " ") + action.str();
  return text;
}

static const GenerateOptions computeOnly = {.messages = false, .update = false};

TEST(Components, TextNamesRanksReadersAndFlags) {
  Component vision = must(Component::parse("vision:0-2,7:llm@1,other:frozen,defers"));
  EXPECT_EQ(vision.name, "vision");
  EXPECT_EQ(vision.ranks, (std::vector<int>{0, 1, 2, 7}));
  ASSERT_EQ(vision.readers.size(), 2u);
  EXPECT_EQ(vision.readers[0].component, "llm");
  EXPECT_EQ(vision.readers[0].stage, 1);
  EXPECT_FALSE(vision.trains);
  EXPECT_TRUE(vision.defers);
  EXPECT_EQ(must(Component::parse("llm:3-0")).ranks, (std::vector<int>{3, 2, 1, 0}));
  for (const char *text :
       {"", "llm", ":0", "llm:", "llm:a", "llm:0-", "llm:-1", "llm:0:x@y", "llm:0::fast", "a:0:b:c:d",
        "llm:99999999999999", "a:0::", "a:0:b,", "a:0:b,b", "a:0:b:frozen,frozen", " a:0", "a:0:b:,frozen"})
    EXPECT_FALSE(Component::parse(text)) << text;
  EXPECT_NE(Component::parse("llm:0::frosen").error().find("did you mean 'frozen'"), std::string::npos);
}

TEST(Components, RefuseWhatDoesNotJoin) {
  auto error = [](const std::vector<const char *> &texts) {
    std::vector<Component> components;
    for (const char *text : texts)
      components.push_back(must(Component::parse(text)));
    Result<Pipeline> pipeline = joinComponents(components, 4);
    return pipeline ? std::string("joined") : pipeline.error();
  };
  EXPECT_NE(error({"a:0:lmm", "llm:1"}).find("did you mean 'llm'"), std::string::npos);
  EXPECT_NE(error({"a:0:b", "b:1:a", "c:2"}).find("circle"), std::string::npos);
  EXPECT_NE(error({"a:0", "llm:1"}).find("2 components have no reader"), std::string::npos);
  EXPECT_NE(error({"a:0:llm@2", "llm:1-2"}).find("enters stage 2 of 'llm', which has 2"), std::string::npos);
  EXPECT_NE(error({"a:0:llm", "a:1:llm", "llm:2"}).find("called 'a'"), std::string::npos);
  EXPECT_NE(error({"a:0:b", "b:1:llm:defers", "llm:2"}).find("let every stage in front"), std::string::npos);
  EXPECT_NE(error({"a:0-1:b:lanes", "b:0-2:llm:lanes", "llm:3"}).find("same number"), std::string::npos);
}

TEST(Components, JoinInTopologicalOrderWithTheLossLast) {
  Pipeline pipeline = joined({"llm:3-4", "audio:2:llm", "vision:0-1:llm:frozen"}, 4);
  EXPECT_EQ(pipeline.components, (std::vector<std::string>{"audio", "vision", "llm"}));
  EXPECT_EQ(pipeline.placement[0], (std::vector<int>{2, 0, 1, 3, 4}));
  std::vector<std::tuple<int, int, bool>> edges;
  for (const Edge &edge : pipeline.edges)
    edges.push_back({edge.from, edge.to, edge.carriesGradient});
  EXPECT_EQ(edges, (std::vector<std::tuple<int, int, bool>>{{1, 2, false}, {0, 3, true}, {2, 3, false}, {3, 4, true}}));
  EXPECT_FALSE(pipeline.stages[1].backward);
  EXPECT_TRUE(pipeline.stages[3].backward);
}

// A frozen model behind an encoder that trains has a backward: the encoder's gradient goes through it.
TEST(Components, GradientsGoThroughFrozenReaders) {
  Pipeline pipeline = joined({"vision:0:llm", "llm:1-2::frozen"}, 4);
  for (const Stage &stage : pipeline.stages)
    EXPECT_TRUE(stage.backward);
  Schedule schedule = must(oneFOneB(pipeline));
  Result<ScheduleFacts> facts = verify(pipeline, schedule);
  EXPECT_TRUE(facts) << facts.error();
}

// With equal stages a join takes the time of its longest chain: 1F1B's closed form.
TEST(Components, JoinsTakeTheTimeOfTheirLongestPath) {
  for (int m : {1, 4, 16})
    for (auto [texts, longest] : {std::pair{std::vector<const char *>{"v:0-2:llm", "llm:3-5"}, 6},
                                  {{"v:0-2:llm", "a:6:llm", "llm:3-5"}, 6},
                                  {{"v:0-2:llm", "a:6-9:llm", "llm:3-5"}, 7},
                                  {{"v:0-1:llm", "a:2:fuse", "t:3-5:fuse", "fuse:6:llm@1", "llm:7-9"}, 6}}) {
      Pipeline pipeline = joined(texts, m);
      Schedule schedule = must(oneFOneB(pipeline, computeOnly));
      CostModel costs;
      costs.stages = {{}};
      EXPECT_DOUBLE_EQ(must(simulate(pipeline, schedule, costs)).makespan, 3.0 * (m + longest - 1));
      // Warm-up by longest path: stages to the end.
      PipelineGraph graph(pipeline);
      Result<ScheduleFacts> facts = verify(pipeline, must(oneFOneB(pipeline)));
      ASSERT_TRUE(facts) << facts.error();
      for (int stage = 0; stage < pipeline.numStages(); ++stage)
        EXPECT_EQ(facts->peakActivations[pipeline.rankOf(stage)], std::min(m, graph.depth[stage]));
    }
}

TEST(Components, ThreePhases) {
  PlannedSchedule planned = must(makeSchedule({.kind = "three_phase", .ranks = 2, .microbatches = 3}, computeOnly));
  // Stages 0 and 1 are the encoder's lanes, 2 and 3 the model.
  EXPECT_EQ(row(planned.schedule, 0), "0F0 0F1 0F2 2F0 2F1 2B0 2F2 2B1 2B2 0B0 0B1 0B2");
  EXPECT_EQ(row(planned.schedule, 1), "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1B0 1B1 1B2");
  for (int p : {1, 2, 4, 7})
    for (int m : {1, 3, 8, 20}) {
      PlannedSchedule whole = must(makeSchedule({.kind = "three_phase", .ranks = p, .microbatches = m}));
      for (int buffers : {0, 1}) {
        Result<ScheduleFacts> facts = verify(whole.pipeline, whole.schedule, {.buffers = buffers});
        ASSERT_TRUE(facts) << facts.error();
      }
      PlannedSchedule order = must(makeSchedule({.kind = "three_phase", .ranks = p, .microbatches = m}, computeOnly));
      CostModel costs;
      for (int stage = 0; stage < 2 * p; ++stage)
        costs.stages.push_back(stage < p ? StageCost{.forward = 0.5, .input = 0.25, .weight = 0.5}
                                         : StageCost{.forward = 2, .input = 3, .weight = 1});
      Timeline timeline = must(simulate(order.pipeline, order.schedule, costs));
      EXPECT_NEAR(timeline.makespan, m * (0.5 + 0.75) + (m + p - 1) * 6.0, 1e-9) << p << " " << m;
    }
}

TEST(Deferral, PartsFollowTheirMicrobatchForwardsAndTheirPartnerBackwards) {
  Pipeline pipeline = joined({"v:0:llm:defers", "llm:1"}, 4);
  EXPECT_EQ(pipeline.partner, (std::vector<int>{1, -1, 3, -1}));
  Schedule schedule = must(oneFOneB(pipeline, computeOnly));
  EXPECT_EQ(row(schedule, 0), "0F0 0F0' 0F1 0B0 0F2 0F2' 0B1 0B0' 0F3 0B2 0B3 0B2'");
  EXPECT_EQ(row(schedule, 1), "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3");
  Schedule whole = must(oneFOneB(pipeline));
  EXPECT_EQ(row(whole, 1).substr(0, 80),
            "1RECV_F0 1F0 1RECV_F0' 1B0 1RECV_F1 1SEND_B0 1F1 1B1 1RECV_F2 1SEND_B1 1SEND_B0'");
  // Odd numbers leave the last one alone.
  EXPECT_EQ(joined({"v:0:llm:defers", "llm:1"}, 3).partner, (std::vector<int>{1, -1, -1}));
}

TEST(Deferral, TimesByHand) {
  // Encoder: F 4, of micro-batch 0 half is deferred; model: F0 1, F1 3.
  Pipeline pipeline = joined({"v:0:llm:defers", "llm:1"}, 2);
  Schedule schedule = must(oneFOneB(pipeline, computeOnly));
  CostModel costs;
  costs.stages = {{.forward = 4, .input = 2, .weight = 2}, {}};
  costs.duration = [](const Action &action) {
    if (action.stage == 0)
      return action.microbatch == 0 ? 2.0 : 4.0;
    return action.microbatch == 0 ? 1.0 : 3.0;
  };
  Timeline timeline = must(simulate(pipeline, schedule, costs));
  // v:   F0 0-2, F0' 2-4, F1 4-8, B0 8-10, B1 14-18, B0' 18-20
  // llm: F0 2-3, B0 3-4, F1 8-11 (F0' is there since 4), B1 11-14
  EXPECT_EQ(row(schedule, 0), "0F0 0F0' 0F1 0B0 0B1 0B0'");
  EXPECT_EQ(timeline.start[0], (std::vector<double>{0, 2, 4, 8, 14, 18}));
  EXPECT_EQ(timeline.start[1], (std::vector<double>{2, 3, 8, 11}));
  EXPECT_DOUBLE_EQ(timeline.makespan, 20);
  // Without a duration the share divides a stage's costs, and its memory.
  costs.duration = {};
  costs.deferredShare = 0.25;
  costs.stages[0].activation = 8;
  timeline = must(simulate(pipeline, schedule, costs));
  EXPECT_DOUBLE_EQ(timeline.end[0][0], 3);
  EXPECT_DOUBLE_EQ(timeline.end[0][1], 4);
  EXPECT_DOUBLE_EQ(timeline.peakActivation[0], 16);
}

TEST(Deferral, EagerForwardsRunAheadInStagesThatDefer) {
  Pipeline pipeline = joined({"v:0:llm:defers", "llm:1"}, 6);
  GenerateOptions eager = computeOnly;
  eager.eager = 4;
  Schedule schedule = must(oneFOneB(pipeline, eager));
  EXPECT_EQ(row(schedule, 0).substr(0, 28), "0F0 0F0' 0F1 0F2 0F2' 0F3 0B");
  EXPECT_EQ(row(schedule, 1).substr(0, 15), "1F0 1B0 1F1 1B1");
  GenerateOptions fourInFlight;
  fourInFlight.eager = 4;
  // The deferred part of micro-batch 0 is held until micro-batch 1 comes back: one more than in flight.
  EXPECT_EQ(must(verify(pipeline, must(oneFOneB(pipeline, fourInFlight)))).peakActivations[0], 5);
}

namespace {
/// The times of a table from its definition alone: an action starts at the end of the one before it on its rank and of
/// all that it reads. Slow, and shares no code with the simulator.
class Reference {
public:
  Reference(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs)
      : pipeline(pipeline), schedule(schedule), costs(costs) {}

  double makespan() {
    size_t left = 0;
    for (const std::vector<Action> &row : schedule.rows)
      left += row.size();
    std::vector<size_t> next(schedule.rows.size());
    std::vector<double> free(schedule.rows.size());
    double last = 0;
    for (bool moved = true; moved && left > 0;) {
      moved = false;
      for (size_t rank = 0; rank < schedule.rows.size(); ++rank) {
        if (next[rank] == schedule.rows[rank].size())
          continue;
        const Action &action = schedule.rows[rank][next[rank]];
        double at = inputs(action, static_cast<int>(rank));
        if (at < 0)
          continue;
        double end = std::max(at, free[rank]) + costs.duration(action);
        ends[{action.kind == ActionKind::Forward, action.stage, action.microbatch, action.sub}] = end;
        free[rank] = end;
        last = std::max(last, end);
        ++next[rank];
        --left;
        moved = true;
      }
    }
    return left ? -1 : last;
  }

private:
  bool after(double &at, bool forward, int stage, int microbatch, int sub, int rank) const {
    auto found = ends.find({forward, stage, microbatch, sub});
    if (found == ends.end())
      return false;
    at = std::max(at, found->second + (pipeline.rankOf(stage) == rank ? 0 : costs.latency));
    return true;
  }
  double inputs(const Action &action, int rank) const {
    double at = 0;
    bool forward = action.kind == ActionKind::Forward;
    if (!forward && !after(at, true, action.stage, action.microbatch, action.sub, rank))
      return -1;
    for (const Edge &edge : pipeline.edges) {
      bool from = pipeline.stages[edge.from].defers, to = pipeline.stages[edge.to].defers;
      if (forward && edge.to == action.stage) {
        if (!after(at, true, edge.from, action.microbatch, action.sub, rank))
          return -1;
        for (int source = 0; from && !to && source < pipeline.microbatches; ++source)
          if (pipeline.partnerOf(source) == action.microbatch && !after(at, true, edge.from, source, 1, rank))
            return -1;
      }
      if (!forward && edge.from == action.stage && edge.carriesGradient) {
        bool joins = from && !to && action.sub == 1;
        if (!after(at, false, edge.to, joins ? pipeline.partnerOf(action.microbatch) : action.microbatch,
                   joins ? 0 : action.sub, rank))
          return -1;
      }
    }
    return at;
  }

  const Pipeline &pipeline;
  const Schedule &schedule;
  const CostModel &costs;
  std::map<std::tuple<bool, int, int, int>, double> ends;
};
} // namespace

TEST(Deferral, RandomJoinsAgreeWithTheDefinition) {
  std::mt19937 random(7);
  auto below = [&](int count) { return static_cast<int>(random() % count); };
  for (int round = 0; round < 1500; ++round) {
    // One to three encoders in front of one or two joints, on ranks of their own or shared.
    std::vector<Component> components;
    int encoders = 1 + below(3), rank = 0;
    bool shared = below(3) == 0, fuse = below(2);
    auto ranksOf = [&](int count) {
      std::vector<int> ranks;
      for (int i = 0; i < count; ++i)
        ranks.push_back(shared ? i : rank++);
      return ranks;
    };
    bool defers = below(2);
    for (int encoder = 0; encoder < encoders; ++encoder)
      components.push_back({.name = "e" + std::to_string(encoder),
                            .ranks = ranksOf(1 + below(3)),
                            .readers = {{fuse && encoder > 0 ? "fuse" : "llm"}},
                            .trains = below(4) > 0,
                            .defers = defers && (fuse || below(2) == 0),
                            .lanes = below(4) == 0});
    if (fuse && encoders > 1)
      components.push_back(
          {.name = "fuse", .ranks = ranksOf(1 + below(2)), .readers = {{"llm"}}, .defers = defers && below(2) == 0});
    components.push_back({.name = "llm", .ranks = ranksOf(1 + below(4))});
    int m = 1 + below(9);
    Pipeline pipeline = must(joinComponents(components, m));
    // Any partners, a later one each.
    if (!pipeline.partner.empty() && below(2))
      for (int microbatch = 0; microbatch < m; ++microbatch)
        pipeline.partner[microbatch] = below(2) && microbatch + 1 < m ? microbatch + 1 : -1;
    int generator = below(3);
    auto make = [&](const GenerateOptions &options) {
      return generator == 0   ? oneFOneB(pipeline, options)
             : generator == 1 ? gpipe(pipeline, options)
                              : threePhase(pipeline, options);
    };
    GenerateOptions options;
    options.eager = below(2) * below(6);
    Result<Schedule> whole = make(options);
    ASSERT_TRUE(whole) << whole.error();
    for (int buffers : {0, 1}) {
      Result<ScheduleFacts> facts = verify(pipeline, *whole, {.buffers = buffers});
      ASSERT_TRUE(facts) << facts.error() << "\n" << whole->csv();
    }
    options.messages = options.update = false;
    Schedule order = must(make(options));
    CostModel costs;
    costs.stages = {{}};
    costs.latency = below(3) * 0.5;
    std::map<std::string, double> durations;
    costs.duration = [&](const Action &action) {
      return durations.try_emplace(action.str(), 0.25 * (1 + below(12))).first->second;
    };
    Timeline timeline = must(simulate(pipeline, order, costs));
    EXPECT_NEAR(timeline.makespan, Reference(pipeline, order, costs).makespan(), 1e-9) << order.csv();
  }
}
