//===- VerifierTest.cpp - Broken tables are refused with the right words --===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Verifier/Verifier.h"
#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <gtest/gtest.h>

#include <random>

using namespace braid::plan;

static Schedule must(Result<Schedule> schedule) {
  EXPECT_TRUE(schedule) << (schedule ? "" : schedule.error());
  return schedule ? *schedule : Schedule{};
}

namespace {
/// A table of a chain of stages, from cells.
struct Case {
  const char *name;
  int stages, microbatches;
  const char *table;
  std::vector<const char *> words; // all in the error
  int buffers = 0, maxActivations = -1;
  std::vector<TiedGroup> tied = {};
  std::vector<int> placement = {};
  int deferring = 0; // leading stages that defer, micro-batch 2k to 2k+1
};
} // namespace

static std::string refusal(const Case &test) {
  Pipeline pipeline = Pipeline::chain(test.stages, test.microbatches, test.placement);
  pipeline.tied = test.tied;
  for (int stage = 0; stage < test.deferring; ++stage)
    pipeline.stages[stage].defers = true;
  for (int microbatch = 0; test.deferring && microbatch < test.microbatches; ++microbatch)
    pipeline.partner.push_back(microbatch % 2 == 0 && microbatch + 1 < test.microbatches ? microbatch + 1 : -1);
  Schedule schedule = must(Schedule::parseCsv(test.table));
  Result<ScheduleFacts> facts =
      verify(pipeline, schedule, {.buffers = test.buffers, .maxActivations = test.maxActivations});
  return facts ? std::string("accepted") : facts.error();
}

static const char *const goodDeferral =
    "0F0,0SEND_F0,0F0',0SEND_F0',0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,0B1,0RECV_B0',0B0',0STEP\n"
    "1RECV_F0,1F0,1RECV_F0',1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1SEND_B0',1STEP\n";

