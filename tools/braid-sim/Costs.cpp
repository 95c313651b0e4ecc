//===- Costs.cpp - braid-sim costs ----------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Comparison/CostTables.h"
#include "braid/Plan/Comparison/RankingLimit.h"

#include <cstdio>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  std::string folder = "test/Plan/oracles", table = "all", hardware = "a100";
  bool rows = false;
};

/// The folder's tables by name.
struct Tables {
  std::string folder;

  Result<TextTable> read(const std::string &name) const {
    Result<std::string> text = sim::readFile("table", folder + "/" + name);
    if (!text)
      return Error{text.error()};
    return TextTable::parse(*text, name);
  }
};
} // namespace

static Status printVtrain(const Tables &tables, const Hardware &hardware, bool rows) {
  Result<TextTable> multi = tables.read("vtrain/multi_node.csv"), single = tables.read("vtrain/single_node.csv");
  for (const Result<TextTable> *table : {&multi, &single})
    if (!*table)
      return Error{table->error()};
  Result<std::vector<MeasuredRun>> runs = readMeasuredRuns(*multi), always = readMeasuredRuns(*single);
  for (const auto *list : {&runs, &always})
    if (!*list)
      return Error{list->error()};
  Result<std::vector<HeldOutSize>> sizes = leaveOneSizeOut(*runs, *always, hardware);
  if (!sizes)
    return Error{sizes.error()};
  auto printFactors = [](const Hardware &fitted) {
    for (int i = 0; i < numResources; ++i)
      std::printf("  %s %.4g", spelling(static_cast<Resource>(i)), fitted.factors[i]);
    std::printf("\n");
  };
  std::printf("vtrain/multi_node.csv: each size predicted from all others and single_node.csv, %d constants\n",
              numResources);
  for (const HeldOutSize &size : *sizes) {
    std::printf("  %5gB  %3d runs  median error %4.1f %%  rank correlation %.3f ", size.size, size.runs,
                100 * size.medianError, size.rankCorrelation);
    printFactors(size.fitted);
    size_t next = 0;
    for (const MeasuredRun &run : *runs)
      if (run.size == size.size) {
        double predicted = size.predicted[next++];
        if (rows)
          std::printf("    tp %2d dp %2d pp %2d, %3d x %2g samples  %8.3f s  %8.3f s  %+6.1f %%\n", run.run.parallel.tp,
                      run.run.parallel.dp, run.run.parallel.pp, run.run.microbatches, run.run.microbatch, run.seconds,
                      predicted, 100 * (predicted / run.seconds - 1));
      }
  }
  // What the scatter leaves to any model.
  Result<std::vector<RankingLimit>> limits = rankingLimits(*runs, hardware);
  if (!limits)
    return Error{limits.error()};
  std::printf("  rank correlations of constants fitted to the very runs; errors that leave 0.9:\n");
  for (size_t i = 0; i < limits->size(); ++i) {
    const RankingLimit &limit = (*limits)[i];
    const HeldOutSize &held = (*sizes)[i];
    std::printf("  %5gB  %d factors %.3f  three constants for each of %d layouts %.3f  random errors of %.1f %%",
                limit.size, numResources, limit.ownFactors, limit.layouts, limit.ownLayouts, 100 * limit.error);
    std::printf("  held out, tp of whole nodes: %.3f of %d runs\n", held.wholeNodesRankCorrelation, held.wholeNodes);
  }
  std::vector<MeasuredRun> all = *always;
  all.insert(all.end(), runs->begin(), runs->end());
  Result<Hardware> fitted = calibrate(all, hardware);
  if (!fitted)
    return Error{fitted.error()};
  std::printf("  factors from all runs:");
  printFactors(*fitted);
  std::vector<double> errors;
  for (const MeasuredRun &run : *always)
    errors.push_back(std::abs(fitted->seconds(stepWork(run.run, hardware)) / run.seconds - 1));
  std::printf("  single_node.csv, among the fitted: median error %.1f %%\n", 100 * median(errors));
  return {};
}

static Status printAllReduce(const Tables &tables, bool rows) {
  for (const char *name : {"vtrain/allreduce_a100.csv", "vtrain/allreduce_v100.csv"}) {
    Result<TextTable> table = tables.read(name);
    if (!table)
      return Error{table.error()};
    Result<FittedLink> fitted = fitNodeLink(*table);
    if (!fitted)
      return Error{fitted.error()};
    std::printf("%s: latency %.1f us, hop %.1f us, %.1f GB/s; median error %.1f %% of %zu rows\n", name,
                fitted->link.latency * 1e6, fitted->link.hop * 1e6, fitted->link.bandwidth / 1e9,
                100 * fitted->table.medianError(), fitted->table.rows.size());
    if (rows)
      std::printf("%s", fitted->table.str().c_str());
  }
  return {};
}

