//===- CostTables.cpp - Predictions beside published tables ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Comparison/CostTables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace braid::plan {

static constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

double ComparedTable::medianError() const {
  std::vector<double> errors;
  for (const ComparedRow &row : rows)
    errors.push_back(std::abs(row.error()));
  return median(errors);
}

std::string ComparedTable::str() const {
  std::string text = title + "\n";
  char line[256];
  for (const ComparedRow &row : rows) {
    std::snprintf(line, sizeof line, "  %-44s %12.5g %12.5g %+7.1f %%\n", row.label.c_str(), row.published,
                  row.predicted, 100 * row.error());
    text += line;
  }
  std::snprintf(line, sizeof line, "  median of absolute errors %39.1f %%\n", 100 * medianError());
  return text + line;
}

namespace {
/// Numbers of one row; the first that is missing becomes the error.
class Row {
public:
  Row(const TextTable &table, size_t index) : table(table), index(index) {}

  const TextTable &table;
  const size_t index;
  std::string error;

  double operator()(const char *column) {
    Result<double> value = table.number(index, column);
    if (value && *value > 0)
      return *value;
    return refuse(value ? here() + column + " must be positive" : value.error());
  }
  /// A number of ranks, layers or the like.
  int count(const char *column) {
    constexpr int most = 1 << 24;
    double value = (*this)(column);
    if (value == std::floor(value) && value <= most)
      return static_cast<int>(value);
    return refuse(here() + column + " must be a whole number of at most " + std::to_string(most));
  }
  std::string here() const { return table.name + ":" + std::to_string(table.lines[index]) + ": "; }
  int refuse(const std::string &why) {
    if (error.empty())
      error = why;
    return 1;
  }
};
} // namespace

/// What the three Megatron tables have in common.
static TrainingRun readRun(Row &row) {
  TrainingRun run;
  run.model.hidden = row("hidden");
  run.model.heads = row("heads");
  run.model.layers = row.count("layers");
  run.model.sequence = row.table.has("seq_len") ? row("seq_len") : 2048;
  run.model.vocabulary = 51200;
  run.parallel.tp = row.count("tp");
  run.parallel.pp = row.count("pp");
  run.parallel.dp = row.count("dp");
  run.microbatch = row.table.has("micro_batch") ? row.count("micro_batch") : 1;
  run.chunks = row.table.has("virtual_chunks") ? row.count("virtual_chunks") : 1;
  run.microbatches = static_cast<int>(row.count("global_batch") / (run.parallel.dp * run.microbatch));
  if (run.microbatches < 1 || run.model.layers < run.parallel.pp)
    row.refuse(row.here() + "the batch makes no micro-batch, or there are fewer layers than stages");
  return run;
}

static std::string labelOf(const TrainingRun &run) {
  char label[128];
  std::snprintf(label, sizeof label, "%.1fB tp %d pp %d dp %d, %d x %g samples, %d chunks",
                run.model.parameters() / 1e9, run.parallel.tp, run.parallel.pp, run.parallel.dp, run.microbatches,
                run.microbatch, run.chunks);
  return label;
}

Result<FittedLink> fitNodeLink(const TextTable &allReduce) {
  Observations observations;
  FittedLink fitted;
  fitted.table.title = allReduce.name + ": milliseconds of an all-reduce";
  for (size_t i = 0; i < allReduce.rows.size(); ++i) {
    Row row(allReduce, i);
    double ranks = row("gpus"), bytes = row("size_mib") * 1024 * 1024, seconds = row("time_ns_in_place") * 1e-9;
    if (!row.error.empty())
      return Error{row.error};
    observations.amounts.push_back({1, ranks - 2, 2 * (ranks - 1) / ranks * bytes});
    observations.measured.push_back(seconds);
    char label[64];
    std::snprintf(label, sizeof label, "%g GPUs, %g MiB", ranks, bytes / 1024 / 1024);
    fitted.table.rows.push_back({label, seconds * 1e3, 0});
  }
  Result<std::vector<double>> constants = nonNegativeLeastSquares(observations);
  if (!constants)
    return Error{allReduce.name + ": " + constants.error()};
  fitted.link = {(*constants)[0], (*constants)[1], 1 / std::max((*constants)[2], 1e-30)};
  std::vector<double> errors = relativeErrors(observations, *constants);
  for (size_t i = 0; i < errors.size(); ++i)
    fitted.table.rows[i].predicted = fitted.table.rows[i].published * (1 + errors[i]);
  return fitted;
}

/// Steps with full recomputation, whose seconds are in this column.
static Result<ComparedTable> compareSteps(const TextTable &table, const char *column, const Hardware &hardware) {
  ComparedTable result{table.name + ": seconds of a step, full recomputation", {}};
  for (size_t i = 0; i < table.rows.size(); ++i) {
    Row row(table, i);
    TrainingRun run = readRun(row);
    double seconds = row(column);
    if (!row.error.empty())
      return Error{row.error};
    result.rows.push_back({labelOf(run), seconds, hardware.seconds(stepWork(run, hardware))});
  }
  return result;
}

Result<ComparedTable> compareMegatron(const TextTable &table, const Hardware &hardware) {
  return compareSteps(table, "derived_iteration_s", hardware);
}

Result<ComparedTable> compareTuring(const TextTable &table, const Hardware &hardware) {
  return compareSteps(table, "iteration_s", hardware);
}

Result<std::vector<ComparedTable>> compareSequenceParallel(const TextTable &table, const Hardware &hardware) {
  std::vector<ComparedTable> tables = {{table.name + ": seconds of a step, full recomputation", {}},
                                       {table.name + ": the same, selective, sequence parallel", {}},
                                       {table.name + ": times of selective over full", {}},
                                       {table.name + ": GiB of weights, gradients and optimizer", {}},
                                       {table.name + ": GiB of activations without recomputation", {}},
                                       {table.name + ": GiB of activations, selective, sequence parallel", {}}};
  for (size_t i = 0; i < table.rows.size(); ++i) {
    Row row(table, i);
    TrainingRun run = readRun(row);
    std::string label = labelOf(run);
    auto add = [&](int index, double published, double predicted) {
      tables[index].rows.push_back({label, published, predicted});
    };
    double full = hardware.seconds(stepWork(run, hardware));
    run.recompute = Recompute::None;
    RunMemory none = runMemory(run);
    run.recompute = Recompute::Selective;
    run.parallel.sequenceParallel = true;
    double selective = hardware.seconds(stepWork(run, hardware));
    RunMemory little = runMemory(run);
    double publishedFull = row("iteration_s_full_recompute"),
           publishedSelective = row("iteration_s_selective_recompute_seqpar");
    add(0, publishedFull, full);
    add(1, publishedSelective, selective);
    add(2, publishedSelective / publishedFull, selective / full);
    add(3, row("params_optimizer_gib"), none.state / gibibyte);
    add(4, row("activation_gib_no_recompute_tp_only"), none.activations / gibibyte);
    add(5, row("activation_gib_selective_seqpar"), little.activations / gibibyte);
    if (!row.error.empty())
      return Error{row.error};
  }
  return tables;
}

} // namespace braid::plan
