//===- Directions.cpp - Any number of directions through the same ranks ---===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Search/Directions.h"
#include "braid/Plan/Schedule/Dataflow.h"
#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Verifier/Verifier.h"

#include "Periodic.h"
#include "SearchLimits.h"
#include "Units.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>

namespace braid::plan {

Pipeline directionsPipeline(int ranks, int directions, int microbatches) {
  Pipeline pipeline = Pipeline::chain(ranks, microbatches);
  pipeline.placement.clear();
  for (int direction = 0; direction < directions; ++direction) {
    int first = direction * ranks / directions, last = (direction + 1) * ranks / directions - 1;
    std::vector<int> &placement = pipeline.placement.emplace_back();
    for (int stage = 0; stage < ranks; ++stage)
      placement.push_back((direction % 2 == 0 ? first + stage : last - stage + ranks) % ranks);
  }
  return pipeline;
}

/// The directions as separate chains of one pipeline: stage s of direction j is stage j * stages + s.
static Pipeline flatten(const Pipeline &pipeline) {
  Pipeline flat;
  int count = pipeline.numStages(), directions = pipeline.directions();
  flat.microbatches = pipeline.microbatches / directions;
  flat.placement.emplace_back();
  for (int direction = 0; direction < directions; ++direction) {
    flat.stages.insert(flat.stages.end(), pipeline.stages.begin(), pipeline.stages.end());
    flat.placement[0].insert(flat.placement[0].end(), pipeline.placement[direction].begin(),
                             pipeline.placement[direction].end());
    for (Edge edge : pipeline.edges) {
      edge.id += direction * static_cast<int>(pipeline.edges.size());
      edge.from += direction * count;
      edge.to += direction * count;
      flat.edges.push_back(edge);
    }
  }
  return flat;
}

/// The flat pipeline's rows as those of the directions.
static void unflatten(const Pipeline &pipeline, Schedule &schedule) {
  schedule.stages = pipeline.numStages();
  schedule.directions = pipeline.directions();
  schedule.microbatches = pipeline.microbatches;
  schedule.placement = pipeline.placement;
  for (std::vector<Action> &row : schedule.rows)
    for (Action &action : row) {
      action.direction = static_cast<int16_t>(action.stage / schedule.stages);
      action.stage %= schedule.stages;
    }
}

void addWindows(const Pipeline &pipeline, Schedule &schedule, const Timeline &timeline, int updates) {
  schedule.updates = updates;
  schedule.staleness = updates > 1 ? 1 : 0;
  int window = std::max(1, pipeline.microbatches / pipeline.directions() / updates);
  // When the last weight gradient of a window ends anywhere. A cut of all rows at one time is consistent: nothing
  // before it waits for anything behind it, so the reductions, which wait for each other, cannot deadlock.
  std::vector<double> complete(updates, 0.0);
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (size_t index = 0; index < schedule.rows[rank].size(); ++index)
      if (isBackward(schedule.rows[rank][index].kind))
        for (int update = schedule.rows[rank][index].microbatch / window; update < updates; ++update)
          complete[update] = std::max(complete[update], timeline.end[rank][index]);
  const double tolerance = 1e-12 * timeline.makespan;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    std::vector<std::pair<int, int>> hosted;
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      for (int direction = 0; direction < pipeline.directions(); ++direction)
        if (pipeline.rankOf(stage, direction) == rank && pipeline.stages[stage].trains)
          hosted.push_back({stage, direction});
    std::vector<Action> row;
    // What takes no time may start when its window is complete.
    std::vector<size_t> own(updates, 0); // actions of this row up to the last gradient of an update
    for (size_t index = 0; index < schedule.rows[rank].size(); ++index)
      if (isBackward(schedule.rows[rank][index].kind))
        for (int update = schedule.rows[rank][index].microbatch / window; update < updates; ++update)
          own[update] = index + 1;
    int version = 0;
    auto updateBefore = [&](double time, size_t index) {
      for (; version < updates && complete[version] <= time && own[version] <= index; ++version)
        for (ActionKind kind : {ActionKind::ReduceGrad, ActionKind::Step})
          for (auto [stage, direction] : hosted) {
            Action update = compute(kind, stage, -1, direction);
            update.version = static_cast<int16_t>(version);
            row.push_back(update);
          }
    };
    for (size_t index = 0; index < schedule.rows[rank].size(); ++index) {
      updateBefore(timeline.start[rank][index] + tolerance, index);
      Action action = schedule.rows[rank][index];
      action.version = static_cast<int16_t>(version);
      row.push_back(action);
    }
    updateBefore(timeline.makespan, schedule.rows[rank].size());
    schedule.rows[rank] = std::move(row);
  }
}

