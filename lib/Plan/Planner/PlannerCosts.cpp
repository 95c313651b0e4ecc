//===- PlannerCosts.cpp - Time and memory of one candidate plan -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannerCosts.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

double inFlight(const std::string &kind, int chunks, int stage, int stages, int microbatches) {
  double p = stages, rest = stages - stage, held = rest;
  if (kind == "gpipe" || kind == "looped_bfs")
    held = microbatches;
  else if (kind == "interleaved") // Narayanan et al., 2021: 2 (p-1-r) + (v-1) p forwards more than backwards, and one
    held = (2 * (rest - 1) + (chunks - 1) * p + 1) / chunks;
  else if (kind == "zb_h2") // as under ZB-H1, later stages owe weight gradients for which they hold as much
    held = 2 * p - 1;
  else if (kind == "zb_h1" || kind == "zb_v" || kind == "amdp")
    held = p;
  return std::min<double>(held, microbatches);
}

Evaluation evaluatePipeline(const PlannerProblem &problem, const Candidate &candidate,
                            const PlannedPipeline &pipeline) {
  Evaluation result;
  result.candidate = candidate;
  result.encoderStages = pipeline.encoderStarts;
  result.languageStages = pipeline.languageStarts;
  result.reshardBytes = pipeline.reshardBytes;
  const int count = static_cast<int>(pipeline.stages.size());
  const double m = result.microbatches = microbatchesOf(problem, candidate);
  const bool amdp = candidate.kind == "amdp", folded = candidate.kind == "zb_v" && count > 1;

  double most = 0, sum = 0;
  const PlannedStage *slowest = &pipeline.stages.front();
  for (const PlannedStage &stage : pipeline.stages) {
    sum += stage.total();
    if (stage.total() > most) {
      most = stage.total();
      slowest = &stage;
    }
  }
  // Time besides the slowest stage's own work.
  double wait = 0;
  if (amdp) {
    // Every rank has a copy of every second stage, so ranks do the average, and wait a (3p+1)th of the time. (AMDP,
    // 2026, section 3.3: the bubble at B = 2F)
    most = sum / count;
    wait = m * most / (3.0 * count);
  } else {
    for (const PlannedStage &stage : pipeline.stages) {
      if (&stage == slowest)
        continue;
      if (candidate.kind == "zb_h1")
        wait += std::max(0.0, stage.forward + stage.input - stage.weight);
      else if (candidate.kind == "zb_h2" || candidate.kind == "zb_v")
        wait += std::max(0.0, stage.forward + stage.input - 2 * stage.weight);
      else
        wait += stage.total() / candidate.chunks;
    }
    wait += 2.0 * (count - 1) * pipeline.message;
  }
  double gradients = 0, update = 0;
  for (const PlannedStage &stage : pipeline.stages) {
    gradients = std::max(gradients, stage.gradients);
    update = std::max(update, stage.update);
  }

  StepParts &parts = result.parts;
  auto share = [&](Resource resource) {
    int index = static_cast<int>(resource);
    double ofStage = slowest->total() > 0 ? most / slowest->total() : 0; // amdp: the average stage's
    return m * ofStage * slowest->work.amounts[index] * problem.hardware.factors[index];
  };
  parts.matmul = share(Resource::Matmul);
  parts.memory = share(Resource::Memory);
  parts.launch = share(Resource::Launch);
  parts.nodeLink = share(Resource::NodeLink);
  parts.crossLink = share(Resource::CrossLink);
  parts.bubble = wait;
  parts.encoder = pipeline.encoderForward + pipeline.encoderBackward;
  parts.gradients = gradients + pipeline.encoderGradients;
  parts.update = update + pipeline.encoderUpdate;
  parts.reshard = pipeline.reshard;
  result.seconds = parts.total();

  for (int s = 0; s < count; ++s) {
    const PlannedStage &stage = pipeline.stages[s];
    // Under AMDP a rank has p/2 stages' weights and gradients, and the optimizer's state of one. (Section 3.3)
    double state = stage.state + (amdp ? (count / 2.0 - 1) * stage.copied : 0);
    double held = stage.backward ? inFlight(candidate.kind, candidate.chunks, s, count, result.microbatches) : 1;
    double bytes = problem.reserve + state + held * stage.activation + stage.transient;
    if (!stage.ofEncoder)
      bytes += pipeline.encoderBytes;
    if (folded) // the rank of the last chunk, with the head, has the first one, with the embedding
      bytes += s == count - 1 ? pipeline.embedding : s == 0 ? -pipeline.embedding : 0;
    if (bytes > result.peakBytes) {
      result.peakBytes = bytes;
      result.fullest = folded ? "stages " + std::to_string(count - 1 - s) + " and " + std::to_string(count + s)
                              : std::string(stage.ofEncoder ? "encoder " : "") + "stage " + std::to_string(s);
    }
  }
  return result;
}

