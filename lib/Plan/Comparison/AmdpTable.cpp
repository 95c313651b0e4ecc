//===- AmdpTable.cpp - Throughput of asynchronous pipelines ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Comparison/CostTables.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace braid::plan {

namespace {
using Constants = std::array<double, 3>; // seconds per FLOP of GPT, of BERT, per window

/// One row of the published table.
struct Case {
  std::string model, kind;
  int depth = 4;
  int microbatches = 4; // per update and pipeline
  int replicas = 1;     // of the pipeline, on further GPUs
  double published = 0;

  std::string label() const {
    return model + " d " + std::to_string(depth) + (replicas > 1 ? " x " + std::to_string(replicas) : "") + ", " +
           std::to_string(microbatches) + " micro-batches, " + kind;
  }
};
} // namespace

static constexpr double samplesPerMicrobatch = 4; // section 5.1 of the paper

/// GPT has 48 layers of 1600 and 50257 tokens, BERT 32 and 30522; sequences of 1024.
static Transformer modelOf(const std::string &name) {
  Transformer model;
  model.layers = name == "BERT" ? 32 : 48;
  model.hidden = 1600;
  model.heads = 25;
  model.sequence = 1024;
  model.vocabulary = name == "BERT" ? 30522 : 50257;
  return model;
}

/// Seconds between the ends of two updates, in the steady state where there is one.
static Result<double> windowTime(const Case &row, const Constants &constants, const Hardware &hardware) {
  Transformer model = modelOf(row.model);
  CostModel costs;
  double boundary = 2 * samplesPerMicrobatch * model.sequence * model.hidden;
  costs.latency = hardware.seconds(sendReceive(hardware, true, 1, boundary));
  double layersPerStage = double(model.layers) / row.depth;
  // Whole optimizer states live once (ZeRO), so copies of a stage share its update.
  int copies = row.kind == "amdp" ? row.depth / 2 : 1;
  double perFlop = constants[row.model == "BERT" ? 1 : 0];
  for (int stage = 0; stage < row.depth; ++stage) {
    double forward = layersPerStage * model.layerFlops(), parameters = layersPerStage * model.layerParameters();
    if (stage == row.depth - 1) {
      forward += model.headFlops();
      parameters += model.vocabulary * model.hidden;
    }
    StageCost &cost = costs.stages.emplace_back();
    cost.forward = cost.input = cost.weight = perFlop * samplesPerMicrobatch * forward;
    cost.update = hardware.seconds(updateCost(parameters / copies, {}, hardware));
    // Two replicas are on two nodes; each of a node's eight GPUs reduces its gradients with its like.
    if (row.replicas > 1)
      cost.update += hardware.seconds(allReduce(hardware, {row.replicas, 1, hardware.devicesPerNode}, 2 * parameters));
  }
  // The copies reduce 16-bit gradients and get weights back: an all-reduce and a broadcast of as many bytes.
  double stageBytes = 2 * layersPerStage * model.layerParameters();
  costs.reduce = 1.5 * hardware.seconds(allReduce(hardware, {copies, copies, 1}, stageBytes));

  auto makespan = [&](int updates) -> Result<double> {
    ScheduleRequest request;
    request.kind = row.kind;
    request.ranks = row.depth;
    request.updates = updates;
    request.microbatches = row.microbatches * updates;
    Result<PlannedSchedule> planned = makeSchedule(request, {.messages = false, .update = true});
    if (!planned)
      return Error{row.label() + ": " + planned.error()};
    Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, costs);
    if (!timeline)
      return Error{row.label() + ": " + timeline.error()};
    return timeline->makespan;
  };
  // What ends a window blocks every rank besides (reduction and broadcast do in AMDP's code).
  if (row.kind == "1f1b") {
    Result<double> one = makespan(1);
    return one ? Result<double>(*one + constants[2]) : one;
  }
  Result<double> few = makespan(3), many = makespan(6);
  if (!few || !many)
    return few ? many : few;
  return (*many - *few) / 3 + constants[2];
}

static Result<double> throughput(const Case &row, const Constants &constants, const Hardware &hardware) {
  Result<double> seconds = windowTime(row, constants, hardware);
  if (!seconds)
    return seconds;
  return row.microbatches * row.replicas * samplesPerMicrobatch * modelOf(row.model).sequence / *seconds / 1000;
}

/// The three systems' rows; others are outside the model.
static Result<std::vector<Case>> readCases(const TextTable &table, bool windows) {
  std::vector<Case> cases;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    std::string system = table.text(i, "system");
    Case row;
    row.kind = system == "dapple_1f1b" ? "1f1b" : system == "pipedream_2bw" ? "2bw" : "amdp";
    bool isWindow = system.starts_with("amdp window");
    if (table.text(i, "quantity") != "throughput" || windows != isWindow ||
        (!isWindow && row.kind == "amdp" && system != "amdp"))
      continue;
    row.model = table.text(i, "model");
    Result<double> depth = table.number(i, "d"), batch = table.number(i, "batch"), value = table.number(i, "value");
    for (const Result<double> *number : {&depth, &batch, &value})
      if (!*number)
        return Error{number->error()};
    auto isCount = [](double number, double least, double most) {
      return number >= least && number <= most && number == std::floor(number);
    };
    if (!isCount(*depth, 4, 1024) || !isCount(*batch, samplesPerMicrobatch, 1 << 20) || !(*value > 0))
      return Error{table.name + ":" + std::to_string(table.lines[i]) + ": d is " + table.text(i, "d") + ", batch " +
                   table.text(i, "batch") + " and value " + table.text(i, "value") +
                   "; write whole numbers of 4 to 1024 and of 4 to 1048576, and a positive number"};
    row.depth = static_cast<int>(*depth);
    if (row.model.starts_with("16 GPUs")) { // the table does not say which model; GPT's rate at d = 8 fits
      row.model = "GPT";
      row.replicas = std::max(1, 16 / row.depth);
    }
    row.microbatches = static_cast<int>(*batch / samplesPerMicrobatch / row.replicas);
    row.published = *value;
    cases.push_back(row);
  }
  return cases;
}

