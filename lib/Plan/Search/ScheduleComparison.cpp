//===- ScheduleComparison.cpp - All schedules side by side ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Search/ScheduleComparison.h"
#include "Units.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Search/Directions.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

static Status check(const ScheduleComparison &request) {
  constexpr double most = 1e15;
  for (double value :
       {request.forward, request.input, request.weight, request.latency, request.activation, request.state})
    if (!(value >= 0 && value <= most))
      return Error{"a duration or a memory is " + std::to_string(value) + "; write a number from 0 to 1e15"};
  if (!(request.forward + request.input + request.weight > 0))
    return Error{"forward, input and weight take no time; give at least one a duration"};
  return {};
}

/// A rank's share in equal parts: what one of its stages costs.
static CostModel costsOf(const ScheduleComparison &request, const Pipeline &pipeline) {
  double parts = std::max(1, pipeline.numStages() / request.ranks);
  CostModel costs;
  costs.latency = request.latency;
  costs.stages = {{.forward = request.forward / parts,
                   .input = request.input / parts,
                   .weight = request.weight / parts,
                   .activation = request.activation / parts}};
  return costs;
}

static double mostOf(const std::vector<double> &values) { return *std::max_element(values.begin(), values.end()); }

/// Fills in what follows from the step and the activations.
static void complete(const ScheduleComparison &request, ComparedSchedule &row) {
  double work = request.microbatches * (request.forward + request.input + request.weight);
  row.bubble = row.step > 0 ? std::max(0.0, 1 - work / row.step) : 0;
  row.memory = row.activations + request.state * row.copies * row.versions;
  row.fits = request.maxMemory < 0 || fitsMemory(row.memory, request.maxMemory);
}

static ComparedSchedule generated(const ScheduleComparison &request, const ScheduleKind &kind, int chunks) {
  ComparedSchedule row;
  row.name = kind.name;
  row.stages = kind.readsChunks ? chunks : 1;
  const bool drains = !kind.readsUpdates;
  auto run = [&](int steps) -> Result<double> {
    ScheduleRequest wanted{
        .kind = kind.name, .ranks = request.ranks, .microbatches = request.microbatches, .chunks = chunks};
    if (int64_t(steps) * request.microbatches > 1 << 28)
      return Error{std::to_string(request.microbatches) + " micro-batches are too many"};
    wanted.microbatches *= steps;
    wanted.updates = steps;
    Result<PlannedSchedule> planned = makeSchedule(wanted, {.messages = false, .update = false});
    if (!planned)
      return Error{planned.error()};
    Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, costsOf(request, planned->pipeline));
    if (!timeline)
      return Error{timeline.error()};
    row.stages = std::max(1, planned->pipeline.numStages() / request.ranks);
    row.copies = planned->pipeline.directions();
    row.versions = std::max(1, planned->schedule.weightVersions);
    row.staleness = planned->schedule.staleness;
    row.activations = std::max(row.activations, mostOf(timeline->peakActivation));
    return timeline->makespan;
  };
  Result<double> time = run(drains ? 1 : 4);
  if (time && !drains) { // the fill and the drain of both are the same
    if (Result<double> shorter = run(2))
      time = (*time - *shorter) / 2;
    else
      time = shorter;
  }
  if (!time) {
    row.refused = time.error();
    return row;
  }
  row.step = *time;
  complete(request, row);
  return row;
}

enum class Searched { Chain, Folded, TwoDirections };

/// An error if there is no such pipeline; a generated kind then has the reason.
static Result<ComparedSchedule> searched(const ScheduleComparison &request, Searched how) {
  ComparedSchedule row;
  row.name = "searched";
  row.stages = how == Searched::Folded ? 2 : 1;
  row.copies = how == Searched::TwoDirections ? 2 : 1;
  const char *kind = how == Searched::Chain ? "1f1b" : how == Searched::Folded ? "zb_v" : "chimera";
  Result<PlannedSchedule> planned =
      makeSchedule({.kind = kind, .ranks = request.ranks, .microbatches = request.microbatches},
                   {.messages = false, .update = false});
  if (!planned)
    return Error{planned.error()};
  SearchOptions options{.maxEvaluations = request.evaluations, .seed = request.seed};
  if (request.maxMemory >= 0) {
    options.maxMemory = request.maxMemory - request.state * row.copies;
    if (options.maxMemory < 0) {
      row.refused = "the weights alone do not fit";
      return row;
    }
  }
  CostModel costs = costsOf(request, planned->pipeline);
  Pipeline pipeline = planned->pipeline;
  Result<Schedule> schedule = Error{""};
  if (how == Searched::TwoDirections) {
    if (Result<DirectionsResult> found = searchDirections(request.ranks, 2, request.microbatches, 1, costs, options)) {
      pipeline = found->pipeline;
      schedule = std::move(found->schedule);
    } else
      schedule = Error{found.error()};
  } else if (Result<SearchResult> found = searchSchedule(pipeline, costs, options)) {
    schedule = std::move(found->schedule);
  } else
    schedule = Error{found.error()};
  if (!schedule) {
    row.refused = schedule.error();
    return row;
  }
  Result<Timeline> timeline = simulate(pipeline, schedule->computeOnly(), costs);
  if (!timeline)
    return Error{timeline.error()};
  row.step = timeline->makespan;
  row.activations = mostOf(timeline->peakActivation);
  complete(request, row);
  return row;
}

Result<std::vector<ComparedSchedule>> compareSchedules(const ScheduleComparison &request) {
  if (Status status = check(request); !status)
    return Error{status.error()};
  std::vector<ComparedSchedule> rows;
  for (const ScheduleKind &kind : scheduleKinds()) {
    if (kind.name == "three_phase") // of two models
      continue;
    for (int chunks : kind.readsChunks ? std::vector<int>{2, 4} : std::vector<int>{2})
      rows.push_back(generated(request, kind, chunks));
  }
  if (request.evaluations > 0)
    for (Searched how : {Searched::Chain, Searched::Folded, Searched::TwoDirections})
      if (Result<ComparedSchedule> row = searched(request, how))
        rows.push_back(std::move(*row));
  auto rank = [](const ComparedSchedule &row) { return !row.refused.empty() ? 2 : row.fits ? 0 : 1; };
  std::stable_sort(rows.begin(), rows.end(), [&](const ComparedSchedule &a, const ComparedSchedule &b) {
    return std::pair{rank(a), a.step} < std::pair{rank(b), b.step};
  });
  return rows;
}

} // namespace braid::plan
