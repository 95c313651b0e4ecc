//===- HeterogeneousTable.cpp - Gains of a layout for each module ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of oracles/hetero.csv that are throughput. The paper gives sizes in billions, context lengths and the share of
// vision tokens; layers below are of usual shapes for these sizes, an image is 1024 tokens, and one encoder token is
// one token of the language model. docs/Costs.md, section 4, says why gradients have 16 bits.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Comparison/CostTables.h"
#include "braid/Plan/Planner/Planner.h"

#include <algorithm>
#include <charconv>
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

static PlannerProblem problemOf(const HeterogeneousAssumptions &assumptions, double encoder, double language,
                                double context, int batch, int devices) {
  PlannerProblem problem;
  problem.reserve = assumptions.reserve;
  problem.state.gradients = assumptions.gradientBytes;
  problem.components.resize(2);
  problem.components[0].name = "vision";
  problem.components[0].model = encoderOf(encoder);
  problem.components[0].segments = visionShare * context / imageTokens;
  problem.components[0].undivided = assumptions.undividedEncoder;
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

namespace {
/// What oracles/hetero.csv says of a workload.
struct Published {
  double low = 0, high = 0; // gain in throughput, percent
  bool hasGain = false;
  /// Where the table prints them, TP/CP/PP/DP: both components of the homogeneous run, then encoder and language model;
  /// and what was measured.
  HeterogeneousRun homogeneous, heterogeneous;
};
} // namespace

/// "same" is the workload of the row before.
static Result<Published> readPublished(const TextTable &table, const std::string &mode, const std::string &workload) {
  Published published;
  std::string current;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (std::string own = table.text(row, "workload"); own != "same")
      current = own;
    if (current != workload || table.text(row, "mode") != mode)
      continue;
    if (std::string layouts = table.text(row, "layout_homogeneous_tp/cp/pp/dp"); !layouts.empty()) {
      published.homogeneous.layout = layouts;
      published.heterogeneous.layout = table.text(row, "layout_heterogeneous");
    }
    std::string quantity = table.text(row, "quantity"), gain = table.text(row, "heterogeneous");
    const bool time = quantity == "step_time" || quantity == "fwd+bwd_time";
    if (time || quantity == "peak_memory") {
      Result<double> before = table.number(row, "homogeneous"), after = table.number(row, "heterogeneous");
      if (!before || !after)
        return Error{before ? after.error() : before.error()};
      double HeterogeneousRun::*field = time ? &HeterogeneousRun::publishedSeconds : &HeterogeneousRun::publishedBytes;
      published.homogeneous.*field = *before * (time ? 1e-3 : 1e9);
      published.heterogeneous.*field = *after * (time ? 1e-3 : 1e9);
      continue;
    }
    if (published.hasGain || (quantity != "tflops_per_gpu_gain" && quantity != "gain"))
      continue;
    auto reads = [](std::string_view text, double &number) {
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return error == std::errc() && end == text.data() + text.size();
    };
    std::string_view range = gain;
    size_t dots = range.find("..");
    if (!reads(range.substr(0, dots), published.low) ||
        !reads(dots == std::string_view::npos ? range : range.substr(dots + 2), published.high))
      return Error{table.name + ":" + std::to_string(table.lines[row]) + " has the gain '" + gain +
                   "'; write a number, or a range as in 7.3..12.7"};
    if (published.low > published.high)
      std::swap(published.low, published.high);
    published.hasGain = true;
  }
  if (!published.hasGain)
    return Error{table.name + " has no gain of the " + mode + " workload '" + workload + "'; add its row"};
  return published;
}