static Status printMegatron(const Tables &tables, const Hardware &hardware) {
  Result<TextTable> scaling = tables.read("megatron_sc21.csv"), sequence = tables.read("megatron_sp.csv"),
                    turing = tables.read("mtnlg.csv");
  for (const Result<TextTable> *table : {&scaling, &sequence, &turing})
    if (!*table)
      return Error{table->error()};
  Result<ComparedTable> first = compareMegatron(*scaling, hardware), last = compareTuring(*turing, hardware);
  Result<std::vector<ComparedTable>> middle = compareSequenceParallel(*sequence, hardware);
  if (!first)
    return Error{first.error()};
  if (!middle)
    return Error{middle.error()};
  if (!last)
    return Error{last.error()};
  std::printf("%s", first->str().c_str());
  for (const ComparedTable &table : *middle)
    std::printf("%s", table.str().c_str());
  std::printf("%s", last->str().c_str());
  return {};
}

static Status printAmdp(const Tables &tables) {
  Result<TextTable> table = tables.read("amdp_throughput.csv");
  Result<Hardware> hardware = findHardware("a800");
  if (!table)
    return Error{table.error()};
  if (!hardware)
    return Error{hardware.error()};
  Result<AmdpComparison> compared = compareAmdp(*table, *hardware);
  if (!compared)
    return Error{compared.error()};
  std::printf("amdp_throughput.csv: GPT %.1f TFLOP/s, BERT %.1f, %.1f ms a window, fitted at d = 4\n",
              1e-12 / compared->constants[0], 1e-12 / compared->constants[1], 1e3 * compared->constants[2]);
  std::printf("%s", compared->fitted.str().c_str());
  for (const ComparedTable &held : compared->held)
    std::printf("%s", held.str().c_str());
  std::printf("AMDP > 2BW > 1F1B in every predicted row: %s\n", compared->ordered ? "yes" : "no");
  return {};
}

static Status printHeterogeneous(const Tables &tables) {
  Result<TextTable> table = tables.read("hetero.csv");
  if (!table)
    return Error{table.error()};
  Result<HeterogeneousComparison> compared = compareHeterogeneous(*table);
  if (!compared)
    return Error{compared.error()};
  std::printf("%s", compared->str().c_str());
  // How much hangs on what the paper leaves open.
  const std::pair<const char *, HeterogeneousAssumptions> others[] = {
      {"32-bit gradients", {.gradientBytes = 4}},
      {"an encoder divided by context and sequence parallelism", {.undividedEncoder = false}},
      {"both", {.gradientBytes = 4, .undividedEncoder = false}},
      {"3 GB of a device reserved instead of 6", {.reserve = 3e9}},
      {"9 GB", {.reserve = 9e9}}};
  for (const auto &[name, assumptions] : others) {
    Result<HeterogeneousComparison> other = compareHeterogeneous(*table, assumptions);
    if (!other)
      return Error{std::string(name) + ": " + other.error()};
    std::printf("  with %s: %d of %zu signs, disjoint gains more %s\n", name, other->sameSigns(), other->rows.size(),
                other->crossoverSize() > 0 ? ("from " + std::to_string(int(other->crossoverSize())) + "B on").c_str()
                                           : "nowhere");
  }
  return {};
}

static Status run(const Options &options) {
  Tables tables{options.folder};
  Result<Hardware> hardware = findHardware(options.hardware);
  if (!hardware)
    return Error{hardware.error()};
  bool all = options.table == "all";
  if (all || options.table == "vtrain")
    if (Status status = printVtrain(tables, *hardware, options.rows); !status)
      return status;
  if (all || options.table == "allreduce")
    if (Status status = printAllReduce(tables, options.rows); !status)
      return status;
  if (all || options.table == "megatron")
    if (Status status = printMegatron(tables, *hardware); !status)
      return status;
  if (all || options.table == "amdp")
    if (Status status = printAmdp(tables); !status)
      return status;
  if (all || options.table == "hetero")
    if (Status status = printHeterogeneous(tables); !status)
      return status;
  return {};
}

void addCosts(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(
      app, "costs", "Compare the cost model with published measurements",
      {"costs --table hetero", "costs --table vtrain --rows", "costs --table megatron --hardware a100"});
  command->add_option("--table", options->table, "all, vtrain, allreduce, megatron, amdp or hetero")
      ->check(sim::oneOf({"all", "vtrain", "allreduce", "megatron", "amdp", "hetero"}))
      ->capture_default_str();
  command->add_option("--oracles", options->folder, "Folder of the published tables")
      ->check(sim::named())
      ->capture_default_str();
  command->add_option("--hardware", options->hardware, "Hardware whose figures are used")
      ->check(sim::named())
      ->capture_default_str();
  command->add_flag("--rows", options->rows, "Print every run, not only each table's errors");
  auto isOne = [&table = options->table](const char *other) {
    return table == "all" || table == "vtrain" || table == other;
  };
  command.readOnlyIf({"--rows"}, "with --table all, vtrain or allreduce", [isOne] { return isOne("allreduce"); });
  command.readOnlyIf({"--hardware"}, "with --table all, vtrain or megatron", [isOne] { return isOne("megatron"); });
  command.onRun(options, run);
}
