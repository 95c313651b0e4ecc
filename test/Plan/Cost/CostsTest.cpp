//===- CostsTest.cpp - The cost model against published measurements ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Oracles.h"

#include "braid/Plan/Comparison/CostTables.h"
#include "braid/Plan/Cost/CostCurve.h"

#include <cmath>

using namespace braid::plan;

namespace {
testing::AssertionResult says(const std::string &message, const std::string &words) {
  if (message.find(words) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' does not say '" << words << "'";
}

TextTable table(const std::string &name) {
  Result<TextTable> parsed = TextTable::parse(readOracle(name), name);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error());
  return parsed ? *parsed : TextTable{};
}

Hardware a100() {
  Result<Hardware> found = findHardware("a100");
  EXPECT_TRUE(found);
  return *found;
}

std::vector<MeasuredRun> runs(const std::string &name) {
  Result<std::vector<MeasuredRun>> read = readMeasuredRuns(table(name));
  EXPECT_TRUE(read) << (read ? "" : read.error());
  return read ? *read : std::vector<MeasuredRun>{};
}
} // namespace

TEST(LeastSquares, FindsTheConstantsThatMadeTheMeasurements) {
  // y = 3 x^2 + 0.5 x + 7, exactly.
  Observations observations;
  for (double x : {1.0, 2.0, 3.0, 10.0, 50.0}) {
    observations.amounts.push_back({x * x, x, 1});
    observations.measured.push_back(3 * x * x + 0.5 * x + 7);
  }
  Result<std::vector<double>> found = nonNegativeLeastSquares(observations);
  ASSERT_TRUE(found) << found.error();
  EXPECT_NEAR((*found)[0], 3, 1e-9);
  EXPECT_NEAR((*found)[1], 0.5, 1e-9);
  EXPECT_NEAR((*found)[2], 7, 1e-9);
}

TEST(LeastSquares, SatisfiesTheConditionsOfTheBestNonNegativePoint) {
  // Karush, Kuhn and Tucker: where a constant is positive the error does not change with it to first order; where it is
  // 0 it grows. Together they prove the optimum of a convex problem, whoever found it.
  uint64_t state = 7;
  auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return double(state >> 11) * 0x1p-53;
  };
  int zeros = 0;
  for (int problem = 0; problem < 200; ++problem) {
    Observations observations;
    int constants = 2 + problem % 5;
    for (int row = 0; row < 12; ++row) {
      std::vector<double> &amounts = observations.amounts.emplace_back();
      for (int i = 0; i < constants; ++i)
        amounts.push_back(random() * 2 - 0.7);
      observations.measured.push_back(0.5 + random());
      observations.weights.push_back(0.1 + random());
    }
    Result<std::vector<double>> found = nonNegativeLeastSquares(observations);
    ASSERT_TRUE(found) << found.error();
    std::vector<double> errors = relativeErrors(observations, *found);
    for (int i = 0; i < constants; ++i) {
      double slope = 0;
      for (int row = 0; row < 12; ++row)
        slope += observations.weights[row] * errors[row] * observations.amounts[row][i] / observations.measured[row];
      EXPECT_GE((*found)[i], 0);
      if ((*found)[i] > 0)
        EXPECT_NEAR(slope, 0, 1e-8);
      else
        EXPECT_GE(slope, -1e-8);
      zeros += (*found)[i] == 0;
    }
  }
  EXPECT_GT(zeros, 50);
}

TEST(LeastSquares, TakesColumnsThatDependOnOthersAndRefusesWrongOnes) {
  Observations observations{{{1, 2}, {2, 4}, {3, 6}}, {1, 2, 3}, {}};
  Result<std::vector<double>> found = nonNegativeLeastSquares(observations);
  ASSERT_TRUE(found) << found.error();
  EXPECT_NEAR((*found)[0] + 2 * (*found)[1], 1, 1e-12); // any share of the two fits exactly
  observations.measured[1] = 0;
  EXPECT_TRUE(says(nonNegativeLeastSquares(observations).error(), "measurement 1"));
  observations.measured = {1, 2};
  EXPECT_TRUE(says(nonNegativeLeastSquares(observations).error(), "one of each per row"));
}