/// The layout after `prefix` in a cell as "enc 1/1/1/32; LLM 2/8/1/2".
static Result<Parallelism> layoutAfter(const std::string &cell, const std::string &prefix) {
  Parallelism layout{.zero = 1};
  constexpr int64_t mostRanks = 1 << 20;
  const size_t at = cell.find(prefix);
  bool sound = at != std::string::npos;
  int64_t ranks = 1;
  const char *next = cell.data() + (sound ? at + prefix.size() : 0), *const end = cell.data() + cell.size();
  for (int *size : {&layout.tp, &layout.cp, &layout.pp, &layout.dp}) {
    if (size != &layout.tp)
      sound = sound && next != end && *next++ == '/';
    auto [stop, code] = std::from_chars(next, end, *size);
    sound = sound && code == std::errc() && *size >= 1 && (ranks *= *size) <= mostRanks;
    next = stop;
  }
  if (!sound)
    return Error{"'" + cell + "' has no layout" + (prefix.empty() ? "" : " after '" + prefix + "'") +
                 "; write TP/CP/PP/DP, as in 2/8/1/2, of at most " + std::to_string(mostRanks) + " ranks"};
  layout.sequenceParallel = layout.tp > 1;
  return layout;
}

static HeterogeneousRow rowOf(const std::string &label, const Published &published, const PlannerProblem &problem,
                              const Evaluation &homogeneous, const Evaluation &heterogeneous) {
  HeterogeneousRow row;
  row.label = label;
  row.low = published.low;
  row.high = published.high;
  row.predicted = 100 * (perDevice(problem, heterogeneous) / perDevice(problem, homogeneous) - 1);
  row.reshardShare = heterogeneous.parts.reshard / heterogeneous.time();
  auto runOf = [](const Evaluation &evaluation, HeterogeneousRun run) {
    run.layout = evaluation.candidate.str();
    run.seconds = evaluation.time();
    run.bytes = evaluation.peakBytes;
    return run;
  };
  row.homogeneous = runOf(homogeneous, published.homogeneous);
  row.heterogeneous = runOf(heterogeneous, published.heterogeneous);
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

namespace {
/// A row of the table, and what it leaves to be assumed.
struct Workload {
  const char *label, *mode, *workload;
  double encoder, language, context; // billions of parameters, tokens
  int batch, devices;
  int more = 0;          // devices for a disjoint encoder
  double microbatch = 1; // of the homogeneous run, where its layout is printed
};
} // namespace

static const Workload workloads[] = {
    {.label = "colocated 1B + 7B, 64K, 32 devices",
     .mode = "colocated",
     .workload = "1B enc + 7B LLM, 64K tokens, 75% vision, GBS 4, 2 micro-batches",
     .encoder = 1,
     .language = 7,
     .context = 65536,
     .batch = 4,
     .devices = 32,
     .microbatch = 2},
    {.label = "disjoint 7.2B + 120B, 8K, 264 for 256 devices",
     .mode = "non-colocated",
     .workload = "7.2B enc + 120B LLM, 8K tokens, 75% vision, GBS 256",
     .encoder = 7.2,
     .language = 120,
     .context = 8192,
     .batch = 256,
     .devices = 264},
    {"colocated 1B + 14B, 128K, 64 devices", "colocated", "1B+14B, 128K", 1, 14, 131072, 4, 64},
    {"colocated 3B + 120B, 8K, 256 devices", "colocated", "3B+120B", 3, 120, 8192, 256, 256},
    {"colocated 6B + 120B, 8K", "colocated", "6B+120B", 6, 120, 8192, 256, 256},
    {"colocated 12B + 120B, 8K", "colocated", "12B+120B", 12, 120, 8192, 256, 256},
    {"disjoint 12B + 120B, 8K", "non-colocated", "12B+120B", 12, 120, 8192, 256, 256},
    {"disjoint 1B + 14B, 8K, 64 devices", "non-colocated", "14B LLM rows", 1, 14, 8192, 64, 64, 8},
    {"disjoint 6B + 120B, 16K", "non-colocated", "one 6B 16K row", 6, 120, 16384, 256, 256},
};

/// Both runs of a workload: in the layouts that are printed, or else the best of each kind.
static Result<HeterogeneousRow> compareWorkload(const Workload &one, const Published &published,
                                                const HeterogeneousAssumptions &assumptions) {
  PlannerProblem problem = problemOf(assumptions, one.encoder, one.language, one.context, one.batch, one.devices);
  Placement placement = std::string(one.mode) == "colocated" ? Placement::Colocated : Placement::Disjoint;
  const bool printed = !published.homogeneous.layout.empty(), large = one.language == 120;
  Result<Evaluation> homogeneous = Error{""}, heterogeneous = Error{""};
  if (printed) {
    Result<Parallelism> both = layoutAfter(published.homogeneous.layout, ""),
                        encoder = layoutAfter(published.heterogeneous.layout, "enc "),
                        language = layoutAfter(published.heterogeneous.layout, "LLM ");
    for (const Result<Parallelism> *layout : {&both, &encoder, &language})
      if (!*layout)
        return Error{layout->error()};
    Candidate together, apart;
    together.placement = Placement::Together;
    together.microbatch = one.microbatch;
    together.language.parallel = together.encoder.parallel = *both;
    apart.placement = placement;
    apart.encoder.parallel = *encoder;
    apart.language.parallel = *language;
    homogeneous = evaluateLayouts(problem, together);
    heterogeneous = evaluateLayouts(problem, apart);
  } else if (large) {
    homogeneous = bestBeside120B(problem, Placement::Together);
    heterogeneous = bestBeside120B(problem, placement);
  } else {
    homogeneous = bestOf(problem, Placement::Together, one.devices);
    heterogeneous = bestOf(problem, placement, one.devices + one.more);
  }
  if (!homogeneous || !heterogeneous)
    return Error{homogeneous ? heterogeneous.error() : homogeneous.error()};
  HeterogeneousRow row = rowOf(one.label, published, problem, *homogeneous, *heterogeneous);
  row.searched = !printed;
  return row;
}

Result<HeterogeneousComparison> compareHeterogeneous(const TextTable &table,
                                                     const HeterogeneousAssumptions &assumptions) {
  HeterogeneousComparison result;
  for (const Workload &one : workloads) {
    Result<Published> published = readPublished(table, one.mode, one.workload);
    if (!published)
      return Error{published.error()};
    Result<HeterogeneousRow> row = compareWorkload(one, *published, assumptions);
    if (!row)
      return Error{std::string(one.label) + ": " + row.error()};
    result.rows.push_back(std::move(*row));
  }
  for (double encoder : {1.0, 3.0, 6.0, 9.0, 12.0}) {
    PlannerProblem problem = problemOf(assumptions, encoder, 120, 8192, 256, 256);
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

int HeterogeneousComparison::sameSigns() const {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const auto &row) { return row.sameSign(); }));
}

