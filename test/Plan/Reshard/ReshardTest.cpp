//===- ReshardTest.cpp - Reshards with known answers ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardOracle.h"

#include <chrono>
#include <numeric>

using namespace braid::plan;

static std::vector<int> rankRange(int first, int count) {
  std::vector<int> ranks(count);
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

/// Lanes of these axes hold consecutive rows, this many each.
static Rows perLane(std::vector<std::string> axes, const std::vector<int64_t> &rows) {
  Rows result{std::move(axes), {}};
  int64_t at = 0;
  for (int64_t count : rows) {
    append(result.lanes.emplace_back(), {at, at + count});
    at += count;
  }
  return result;
}

/// A sharding of [rows, hidden] whose rows are divided over dp, as many for each lane.
static Sharding dataParallel(int dp, int tp, int firstRank, int64_t rows, const std::string &layout = "[{dp}, {}]") {
  return {{rankRange(firstRank, dp * tp), {{"dp", dp}, {"tp", tp}}},
          *Layout::parse(layout),
          perLane({"dp"}, std::vector<int64_t>(dp, rows / dp))};
}

static ReshardPlan planned(const ValueShape &shape, const Sharding &source, const Sharding &destination,
                           const Network &links = oracle::h100()) {
  Result<ReshardPlan> plan = planReshard(shape, source, destination, links);
  EXPECT_TRUE(plan) << plan.error();
  if (!plan)
    return {};
  std::mt19937 random(1);
  SCOPED_TRACE(oracle::describe(*plan));
  if (oracle::wholeSize(shape) < 10000) {
    oracle::expectRight(*plan, random);
    oracle::expectAdjoint(*plan, random);
  }
  return *plan;
}

static std::vector<StepKind> kindsOf(const ReshardPlan &plan) {
  std::vector<StepKind> kinds;
  for (const ReshardStep &step : plan.steps)
    kinds.push_back(step.kind);
  return kinds;
}

TEST(Layout, PrintsAndParses) {
  for (const char *text : {"[]", "[{}]", "[{\"dp\"}, {}, {\"tp\", \"cp\"}]", "[{}, {}] partial {\"dp\", \"cp.0\"}"}) {
    Result<Layout> layout = Layout::parse(text);
    ASSERT_TRUE(layout) << layout.error();
    EXPECT_EQ(layout->str(), text);
  }
  EXPECT_EQ(Layout::parse(" [ {dp} , {tp,cp} ] partial{x}")->str(), "[{\"dp\"}, {\"tp\", \"cp\"}] partial {\"x\"}");
  for (const auto &[text, words] :
       std::vector<std::pair<std::string, std::string>>{{"", "needs '[' at character 1 instead of the end"},
                                                        {"[{dp}", "needs ',' or ']'"},
                                                        {"[{dp]", "needs ',' or '}'"},
                                                        {"[dp]", "needs '{'"},
                                                        {"[{\"dp}]", "needs a closing '\"'"},
                                                        {"[{,}]", "needs the name of an axis"},
                                                        {"[{}] part {x}", "needs 'partial {AXIS, ...}' or the end"},
                                                        {"[{}] x", "needs 'partial {AXIS, ...}' or the end"}})
    EXPECT_NE(Layout::parse(text).error().find(words), std::string::npos) << Layout::parse(text).error();
}

TEST(Mesh, RefinesToCommonAxes) {
  Mesh encoder{rankRange(0, 8), {{"dp", 4}, {"tp", 2}}}, llm{rankRange(0, 8), {{"dp", 2}, {"tp", 4}}};
  Result<Refinement> common = refineMeshes(encoder, llm);
  ASSERT_TRUE(common) << common.error();
  EXPECT_EQ(common->mesh.str(), "<\"dp.0\"=2, \"dp.1\"=2, \"tp\"=2> ranks [0-7]");
  EXPECT_EQ(common->second[1], (std::vector<std::string>{"dp.1", "tp"}));
  Mesh four{rankRange(0, 24), {{"dp", 4}, {"tp", 6}}}, six{rankRange(0, 24), {{"dp", 6}, {"tp", 4}}};
  EXPECT_FALSE(refineMeshes(four, six));
}

// The paper's colocated example (section 2.2): encoder TP2 DP4 to LLM TP4 DP2 gathers over {0,2}, {1,3}, {4,6}, {5,7}.
TEST(Reshard, ColocatedFanInGathersAsThePaper) {
  ValueShape shape{{8, 3}, 0, 4};
  ReshardPlan plan = planned(shape, dataParallel(4, 2, 0, 8), dataParallel(2, 4, 0, 8));
  ASSERT_EQ(kindsOf(plan), (std::vector<StepKind>{StepKind::AllGather}));
  EXPECT_EQ(groupsOf(plan.steps[0].before.mesh, plan.steps[0].axes),
            (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(plan.bytes(), 8 * 2 * 3 * 4); // each of 8 ranks receives 2 rows of 3 elements
  // Its fan-out narrows, without a message; the gradient of that, replicated on both sides, is gathered.
  EXPECT_EQ(kindsOf(planned(shape, dataParallel(2, 4, 0, 8), dataParallel(4, 2, 0, 8))),
            (std::vector<StepKind>{StepKind::Slice}));
  // Equal sizes: nothing to do.
  EXPECT_TRUE(planned(shape, dataParallel(2, 4, 0, 8), dataParallel(2, 4, 0, 8)).steps.empty());
}

// The same boundary between disjoint ranks. The source's replicas share the sending: 16 ranks' worth of payload leaves
// 8 senders in equal parts, and no receiver gets anything twice.
TEST(Reshard, DisjointFanInIsSharedByReplicas) {
  constexpr int64_t element = 1 << 20; // large, so that bytes decide and not latencies
  ValueShape shape{{8, 16}, 0, element};
  ReshardPlan plan = planned(shape, dataParallel(4, 2, 0, 8), dataParallel(2, 4, 8, 8));
  EXPECT_EQ(plan.bytes(), 8 * 4 * 16 * element); // each of 8 receivers gets its 4 rows
  std::map<int, int64_t> sent;
  for (const Message &message : plan.exchange()->messages)
    sent[message.from] += message.elements;
  EXPECT_EQ(sent.size(), 8u);
  for (const auto &[rank, elements] : sent)
    EXPECT_EQ(elements, sent.begin()->second);
  LeaderBroadcast leader = leaderBroadcast(plan);
  EXPECT_EQ(leader.busiestSent, 2 * 16 * element); // a leader sends its replica's two rows
  EXPECT_LE(busiestSent(plan), leader.busiestSent / 2);
}

TEST(Reshard, NonDivisibleDataParallelSizes) {
  // Five samples of 3, 0, 2, 4, 1 rows: three lanes to two, in another order.
  std::vector<int64_t> rows{3, 0, 2, 4, 1};
  ValueShape shape{{10, 2}, 0, 4};
  Sharding source = dataParallel(3, 1, 0, 9), destination = dataParallel(2, 2, 3, 8);
  source.rows = *Rows::ofSamples({"dp"}, {{0, 1}, {2, 3}, {4}}, rows);
  destination.rows = *Rows::ofSamples({"dp"}, {{4, 3}, {0, 2, 1}}, rows);
  ReshardPlan plan = planned(shape, source, destination);
  EXPECT_EQ(plan.bytes(), 10 * 2 * 4 * 2); // both lanes of tp get all
  // A text-only micro-batch: no rows at all, and no messages.
  source.rows = *Rows::ofSamples({"dp"}, {{}, {}, {}}, rows);
  destination.rows = *Rows::ofSamples({"dp"}, {{1}, {}}, rows);
  shape.sizes[0] = 10;
  EXPECT_TRUE(planned(shape, source, destination).exchange()->messages.empty());
}

// Upstream MLIR's shard dialect compiles this to wrong code (research on compilers, section c): a 4x4 value that should
// end as 8x2 pieces.
TEST(Reshard, SwapsTheAxesOfTwoDims) {
  Mesh mesh{rankRange(0, 8), {{"x", 2}, {"y", 4}}};
  ReshardPlan plan =
      planned({{8, 8}, -1, 4}, {mesh, *Layout::parse("[{x}, {y}]"), {}}, {mesh, *Layout::parse("[{y}, {x}]"), {}});
  EXPECT_GT(plan.bytes(), 0);
}

// A table without samples is replicated forwards, and the gradients of all data-parallel lanes are summed.
TEST(Reshard, SampleFreeValueIsSummedBackwards) {
  ValueShape shape{{4, 4}, -1, 4};
  Sharding source{{rankRange(0, 2), {{"dp", 2}}}, *Layout::parse("[{}, {}]"), {}};
  Sharding destination{{rankRange(2, 3), {{"dp", 3}}}, *Layout::parse("[{}, {}]"), {}};
  EXPECT_EQ(planned(shape, source, destination).bytes(), 3 * 16 * 4);
  destination.layout.partial = {"dp"};
  ReshardPlan back = planned(shape, destination, source);
  EXPECT_EQ(kindsOf(back).front(), StepKind::ReduceScatter);
  EXPECT_EQ(back.bytes(), (2 + 2) * 16 * 4); // two transfers to add three summands, two to hand out
}

// Context-parallel lanes hold parts of a sequence and summands of the gradient at its boundary: the sum over cp comes
// before the route back (the trap in seeds, section 2.2).
TEST(Reshard, PartialGradientOverContextParallelIsReducedFirst) {
  ValueShape shape{{8, 4}, 0, 4};
  Sharding llm{
      {rankRange(4, 4), {{"dp", 2}, {"cp", 2}}}, *Layout::parse("[{dp}, {}] partial {cp}"), perLane({"dp"}, {6, 2})};
  Sharding encoder{{rankRange(0, 4), {{"dp", 4}}}, *Layout::parse("[{dp}, {}]"), perLane({"dp"}, {3, 0, 4, 1})};
  ReshardPlan plan = planned(shape, llm, encoder);
  EXPECT_EQ(kindsOf(plan), (std::vector<StepKind>{StepKind::ReduceScatter, StepKind::Exchange}));
  EXPECT_EQ(plan.bytes(), (8 + 8) * 4 * 4);
}

TEST(Reshard, DataParallelGradientsNeedNoSpecialCase) {
  Mesh mesh{rankRange(0, 4), {{"dp", 4}}};
  ValueShape shape{{8, 4}, -1, 4};
  Sharding partial{mesh, *Layout::parse("[{}, {}] partial {dp}"), {}};
  EXPECT_EQ(kindsOf(planned(shape, partial, {mesh, *Layout::parse("[{}, {}]"), {}})),
            (std::vector<StepKind>{StepKind::AllReduce}));
  EXPECT_EQ(kindsOf(planned(shape, partial, {mesh, *Layout::parse("[{dp}, {}]"), {}})),
            (std::vector<StepKind>{StepKind::ReduceScatter})); // ZeRO
}

TEST(Reshard, RefusesWhatCannotBe) {
  ValueShape shape{{10, 6}, 0, 4};
  Sharding good = dataParallel(2, 2, 0, 10);
  auto refused = [&](const ValueShape &shape, const Sharding &source, const Sharding &destination,
                     const std::string &words) {
    Result<ReshardPlan> plan = planReshard(shape, source, destination, oracle::h100(), {false, "'features'"});
    ASSERT_FALSE(plan) << words;
    EXPECT_NE(plan.error().find(words), std::string::npos) << plan.error();
  };
  auto changed = [&](auto change) {
    Sharding sharding = good;
    change(sharding);
    return sharding;
  };
  Sharding cut = dataParallel(2, 4, 4, 10, "[{dp}, {tp}]");
  refused(shape, good, cut,
          "'features' at the destination: dim 1 has size 6, and axis 'tp' of [{\"dp\"}, {\"tp\"}] cuts "
          "it into 4 unequal parts; the nearest sizes that work are 4 and 8");
  refused(shape, changed([](Sharding &s) { s.layout.dims[1] = {"tq"}; }), good,
          "has none of that name; did you mean 'tp'?");
  refused(shape, changed([](Sharding &s) { s.layout.partial = {"dp"}; }), good, "the axis 'dp' comes twice");
  refused(shape, changed([](Sharding &s) { s.layout.dims.pop_back(); }), good, "give one list of axes for each dim");
  refused(shape, changed([](Sharding &s) { s.layout.dims[0] = {"tp"}; }), good, "does not begin with these axes");
  refused(shape, changed([](Sharding &s) { s.rows.lanes.pop_back(); }), good, "rows are given for 1 lanes");
  refused(shape, changed([](Sharding &s) { s.rows.lanes[1][0].begin = 4; }), good, "row 4 is in two places");
  refused(shape, changed([](Sharding &s) { s.rows.lanes[1][0].end = 11; }), good, "rows count from 0 and end there");
  refused(shape, changed([](Sharding &s) { s.rows.lanes[0][0].begin = 1; }), good, "the destination needs row 0");
  refused(shape, changed([](Sharding &s) { s.mesh.ranks[3] = 0; }), good, "rank 0 comes twice");
  refused(shape, changed([](Sharding &s) { s.mesh.ranks.pop_back(); }), good, "make 4; let the sizes of the axes");
  refused({{}, -1, 4}, good, good, "no dims");
  refused({{int64_t(1) << 40, int64_t(1) << 40}, 0, 4}, good, good, "larger than 2^60 bytes");
  Result<Rows> rows = Rows::ofSamples({"dp"}, {{0}, {7}}, {1, 2});
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().find("sample 7 of lane 1 does not exist; there are 2 samples"), std::string::npos);
}

// The heterogeneous-parallelism paper's bridge: at most 0.62 % of a step, payload up to 3.2 GB each way (section 2.5;
// oracles/hetero.csv). Its non-colocated run: encoder DP8 on ranks 0-7, first LLM stage TP8 DP16 on 128 ranks, step
// 14,340 ms. A payload of 3.2 GB is 3.2e9 / (2 * 12288) rows of bf16.
TEST(Reshard, BridgeIsUnderOnePercentOfAStep) {
  constexpr double step = 14.340;
  int64_t rows = 130176; // divisible by 8, 16 and 16 x 8
  ValueShape shape{{rows, 12288}, 0, 2};
  Sharding encoder = dataParallel(8, 1, 0, rows), llm = dataParallel(16, 8, 8, rows);
  Result<ReshardPlan> forward = planReshard(shape, encoder, llm, oracle::h100());
  ASSERT_TRUE(forward) << forward.error();
  // The gradient is alike in all lanes of tp.
  Result<ReshardPlan> backward = planReshard(shape, llm, encoder, oracle::h100());
  ASSERT_TRUE(backward) << backward.error();
  double share = (forward->time() + backward->time()) / step;
  LeaderBroadcast leader = leaderBroadcast(*forward), leaderBack = leaderBroadcast(*backward);
  std::printf("3.2 GB each way, DP8 to TP8 DP16: %.2f ms forwards, %.2f ms backwards, %.3f %% of a step; leader and "
              "broadcast %.2f and %.2f ms, %.3f %%\n",
              forward->time() * 1e3, backward->time() * 1e3, 100 * share, leader.time * 1e3, leaderBack.time * 1e3,
              100 * (leader.time + leaderBack.time) / step);
  EXPECT_LT(share, 0.01);
  EXPECT_LT(share, 0.0062);
  // Forwards each encoder lane sends its payload once over the network, and the LLM's nodes gather: as many bytes per
  // sender as its leader would send. Backwards eight lanes share what one leader would send.
  EXPECT_EQ(kindsOf(*forward), (std::vector<StepKind>{StepKind::Exchange, StepKind::AllGather}));
  EXPECT_EQ(busiestSent(*forward), leader.busiestSent);
  EXPECT_EQ(busiestSent(*backward) * 8, leaderBack.busiestSent);
}

// The paper's colocated run: encoder DP32 to LLM TP2 CP8 DP2 on the same 32 ranks, 64K tokens of which 75 % are vision,
// two samples a micro-batch; hidden size 4096 of a 7B model, bf16. Forward and backward of the step take 2,973 ms.
TEST(Reshard, ColocatedBridgeIsUnderOnePercentOfAStep) {
  int64_t rows = 2 * 65536 * 3 / 4;
  ValueShape shape{{rows, 4096}, 0, 2};
  Sharding encoder = dataParallel(32, 1, 0, rows);
  Sharding llm{{rankRange(0, 32), {{"dp", 2}, {"cp", 8}, {"tp", 2}}},
               *Layout::parse("[{dp, cp}, {}]"),
               perLane({"dp"}, {rows / 2, rows / 2})};
  Result<ReshardPlan> plan = planReshard(shape, encoder, llm, oracle::h100());
  ASSERT_TRUE(plan) << plan.error();
  // Each pair of tensor-parallel lanes gathers its two parts.
  EXPECT_EQ(plan->bytes(), rows * 4096 * 2);
  double share = 2 /*micro-batches*/ * 2 /*ways*/ * plan->time() / 2.973;
  std::printf("colocated DP32 to TP2 CP8 DP2: %.3f ms a micro-batch each way, %.3f %% of a step\n", plan->time() * 1e3,
              100 * share);
  EXPECT_LT(share, 0.01);
}

// 16,384 ranks: an encoder of 4,096 lanes feeds an LLM of 1,536 lanes of TP8, samples shuffled. Only the figures are
// checked; the time is printed.
TEST(Reshard, SixteenThousandRanks) {
  std::mt19937 random(7);
  int encoderLanes = 4096, llmLanes = 1536, tp = 8;
  std::vector<int64_t> rows(12288);
  for (int64_t &count : rows)
    count = random() % 2000;
  std::vector<std::vector<int>> from(encoderLanes), to(llmLanes);
  for (int sample = 0; sample < static_cast<int>(rows.size()); ++sample) {
    from[random() % encoderLanes].push_back(sample);
    to[random() % llmLanes].push_back(sample);
  }
  int64_t total = std::accumulate(rows.begin(), rows.end(), int64_t(0));
  ValueShape shape{{total, 8192}, 0, 2};
  Sharding encoder = dataParallel(encoderLanes, 1, 0, 0), llm = dataParallel(llmLanes, tp, encoderLanes, 0);
  encoder.rows = *Rows::ofSamples({"dp"}, from, rows);
  llm.rows = *Rows::ofSamples({"dp"}, to, rows);
  auto start = std::chrono::steady_clock::now();
  Result<ReshardPlan> plan = planReshard(shape, encoder, llm, oracle::h100());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(plan) << plan.error();
  std::printf("16,384 ranks: %.3f s, %zu messages in %d rounds\n", seconds, plan->exchange()->messages.size(),
              plan->exchange()->rounds);
  EXPECT_EQ(plan->bytes(), total * 8192 * 2 * tp);
  std::set<std::pair<int, int>> busy;
  for (const Message &message : plan->exchange()->messages)
    ASSERT_TRUE(busy.insert({message.round, message.from}).second && busy.insert({message.round, message.to}).second);
}