TEST(LeastSquares, RankCorrelationOfKnownCases) {
  EXPECT_DOUBLE_EQ(rankCorrelation({1, 2, 3, 4}, {10, 20, 30, 99}), 1);
  EXPECT_DOUBLE_EQ(rankCorrelation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_NEAR(rankCorrelation({1, 2, 3, 4, 5}, {2, 1, 4, 3, 5}), 0.8, 1e-12);          // 1 - 6 * 4 / (5 * 24)
  EXPECT_NEAR(rankCorrelation({1, 2, 2, 3}, {1, 2, 3, 4}), 0.9486832980505138, 1e-12); // with ties, as in R and SciPy
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
}

TEST(CostCurve, RecoversACurveAndSaysHowFarItIsOff) {
  Profile profile{"vision \"layer\"\\", 2, 1, {}};
  for (double x : {64.0, 256.0, 1024.0, 4096.0, 16384.0})
    profile.points.emplace_back(x, 2e-12 * x * x + 3e-8 * x + 1e-4);
  Result<FittedCurve> curve = fitCurve(profile);
  ASSERT_TRUE(curve) << curve.error();
  EXPECT_NEAR(curve->curve.a, 2e-12, 1e-18);
  EXPECT_NEAR(curve->curve.b, 3e-8, 1e-14);
  EXPECT_NEAR(curve->curve.c, 1e-4, 1e-10);
  EXPECT_LT(curve->maxError, 1e-9);
  profile.points[2].second *= 1.1;
  curve = fitCurve(profile);
  EXPECT_GT(curve->maxError, 0.02);
  EXPECT_LT(curve->maxError, 0.1);
  Result<std::vector<FittedCurve>> again = parseCurves(curvesJson({*curve}), "curves.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ((*again)[0].curve.a, curve->curve.a);
  EXPECT_EQ((*again)[0].curve.c, curve->curve.c);
  EXPECT_EQ((*again)[0].rmsError, curve->rmsError);
  EXPECT_EQ((*again)[0].unit, profile.unit);
  again = parseCurves("{\"curves\": [{\"unit\": \"a\", \"c\": 1}]}", "curves.json"); // written by hand, of no profile
  ASSERT_TRUE(again) << again.error();
  again = parseCurves(curvesJson(*again), "curves.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ((*again)[0].curve(7), 1);
}

TEST(CostCurve, BadProfilesAreLocated) {
  auto error = [](const std::string &text) {
    Result<std::vector<Profile>> profiles = parseProfiles(text, "p.json");
    return profiles ? std::string("read") : profiles.error();
  };
  EXPECT_TRUE(says(error("{\"profiles\": [{\"unit\": \"a\",\n \"point\": []}]}"), "p.json:2:2: unknown key 'point'"));
  EXPECT_TRUE(says(error("{\"profiles\": [{\"unit\": \"a\", \"points\": [[1]]}]}"), "[tokens, seconds]"));
  EXPECT_TRUE(says(error("{\"profiles\": [{\"unit\": \"a\", \"points\": [[1, -2]]}]}"), "seconds of a point is -2"));
  EXPECT_TRUE(says(error("{\"profiles\": {}}"), "must be a list"));
  EXPECT_TRUE(says(error("{\"profiles\": [\n  {\"unit\": x}]}"), "p.json:2:12: this is no JSON from here on"));
  EXPECT_TRUE(says(error("{\"profiles\": [\n"), "p.json:2:1: this is no JSON from here on"));
  EXPECT_TRUE(says(error("{\"profiles\": [\n  {\"unit\": 3e400}]}"),
                   "p.json:2:12: the number 3e400 is larger than any double"));
  EXPECT_TRUE(says(error("profiles: []"), "p.json:1:1: this is no JSON"));
  EXPECT_TRUE(says(error("3"), "p.json: this is JSON without keys"));
  for (const char *broken : {"{", "[1,", "%YAML 9.9\n", "&a *b", "{\"profiles\": []}\n---\n{}", "\xff", ""})
    EXPECT_FALSE(says(error(broken), "YAML")) << error(broken);
  EXPECT_TRUE(says(error("{\"profiles\": [{\"unit\": \"a\", \"points\": [[1, 2]]},\n"
                         " {\"unit\": \"a\", \"points\": [[1, 2]]}]}"),
                   "p.json:2:2: a second profile of unit 'a' at tp 1, cp 1; leave one out"));
  EXPECT_EQ(error("{\"profiles\": [{\"unit\": \"a\", \"points\": [[1, 2]]},\n"
                  " {\"unit\": \"a\", \"tp\": 2, \"points\": [[1, 2]]}]}"),
            "read");
  EXPECT_TRUE(says(parseCurves("{\"curves\": [{\"unit\": \"a\"}]}", "c.json").error(),
                   "c.json:1:13: a curve of unit 'a' "
                   "without time"));
  EXPECT_TRUE(
      says(parseCurves("{\"curves\": [{\"unit\": \"a\", \"c\": 1},\n{\"unit\": \"a\", \"c\": 2}]}", "c.json").error(),
           "c.json:2:1: a second curve of unit 'a'"));
  Result<FittedCurve> curve = fitCurve({"a", 1, 1, {{1, 1}, {2, 2}, {2, 3}}});
  ASSERT_FALSE(curve);
  EXPECT_TRUE(says(curve.error(), "2 different sizes"));
}

TEST(Transformer, CountsTheWorkOfMegatronsClosedForm) {
  // Narayanan et al., 2021, section 5.1: 96 B s l h^2 (1 + s/6h + V/16lh) with full recomputation.
  Transformer model;
  model.layers = 24, model.hidden = 2304, model.heads = 24, model.sequence = 2048, model.vocabulary = 51200;
  double h = 2304, l = 24, s = 2048, v = 51200;
  double forward = l * model.layerFlops(), head = model.headFlops();
  EXPECT_NEAR(4 * forward + 3 * head, 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)), 1e6);
  Hardware hardware = a100();
  for (Recompute recompute : {Recompute::None, Recompute::Full}) {
    UnitCost layer = layerCost(model, {}, recompute, 1, hardware);
    EXPECT_NEAR(layer.all()[Resource::Matmul] * hardware.flops,
                (recompute == Recompute::Full ? 4 : 3) * model.layerFlops(), 1e3);
  }
  // Work of all ranks together does not depend on how it is divided.
  for (auto [tp, cp] : {std::pair{2, 1}, {4, 2}, {8, 4}}) {
    UnitCost layer = layerCost(model, {.tp = tp, .cp = cp}, Recompute::None, 3, hardware);
    EXPECT_NEAR(layer.all()[Resource::Matmul] * hardware.flops * tp * cp, 3 * 3 * model.layerFlops(), 1e3);
    EXPECT_NEAR(layer.parameters * tp, 12 * h * h, 1e-3);
  }
}

TEST(Transformer, ZeroDividesState) {
  StateBytes bytes;
  EXPECT_DOUBLE_EQ(bytes.of(10, {.dp = 4}), 180);
  EXPECT_DOUBLE_EQ(bytes.of(10, {.dp = 4, .zero = 1}), 10 * (2 + 4 + 3.0));
  EXPECT_DOUBLE_EQ(bytes.of(10, {.cp = 2, .dp = 2, .zero = 2}), 10 * (2 + 1 + 3.0));
  EXPECT_DOUBLE_EQ(bytes.of(10, {.dp = 4, .zero = 3}), 180 / 4.0);
  // Bytes of collectives for five micro-batches, in all-reduces: one a step; stage 2 reduce-scatters for each and
  // gathers once; stage 3 gathers for each forward and each backward.
  Hardware hardware = *findHardware("a100");
  auto reduction = [&](int zero) {
    return gradientCost(1e9, {.dp = 8, .zero = zero}, 5, hardware)[Resource::NodeLink];
  };
  EXPECT_DOUBLE_EQ(reduction(1), reduction(0));
  EXPECT_NEAR(reduction(2), (5 + 1) / 2.0 * reduction(0), 1e-12);
  EXPECT_NEAR(reduction(3), 5 * 3 / 2.0 * reduction(0), 1e-12);
}

TEST(Hardware, KnowsItsFiguresAndRefusesBadOnes) {
  for (const char *name : {"a100", "a800", "h100", "h200"}) {
    Result<Hardware> hardware = findHardware(name);
    ASSERT_TRUE(hardware) << hardware.error();
    EXPECT_FALSE(hardware->sources.empty());
  }
  EXPECT_TRUE(says(findHardware("a10").error(), "unknown hardware 'a10'"));
  auto error = [](const std::string &text) {
    Result<std::vector<Hardware>> parsed = parseHardware(text, "h.yaml");
    return parsed ? std::string("read") : parsed.error();
  };
  EXPECT_TRUE(says(error("x: {memory: 1e9, flop: 3}"), "h.yaml:1:18: unknown key 'flop'"));
  EXPECT_TRUE(says(error("x: {memory: 1e9}"), "lacks 'flops'"));
  EXPECT_TRUE(says(error("x: {memory: -1}"), "is -1 and must be"));
}

TEST(Hardware, CollectivesFollowTheirClosedForms) {
  Hardware hardware = a100();
  // 8 ranks of one node: 7 steps, 2 * 7/8 of the bytes.
  RankGroup node = RankGroup::strided(8, 1, hardware);
  EXPECT_NEAR(ringAllReduce(hardware, node, 1e9)[Resource::NodeLink],
              hardware.node.latency + 6 * hardware.node.hop + 1.75e9 / hardware.node.bandwidth, 1e-12);
  EXPECT_EQ(ringAllReduce(hardware, node, 1e9)[Resource::CrossLink], 0);
  // 16 lanes of 4 tensor-parallel ranks: 2 of each group in a node, 4 groups share its links.
  RankGroup lanes = RankGroup::strided(16, 4, hardware);
  EXPECT_EQ(lanes.perNode, 2);
  EXPECT_EQ(lanes.concurrent, 4);
  EXPECT_NEAR(ringAllReduce(hardware, lanes, 1e9)[Resource::CrossLink],
              hardware.cross.latency + 14 * hardware.cross.hop + 4 * 1.875e9 / hardware.cross.bandwidth, 1e-12);
  // Few bytes over many ranks: the tree has fewer steps. Many bytes: the ring has fewer bytes.
  RankGroup many = RankGroup::strided(64, 8, hardware);
  EXPECT_EQ(allReduce(hardware, many, 1e3).amounts, treeAllReduce(hardware, many, 1e3).amounts);
  EXPECT_EQ(allReduce(hardware, many, 1e10).amounts, ringAllReduce(hardware, many, 1e10).amounts);
  EXPECT_EQ(hardware.seconds(allReduce(hardware, RankGroup::strided(1, 8, hardware), 1e9)), 0);
  // An all-reduce is a reduce-scatter and an all-gather, which cost the same.
  EXPECT_EQ((allGather(hardware, node, 1e9) + allGather(hardware, node, 1e9)).amounts,
            ringAllReduce(hardware, node, 1e9).amounts);
}

TEST(CostOracles, AllReduceInsideANode) {
  Result<FittedLink> fitted = fitNodeLink(table("vtrain/allreduce_a100.csv"));
  ASSERT_TRUE(fitted) << fitted.error();
  EXPECT_EQ(fitted->table.rows.size(), 7168u);
  EXPECT_LT(fitted->table.medianError(), 0.04);
  // These are the figures of Hardware.yaml.
  Hardware hardware = a100();
  EXPECT_NEAR(fitted->link.latency, hardware.node.latency, 0.02 * hardware.node.latency);
  EXPECT_NEAR(fitted->link.hop, hardware.node.hop, 1e-7);
  EXPECT_NEAR(fitted->link.bandwidth, hardware.node.bandwidth, 0.02 * hardware.node.bandwidth);
}

TEST(CostOracles, EachModelSizeFromTheOthers) {
  std::vector<MeasuredRun> multi = runs("vtrain/multi_node.csv"), single = runs("vtrain/single_node.csv");
  ASSERT_EQ(multi.size(), 109u);
  ASSERT_EQ(single.size(), 1440u);
  Result<std::vector<HeldOutSize>> sizes = leaveOneSizeOut(multi, single, a100());
  ASSERT_TRUE(sizes) << sizes.error();
  ASSERT_EQ(sizes->size(), 4u);
  // What holds, as docs/Costs.md prints it; rank correlations of 0.9 are met at 3.6B and 175B only.
  const double correlation[] = {0.9, 0.7, 0.58, 0.9};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_LE((*sizes)[i].medianError, 0.12) << (*sizes)[i].size;
    EXPECT_GE((*sizes)[i].rankCorrelation, correlation[i]) << (*sizes)[i].size;
  }
  static_assert(numResources <= 10);
}

