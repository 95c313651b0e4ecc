//===- Assignment.cpp - Which sample runs in which micro-batch ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Assignment.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

std::vector<int> Assignment::languageSamples(int microbatch) const {
  std::vector<int> result;
  if (microbatch > 0)
    result = deferred[microbatch - 1];
  const std::vector<int> &away = deferred[microbatch];
  for (int sample : samples[microbatch])
    if (std::find(away.begin(), away.end(), sample) == away.end())
      result.push_back(sample);
  return result;
}

Status Assignment::check(int count) const {
  auto fail = [](size_t microbatch, const std::string &message) {
    return Error{"micro-batch " + std::to_string(microbatch) + " " + message};
  };
  std::vector<int> owner(count, -1);
  for (size_t microbatch = 0; microbatch < samples.size(); ++microbatch)
    for (int sample : samples[microbatch]) {
      if (sample < 0 || sample >= count)
        return fail(microbatch, "has sample " + std::to_string(sample) + " of " + std::to_string(count));
      if (owner[sample] >= 0)
        return fail(microbatch, "has sample " + std::to_string(sample) + ", which micro-batch " +
                                    std::to_string(owner[sample]) + " has too; each sample runs once");
      owner[sample] = static_cast<int>(microbatch);
    }
  for (int sample = 0; sample < count; ++sample)
    if (owner[sample] < 0)
      return Error{"sample " + std::to_string(sample) + " is in no micro-batch; each sample runs once"};
  if (deferred.size() != samples.size())
    return Error{"there are deferred samples for " + std::to_string(deferred.size()) + " micro-batches of " +
                 std::to_string(samples.size())};
  for (size_t microbatch = 0; microbatch < deferred.size(); ++microbatch) {
    const std::vector<int> &away = deferred[microbatch];
    for (size_t at = 0; at < away.size(); ++at) {
      if (away[at] < 0 || away[at] >= count || owner[away[at]] != static_cast<int>(microbatch))
        return fail(microbatch, "defers sample " + std::to_string(away[at]) + ", which is not one of its own");
      if (std::find(away.begin(), away.begin() + at, away[at]) != away.begin() + at)
        return fail(microbatch, "defers sample " + std::to_string(away[at]) + " twice");
    }
    if (!away.empty() && !hasPartner(static_cast<int>(microbatch)))
      return fail(microbatch, "defers samples and has no partner; of " + std::to_string(samples.size()) +
                                  " micro-batches the even ones but the last defer to the next");
  }
  return {};
}

MicrobatchLoads loadsOf(const StepModel &model, const SampleLoads &samples, const Assignment &assignment) {
  int components = samples.components(), language = components - 1;
  MicrobatchLoads loads(components, assignment.microbatches());
  for (int component = 0; component < components; ++component) {
    const std::vector<double> &load = samples.loads[component], &rows = samples.rows[component];
    auto add = [&](int microbatch, int part, double sum, double sumRows) {
      for (bool backward : {false, true}) {
        size_t at = loads.index(component, backward, microbatch, part);
        loads.load[at] += sum;
        loads.rows[at] += sumRows;
      }
    };
    double constant = model.components[component].constant;
    for (int microbatch = 0; microbatch < assignment.microbatches(); ++microbatch) {
      double sum = constant, sumRows = 0, late = 0, lateRows = 0;
      for (int sample : assignment.samples[microbatch]) {
        sum += load[sample];
        sumRows += rows[sample];
      }
      for (int sample : assignment.deferred[microbatch]) {
        late += load[sample];
        lateRows += rows[sample];
      }
      add(microbatch, 0, sum - late, sumRows - lateRows);
      if (assignment.deferred[microbatch].empty())
        continue;
      if (component == language)
        add(microbatch + 1, 0, late, lateRows);
      else
        add(microbatch, 1, late + constant, lateRows);
    }
  }
  return loads;
}

static double meanForward(const MicrobatchLoads &loads, int component) {
  double mean = 0;
  for (int microbatch = 0; microbatch < loads.microbatches; ++microbatch)
    mean += loads.forward(component, microbatch) / loads.microbatches;
  return mean;
}

double deviation(const MicrobatchLoads &loads, int component) {
  double mean = meanForward(loads, component), square = 0;
  for (int microbatch = 0; microbatch < loads.microbatches; ++microbatch) {
    double excess = loads.forward(component, microbatch) - mean;
    square += excess * excess / loads.microbatches;
  }
  return std::sqrt(square);
}

double variation(const MicrobatchLoads &loads, int component) {
  double mean = meanForward(loads, component);
  return mean > 0 ? deviation(loads, component) / mean : 0;
}

} // namespace braid::plan
