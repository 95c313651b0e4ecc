//===- ScheduleTest.cpp - Action tables and the classic orders ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Verifier/Verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace braid::plan;

static Schedule must(Result<Schedule> schedule) {
  EXPECT_TRUE(schedule) << (schedule ? "" : schedule.error());
  return schedule ? *schedule : Schedule{};
}

TEST(Action, TextIsPyTorchsAndExtendsIt) {
  for (const char *text :
       {"0F0",      "2I1",       "2W1",          "2B1",          "1SEND_F0",      "2RECV_F0",      "3SEND_B7",
        "0RECV_B2", "4UNSHARD",  "4RESHARD",     "1REDUCE_GRAD", "0SEND_F0>2",    "2RECV_F0<0",    "0F4@1",
        "0F4'",     "0F4'2@3v1", "3SEND_GRAD>0", "0RECV_GRAD<3", "0SEND_PARAM>3", "3RECV_PARAM<0", "0NORM",
        "0STEPv2",  "3LOSS",     "0RECOMPUTE5",  "2WAIT_SEND_F1"}) {
    Result<Action> action = Action::parse(text);
    ASSERT_TRUE(action) << action.error();
    EXPECT_EQ(action->str(), text);
  }
  // A peer that is the neighbour goes without saying.
  EXPECT_EQ(Action::parse("1SEND_F0>2")->str(), "1SEND_F0");
  EXPECT_EQ(Action::parse("1SEND_F0")->peer, 2);
  EXPECT_EQ(Action::parse("1RECV_B0")->peer, 2);
}

TEST(Action, RefusesOtherText) {
  for (const char *text : {"F0", "0X1", "0F", "0F-1", "-1F0", "0F0@", "0F0x", "0F0 1", "0SEND_GRAD", "0SEND_B1",
                           "99999999999F0", "0F0v", "0F0@@1", "0f0"})
    EXPECT_FALSE(Action::parse(text)) << text;
  EXPECT_NE(Action::parse("0Q1").error().find("no kind of action"), std::string::npos);
}

TEST(Action, RandomActionsComeBack) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    Action action;
    action.kind = static_cast<ActionKind>(1 + random() % (numActionKinds - 1));
    action.stage = 1 + random() % 1000;
    action.microbatch = random() % 9000;
    action.direction = random() % 5;
    action.version = random() % 3;
    action.sub = random() % 3;
    action.peer = isMessage(action.kind) ? random() % 1000 : -1;
    Result<Action> again = Action::parse(action.str());
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, action) << action.str();
  }
}

TEST(Schedule, TableComesBackFromCsv) {
  Schedule table = must(oneFOneB(Pipeline::chain(4, 8)));
  Schedule again = must(Schedule::parseCsv(table.csv()));
  EXPECT_EQ(again.rows, table.rows);
  EXPECT_EQ(again.stages, 4);
  EXPECT_EQ(again.microbatches, 8);
  EXPECT_EQ(again.placement, table.placement);
}

TEST(Schedule, BlocksIdleCellsAndLineEndsAreRead) {
  Schedule table = must(Schedule::parseCsv("0F0,,\"(0F1;0B0)OVERLAP_F_B\",0B1\r\n\r\n"));
  ASSERT_EQ(table.ranks(), 2);
  ASSERT_EQ(table.rows[0].size(), 5u);
  EXPECT_EQ(table.rows[0][1].kind, ActionKind::Idle);
  EXPECT_TRUE(table.rows[0][2].joinsNext);
  EXPECT_EQ(table.csv(), "0F0,,(0F1;0B0)OVERLAP_F_B,0B1\n\n");
  Result<Schedule> bad = Schedule::parseCsv("0F0\n1F0,oops\n");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().find("row 2, cell 2"), std::string::npos) << bad.error();
}