static Result<ComparedTable> compareCases(const std::string &title, const std::vector<Case> &cases,
                                          const Constants &constants, const Hardware &hardware) {
  ComparedTable result{title + ": thousand tokens a second", {}};
  for (const Case &row : cases) {
    Result<double> predicted = throughput(row, constants, hardware);
    if (!predicted)
      return Error{predicted.error()};
    result.rows.push_back({row.label(), row.published, *predicted});
  }
  return result;
}

/// Sum of squared relative errors of the times; large where a row cannot be simulated.
static double misfit(const std::vector<Case> &cases, const Constants &constants, const Hardware &hardware) {
  double sum = 0;
  for (const Case &row : cases) {
    Result<double> predicted = throughput(row, constants, hardware);
    double error = predicted ? row.published / *predicted - 1 : 1e3;
    sum += error * error;
  }
  return sum;
}

/// A window's time is a sum of constants times amounts along its longest path, which changes with them. So the amounts
/// are taken as derivatives and the step to the least squares is halved until it helps (Gauss and Newton's method).
static Result<Constants> fit(const std::vector<Case> &cases, const Hardware &hardware) {
  Constants constants = {1 / 120e12, 1 / 90e12, 0.01};
  for (int round = 0; round < 12; ++round) {
    Observations observations;
    for (const Case &row : cases) {
      Result<double> base = windowTime(row, constants, hardware);
      if (!base)
        return Error{base.error()};
      std::vector<double> &amounts = observations.amounts.emplace_back();
      double rest = *base; // what no constant explains: the collectives
      for (size_t i = 0; i < constants.size(); ++i) {
        Constants changed = constants;
        double step = std::max(constants[i], 1e-13) * 1e-3;
        changed[i] += step;
        Result<double> moved = windowTime(row, changed, hardware);
        if (!moved)
          return Error{moved.error()};
        amounts.push_back((*moved - *base) / step);
        rest -= amounts.back() * constants[i];
      }
      double tokens = row.microbatches * samplesPerMicrobatch * modelOf(row.model).sequence / 1000;
      observations.measured.push_back(std::max(tokens / row.published - rest, 1e-9));
    }
    Result<std::vector<double>> target = nonNegativeLeastSquares(observations);
    if (!target)
      return Error{target.error()};
    double now = misfit(cases, constants, hardware);
    bool improved = false;
    for (double length = 1; length > 1e-3 && !improved; length /= 2) {
      Constants next = constants;
      for (size_t i = 0; i < next.size(); ++i)
        next[i] += length * ((*target)[i] - next[i]);
      improved = misfit(cases, next, hardware) < now;
      if (improved)
        constants = next;
    }
    if (!improved)
      break;
  }
  return constants;
}

Result<AmdpComparison> compareAmdp(const TextTable &table, const Hardware &hardware) {
  Result<std::vector<Case>> cases = readCases(table, false), windows = readCases(table, true);
  if (!cases)
    return Error{cases.error()};
  if (!windows)
    return Error{windows.error()};
  std::vector<Case> shallow, deep, twoNodes;
  for (const Case &row : *cases)
    (row.depth == 4                                                ? shallow
     : row.model == "GPT" && (row.replicas > 1 || row.depth == 16) ? twoNodes
                                                                   : deep)
        .push_back(row);
  Result<Constants> constants = fit(shallow, hardware);
  if (!constants)
    return Error{table.name + ": " + constants.error()};
  AmdpComparison result;
  result.constants = *constants;
  const std::pair<const char *, const std::vector<Case> *> groups[] = {{", d = 4, fitted", &shallow},
                                                                       {", d = 8", &deep},
                                                                       {", 16 GPUs on two nodes", &twoNodes},
                                                                       {", windows of 1, 2, 4, 8 blocks", &*windows}};
  std::map<std::string, std::map<std::string, double>> rates; // [model, depth, micro-batches][kind]
  for (auto [title, group] : groups) {
    Result<ComparedTable> compared = compareCases(table.name + title, *group, *constants, hardware);
    if (!compared)
      return Error{compared.error()};
    for (size_t i = 0; i < group->size(); ++i) {
      const Case &row = (*group)[i];
      rates[row.label().substr(0, row.label().rfind(','))][row.kind] = compared->rows[i].predicted;
    }
    if (group == &shallow)
      result.fitted = *compared;
    else
      result.held.push_back(*compared);
  }
  for (auto &[label, of] : rates)
    if (of.size() == 3)
      result.ordered &= of["amdp"] > of["2bw"] && of["2bw"] > of["1f1b"];
  return result;
}

} // namespace braid::plan