TEST(CostOracles, TheFactorsOfA100AreThoseThatAreFitted) {
  std::vector<MeasuredRun> all = runs("vtrain/multi_node.csv"), single = runs("vtrain/single_node.csv");
  all.insert(all.end(), single.begin(), single.end());
  Hardware hardware = a100();
  Result<Hardware> fitted = calibrate(all, hardware);
  ASSERT_TRUE(fitted) << fitted.error();
  for (int i = 0; i < numResources; ++i)
    EXPECT_NEAR(fitted->factors[i], hardware.factors[i], 0.01 * hardware.factors[i])
        << spelling(static_cast<Resource>(i));
}

TEST(CostOracles, MemoryOfKorthikanti) {
  Result<std::vector<ComparedTable>> tables = compareSequenceParallel(table("megatron_sp.csv"), a100());
  ASSERT_TRUE(tables) << tables.error();
  // State, activations without recomputation, activations with selective recomputation: their closed forms.
  for (size_t index : {3, 4, 5})
    for (const ComparedRow &row : (*tables)[index].rows)
      EXPECT_NEAR(row.error(), 0, 1e-4) << (*tables)[index].title << " " << row.label;
}

TEST(CostOracles, MegatronIsPredictedWithoutFitting) {
  // No row of these tables is fitted; the errors are as docs/Costs.md publishes them.
  Result<ComparedTable> scaling = compareMegatron(table("megatron_sc21.csv"), a100());
  Result<std::vector<ComparedTable>> sequence = compareSequenceParallel(table("megatron_sp.csv"), a100());
  Result<ComparedTable> turing = compareTuring(table("mtnlg.csv"), a100());
  ASSERT_TRUE(scaling && sequence && turing);
  EXPECT_EQ(scaling->rows.size(), 10u);
  EXPECT_LT(scaling->medianError(), 0.08);
  EXPECT_LT((*sequence)[0].medianError(), 0.08);
  EXPECT_LT((*sequence)[1].medianError(), 0.08);
  EXPECT_LT(turing->medianError(), 0.3); // another code base on more nodes: slower than Megatron's own 530B row
}