// What a block needs is received before it, and what it makes is sent behind it: its halves stay together.
TEST(Schedule, MessagesStandBesideBlocks) {
  for (const char *kind : {"dualpipe", "dualpipev"})
    for (int ranks : {2, 4}) {
      Result<PlannedSchedule> planned = makeSchedule({.kind = kind, .ranks = ranks, .microbatches = 12}, {});
      ASSERT_TRUE(planned) << planned.error();
      int blocks = 0;
      for (const std::vector<Action> &row : planned->schedule.rows)
        for (size_t index = 0; index < row.size(); ++index)
          if (row[index].joinsNext) {
            ++blocks;
            ASSERT_LT(index + 1, row.size());
            EXPECT_TRUE(isCompute(row[index + 1].kind)) << kind << ": " << row[index + 1].str();
          }
      EXPECT_GT(blocks, 0);
      Schedule again = must(Schedule::parseCsv(planned->schedule.csv()));
      EXPECT_TRUE(verify(planned->pipeline, again));
      // A library's table may be wrong where a file cannot.
      for (std::vector<Action> &row : again.rows)
        row.back().joinsNext = true;
      Result<ScheduleFacts> facts = verify(planned->pipeline, again);
      ASSERT_FALSE(facts);
      EXPECT_NE(facts.error().find("first half of an overlapped block"), std::string::npos) << facts.error();
    }
}

TEST(Schedule, SaysWhatPyTorchCannotLoad) {
  EXPECT_EQ(must(Schedule::parseCsv("0F0,0B0\n1F0,1B0\n")).whyNotPyTorch(), "");
  EXPECT_NE(must(Schedule::parseCsv("0F0@1,0B0@1\n")).whyNotPyTorch(), "");
  EXPECT_NE(must(Schedule::parseCsv("0F0,0B0,0STEP\n")).whyNotPyTorch(), "");
}

// The rule of the paper: rank r runs min(p-1-r, m) forwards, then one forward and one backward in turn.
TEST(OneFOneB, FollowsTheRule) {
  for (int p : {1, 2, 3, 4, 8, 16})
    for (int m : {1, 2, 3, 4, 7, 8, 16, 33}) {
      Schedule table = must(oneFOneB(Pipeline::chain(p, m), {.messages = false, .update = false}));
      for (int r = 0; r < p; ++r) {
        std::string expected;
        int forward = 0, backward = 0;
        auto add = [&](const char *kind, int microbatch) {
          expected += std::to_string(r) + kind + std::to_string(microbatch) + " ";
        };
        while (forward < std::min(p - 1 - r, m))
          add("F", forward++);
        while (backward < m) {
          if (forward < m)
            add("F", forward++);
          add("B", backward++);
        }
        std::string row;
        for (const Action &action : table.rows[r])
          row += action.str() + " ";
        EXPECT_EQ(row, expected) << "p " << p << ", m " << m;
      }
    }
}

TEST(OneFOneB, HoldsOneActivationPerStageBehind) {
  for (int p : {2, 4, 8})
    for (int m : {2, 8, 32}) {
      Pipeline pipeline = Pipeline::chain(p, m);
      Result<ScheduleFacts> facts = verify(pipeline, must(oneFOneB(pipeline)));
      ASSERT_TRUE(facts) << facts.error();
      Result<ScheduleFacts> all = verify(pipeline, must(gpipe(pipeline)));
      ASSERT_TRUE(all) << all.error();
      for (int r = 0; r < p; ++r) {
        EXPECT_EQ(facts->peakActivations[r], std::min(m, p - r));
        EXPECT_EQ(all->peakActivations[r], m);
      }
      EXPECT_EQ(facts->messages, int64_t(2) * (p - 1) * m);
    }
}

