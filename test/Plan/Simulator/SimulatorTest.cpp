//===- SimulatorTest.cpp - Durations, links, blocks, memory, drawings and scale -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Simulator/Simulator.h"
#include "braid/Plan/Draw/Draw.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

using namespace braid::plan;

static PlannedSchedule make(const ScheduleRequest &request,
                            const GenerateOptions &options = {.messages = false, .update = false}) {
  Result<PlannedSchedule> made = makeSchedule(request, options);
  EXPECT_TRUE(made) << (made ? "" : made.error());
  return made ? *made : PlannedSchedule{};
}

static Timeline time(const PlannedSchedule &planned, const CostModel &costs) {
  Result<Timeline> timeline = simulate(planned.pipeline, planned.schedule, costs);
  EXPECT_TRUE(timeline) << (timeline ? "" : timeline.error());
  return timeline ? *timeline : Timeline{};
}

// Closed forms of schedules.md for random costs.
TEST(Simulator, ClosedForms) {
  for (int p : {2, 4, 7})
    for (int m : {8, 14, 28})
      for (auto [f, i, w, c] : {std::tuple{3.0, 2.0, 1.0, 0.0}, {5.0, 7.0, 3.0, 0.0}, {8.0, 8.0, 4.0, 0.25}}) {
        CostModel costs;
        costs.stages = {{.forward = f, .input = i, .weight = w}};
        costs.latency = c;
        double b = i + w;
        ScheduleRequest request{.ranks = p, .microbatches = m};
        auto makespan = [&](const char *kind) {
          request.kind = kind;
          return time(make(request), costs).makespan;
        };
        EXPECT_NEAR(makespan("gpipe"), (m + p - 1) * (f + b) + 2 * c * (p - 1), 1e-9);
        EXPECT_NEAR(makespan("1f1b"), (m + p - 1) * (f + b) + 2 * c * ((p - 1) + (m - 1) - std::ceil((m - 1.0) / p)),
                    1e-9);
        if (m >= 2 * p && w <= std::min(f, i) && 2 * c <= w) {
          EXPECT_NEAR(makespan("zb_h1"), m * (f + b) + (p - 1) * (f + i - w + 4 * c), 1e-9);
        }
      }
}

// A frozen model behind an encoder has no weight gradients, so its B is as long as I. GPipe of 4 micro-batches on 3
// stages: 6 for the forwards; the first gradient is at the encoder 2 later, which then takes 4 times I + W.
TEST(Simulator, FrozenStagesHaveNoWeightGradient) {
  ScheduleRequest request{.kind = "gpipe", .microbatches = 4};
  for (const char *text : {"v:0:llm", "llm:1-2::frozen"})
    request.components.push_back(*Component::parse(text));
  Result<PlannedSchedule> planned = makeSchedule(request, {.messages = false, .update = false});
  ASSERT_TRUE(planned) << planned.error();
  CostModel costs;
  costs.stages = {{}};
  Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, costs);
  ASSERT_TRUE(timeline) << timeline.error();
  EXPECT_DOUBLE_EQ(timeline->makespan, 6 + 2 + 4 * 2);
}

TEST(Simulator, MicrobatchesMayDiffer) {
  // Two stages in a row: the second waits for each micro-batch of the first.
  PlannedSchedule planned = make({.kind = "gpipe", .ranks = 2, .microbatches = 2});
  CostModel costs;
  costs.stages = {{}};
  costs.duration = [](const Action &action) { return action.microbatch == 0 ? 3.0 : 1.0; };
  Timeline timeline = time(planned, costs);
  // F0 0-3, F1 3-4 | F0 3-6, F1 6-7, B0 7-10, B1 10-11 | B0 10-13, B1 13-14
  EXPECT_DOUBLE_EQ(timeline.makespan, 14);
  EXPECT_DOUBLE_EQ(timeline.start[1][2], 7);
  EXPECT_DOUBLE_EQ(timeline.start[0][2], 10);
}