double HeterogeneousComparison::crossoverSize() const {
  auto apart = [](const CrossoverPoint &point) { return point.disjoint > point.colocated; };
  auto first = std::find_if(crossover.begin(), crossover.end(), apart);
  return first == crossover.end() ? 0 : first->encoder;
}

static std::string lineOf(const HeterogeneousRun &run) {
  char line[512];
  int length =
      std::snprintf(line, sizeof line, "    %s: %.2f s, %.1f GB", run.layout.c_str(), run.seconds, run.bytes / 1e9);
  if (run.publishedSeconds > 0 && length > 0 && length < int(sizeof line))
    std::snprintf(line + length, sizeof line - length, " (published %.2f s, %.1f GB)", run.publishedSeconds,
                  run.publishedBytes / 1e9);
  return std::string(line) + "\n";
}

std::string HeterogeneousComparison::str() const {
  std::string text = "hetero.csv: gain per device over one layout for all, percent: published, predicted\n";
  char line[512];
  for (const HeterogeneousRow &row : rows) {
    std::snprintf(line, sizeof line, "  %-46s %6.1f .. %5.1f  %+6.1f   reshard %.2f %% of the step%s\n",
                  row.label.c_str(), row.low, row.high, row.predicted, 100 * row.reshardShare,
                  row.searched ? ", layouts searched" : "");
    text += line;
    text += lineOf(row.homogeneous) + lineOf(row.heterogeneous);
  }
  text += "  encoder beside 120B at 8K: colocated, disjoint\n";
  for (const CrossoverPoint &point : crossover) {
    std::snprintf(line, sizeof line, "  %5.1fB  %+6.1f  %+6.1f\n", point.encoder, point.colocated, point.disjoint);
    text += line;
  }
  return text;
}

} // namespace braid::plan