Result<Evaluation> evaluate(const PlannerProblem &problem, const Candidate &candidate) {
  if (Status status = problem.check(); !status)
    return Error{status.error()};
  Result<PlannedPipeline> pipeline = planPipeline(problem, candidate);
  if (!pipeline)
    return Error{pipeline.error()};
  return evaluatePipeline(problem, candidate, *pipeline);
}

Result<Evaluation> simulateCandidate(const PlannerProblem &problem, const Candidate &candidate) {
  if (Status status = problem.check(); !status)
    return Error{status.error()};
  Result<PlannedPipeline> pipeline = planPipeline(problem, candidate);
  if (!pipeline)
    return Error{pipeline.error()};
  Evaluation result = evaluatePipeline(problem, candidate, *pipeline);
  const int count = static_cast<int>(pipeline->stages.size());
  const bool folded = candidate.kind == "zb_v", async = candidate.kind == "amdp";
  const int chunks = candidate.kind == "interleaved" ? candidate.chunks : folded ? 2 : 1;
  ScheduleRequest request{
      .kind = candidate.kind, .ranks = count, .microbatches = result.microbatches, .chunks = chunks};
  auto makespan = [&](int microbatches) -> Result<double> {
    request.microbatches = microbatches;
    Result<PlannedSchedule> planned = makeSchedule(request, {.messages = false, .update = false});
    if (!planned)
      return Error{planned.error()};
    CostModel costs;
    costs.latency = pipeline->message;
    int stages = planned->pipeline.numStages();
    for (int s = 0; s < stages; ++s) {
      // Chunks of a rank are equal parts of what the search gave it; folded, rank 0 has the last one and its head.
      const PlannedStage &stage = pipeline->stages[folded ? count - 1 - std::min(s, 2 * count - 1 - s) : s % count];
      costs.stages.push_back(
          {.forward = stage.forward / chunks, .input = stage.input / chunks, .weight = stage.weight / chunks});
      if (!stage.backward && chunks == 1) {
        planned->pipeline.stages[s].backward = planned->pipeline.stages[s].trains = false;
        for (Edge &edge : planned->pipeline.edges)
          if (edge.from == s || edge.to == s)
            edge.carriesGradient = false;
      }
    }
    if (candidate.kind == "1f1b") { // frozen stages have no backward: the table is made for that
      Result<Schedule> again = oneFOneB(planned->pipeline, {.messages = false, .update = false});
      if (!again)
        return Error{again.error()};
      planned->schedule = *again;
    }
    Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, costs);
    if (!timeline)
      return Error{timeline.error()};
    return timeline->makespan;
  };
  Result<double> time = makespan(result.microbatches);
  if (time && async) { // what one more step of the endless stream takes
    Result<double> twice = makespan(2 * result.microbatches);
    if (!twice)
      return Error{twice.error()};
    time = *twice - *time;
  }
  if (!time)
    return Error{time.error()};
  const StepParts &parts = result.parts;
  result.simulated = *time + parts.encoder + parts.gradients + parts.update + parts.reshard;
  return result;
}

} // namespace braid::plan