TEST(Simulator, LinksTakeTimeAndMayBeSerial) {
  PlannedSchedule planned = make({.kind = "gpipe", .ranks = 2, .microbatches = 3});
  CostModel costs;
  costs.stages = {{.forward = 1, .input = 1, .weight = 0}};
  costs.latency = 0.5;
  costs.timePerByte = 0.25;
  costs.forwardBytes = 10; // 2.5 on the link
  Timeline free = time(planned, costs);
  EXPECT_DOUBLE_EQ(free.start[1][0], 4); // 1 + 0.5 + 2.5
  EXPECT_DOUBLE_EQ(free.start[1][2], 6); // 3 + 3
  costs.links = Links::Serial;
  Timeline serial = time(planned, costs);
  EXPECT_DOUBLE_EQ(serial.start[1][0], 4);
  EXPECT_DOUBLE_EQ(serial.start[1][1], 6.5); // the link is free at 3.5, again at 6
  EXPECT_DOUBLE_EQ(serial.start[1][2], 9);
}

// Two senders to one receiver, then one sender to two receivers; F takes 1, a message 2.5 on its link and 0.5 more.
TEST(Simulator, PortsAreSharedAtBothEnds) {
  Pipeline in = Pipeline::chain(3, 1), out = Pipeline::chain(3, 1);
  in.edges = {{0, 0, 2, true}, {1, 1, 2, true}};
  out.edges = {{0, 0, 1, true}, {1, 0, 2, true}};
  CostModel costs;
  costs.stages = {{.forward = 1, .input = 1, .weight = 0}};
  costs.latency = 0.5;
  costs.timePerByte = 0.25;
  costs.forwardBytes = 10;
  auto forwards = [&](const Pipeline &pipeline, Links links) {
    costs.links = links;
    Result<Schedule> schedule = gpipe(pipeline, {.messages = false, .update = false});
    EXPECT_TRUE(schedule);
    Timeline timeline = time({pipeline, *schedule}, costs);
    return std::vector<double>{timeline.start[0][0], timeline.start[1][0], timeline.start[2][0]};
  };
  EXPECT_EQ(forwards(in, Links::Free), (std::vector<double>{0, 0, 4}));
  EXPECT_EQ(forwards(in, Links::Serial), (std::vector<double>{0, 0, 4}));
  EXPECT_EQ(forwards(in, Links::Ports), (std::vector<double>{0, 0, 6.5}));
  EXPECT_EQ(forwards(out, Links::Serial), (std::vector<double>{0, 4, 4}));
  EXPECT_EQ(forwards(out, Links::Ports), (std::vector<double>{0, 4, 6.5}));
  // Ranks 0 and 1 behind one port: their messages to others wait for each other, between them they do not.
  costs.portOf = {0, 0, 1};
  costs.localLatency = 0.25;
  EXPECT_EQ(forwards(in, Links::Ports), (std::vector<double>{0, 0, 6.5}));
  EXPECT_EQ(forwards(out, Links::Ports), (std::vector<double>{0, 1.25, 4}));
}