namespace {
/// Turns schedules of the flat pipeline into results and keeps the best one within the limits.
class Collector {
public:
  Collector(DirectionsResult &best, const Pipeline &flat, const CostModel &flatCosts, int updates, double maxMemory)
      : best(best), flat(flat), flatCosts(flatCosts), updates(updates), maxMemory(maxMemory) {}

  /// Whether the schedule is within all limits, that of mismatched micro-batches too.
  bool offer(Schedule schedule, const char *origin) {
    const Pipeline &pipeline = best.pipeline;
    const int ranks = pipeline.numStages(), perDirection = pipeline.microbatches / pipeline.directions();
    ++best.evaluated;
    Result<Timeline> timeline = simulate(flat, schedule, flatCosts);
    if (!timeline)
      return false;
    double most = *std::max_element(timeline->peakMemory.begin(), timeline->peakMemory.end());
    if (!fitsMemory(most, maxMemory))
      return false;
    // The middle half of the stream, on the rank that is slowest there.
    int low = perDirection / 4, high = std::max(low + 1, 3 * perDirection / 4);
    double block = double(ranks) / pipeline.directions(), blockTime = 0;
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      double ends[2] = {0, 0};
      const std::vector<Action> &row = schedule.rows[rank];
      for (size_t index = 0; index < row.size(); ++index)
        for (int which = 0; which < 2; ++which)
          if (row[index].microbatch < (which ? high : low))
            ends[which] = std::max(ends[which], timeline->end[rank][index]);
      blockTime = std::max(blockTime, (ends[1] - ends[0]) / (high - low) * block);
    }
    // Directions that take turns do the middle's work at other times: then the whole table counts, with fill and drain.
    if (blockTime < best.lowerBound - 1e-9)
      blockTime = timeline->makespan / perDirection * block;
    if (blockTime > best.blockTime + 1e-9 && !best.schedule.rows.empty())
      return false;
    unflatten(pipeline, schedule);
    addWindows(pipeline, schedule, *timeline, updates);
    int mismatched = mostMismatched(schedule, perDirection);
    if (mismatched < 0) {
      tooLate = true;
      return false;
    }
    bool within = mismatched <= ranks;
    if (!best.schedule.rows.empty() && within < (best.mismatched <= ranks))
      return false;
    best.schedule = std::move(schedule);
    best.blockTime = blockTime;
    best.peakActivation = *std::max_element(timeline->peakActivation.begin(), timeline->peakActivation.end());
    best.mismatched = mismatched;
    best.origin = origin;
    return within;
  }

  bool tooLate = false; // a schedule was refused because some gradient would be more than one update late

private:
  /// Micro-batches of one window whose forward and input gradient read different versions on some rank; -1 if a
  /// gradient is taken at weights that miss more than one update.
  int mostMismatched(const Schedule &schedule, int perDirection) const {
    std::vector<int16_t> forward(size_t(schedule.directions) * schedule.stages * perDirection);
    std::vector<char> differs(size_t(schedule.directions) * perDirection);
    for (const std::vector<Action> &row : schedule.rows)
      for (const Action &action : row) {
        if (!isCompute(action.kind))
          continue;
        size_t at = (size_t(action.direction) * schedule.stages + action.stage) * perDirection + action.microbatch;
        if (int64_t(action.microbatch) * updates / perDirection - action.version > schedule.staleness)
          return -1;
        if (action.kind == ActionKind::Forward)
          forward[at] = action.version;
        else if (action.kind == ActionKind::BackwardInput && forward[at] != action.version)
          differs[size_t(action.direction) * perDirection + action.microbatch] = true;
      }
    std::vector<int> counts(updates);
    for (size_t at = 0; at < differs.size(); ++at)
      counts[int64_t(at % perDirection) * updates / perDirection] += differs[at];
    return *std::max_element(counts.begin(), counts.end());
  }

  DirectionsResult &best;
  const Pipeline &flat;
  const CostModel &flatCosts;
  int updates;
  double maxMemory;
};
} // namespace