TEST(Generators, TwoRanksInFull) {
  Pipeline pipeline = Pipeline::chain(2, 2);
  pipeline.tied.push_back({0, {1}});
  EXPECT_EQ(must(oneFOneB(pipeline)).csv(),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0RECV_GRAD<1,0NORM,0STEP,0SEND_PARAM>1,1LOSS\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1SEND_GRAD>0,1NORM,1STEP,1RECV_PARAM<0,1LOSS\n");
}

/// A random pipeline: edges between any stages, several stages per rank, frozen stages at the front.
static Pipeline randomPipeline(std::mt19937 &random) {
  int stages = 1 + random() % 9, ranks = 1 + random() % stages;
  Pipeline pipeline;
  pipeline.microbatches = 1 + random() % 9;
  pipeline.stages.resize(stages);
  std::vector<int> placement(stages);
  for (int stage = 0; stage < stages; ++stage)
    placement[stage] = stage < ranks ? stage : random() % ranks;
  std::shuffle(placement.begin(), placement.end(), random);
  pipeline.placement = {placement};
  int frozen = random() % 3 == 0 ? random() % stages : 0;
  for (int stage = 0; stage < frozen; ++stage)
    pipeline.stages[stage].backward = pipeline.stages[stage].trains = false;
  int id = 0;
  for (int to = 1; to < stages; ++to)
    for (int from = 0; from < to; ++from) {
      bool chain = from + 1 == to && random() % 4 != 0;
      for (int copies = chain ? 1 + random() % 2 : random() % 4 == 0; copies > 0; --copies)
        pipeline.edges.push_back({id++, from, to, pipeline.stages[from].backward && random() % 5 != 0});
    }
  if (stages > 1 && random() % 2 && frozen == 0)
    pipeline.tied.push_back({static_cast<int>(random() % stages), {0, stages - 1}});
  return pipeline;
}

TEST(Generators, AnyPipelineIsLiveUnderBlockingSendsAndSmallBuffers) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    Pipeline pipeline = randomPipeline(random);
    for (bool all : {false, true}) {
      Result<Schedule> table = all ? gpipe(pipeline) : oneFOneB(pipeline);
      ASSERT_TRUE(table) << table.error();
      for (int buffers : {0, 1, 3}) {
        Result<ScheduleFacts> facts = verify(pipeline, *table, {.buffers = buffers});
        ASSERT_TRUE(facts) << facts.error() << "\n" << table->csv();
      }
    }
  }
}

TEST(Generators, FrozenStagesHaveNoBackwardAndDoNotRunAhead) {
  Pipeline pipeline = Pipeline::chain(3, 8);
  pipeline.stages[0].backward = pipeline.stages[0].trains = false;
  pipeline.edges[0].carriesGradient = false;
  Schedule table = must(oneFOneB(pipeline));
  EXPECT_EQ(table.csv().find("0B"), std::string::npos);
  EXPECT_EQ(table.csv().find("0STEP"), std::string::npos);
  // Values of stage 0 wait at rank 1 from their receive to their forward; at most two may.
  int waiting = 0, most = 0;
  for (const Action &action : table.rows[1]) {
    waiting += action.kind == ActionKind::RecvF;
    waiting -= action.kind == ActionKind::Forward;
    most = std::max(most, waiting);
  }
  EXPECT_LE(most, 2);
  EXPECT_TRUE(verify(pipeline, table));
}

TEST(Generators, FrozenStagesOfAnyChainComputeWhatIsNeeded) {
  const std::vector<int> chain = {0, 1, 2, 3}, looped = {0, 1, 0, 1}, folded = {0, 1, 1, 0};
  const std::vector<std::pair<std::string, std::vector<int>>> kinds = {
      {"gpipe", chain},       {"1f1b", chain},  {"zb_h1", chain},   {"zb_h2", chain}, {"interleaved", looped},
      {"looped_bfs", looped}, {"zb_v", folded}, {"v_half", folded}, {"v_min", folded}};
  for (const auto &[kind, placement] : kinds)
    for (int frozen = 0; frozen < 16; ++frozen) {
      Pipeline pipeline = Pipeline::chain(4, 5, placement);
      for (int stage = 0; stage < 4; ++stage) {
        pipeline.stages[stage].trains = !(frozen >> stage & 1);
        pipeline.stages[stage].backward =
            pipeline.stages[stage].trains || (stage && pipeline.stages[stage - 1].backward);
        if (stage)
          pipeline.edges[stage - 1].carriesGradient = pipeline.stages[stage - 1].backward;
      }
      Schedule table = must(scheduleOf(pipeline, {.kind = kind, .microbatches = 5}));
      Result<ScheduleFacts> facts = verify(pipeline, table);
      ASSERT_TRUE(facts) << kind << " " << frozen << ": " << facts.error();
      for (const std::vector<Action> &row : table.rows)
        for (const Action &action : row)
          EXPECT_TRUE(action.kind != ActionKind::BackwardWeight || pipeline.stages[action.stage].trains) << kind;
    }
}