TEST(CostOracles, AmdpThroughput) {
  Result<Hardware> a800 = findHardware("a800");
  ASSERT_TRUE(a800);
  Result<AmdpComparison> compared = compareAmdp(table("amdp_throughput.csv"), *a800);
  ASSERT_TRUE(compared) << compared.error();
  EXPECT_EQ(compared->fitted.rows.size(), 12u);
  EXPECT_LT(compared->fitted.medianError(), 0.05);
  // AMDP > 2BW > 1F1B in every row of the published table and in every prediction.
  EXPECT_TRUE(compared->ordered);
  ASSERT_EQ(compared->held.size(), 3u);
  EXPECT_EQ(compared->held[0].rows.size(), 12u);
  EXPECT_LT(compared->held[0].medianError(), 0.1);
  // Windows: of GPT 1, 2, 4, 8 blocks, then of BERT. Saturated by 4: the next doubling brings less than 2 %, the
  // first one more than that.
  const std::vector<ComparedRow> &windows = compared->held[2].rows;
  ASSERT_EQ(windows.size(), 8u);
  for (size_t model : {0, 4}) {
    for (size_t i = 1; i < 4; ++i)
      EXPECT_GT(windows[model + i].predicted, windows[model + i - 1].predicted);
    EXPECT_GT(windows[model + 1].predicted / windows[model].predicted, 1.02);
    EXPECT_LT(windows[model + 3].predicted / windows[model + 2].predicted, 1.02);
  }
}

