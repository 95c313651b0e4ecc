//===- PlannerSamples.cpp - Sizes and times from samples and profiles ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/StableBatch.h"
#include "braid/Plan/Planner/Planner.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

Status useCurves(PlannerProblem &problem, const std::vector<FittedCurve> &curves) {
  std::vector<std::string> names;
  for (const PlannerComponent &component : problem.components)
    names.push_back(component.name);
  for (const FittedCurve &fitted : curves) {
    auto at = std::find(names.begin(), names.end(), fitted.unit);
    if (at == names.end())
      return Error{"there is a curve of unit '" + fitted.unit +
                   "'; a unit must be a component's name, and no component has " + "this one" +
                   suggest(fitted.unit, names)};
    PlannerComponent &component = problem.components[at - names.begin()];
    if (!component.curves.emplace(std::pair{fitted.tp, fitted.cp}, fitted.curve).second)
      return Error{"component '" + component.name + "' has a curve at tp " + std::to_string(fitted.tp) + ", cp " +
                   std::to_string(fitted.cp) + " already; leave one of the two out"};
  }
  return {};
}

/// Forward FLOP of a component over a sample's tokens.
static CostCurve flopsOf(Transformer model) {
  model.sequence = 1;
  return {model.layers * model.attentionFlops(),
          model.layers * (model.layerFlops() - model.attentionFlops()) + model.headFlops(), 0};
}

namespace {
/// Sums over samples.
struct Sums {
  double tokens = 0, squares = 0; // of the tokens of each segment, times the tokens
  int samples = 0;
};
} // namespace

/// Equal samples with the same means of tokens and of attention.
static Status setSizes(PlannerComponent &component, const Sums &sums) {
  if (!(sums.tokens > 0))
    return Error{"the samples have no tokens for component '" + component.name + "'; name another column"};
  constexpr double multiple = 32; // so that tp and cp divide
  double sequence = std::max(1.0, std::round(sums.squares / sums.tokens / multiple)) * multiple;
  component.model.sequence = sequence;
  component.segments = sums.tokens / sums.samples / sequence;
  return {};
}

Result<ProfilingBatch> useSamples(PlannerProblem &problem, const TextTable &samples, uint64_t seed) {
  const size_t components = problem.components.size();
  SampleLoads loads; // rows are tokens
  std::vector<std::vector<double>> segments(components);
  for (size_t i = 0; i < components; ++i) {
    const PlannerComponent &component = problem.components[i];
    if (component.tokensColumn.empty())
      return Error{"component '" + component.name + "' lacks 'samples'; name its column of " + samples.name +
                   ", as in samples: text_tokens"};
    Result<std::vector<double>> tokens = samples.sizes(component.tokensColumn);
    if (!tokens)
      return Error{tokens.error()};
    segments[i].assign(tokens->size(), 1);
    if (!component.segmentsColumn.empty()) {
      Result<std::vector<double>> counts = samples.segments(component.segmentsColumn, component.tokensColumn);
      if (!counts)
        return Error{counts.error()};
      segments[i] = std::move(*counts);
    }
    if (i + 1 == components && i > 0)
      for (size_t sample = 0; sample < tokens->size(); ++sample)
        (*tokens)[sample] += loads.rows[0][sample] / problem.components[0].merge;
    CostCurve flops = flopsOf(component.model);
    std::vector<double> &load = loads.loads.emplace_back();
    for (size_t sample = 0; sample < tokens->size(); ++sample)
      load.push_back(flops.ofSample((*tokens)[sample], segments[i][sample]));
    loads.rows.push_back(std::move(*tokens));
  }
  if (loads.size() == 0)
    return Error{samples.name + " has no samples; each line after the first is one"};

  ProfilingBatch batch;
  batch.size = loads.size();
  if (components > 1) {
    constexpr int mostGroups = 64;
    batch.groups = std::clamp(problem.devices, static_cast<int>(components), mostGroups);
    Result<StableBatch> stable = findStableBatch(loads, batch.groups, {.seed = seed});
    if (!stable)
      return Error{stable.error()};
    batch.size = stable->size;
    batch.split = stable->split;
  }
  for (size_t i = 0; i < components; ++i) {
    Sums sums;
    double &largest = batch.largest.emplace_back();
    for (int sample = 0; sample < loads.size(); ++sample) {
      double tokens = loads.rows[i][sample];
      sums.tokens += tokens;
      largest = std::max(largest, tokens);
      sums.squares += tokens * tokens / std::max(1.0, segments[i][sample]);
      ++sums.samples;
    }
    if (Status status = setSizes(problem.components[i], sums); !status)
      return Error{samples.name + ": " + status.error()};
  }
  if (Status status = problem.check(); !status)
    return Error{status.error()};
  return batch;
}

} // namespace braid::plan