/// Searches one synchronous step for its length. Orders to follow are those of schedules with two directions, and of
/// patterns for a stream.
static Status searchStep(DirectionsResult &result, const Pipeline &flat, const CostModel &flatCosts,
                         const SearchOptions &options) {
  const Pipeline &pipeline = result.pipeline;
  const int ranks = pipeline.numRanks(), directions = pipeline.directions();
  std::vector<Schedule> known;
  if (directions == 2)
    for (auto make : {chimera, dualPipe})
      if (Result<Schedule> made = make(pipeline)) {
        for (std::vector<Action> &row : made->rows)
          for (Action &action : row) {
            action.stage += action.direction * ranks;
            action.direction = 0;
          }
        made->stages = flat.numStages();
        made->directions = 1;
        made->microbatches = flat.microbatches;
        made->placement = flat.placement;
        known.push_back(std::move(*made));
      }
  CostModel equal = flatCosts;
  for (StageCost &cost : equal.stages)
    cost.forward = cost.input = cost.weight = 1;
  equal.latency = 0;
  std::mt19937_64 random(options.seed);
  constexpr int patterns = 6;
  for (int attempt = 0; attempt < patterns; ++attempt)
    if (std::optional<PeriodicPattern> pattern = placePeriodic(flat, equal, 3 * directions, 1, 0, random)) {
      known.push_back(unroll(flat, *pattern));
      known.back().name = "a pattern";
    }
  // If any memory will do, 1F1B's may do as well.
  Result<SearchResult> found = Error{""};
  int64_t evaluated = 0;
  if (options.maxMemory < 0) {
    SearchOptions lean = options;
    lean.maxEvaluations = std::max<int64_t>(1, options.maxEvaluations / 2);
    for (const StageCost &cost : flatCosts.stages)
      lean.maxMemory = std::max(lean.maxMemory, ranks * cost.activation);
    found = searchSchedule(flat, flatCosts, lean, known);
    evaluated = found ? found->evaluated : 0;
    result.lowerBound = lowerBound(flat, flatCosts, options);
  }
  if (!found || found->value > result.lowerBound + 1e-9) {
    Result<SearchResult> rest = searchSchedule(flat, flatCosts, options, known);
    if (!rest)
      return Error{rest.error()};
    result.lowerBound = rest->lowerBound;
    evaluated += rest->evaluated;
    if (!found || rest->value < found->value - 1e-9)
      found = std::move(rest);
  }
  Result<Timeline> timeline = simulate(flat, found->schedule, flatCosts);
  if (!timeline)
    return Error{timeline.error()};
  result.schedule = std::move(found->schedule);
  unflatten(pipeline, result.schedule);
  addWindows(pipeline, result.schedule, *timeline, 1);
  result.blockTime = found->value;
  result.evaluated = evaluated;
  result.peakActivation = *std::max_element(timeline->peakActivation.begin(), timeline->peakActivation.end());
  result.origin = found->origin;
  return {};
}

/// The verifier has the last word. `unit`: that of the result's times so far.
static Result<DirectionsResult> verified(DirectionsResult result, double unit) {
  result.schedule.name = "directions";
  result.blockTime *= unit;
  result.lowerBound *= unit;
  Schedule whole = result.schedule;
  if (Status status = addMessages(result.pipeline, whole); !status)
    return Error{status.error()};
  if (Result<ScheduleFacts> facts = verify(result.pipeline, whole); !facts)
    return Error{facts.error()};
  return result;
}