TEST(CostOracles, HeterogeneousLayouts) {
  Result<HeterogeneousComparison> compared = compareHeterogeneous(table("hetero.csv"));
  ASSERT_TRUE(compared) << compared.error();
  ASSERT_EQ(compared->rows.size(), 9u);
  EXPECT_EQ(compared->rows[0].low, 49.3); // 4457 / 2973 is 1.499
  EXPECT_EQ(compared->rows[7].low, -11.3);
  EXPECT_EQ(compared->rows[7].high, -5.4);
  EXPECT_NEAR(compared->rows[0].homogeneous.publishedSeconds, 4.457, 1e-9);
  EXPECT_NEAR(compared->rows[1].heterogeneous.publishedBytes, 73.3e9, 1);
  // The signs of the published gains that the model has; docs/Costs.md says why one is missing.
  EXPECT_GE(compared->sameSigns(), 8);
  for (const HeterogeneousRow &row : compared->rows)
    EXPECT_LT(row.reshardShare, 0.01) << row.label;
  EXPECT_GT(compared->rows[0].predicted, 30); // colocated 1B + 7B at 64K, the largest published gain
  // Steps in one layout for all, of which the table has times.
  for (int row : {0, 1}) {
    const HeterogeneousRun &run = compared->rows[row].homogeneous;
    EXPECT_NEAR(run.seconds, run.publishedSeconds, 0.15 * run.publishedSeconds) << compared->rows[row].label;
  }
  // Published: colocated gains more beside 120B up to 3B, an encoder on devices of its own from about 6B on.
  ASSERT_EQ(compared->crossover.size(), 5u);
  EXPECT_EQ(compared->crossoverSize(), 6);
  for (const CrossoverPoint &point : compared->crossover)
    EXPECT_EQ(point.colocated > point.disjoint, point.encoder < 6) << point.encoder;
}