// Every time of a contended run is what the definition says it is.
TEST(Simulator, ContentionHoldsByDefinition) {
  for (const char *kind : {"1f1b", "zb_h1", "zb_v", "chimera", "dualpipe", "interleaved"})
    for (Links links : {Links::Serial, Links::Ports}) {
      PlannedSchedule planned = make({.kind = kind, .ranks = 4, .microbatches = 8});
      CostModel costs;
      costs.stages = {{}};
      costs.latency = 0.1;
      costs.timePerByte = 1;
      costs.overlap = Overlap::Sequential;
      costs.bytes = [](const Action &send) { return 0.25 + 0.125 * ((send.stage + send.microbatch) % 4); };
      costs.links = links;
      Timeline timeline = time(planned, costs);
      std::map<std::pair<int, std::string>, double> arrives; // at a rank, by the message's text
      std::map<std::pair<bool, std::pair<int, int>>, double> busyUntil;
      double before = 0;
      for (const Transfer &transfer : timeline.transfers) {
        EXPECT_GE(transfer.ready, before) << "in the order in which they are ready";
        before = transfer.ready;
        double leaves = transfer.ready;
        for (bool sender : {true, false}) {
          std::pair<int, int> link = {sender ? transfer.from : transfer.to, -1};
          if (links == Links::Serial)
            link = {transfer.from, transfer.to};
          leaves = std::max(leaves, busyUntil[{sender, link}]);
        }
        for (bool sender : {true, false})
          busyUntil[{sender, links == Links::Serial ? std::pair(transfer.from, transfer.to)
                                                    : std::pair(sender ? transfer.from : transfer.to, -1)}] =
              leaves + transfer.bytes;
        EXPECT_DOUBLE_EQ(transfer.leaves, leaves);
        EXPECT_NEAR(transfer.arrives, leaves + transfer.bytes + 0.1, 1e-12);
        arrives[{transfer.to, transfer.send.str()}] = transfer.arrives;
      }
      // Each action starts when its rank is free and its last message is there, or a local input is.
      size_t bound = 0;
      for (int rank = 0; rank < 4; ++rank)
        for (size_t index = 0; index < planned.schedule.rows[rank].size(); ++index) {
          double free = index ? timeline.end[rank][index - 1] : 0, start = timeline.start[rank][index];
          EXPECT_GE(start, free);
          const Action &action = planned.schedule.rows[rank][index];
          Action send = action;
          send.joinsNext = false;
          bool forward = action.kind == ActionKind::Forward;
          send.kind = forward ? ActionKind::SendF : ActionKind::SendB;
          send.stage = forward ? action.stage - 1 : action.stage + 1;
          send.peer = action.stage;
          auto found = arrives.find({rank, send.str()});
          if (found == arrives.end() || action.kind == ActionKind::BackwardWeight)
            continue;
          EXPECT_DOUBLE_EQ(start, std::max(free, found->second)) << kind << " " << action.str();
          ++bound;
        }
      EXPECT_GT(bound, 30u);
    }
}

TEST(Simulator, ReleasePoints) {
  // A full backward whose input gradient leaves after half of it.
  PlannedSchedule planned = make({.kind = "gpipe", .ranks = 2, .microbatches = 1});
  CostModel costs;
  costs.stages = {{}};
  EXPECT_DOUBLE_EQ(time(planned, costs).makespan, 6);
  costs.inputRelease = 0.5;
  EXPECT_DOUBLE_EQ(time(planned, costs).makespan, 5);
  // A block of 3: its forward is there after a third.
  Pipeline pipeline = Pipeline::chain(2, 2);
  Result<Schedule> schedule = Schedule::parseCsv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n");
  ASSERT_TRUE(schedule);
  costs.inputRelease = 1;
  costs.blockForwardRelease = 1.0 / 3;
  EXPECT_DOUBLE_EQ(time({pipeline, *schedule}, costs).start[1][2], 5);
  costs.blockForwardRelease = 2;
  EXPECT_NE(simulate(pipeline, *schedule, costs).error().find("between 0 and 1"), std::string::npos);
}

TEST(Simulator, RecomputationKeepsCheckpointsOnly) {
  Pipeline pipeline = Pipeline::chain(1, 2);
  Result<Schedule> schedule = Schedule::parseCsv("0F0,0F1,0RECOMPUTE0,0B0,0RECOMPUTE1,0B1\n");
  ASSERT_TRUE(schedule);
  CostModel costs;
  costs.stages = {{.activation = 10, .checkpoint = 2}};
  Timeline timeline = time({pipeline, *schedule}, costs);
  EXPECT_DOUBLE_EQ(timeline.makespan, 2 * (1 + 1 + 2));
  EXPECT_DOUBLE_EQ(timeline.peakMemory[0], 12);
}