TEST(Verifier, AcceptsTheTablesThatTheOthersBreak) {
  EXPECT_EQ(refusal({"compute only", 2, 2, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", {}}), "accepted");
  EXPECT_EQ(refusal({"messages", 2, 1, "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", {}}), "accepted");
  EXPECT_EQ(refusal({"split", 1, 2, "0F0,0I0,0F1,0I1,0W0,0W1,0NORM,0STEP,0LOSS\n", {}}), "accepted");
  EXPECT_EQ(refusal({"three stages, two ranks", 3, 1, "0F0,2F0,2B0,0B0\n1F0,1B0\n", {}, 0, -1, {}, {0, 1, 0}}),
            "accepted");
  EXPECT_EQ(refusal({"deferral", 2, 2, goodDeferral, {}, 0, -1, {}, {}, 1}), "accepted");
}

/// The good deferral table with one piece of text changed.
static std::string changed(const std::string &from, const std::string &to) {
  std::string table = goodDeferral;
  table.replace(table.find(from), from.size(), to);
  return table;
}

TEST(Verifier, RefusesBrokenDeferrals) {
  struct Change {
    const char *name, *from, *to;
    std::vector<const char *> words;
  };
  for (const Change &change : std::vector<Change>{
           {"the deferred part is not computed", "0F0',0SEND_F0',", "", {"incomplete|out of order", "0F0'|RECV_F0'"}},
           {"it is not sent", "0SEND_F0',", "", {"unpaired", "0SEND_F0' is missing from rank 0"}},
           {"its partner runs before it comes",
            "1RECV_F0',1B0,1SEND_B0,1RECV_F1,1F1",
            "1B0,1SEND_B0,1RECV_F1,1F1,1RECV_F0'",
            {"out of order", "1F1", "runs before 1RECV_F0'"}},
           {"its gradient is sent before the partner's backward",
            "1RECV_F1,1F1,1B1,1SEND_B1,1SEND_B0'",
            "1SEND_B0',1RECV_F1,1F1,1B1,1SEND_B1",
            {"out of order", "1SEND_B0'", "sends before 1B1"}},
           {"its gradient is used before it comes",
            "0RECV_B0',0B0'",
            "0B0',0RECV_B0'",
            {"out of order", "0B0'", "runs before 0RECV_B0'"}},
           {"its gradient is lost", ",0B0'", "", {"lost gradient", "uses 2 of 3 gradients of stage 0"}},
           {"a stage behind the join defers", "1F1,", "1F1,1F1',", {"1F1'", "deferred samples", "stage 1 does not"}},
           {"a micro-batch without a partner defers", "0F1,", "0F1,0F1',", {"0F1'", "micro-batch 1 has no partner"}},
           {"a third part", "0F0',", "0F0'2,", {"0F0'2", "part 0, its kept samples, and part 1"}},
       }) {
    std::string table = changed(change.from, change.to);
    std::string error = refusal({change.name, 2, 2, table.c_str(), {}, 0, -1, {}, {}, 1});
    for (std::string word : change.words) {
      size_t bar = word.find('|');
      bool found = error.find(word.substr(0, bar)) != std::string::npos ||
                   (bar != std::string::npos && error.find(word.substr(bar + 1)) != std::string::npos);
      EXPECT_TRUE(found) << change.name << ": '" << word << "' is not in:\n" << error;
    }
  }
  // Partners stay in one update, and come later.
  Pipeline pipeline = Pipeline::chain(2, 2);
  pipeline.stages[0].defers = true;
  pipeline.partner = {1, -1};
  Schedule schedule =
      must(Schedule::parseCsv("0F0,0F0',0B0,0STEP,0F1v1,0B1v1,0B0'v1,0STEPv1\n1F0,1B0,1STEP,1F1v1,1B1v1,1STEPv1\n"));
  EXPECT_NE(verify(pipeline, schedule).error().find("samples may not leave their update"), std::string::npos);
  pipeline.partner = {-1, 0};
  EXPECT_NE(verify(pipeline, schedule).error().find("name a later one"), std::string::npos);
  pipeline.partner = {1, -1};
  pipeline.stages[0].defers = false;
  pipeline.stages[1].defers = true;
  EXPECT_NE(verify(pipeline, schedule).error().find("let every stage in front"), std::string::npos);
}

TEST(Verifier, RefusesBrokenTables) {
  const std::vector<Case> cases = {
      {"a forward is missing", 2, 2, "0F0,0F1,0B0,0B1\n1F0,1B0,1B1\n", {"out of order", "1B1", "1F1"}},
      {"a micro-batch is missing",
       2,
       3,
       "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n",
       {"incomplete", "runs 2 micro-batches", "has 3", "micro-batch 2"}},
      {"a backward is missing", 2, 2, "0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n", {"incomplete", "0B1 is missing from rank 0"}},
      {"a weight gradient is missing", 1, 2, "0F0,0I0,0F1,0I1,0W0\n", {"incomplete", "0W1 is missing from rank 0"}},
      {"a forward twice", 1, 1, "0F0,0F0,0B0\n", {"0F0 (rank 0, action 1) computes again", "forwards"}},
      {"a backward twice", 1, 1, "0F0,0B0,0W0\n", {"0W0", "computes again", "backwards"}},
      {"backward before forward", 1, 1, "0B0,0F0\n", {"out of order", "0B0", "runs before 0F0", ">>0B0<<"}},
      {"weight before input gradient", 1, 1, "0F0,0W0,0I0\n", {"out of order", "0W0", "runs before 0I0"}},
      {"a block whose backward reads its own forward",
       1,
       1,
       "(0F0;0B0)OVERLAP_F_B\n",
       {"out of order", "0B0 (rank 0, action 1) overlaps with 0F0, whose result it needs"}},
      {"a block of a gradient and what reads it", 1, 1, "0F0,(0I0;0W0)OVERLAP_F_B\n", {"0W0", "overlaps with 0I0"}},
      {"wrong rank", 2, 1, "0F0,0B0\n0F0,1F0,1B0\n", {"0F0 (rank 1, action 0)", "wrong rank", "lives on rank 0"}},
      {"unknown stage", 2, 1, "0F0,0B0\n1F0,1B0,7F0\n", {"7F0", "2 stages"}},
      {"unknown direction", 1, 1, "0F0@1,0B0@1\n", {"0F0@1", "1 direction(s)"}},
      {"a missing receive",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n",
       {"out of order", "1F0", "runs before 1RECV_F0"}},
      {"a missing send",
       2,
       1,
       "0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
       {"unpaired", "0SEND_F0 is missing from rank 0", "1RECV_F0"}},
      {"a gradient is never sent",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n",
       {"unpaired", "1SEND_B0 is missing from rank 1"}},
      {"a send twice",
       2,
       1,
       "0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
       {"unpaired", "0SEND_F0 (rank 0, action 2) is sent twice"}},
      {"a receive twice",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1RECV_F0,1F0,1B0,1SEND_B0\n",
       {"unpaired", "1RECV_F0", "is received twice"}},
      {"a send too early",
       2,
       1,
       "0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
       {"out of order", "0SEND_F0", "sends before 0F0 has computed"}},
      {"a gradient used before it comes",
       2,
       1,
       "0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
       {"out of order", "0B0", "runs before 0RECV_B0"}},
      {"a message between strangers",
       3,
       1,
       "0F0,0SEND_F0,0SEND_F0>2,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0\n"
       "2RECV_F0,2F0,2B0,2SEND_B0\n",
       {"unpaired", "0SEND_F0>2", "no edge goes from stage 0 to stage 2"}},
      {"a message within a rank",
       3,
       1,
       "0F0,0SEND_F0,1F0,1SEND_F0,1RECV_B0,1B0,0B0\n2RECV_F0,2F0,2B0,2SEND_B0\n",
       {"0SEND_F0", "is not needed", "both of its stages live on rank 0"},
       0,
       -1,
       {},
       {0, 0, 1}},
      {"a swapped pair",
       2,
       2,
       "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
       "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       {"deadlock", "these 2 ranks wait for each other in a cycle", "rank 0 waits at 0SEND_F1", ">>0SEND_F1<<",
        ">>1RECV_F0<<"}},
      {"a swapped pair with buffers",
       2,
       2,
       "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
       "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       {"messages are out of order", "0SEND_F1", "1RECV_F0"},
       4},
      {"both send first",
       2,
       2,
       "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
       "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
       {"deadlock", "rank 0 waits at 0SEND_F1 to reach 1RECV_F1 on rank 1",
        "rank 1 waits at 1SEND_B0 to reach 0RECV_B0 on rank 0"}},
      {"a cycle of three ranks",
       3,
       2,
       "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
       "1RECV_F0,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0,1RECV_F1,1F1,1SEND_F1,1RECV_B1,1B1,1SEND_B1\n"
       "2RECV_F0,2F0,2RECV_F1,2B0,2SEND_B0,2F1,2B1,2SEND_B1\n",
       {"deadlock", "rank 1 waits at 1RECV_B0 to reach 2SEND_B0 on rank 2",
        "rank 2 waits at 2RECV_F1 to reach 1SEND_F1 on rank 1"}},
      {"a wait across ranks",
       2,
       2,
       "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n",
       {"deadlock", "rank 0 waits at 0B0 to run 1B0 on rank 1", "rank 1 waits at 1F1 to run 0F1 on rank 0"}},
      {"too many activations",
       1,
       3,
       "0F0,0F1,0F2,0B0,0B1,0B2\n",
       {"out of memory", "0F2", "3 activations in flight", "may hold 2"},
       0,
       2},
      {"step too early", 1, 2, "0F0,0B0,0NORM,0STEP,0F1,0B1\n", {"lost gradient", "0NORM", "uses 1 of 2"}},
      {"step before norm", 1, 1, "0F0,0B0,0STEP,0NORM\n", {"out of order", "0STEP", "before NORM"}},
      {"two steps", 1, 1, "0F0,0B0,0STEP,0STEP\n", {"wrong weights", "already|at version 1"}},
      {"no step on one rank", 2, 1, "0F0,0B0,0STEP\n1F0,1B0\n", {"incomplete", "STEP of update 0 of stage 1"}},
      {"weights that do not exist yet", 1, 1, "0F0v1,0B0v1\n", {"wrong weights", "reads version 1", "before the step"}},
      {"a norm that one rank lacks a gradient for",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0NORM,0B0,0STEP\n1RECV_F0,1F0,1B0,1SEND_B0,1NORM,1STEP\n",
       {"lost gradient", "0NORM", "uses 0 of 1 gradients of stage 0"}},
      {"a tied gradient that is not sent",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0B0,0NORM,0STEP\n1RECV_F0,1F0,1B0,1SEND_B0,1NORM,1STEP\n",
       {"lost gradient", "0NORM", "tied parameter of stage 0"},
       0,
       -1,
       {{0, {1}}}},
      {"a tied value that is not sent back",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0B0,0RECV_GRAD<1,0STEP\n1RECV_F0,1F0,1B0,1SEND_B0,1SEND_GRAD>0,1STEP\n",
       {"unpaired", "SEND_PARAM", "is missing from rank 0"},
       0,
       -1,
       {{0, {1}}}},
      {"a tied value sent before the step",
       2,
       1,
       "0F0,0SEND_F0,0RECV_B0,0B0,0RECV_GRAD<1,0SEND_PARAM>1,0STEP\n"
       "1RECV_F0,1F0,1B0,1SEND_B0,1SEND_GRAD>0,1RECV_PARAM<0,1STEP\n",
       {"wrong weights", "0SEND_PARAM>1", "before STEP"},
       0,
       -1,
       {{0, {1}}}},
      {"a gradient reduced twice",
       1,
       1,
       "0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD,0STEP\n",
       {"double gradient", "second time"}},
      {"a gradient reduced too early",
       1,
       2,
       "0F0,0B0,0REDUCE_GRAD,0F1,0B1,0STEP\n",
       {"lost gradient", "0REDUCE_GRAD", "reduces 1 of 2"}},
      {"the loss too early", 1, 2, "0F0,0B0,0LOSS,0F1,0B1\n", {"0LOSS", "before the last forward"}},
  };
  for (const Case &test : cases) {
    std::string error = refusal(test);
    for (std::string word : test.words) {
      // "a|b" is either.
      size_t bar = word.find('|');
      bool found = error.find(word.substr(0, bar)) != std::string::npos ||
                   (bar != std::string::npos && error.find(word.substr(bar + 1)) != std::string::npos);
      EXPECT_TRUE(found) << test.name << ": '" << word << "' is not in:\n" << error;
    }
  }
}

// Halves of a block that need each other by way of another rank wait for ever: both encoders feed stage 2, so 1B0 is
// there after 0F0 only. One after the other they run.
TEST(Verifier, BlocksWaitForBothHalves) {
  Pipeline pipeline = Pipeline::chain(3, 1, {0, 0, 1});
  pipeline.edges = {{0, 0, 2, true}, {1, 1, 2, true}};
  Schedule schedule = must(Schedule::parseCsv("1F0,(0F0;1B0)OVERLAP_F_B,0B0\n2F0,2B0\n"));
  std::string error = verify(pipeline, schedule).error();
  EXPECT_NE(error.find("rank 0 waits at 1B0 to run 2B0 on rank 1"), std::string::npos) << error;
  schedule.rows[0][1].joinsNext = false;
  EXPECT_TRUE(verify(pipeline, schedule));
}

// The simulator starts a block when both halves can start. It was written on its own, and must stop where the verifier
// refuses.
TEST(Verifier, AgreesWithTheSimulatorOnBlocks) {
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (const char *kind : {"1f1b", "gpipe", "zb_h1", "interleaved", "dualpipev"})
    for (int trial = 0; trial < 200; ++trial) {
      Result<PlannedSchedule> planned =
          makeSchedule({.kind = kind, .ranks = 2, .microbatches = 4}, {.messages = false, .update = false});
      ASSERT_TRUE(planned) << planned.error();
      for (std::vector<Action> &row : planned->schedule.rows)
        for (size_t index = 0; index < row.size(); ++index)
          row[index].joinsNext =
              index + 1 < row.size() && (index == 0 || !row[index - 1].joinsNext) && random() % 4 == 0;
      Result<ScheduleFacts> facts = verify(planned->pipeline, planned->schedule);
      Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, CostModel{.stages = {{}}});
      EXPECT_EQ(bool(facts), bool(timeline)) << kind << "\n" << planned->schedule.csv() << (facts ? "" : facts.error());
      ++(facts ? accepted : refused);
    }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(Verifier, BuffersTurnSomeDeadlocksIntoRuns) {
  Case both = {"both send first",
               2,
               2,
               "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
               "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
               {}};
  EXPECT_NE(refusal(both).find("deadlock"), std::string::npos);
  both.buffers = 1;
  EXPECT_EQ(refusal(both), "accepted");
}

TEST(Verifier, ReplicatedStagesReduceEachGradientOnce) {
  // Two directions through two ranks: stage s of direction 1 lives on rank 1-s.
  Pipeline pipeline = Pipeline::chain(2, 2);
  pipeline.placement.push_back({1, 0});
  const std::string good = "0F0,1F1@1,1B1@1,0B0,0REDUCE_GRAD,1REDUCE_GRAD@1,0STEP,1STEP@1\n"
                           "0F1@1,1F0,1B0,0B1@1,0REDUCE_GRAD@1,1REDUCE_GRAD,1STEP,0STEP@1\n";
  auto check = [&](std::string table) {
    Result<ScheduleFacts> facts = verify(pipeline, must(Schedule::parseCsv(table)));
    return facts ? std::string("accepted") : facts.error();
  };
  EXPECT_EQ(check(good), "accepted");
  auto without = [&](std::string word) {
    std::string table = good;
    table.erase(table.find(word), word.size());
    return check(table);
  };
  EXPECT_NE(without("0REDUCE_GRAD@1,").find("comes before REDUCE_GRAD of stage 0"), std::string::npos);
  EXPECT_NE(without("1STEP@1").find("STEP of update 0 of stage 1"), std::string::npos);
  // The two ends of a reduction in opposite order on two ranks.
  std::string crossed = "0F0,1F1@1,1B1@1,0B0,0REDUCE_GRAD,1REDUCE_GRAD@1,0STEP,1STEP@1\n"
                        "0F1@1,1F0,1B0,0B1@1,1REDUCE_GRAD,0REDUCE_GRAD@1,1STEP,0STEP@1\n";
  EXPECT_NE(check(crossed).find("deadlock"), std::string::npos) << check(crossed);
  EXPECT_NE(check(crossed).find("REDUCE_GRAD"), std::string::npos);
}

TEST(Verifier, BoundsStaleness) {
  // One stage, two updates of one micro-batch each; the second forward runs before the first step.
  Pipeline pipeline = Pipeline::chain(1, 2);
  Schedule schedule = must(Schedule::parseCsv("0F0,0F1,0B0,0STEP,0B1v1,0STEPv1\n"));
  ASSERT_EQ(schedule.updates, 2);
  Result<ScheduleFacts> strict = verify(pipeline, schedule);
  ASSERT_FALSE(strict);
  EXPECT_NE(strict.error().find("stale: 0B1v1"), std::string::npos) << strict.error();
  schedule.staleness = 1;
  Result<ScheduleFacts> loose = verify(pipeline, schedule);
  ASSERT_TRUE(loose) << loose.error();
  EXPECT_EQ(loose->staleness, 1);
  EXPECT_EQ(loose->mismatched, 1);
  // Reading the old weights after the step takes a second copy of them.
  Schedule stashed = must(Schedule::parseCsv("0F0,0F1,0B0,0STEP,0B1,0STEPv1\n"));
  stashed.staleness = 1;
  EXPECT_NE(verify(pipeline, stashed).error().find("the rank holds only version 1"), std::string::npos);
  stashed.weightVersions = 2;
  Result<ScheduleFacts> two = verify(pipeline, stashed);
  ASSERT_TRUE(two) << two.error();
  EXPECT_EQ(two->mismatched, 0);
  // A gradient of update 0 after its step is lost.
  Schedule lost = must(Schedule::parseCsv("0F0,0STEP,0B0v1,0F1v1,0B1v1,0STEPv1\n"));
  lost.staleness = 1;
  EXPECT_NE(verify(pipeline, lost).error().find("lost gradient"), std::string::npos);
}

TEST(Verifier, ErrorsDrawTheTable) {
  Pipeline pipeline = Pipeline::chain(4, 8);
  Schedule schedule = must(oneFOneB(pipeline, {.messages = false, .update = false}));
  std::swap(schedule.rows[1][8], schedule.rows[1][13]); // one backward too early
  Result<ScheduleFacts> facts = verify(pipeline, schedule);
  ASSERT_FALSE(facts);
  EXPECT_NE(facts.error().find("rank 0 |"), std::string::npos) << facts.error();
  EXPECT_NE(facts.error().find(">>"), std::string::npos) << facts.error();
}

TEST(Verifier, BackwardsReadWhatWasRecomputed) {
  Pipeline pipeline = Pipeline::chain(2, 1);
  pipeline.stages[1].recomputes = true;
  auto errorOf = [&](const char *table) {
    Result<ScheduleFacts> facts = verify(pipeline, must(Schedule::parseCsv(table)));
    return facts ? std::string("accepted") : facts.error();
  };
  EXPECT_EQ(errorOf("0F0,0B0\n1F0,1RECOMPUTE0,1B0\n"), "accepted");
  EXPECT_EQ(errorOf("0F0,0B0\n1F0,1RECOMPUTE0,1I0,1W0\n"), "accepted");
  EXPECT_NE(errorOf("0F0,0B0\n1F0,1B0\n").find("1B0 (rank 1, action 1) runs before 1RECOMPUTE0"), std::string::npos)
      << errorOf("0F0,0B0\n1F0,1B0\n");
  EXPECT_NE(errorOf("0F0,0B0\n1RECOMPUTE0,1F0,1B0\n").find("runs before 1F0, whose result it needs"),
            std::string::npos);
  std::string late = errorOf("0F0,0B0\n1F0,1RECOMPUTE0,1B0,1RECOMPUTE0\n");
  EXPECT_NE(late.find("comes after the backward"), std::string::npos) << late;
}
