//===- HeterogeneousTable.cpp - Gains of a layout for each module ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of oracles/hetero.csv that are throughput. The paper gives sizes in billions, context lengths and the share of
// vision tokens; layers below are of usual shapes for these sizes, an image is 1024 tokens, and one encoder token is
// one token of the language model.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Comparison/CostTables.h"
#include "braid/Plan/Planner/Planner.h"

#include <algorithm>
#include <cstdio>

namespace braid::plan {

static constexpr double imageTokens = 1024, visionShare = 0.75;

/// Vision transformers: 12 h^2 parameters a layer.
static Transformer encoderOf(double billions) {
  struct Shape {
    double billions;
    int layers;
    double hidden, heads;
  };
  static const Shape shapes[] = {{1, 24, 1856, 16},   {3, 38, 2560, 32}, {6, 48, 3200, 32},
                                 {7.2, 47, 3584, 32}, {9, 47, 4000, 32}, {12, 47, 4608, 32}};
  const Shape *best = shapes;
  for (const Shape &shape : shapes)
    if (std::abs(shape.billions - billions) < std::abs(best->billions - billions))
      best = &shape;
  Transformer model;
  model.layers = best->layers;
  model.hidden = best->hidden;
  model.heads = best->heads;
  model.sequence = imageTokens;
  model.fusedAttention = true;
  return model;
}

static Transformer languageOf(double billions, double context) {
  Transformer model;
  model.gated = billions < 100;
  model.layers = billions < 10 ? 32 : billions < 100 ? 48 : 96;
  model.hidden = billions < 10 ? 4096 : billions < 100 ? 5120 : 10240;
  model.heads = billions < 10 ? 32 : billions < 100 ? 40 : 80;
  model.keyValueHeads = 8;
  model.feedForward = billions < 10 ? 11008 : billions < 100 ? 13824 : 4.5 * 10240;
  model.vocabulary = 128256;
  model.sequence = context;
  model.fusedAttention = true;
  return model;
}

static PlannerProblem problemOf(double encoder, double language, double context, int batch, int devices) {
  PlannerProblem problem;
  problem.components.resize(2);
  problem.components[0].name = "vision";
  problem.components[0].model = encoderOf(encoder);
  problem.components[0].segments = visionShare * context / imageTokens;
  problem.components[1].name = "language";
  problem.components[1].model = languageOf(language, context);
  problem.batch = batch;
  problem.devices = devices;
  if (Result<Hardware> hardware = findHardware("h100"))
    problem.hardware = *hardware;
  return problem;
}

/// The cheapest recomputation of both components that fits, or, if none does, that of least memory.
static Result<Evaluation> evaluateLayouts(const PlannerProblem &problem, Candidate candidate) {
  std::optional<Evaluation> best;
  for (Recompute language : {Recompute::None, Recompute::Full})
    for (Recompute encoder : {Recompute::None, Recompute::Full}) {
      candidate.language.recompute = language;
      candidate.encoder.recompute = encoder;
      Result<Evaluation> evaluation = evaluate(problem, candidate);
      if (!evaluation)
        return evaluation;
      auto fits = [&](const Evaluation &one) { return one.peakBytes <= problem.hardware.memory; };
      if (!best || (fits(*evaluation) != fits(*best) ? fits(*evaluation)
                    : fits(*best)                    ? evaluation->seconds < best->seconds
                                                     : evaluation->peakBytes < best->peakBytes))
        best = *evaluation;
    }
  return *best;
}

static double perDevice(const PlannerProblem &problem, const Evaluation &evaluation) {
  return problem.batch / evaluation.time() / evaluation.candidate.ranks();
}

static HeterogeneousRow rowOf(const std::string &label, double low, double high, const PlannerProblem &problem,
                              const Evaluation &homogeneous, const Evaluation &heterogeneous) {
  HeterogeneousRow row;
  row.label = label;
  row.low = low;
  row.high = high;
  row.predicted = 100 * (perDevice(problem, heterogeneous) / perDevice(problem, homogeneous) - 1);
  row.reshardShare = heterogeneous.parts.reshard / heterogeneous.time();
  row.homogeneous = homogeneous.candidate.str();
  row.heterogeneous = heterogeneous.candidate.str();
  return row;
}

static Result<Evaluation> bestOf(PlannerProblem problem, Placement placement, int devices) {
  problem.devices = devices;
  problem.useAtLeast = 0.96;
  Result<PlannerResult> found = searchPlans(problem, {.keep = 1, .simulate = false, .placements = {placement}});
  if (!found)
    return Error{std::string(spelling(placement)) + ": " + found.error()};
  return found->best.front();
}

/// Beside 120B: its layout as printed for 7.2B + 120B, TP 8, PP 2, DP 16, 256 devices; the encoder's and, if it has
/// ranks of its own, their number are searched.
static Result<Evaluation> bestBeside120B(PlannerProblem problem, Placement placement) {
  std::optional<Evaluation> best;
  auto better = [&](const Evaluation &one) {
    bool fits = one.peakBytes <= problem.hardware.memory, bestFits = best && best->peakBytes <= problem.hardware.memory;
    if (!best || fits != bestFits)
      return !best || fits;
    return fits ? perDevice(problem, one) > perDevice(problem, *best) : one.peakBytes < best->peakBytes;
  };
  problem.maxCp = 1;
  problem.maxPp = 2;
  problem.useAtLeast = 0;
  for (int more : {0, 8, 16, 24, 32}) {
    if ((more > 0) != (placement == Placement::Disjoint))
      continue;
    problem.devices = 256 + more;
    for (const Candidate &candidate : allCandidates(problem, {.placements = {placement}})) {
      const Parallelism &language = candidate.language.parallel;
      if (language.tp != 8 || language.pp != 2 || language.dp != 16 || candidate.microbatch != 1 ||
          candidate.kind != "1f1b" || (placement == Placement::Colocated && candidate.encoder.parallel.ranks() != 256))
        continue;
      Result<Evaluation> evaluation = evaluate(problem, candidate);
      if (evaluation && better(*evaluation))
        best = *evaluation;
    }
  }
  if (!best)
    return Error{std::string(spelling(placement)) + ": no encoder's layout goes with the language model's"};
  return *best;
}

Result<HeterogeneousComparison> compareHeterogeneous() {
  HeterogeneousComparison result;
  auto addGiven = [&](const std::string &label, double published, const PlannerProblem &problem,
                      const Candidate &homogeneous, const Candidate &heterogeneous) -> Status {
    Result<Evaluation> one = evaluateLayouts(problem, homogeneous), other = evaluateLayouts(problem, heterogeneous);
    if (!one || !other)
      return Error{label + ": " + (one ? other.error() : one.error())};
    result.rows.push_back(rowOf(label, published, published, problem, *one, *other));
    return {};
  };
  auto layout = [](int tp, int cp, int pp, int dp) {
    return Parallelism{.tp = tp, .cp = cp, .pp = pp, .dp = dp, .sequenceParallel = tp > 1, .zero = 1};
  };
  Candidate together, colocated, disjoint;
  together.placement = Placement::Together;
  colocated.placement = Placement::Colocated;
  disjoint.placement = Placement::Disjoint;

  // Layouts as printed, TP/CP/PP/DP.
  together.language.parallel = together.encoder.parallel = layout(4, 8, 1, 1);
  together.microbatch = 2;
  colocated.language.parallel = layout(2, 8, 1, 2);
  colocated.encoder.parallel = layout(1, 1, 1, 32);
  if (Status status =
          addGiven("colocated 1B + 7B, 64K, 32 devices", 49.3, problemOf(1, 7, 65536, 4, 32), together, colocated);
      !status)
    return Error{status.error()};
  together.language.parallel = together.encoder.parallel = layout(8, 1, 2, 16);
  together.microbatch = 1;
  disjoint.language.parallel = layout(8, 1, 2, 16);
  disjoint.encoder.parallel = layout(1, 1, 1, 8);
  if (Status status = addGiven("disjoint 7.2B + 120B, 8K, 264 for 256 devices", 9.6,
                               problemOf(7.2, 120, 8192, 256, 264), together, disjoint);
      !status)
    return Error{status.error()};

  // Layouts that are not printed: the best of each kind.
  struct Searched {
    const char *label;
    Placement placement;
    double encoder, language, context;
    int batch, devices, more; // more: devices for a disjoint encoder
    double low, high;
  };
  const Searched searched[] = {
      {"colocated 1B + 14B, 128K, 64 devices", Placement::Colocated, 1, 14, 131072, 4, 64, 0, 34, 34},
      {"colocated 3B + 120B, 8K, 256 devices", Placement::Colocated, 3, 120, 8192, 256, 256, 0, 21.6, 21.6},
      {"colocated 6B + 120B, 8K", Placement::Colocated, 6, 120, 8192, 256, 256, 0, -0.7, -0.7},
      {"colocated 12B + 120B, 8K", Placement::Colocated, 12, 120, 8192, 256, 256, 0, -8, -8},
      {"disjoint 12B + 120B, 8K", Placement::Disjoint, 12, 120, 8192, 256, 256, 0, 7.3, 12.7},
      {"disjoint 1B + 14B, 8K, 64 devices", Placement::Disjoint, 1, 14, 8192, 64, 64, 8, -11.3, -5.4},
      {"disjoint 6B + 120B, 16K", Placement::Disjoint, 6, 120, 16384, 256, 256, 0, -2.3, -2.3},
  };
  for (const Searched &one : searched) {
    PlannerProblem problem = problemOf(one.encoder, one.language, one.context, one.batch, one.devices);
    bool large = one.language == 120;
    Result<Evaluation> homogeneous =
        large ? bestBeside120B(problem, Placement::Together) : bestOf(problem, Placement::Together, one.devices);
    Result<Evaluation> heterogeneous =
        large ? bestBeside120B(problem, one.placement) : bestOf(problem, one.placement, one.devices + one.more);
    if (!homogeneous || !heterogeneous)
      return Error{std::string(one.label) + ": " + (homogeneous ? heterogeneous.error() : homogeneous.error())};
    result.rows.push_back(rowOf(one.label, one.low, one.high, problem, *homogeneous, *heterogeneous));
    result.rows.back().searched = true;
  }
  for (double encoder : {1.0, 3.0, 6.0, 9.0, 12.0}) {
    PlannerProblem problem = problemOf(encoder, 120, 8192, 256, 256);
    Result<Evaluation> homogeneous = bestBeside120B(problem, Placement::Together),
                       phases = bestBeside120B(problem, Placement::Colocated),
                       apart = bestBeside120B(problem, Placement::Disjoint);
    for (const Result<Evaluation> *evaluation : {&homogeneous, &phases, &apart})
      if (!*evaluation)
        return Error{evaluation->error()};
    double base = perDevice(problem, *homogeneous);
    result.crossover.push_back(
        {encoder, 100 * (perDevice(problem, *phases) / base - 1), 100 * (perDevice(problem, *apart) / base - 1)});
  }
  return result;
}

std::string HeterogeneousComparison::str() const {
  std::string text = "hetero.csv: gain per device over one layout for all, percent: published, predicted\n";
  char line[512];
  for (const HeterogeneousRow &row : rows) {
    std::snprintf(line, sizeof line, "  %-46s %6.1f .. %5.1f  %+6.1f   reshard %.2f %% of the step%s\n",
                  row.label.c_str(), row.low, row.high, row.predicted, 100 * row.reshardShare,
                  row.searched ? ", layouts searched" : "");
    text += line;
    text += "    " + row.homogeneous + "\n    " + row.heterogeneous + "\n";
  }
  text += "  encoder beside 120B at 8K: colocated, disjoint\n";
  for (const CrossoverPoint &point : crossover) {
    std::snprintf(line, sizeof line, "  %5.1fB  %+6.1f  %+6.1f\n", point.encoder, point.colocated, point.disjoint);
    text += line;
  }
  return text;
}

} // namespace braid::plan