Result<DirectionsResult> searchDirections(int ranks, int directions, int microbatches, int updates,
                                          const CostModel &given, SearchOptions options) {
  if (ranks < 1 || directions < 1 || directions > ranks)
    return Error{std::to_string(directions) + " directions through " + std::to_string(ranks) +
                 " ranks; choose at least one, and at most as many as there are ranks"};
  if (updates < 1 || updates > maxVersion || directions > maxVersion)
    return Error{"there are " + std::to_string(updates) + " updates and " + std::to_string(directions) +
                 " directions; choose 1 to " + std::to_string(maxVersion) + " of each"};
  const int64_t share = int64_t(directions) * updates;
  if (microbatches < 1 || microbatches % share)
    return Error{std::to_string(microbatches) + " micro-batches do not divide over " + std::to_string(directions) +
                 " directions and " + std::to_string(updates) + " updates; choose a multiple of " +
                 std::to_string(share)};
  DirectionsResult result;
  result.pipeline = directionsPipeline(ranks, directions, microbatches);
  Pipeline flat = flatten(result.pipeline);
  const double unit = timeUnit(given);
  const CostModel costs = inUnits(given, unit);
  options.stopAt /= unit;
  CostModel flatCosts = costs;
  if (costs.stages.size() > 1)
    for (int direction = 1; direction < directions; ++direction)
      flatCosts.stages.insert(flatCosts.stages.end(), costs.stages.begin(), costs.stages.end());
  if (updates == 1) {
    if (Status status = searchStep(result, flat, flatCosts, options); !status)
      return Error{status.error()};
    return verified(std::move(result), unit);
  }
  if (options.maxMemory < 0)
    options.maxMemory = ranks * costs.stage(0).activation;
  for (int rank = 0; rank < ranks; ++rank) {
    double work = 0;
    for (int stage = 0; stage < flat.numStages(); ++stage)
      if (flat.rankOf(stage) == rank) {
        const StageCost &cost = flatCosts.stage(stage);
        work += cost.forward + cost.input + cost.weight;
      }
    result.lowerBound = std::max(result.lowerBound, work * ranks / directions);
  }
  Collector collector(result, flat, flatCosts, updates, options.maxMemory);
  const SearchLimits limits(options);
  std::mt19937_64 random(options.seed);
  const double shortest = result.lowerBound * directions / ranks; // of a period
  double grid = shortest;
  for (const StageCost &cost : flatCosts.stages)
    grid = std::min({grid, cost.forward, cost.input, cost.weight});
  bool found = false;
  // On a grid pieces leave no gaps that are too short; ranks may be a latency apart on it.
  auto tryPattern = [&](const CostModel &placed, double period, double grid, int attempt, const char *origin) {
    if (std::optional<PeriodicPattern> pattern = placePeriodic(flat, placed, period, attempt % 4 == 3 ? 0 : grid,
                                                               attempt % 4 == 1 ? costs.latency : 0, random))
      found |= collector.offer(unroll(flat, *pattern), origin);
  };
  auto tryPeriod = [&](double stretch, int64_t attempts = 48) {
    for (int attempt = 0; attempt < attempts && !limits.reached(result.evaluated, 0.5); ++attempt) {
      if (found && result.blockTime <= result.lowerBound * stretch + 1e-6)
        return;
      tryPattern(flatCosts, shortest * stretch, grid, attempt, "pattern");
    }
  };
  tryPeriod(1, std::max<int64_t>(48, options.maxEvaluations / 8));
  // Unequal F, I and W may leave gaps that fit none of them. Then the order is that of a pattern for equal ones, with
  // some slack, and every action runs as early as it can.
  CostModel equal = flatCosts;
  const double mean = shortest / (3 * directions);
  for (StageCost &cost : equal.stages)
    cost.forward = cost.input = cost.weight = mean;
  const int64_t ordered = std::max<int64_t>(16, options.maxEvaluations / 32);
  for (double slack : {0.0, 0.25, 0.5, 1.0, 1.5})
    for (int attempt = 0; attempt < ordered && !limits.reached(result.evaluated, 0.5); ++attempt) {
      if (found && result.blockTime <= result.lowerBound + 1e-6)
        break;
      equal.latency = costs.latency + slack * mean;
      tryPattern(equal, 3 * mean * directions, mean, attempt, "the order of a pattern");
    }
  for (double stretch : {1.001, 1.002, 1.005, 1.01, 1.015, 1.02, 1.03, 1.05, 1.08, 1.12, 1.2, 1.3, 1.5})
    tryPeriod(stretch);
  if (!found || result.blockTime > result.lowerBound + 1e-6) {
    SearchOptions rest = options;
    rest.maxEvaluations = std::max<int64_t>(1, options.maxEvaluations - result.evaluated);
    rest.seconds = limits.secondsLeft();
    Result<SearchResult> searched = searchSchedule(flat, flatCosts, rest);
    if (!searched && result.schedule.rows.empty())
      return Error{searched.error()};
    if (searched) {
      result.evaluated += searched->evaluated;
      collector.offer(std::move(searched->schedule), "search");
    }
  }
  if (result.schedule.rows.empty() && collector.tooLate)
    return Error{
        "no stream in " + std::to_string(directions) + " directions that was tried ends a window of " +
        std::to_string(microbatches / updates) +
        " micro-batches before the one after the next begins; choose fewer updates, so that a window is longer"};
  if (result.schedule.rows.empty())
    return Error{"no stream in " + std::to_string(directions) + " directions fits into a memory of " +
                 decimal(options.maxMemory) + " per rank; allow more"};
  return verified(std::move(result), unit);
}

} // namespace braid::plan