// Also where the ranks do not divide the micro-batches: nothing waits for ever, and no rank runs further ahead than its
// group makes it.
TEST(Generators, InterleavedTakesAnyNumberOfMicrobatches) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (int chunks = 2; chunks <= 4; ++chunks)
      for (int microbatches = 1; microbatches <= 3 * ranks + 2; ++microbatches) {
        Result<PlannedSchedule> planned =
            makeSchedule({.kind = "interleaved", .ranks = ranks, .microbatches = microbatches, .chunks = chunks});
        ASSERT_TRUE(planned) << ranks << " " << chunks << " " << microbatches << ": " << planned.error();
        Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule);
        ASSERT_TRUE(facts) << ranks << " " << chunks << " " << microbatches << ": " << facts.error();
        int groups = std::max(1, microbatches / ranks), largest = (microbatches + groups - 1) / groups;
        EXPECT_LE(facts->peakActivations[0], 2 * (ranks - 1) + (chunks - 1) * std::max(ranks, largest) + 1);
      }
}

TEST(Generators, RefuseStagesOnOtherRanks) {
  auto refusal = [](const char *kind, std::vector<int> placement) {
    return scheduleOf(Pipeline::chain(4, 3, std::move(placement)), {.kind = kind, .microbatches = 3}).error();
  };
  for (const char *kind : {"zb_v", "v_half", "v_min"})
    for (std::vector<int> placement : {std::vector{0, 1, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 1}})
      EXPECT_NE(refusal(kind, placement).find("on ranks 0 .. p-1, p-1 .. 0"), std::string::npos)
          << refusal(kind, placement);
  EXPECT_NE(refusal("zb_h1", {0, 1, 3, 3}).find("stage 3 is on rank 3"), std::string::npos);
}

TEST(Generators, RefusePipelinesThatMakeNoSense) {
  Pipeline backwards = Pipeline::chain(2, 1);
  backwards.edges[0] = {0, 1, 0, true};
  EXPECT_NE(oneFOneB(backwards).error().find("every edge goes to a later one"), std::string::npos);
  Pipeline half = Pipeline::chain(2, 1);
  half.stages[0].backward = false;
  EXPECT_NE(oneFOneB(half).error().find("has no backward"), std::string::npos);
  Pipeline none = Pipeline::chain(2, 0);
  EXPECT_NE(gpipe(none).error().find("micro-batches"), std::string::npos);
}

TEST(Schedule, RecomputationStandsBeforeTheBackwardOrBeforeItsGradient) {
  Pipeline pipeline = Pipeline::chain(2, 2);
  pipeline.stages[0].recomputes = true;
  GenerateOptions options{.update = false};
  Result<Schedule> late = oneFOneB(pipeline, options);
  ASSERT_TRUE(late) << late.error();
  EXPECT_EQ(late->csv(), "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0RECOMPUTE0,0B0,0RECV_B1,0RECOMPUTE1,0B1\n"
                         "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
  options.recomputeEarly = true;
  Result<Schedule> early = oneFOneB(pipeline, options);
  ASSERT_TRUE(early) << early.error();
  EXPECT_EQ(early->csv(), "0F0,0SEND_F0,0F1,0SEND_F1,0RECOMPUTE0,0RECV_B0,0B0,0RECOMPUTE1,0RECV_B1,0B1\n"
                          "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
  // Every kind of schedule, and none twice.
  for (const ScheduleKind &kind : scheduleKinds()) {
    ScheduleRequest request{.kind = kind.name, .ranks = 4, .microbatches = 8, .recomputes = true};
    Result<PlannedSchedule> planned = makeSchedule(request, {});
    ASSERT_TRUE(planned) << kind.name << ": " << planned.error();
    Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule);
    EXPECT_TRUE(facts) << kind.name << ": " << facts.error();
    size_t backwards = 0, recomputations = 0;
    for (const std::vector<Action> &row : planned->schedule.rows)
      for (const Action &action : row) {
        backwards += action.kind == ActionKind::FullBackward || action.kind == ActionKind::BackwardInput;
        recomputations += action.kind == ActionKind::Recompute;
      }
    EXPECT_EQ(backwards, recomputations) << kind.name;
  }
}