TEST(CostOracles, LongContextsGainByEncodersThatAreNotRepeated) {
  // Context-parallel ranks that each encode every image are what one layout loses most by at 64K and 128K.
  Result<HeterogeneousComparison> repeated = compareHeterogeneous(table("hetero.csv")),
                                  divided = compareHeterogeneous(table("hetero.csv"), {.undividedEncoder = false});
  ASSERT_TRUE(repeated && divided);
  for (int row : {0, 2})
    EXPECT_GT(repeated->rows[row].predicted, 2 * divided->rows[row].predicted) << repeated->rows[row].label;
}

// Numbers that are none of ranks, layers or samples are refused, not converted.
TEST(CostOracles, TablesWithOddNumbersAreRefused) {
  auto changed = [](const char *name, const std::string &from, const std::string &to) {
    std::string text = readOracle(name);
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos)
      text.replace(at, from.size(), to);
    Result<TextTable> parsed = TextTable::parse(text, name);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error());
    return parsed ? *parsed : TextTable{};
  };
  auto megatron = [&](const std::string &from, const std::string &to) {
    Result<ComparedTable> compared = compareMegatron(changed("megatron_sc21.csv", from, to), a100());
    return compared ? std::string("compared") : compared.error();
  };
  for (const char *tp : {"1e300", "1.5", "0"})
    EXPECT_TRUE(
        says(megatron("2304,24,1,1,32", std::string("2304,24,") + tp + ",1,32"), "megatron_sc21.csv:2: tp must be"))
        << tp;
  Result<AmdpComparison> amdp = compareAmdp(
      changed("amdp_throughput.csv", "GPT,4,16,dapple_1f1b", "GPT,4,1e300,dapple_1f1b"), *findHardware("a800"));
  ASSERT_FALSE(amdp);
  EXPECT_TRUE(says(amdp.error(), "batch 1e300"));
  for (const char *layout : {"enc 1/1/0/32", "enc 1/1/1", "enc 99999/99999/1/1", "enc 99999999999/1/1/1"}) {
    std::string text = readOracle("hetero.csv");
    for (size_t at; (at = text.find("enc 1/1/1/32;")) != std::string::npos;)
      text.replace(at, 13, layout + std::string(";"));
    Result<HeterogeneousComparison> hetero = compareHeterogeneous(*TextTable::parse(text, "hetero.csv"));
    ASSERT_FALSE(hetero) << layout;
    EXPECT_TRUE(says(hetero.error(), "write TP/CP/PP/DP"));
  }
}

TEST(CostOracles, HeterogeneousTablesWithoutTheirNumbersAreRefused) {
  std::string text = readOracle("hetero.csv");
  text.replace(text.find("4457,2973"), 9, "4457,long");
  Result<TextTable> parsed = TextTable::parse(text, "hetero.csv");
  ASSERT_TRUE(parsed);
  Result<HeterogeneousComparison> compared = compareHeterogeneous(*parsed);
  ASSERT_FALSE(compared);
  EXPECT_TRUE(says(compared.error(), "hetero.csv:2"));
}
