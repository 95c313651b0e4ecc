//===- TrainingRun.cpp - Step time and memory of an even pipeline ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Cost/TrainingRun.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace braid::plan {

static int layersPerRank(const TrainingRun &run) { return (run.model.layers + run.parallel.pp - 1) / run.parallel.pp; }

Work stepWork(const TrainingRun &run, const Hardware &hardware) {
  const Parallelism &parallel = run.parallel;
  UnitCost layer = layerCost(run.model, parallel, run.recompute, run.microbatch, hardware);
  UnitCost head = headCost(run.model, parallel, run.microbatch, hardware);
  int layers = layersPerRank(run);
  Work stage = layers * layer.all();
  // The last stage has the head besides its layers and is busy throughout; a step starts with the fill of the others.
  Work step = run.microbatches * (stage + head.all());
  step += double(parallel.pp - 1) / run.chunks * stage;
  double parameters = layers * layer.parameters + head.parameters;
  step += gradientCost(parameters, parallel, run.microbatches, hardware);
  step += updateCost(parameters, parallel, hardware);
  if (parallel.pp > 1) {
    // Messages of the fill and the drain; the others go while ranks compute.
    int stageRanks = parallel.tp * parallel.cp * parallel.dp;
    bool sameNode = 2 * stageRanks <= hardware.devicesPerNode;
    double bytes = boundaryBytes(run.model, parallel, run.microbatch);
    step += 2.0 * (parallel.pp - 1) * sendReceive(hardware, sameNode, 1, bytes);
  }
  return step;
}

RunMemory runMemory(const TrainingRun &run, const StateBytes &bytes) {
  RunMemory memory;
  const Parallelism &parallel = run.parallel;
  int layers = layersPerRank(run);
  memory.state = bytes.of(layers * run.model.layerParameters() / parallel.tp, parallel);
  double inFlight = std::min(run.microbatches, parallel.pp);
  if (run.chunks > 1) // Korthikanti et al., section 4.2.3
    inFlight = parallel.pp * (1 + double(parallel.pp - 1) / (double(parallel.pp) * run.chunks));
  memory.activations = inFlight * layers * layerActivation(run.model, parallel, run.recompute, run.microbatch);
  return memory;
}

Result<std::vector<MeasuredRun>> readMeasuredRuns(const TextTable &table) {
  static const std::vector<const char *> columns = {"global_batch", "micro_batch", "hidden", "heads", "layers",
                                                    "seq_len",      "tp",          "dp",     "pp",    "iteration_ms"};
  std::vector<MeasuredRun> runs;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    std::vector<double> values;
    for (const char *column : columns) {
      Result<double> value = table.number(row, column);
      if (!value)
        return Error{value.error()};
      if (!(*value > 0) || *value > 1e9)
        return Error{table.name + ":" + std::to_string(table.lines[row]) + ": " + column + " is " +
                     table.text(row, column) + " and must be between 0 and 1e9"};
      values.push_back(*value);
    }
    MeasuredRun measured;
    TrainingRun &run = measured.run;
    run.model.hidden = values[2];
    run.model.heads = values[3];
    run.model.layers = static_cast<int>(values[4]);
    run.model.sequence = values[5];
    run.model.vocabulary = 51200;
    run.parallel.tp = static_cast<int>(values[6]);
    run.parallel.dp = static_cast<int>(values[7]);
    run.parallel.pp = static_cast<int>(values[8]);
    run.microbatch = values[1];
    run.microbatches = static_cast<int>(values[0] / (values[7] * values[1]));
    if (run.microbatches < 1 || run.model.layers < run.parallel.pp)
      return Error{table.name + ":" + std::to_string(table.lines[row]) +
                   ": the batch makes no micro-batch, or there are fewer layers than stages"};
    measured.seconds = values[9] / 1000;
    if (table.has("params_billion")) {
      Result<double> size = table.number(row, "params_billion");
      if (!size)
        return Error{size.error()};
      measured.size = *size;
    }
    runs.push_back(measured);
  }
  return runs;
}

Observations observe(const std::vector<MeasuredRun> &runs, const Hardware &hardware) {
  std::map<double, int> ofSize;
  for (const MeasuredRun &run : runs)
    ++ofSize[run.size];
  Observations observations;
  for (const MeasuredRun &run : runs) {
    Work work = stepWork(run.run, hardware);
    observations.amounts.emplace_back(work.amounts.begin(), work.amounts.end());
    observations.measured.push_back(run.seconds);
    observations.weights.push_back(1.0 / ofSize[run.size]);
  }
  return observations;
}

Result<Hardware> calibrate(const std::vector<MeasuredRun> &runs, const Hardware &hardware) {
  Result<std::vector<double>> factors = nonNegativeLeastDeviations(observe(runs, hardware));
  if (!factors)
    return Error{factors.error()};
  Hardware fitted = hardware;
  std::copy(factors->begin(), factors->end(), fitted.factors.begin());
  return fitted;
}

Result<std::vector<HeldOutSize>> leaveOneSizeOut(const std::vector<MeasuredRun> &runs,
                                                 const std::vector<MeasuredRun> &always, const Hardware &hardware) {
  std::set<double> sizes;
  for (const MeasuredRun &run : runs)
    sizes.insert(run.size);
  if (sizes.size() < 2)
    return Error{"there are runs of " + std::to_string(sizes.size()) +
                 " size; leaving one out needs at least two, told apart by the column params_billion"};
  std::vector<HeldOutSize> results;
  for (double size : sizes) {
    std::vector<MeasuredRun> others = always, held;
    for (const MeasuredRun &run : runs)
      (run.size == size ? held : others).push_back(run);
    HeldOutSize result;
    result.size = size;
    result.runs = static_cast<int>(held.size());
    Result<Hardware> fitted = calibrate(others, hardware);
    if (!fitted)
      return Error{fitted.error()};
    result.fitted = *fitted;
    std::vector<double> measured, errors, wholePredicted, wholeMeasured;
    for (const MeasuredRun &run : held) {
      result.predicted.push_back(fitted->seconds(stepWork(run.run, hardware)));
      measured.push_back(run.seconds);
      errors.push_back(std::abs(result.predicted.back() / run.seconds - 1));
      if (run.run.parallel.tp % hardware.devicesPerNode == 0) {
        wholePredicted.push_back(result.predicted.back());
        wholeMeasured.push_back(run.seconds);
      }
    }
    result.medianError = median(errors);
    result.rankCorrelation = rankCorrelation(result.predicted, measured);
    result.wholeNodes = static_cast<int>(wholeMeasured.size());
    result.wholeNodesRankCorrelation = rankCorrelation(wholePredicted, wholeMeasured);
    results.push_back(std::move(result));
  }
  return results;
}

} // namespace braid::plan