TEST(Simulator, LayersRecomputedOneByOneHoldOneAtATime) {
  // F = R = 1, B = 2, 1F1B on p ranks. A backward that recomputes takes 3, and the ones before it wait for that:
  // (m + p - 1)(1 + 3). Recomputation before the gradient comes leaves only the backwards on the way back.
  const int p = 4, m = 8;
  ScheduleRequest request{.ranks = p, .microbatches = m, .recomputes = true};
  CostModel costs;
  costs.stages = {{.activation = 10, .checkpoint = 1, .replayed = 2}};
  Timeline late = time(make(request), costs);
  EXPECT_DOUBLE_EQ(late.makespan, (m + p - 1) * 4);
  EXPECT_DOUBLE_EQ(late.peakMemory[0], p * 1 + 2);
  EXPECT_DOUBLE_EQ(late.peakMemory[p - 1], 1 + 2);
  costs.stages[0].replayed = -1;
  Timeline early = time(make(request), costs);
  EXPECT_DOUBLE_EQ(early.makespan, (p - 1) * 1 + m * 4 + (p - 1) * 2);
  EXPECT_DOUBLE_EQ(early.peakMemory[0], p * 1 + 9);
  // With the backward split in two, what waits for the weight gradient is held after the input gradient.
  costs.stages[0].kept = 3;
  Pipeline pipeline = Pipeline::chain(1, 1);
  Result<Schedule> split = Schedule::parseCsv("0F0,0RECOMPUTE0,0I0,0W0\n");
  ASSERT_TRUE(split);
  costs.stages[0].replayed = 2;
  Timeline timeline = time({pipeline, *split}, costs);
  auto points = memoryOverTime(pipeline, *split, costs, timeline, 1)[0];
  std::vector<double> activations, weightInputs;
  for (const MemoryPoint &point : points) {
    activations.push_back(point.activations);
    weightInputs.push_back(point.weightInputs);
  }
  EXPECT_EQ(activations, (std::vector<double>{1, 3, 0, 0}));
  EXPECT_EQ(weightInputs, (std::vector<double>{0, 0, 3, 0}));
}

TEST(Simulator, BlockingSendsHoldBothEnds) {
  Pipeline pipeline = Pipeline::chain(2, 1);
  Result<Schedule> schedule = Schedule::parseCsv("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  ASSERT_TRUE(schedule);
  CostModel costs;
  costs.stages = {{}};
  costs.latency = 0.5;
  costs.blockingSends = true;
  Timeline timeline = time({pipeline, *schedule}, costs);
  EXPECT_DOUBLE_EQ(timeline.end[0][1], 1.5);
  EXPECT_DOUBLE_EQ(timeline.start[1][1], 1.5);
  EXPECT_DOUBLE_EQ(timeline.makespan, 1 + 0.5 + 1 + 2 + 0.5 + 2);
  Result<Timeline> without = simulate(pipeline, make({.ranks = 2, .microbatches = 1}).schedule, costs);
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().find("table with messages"), std::string::npos);
}

TEST(Simulator, OverlappedBlocksReleaseAsTold) {
  // Rank 0 holds both stages of micro-batch 1's forward and 0's backward; rank 1 waits for the forward's result.
  Pipeline pipeline = Pipeline::chain(2, 2);
  Result<Schedule> schedule = Schedule::parseCsv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n");
  ASSERT_TRUE(schedule);
  CostModel costs;
  costs.stages = {{}};
  auto startOfSecondForward = [&](Overlap overlap) {
    costs.overlap = overlap;
    return time({pipeline, *schedule}, costs).start[1][2];
  };
  // 1B0 ends at 4; the block takes 4..7, its forward alone 4..5; as two actions the forward runs 1..2 already.
  EXPECT_DOUBLE_EQ(startOfSecondForward(Overlap::Atomic), 7);
  EXPECT_DOUBLE_EQ(startOfSecondForward(Overlap::Early), 5);
  EXPECT_DOUBLE_EQ(startOfSecondForward(Overlap::Sequential), 4);
}

TEST(Simulator, MemoryByCause) {
  // 4 of 10 wait for the weight gradient.
  Pipeline pipeline = Pipeline::chain(1, 2);
  Result<Schedule> schedule = Schedule::parseCsv("0F0,0F1,0I0,0I1,0W0,0W1\n");
  ASSERT_TRUE(schedule);
  CostModel costs;
  costs.stages = {{.activation = 10, .kept = 4, .state = 100}};
  Timeline timeline = time({pipeline, *schedule}, costs);
  EXPECT_DOUBLE_EQ(timeline.peakMemory[0], 120);
  EXPECT_DOUBLE_EQ(timeline.peakActivation[0], 20);
  std::vector<double> held, kept;
  std::vector<std::vector<MemoryPoint>> memory = memoryOverTime(pipeline, *schedule, costs, timeline, 1);
  for (const MemoryPoint &point : memory[0]) {
    held.push_back(point.activations);
    kept.push_back(point.weightInputs);
    EXPECT_DOUBLE_EQ(point.state, 100);
  }
  EXPECT_EQ(held, (std::vector<double>{10, 20, 10, 0, 0, 0}));
  EXPECT_EQ(kept, (std::vector<double>{0, 0, 4, 8, 4, 0}));
}

TEST(Simulator, StopsAtADeadlock) {
  Pipeline pipeline = Pipeline::chain(2, 2);
  Result<Schedule> schedule = Schedule::parseCsv("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  CostModel costs;
  costs.stages = {{}};
  Result<Timeline> timeline = simulate(pipeline, *schedule, costs);
  ASSERT_FALSE(timeline);
  EXPECT_NE(timeline.error().find("waits for ever"), std::string::npos);
}

TEST(Draw, EveryScheduleInEveryFormat) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    PlannedSchedule planned = make({.kind = kind.name, .ranks = 4, .microbatches = 8});
    CostModel costs;
    costs.stages = {{}};
    Timeline timeline = time(planned, costs);
    size_t actions = 0;
    for (const std::vector<Action> &row : planned.schedule.rows)
      actions += std::count_if(row.begin(), row.end(), [](const Action &action) { return isCompute(action.kind); });
    std::string trace = drawTrace(planned.pipeline, planned.schedule, costs, timeline);
    nlohmann::json parsed = nlohmann::json::parse(trace, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << kind.name;
    size_t drawn = 0;
    for (const auto &event : parsed["traceEvents"])
      drawn += event["ph"] == "X";
    EXPECT_EQ(drawn, actions) << kind.name;
    std::string svg = drawSvg(planned.pipeline, planned.schedule, timeline);
    size_t titles = 0;
    for (size_t at = 0; (at = svg.find("<title>", at)) != std::string::npos; ++at)
      ++titles;
    EXPECT_EQ(titles, actions) << kind.name;
    EXPECT_EQ(svg.find("http://www.w3.org/2000/svg"), svg.find("http")) << "nothing from outside";
    std::string page = drawHtml(planned.pipeline, planned.schedule, costs, timeline);
    EXPECT_EQ(page.find("src="), std::string::npos);
    EXPECT_NE(page.find("</html>"), std::string::npos);
  }
}

TEST(Draw, TextTimeline) {
  PlannedSchedule planned = make({.kind = "1f1b", .ranks = 2, .microbatches = 2});
  CostModel costs;
  costs.stages = {{}};
  EXPECT_EQ(drawText(planned.pipeline, planned.schedule, time(planned, costs)),
            "rank 0  |F0 F1 .  .  B0 -- .  B1 --\n"
            "rank 1  |.  F0 B0 -- F1 B1 -- .  .\n"
            "one column = 1; makespan 9, bubble 33.33 %\n");
}

// The full size of 1,024 ranks and 8,192 micro-batches is timed by hand: docs/Benchmarks.md.
TEST(Simulator, LargeTablesTakeSeconds) {
  auto begin = std::chrono::steady_clock::now();
  PlannedSchedule planned = make({.kind = "1f1b", .ranks = 256, .microbatches = 2048}, {});
  Result<ScheduleFacts> facts = verify(planned.pipeline, planned.schedule);
  ASSERT_TRUE(facts) << facts.error();
  CostModel costs;
  costs.stages = {{}};
  EXPECT_DOUBLE_EQ(time(planned, costs).makespan, (2048 + 255) * 3.0);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, 30) << "three million actions";
}
