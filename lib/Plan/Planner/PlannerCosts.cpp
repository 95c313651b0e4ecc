//===- PlannerCosts.cpp - Time and memory of one candidate plan -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannerCosts.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Schedule/Partition.h"
#include "braid/Plan/Simulator/Simulator.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

Status PlannerProblem::check() const {
  if (components.empty() || components.size() > 2)
    return Error{"there are " + std::to_string(components.size()) +
                 " components; the planner takes a language model, and before it one encoder: join several encoders"};
  for (const PlannerComponent &component : components) {
    if (Status status = component.model.check(); !status)
      return Error{"component '" + component.name + "': " + status.error()};
    if (!(component.segments > 0))
      return Error{"component '" + component.name + "' has " + std::to_string(component.segments) +
                   " segments in a sample; give a positive number"};
  }
  if (batch < 1 || devices < 1)
    return Error{"there are " + std::to_string(batch) + " samples and " + std::to_string(devices) +
                 " devices; give at least one of each"};
  for (size_t i = 0; i < components.size(); ++i)
    if (!(components[i].merge >= 1) || (i + 1 == components.size() && components[i].merge != 1))
      return Error{"component '" + components[i].name + "' merges " + std::to_string(components[i].merge) +
                   " tokens into one; give an encoder a number from 1, and the language model none"};
  if (zero < 0 || zero > 3)
    return Error{"ZeRO stage " + std::to_string(zero) + " is none; choose 0 to 3"};
  return {};
}

const std::vector<std::string> &placementNames() {
  static const std::vector<std::string> names = {"single", "together", "colocated", "disjoint"};
  return names;
}

const char *spelling(Placement placement) { return placementNames()[static_cast<int>(placement)].c_str(); }

int Candidate::ranks() const {
  return language.parallel.ranks() + (placement == Placement::Disjoint ? encoder.parallel.ranks() : 0);
}

static std::string layoutOf(const ComponentPlan &plan) {
  const Parallelism &p = plan.parallel;
  return "tp " + std::to_string(p.tp) + " cp " + std::to_string(p.cp) + " pp " + std::to_string(p.pp) + " dp " +
         std::to_string(p.dp) + " recompute " + spelling(plan.recompute);
}

std::string Candidate::str() const {
  std::string text = spelling(placement);
  if (placement != Placement::Single)
    text += ": encoder " + layoutOf(encoder) + "; language";
  text += " " + layoutOf(language) + "; " + kind;
  if (chunks > 1)
    text += " with " + std::to_string(chunks) + " chunks";
  return text + ", micro-batches of " + std::to_string(static_cast<int>(microbatch)) + ", " + std::to_string(ranks()) +
         " devices";
}

int microbatchesOf(const PlannerProblem &problem, const Candidate &candidate) {
  return static_cast<int>(problem.batch / (candidate.language.parallel.dp * candidate.microbatch));
}

double inFlight(const std::string &kind, int chunks, int stage, int stages, int microbatches) {
  double p = stages, rest = stages - stage, held = rest;
  if (kind == "gpipe" || kind == "looped_bfs")
    held = microbatches;
  else if (kind == "interleaved") // Narayanan et al., 2021: 2 (p-1-r) + (v-1) p forwards more than backwards, and one
    held = (2 * (rest - 1) + (chunks - 1) * p + 1) / chunks;
  else if (kind == "zb_h2")
    held = 2 * rest - 1;
  else if (kind == "zb_v" || kind == "amdp")
    held = p;
  return std::min<double>(held, microbatches);
}

namespace {
/// A layer of one component under one layout, with times.
struct Piece {
  UnitCost cost;
  double forward = 0, input = 0, weight = 0, recompute = 0;

  double total() const { return forward + input + weight + recompute; }
};
} // namespace

/// `backward`: whether a gradient passes through; frozen layers have no weight gradient.
static Piece price(UnitCost cost, const Hardware &hardware, bool backward, bool trains) {
  Piece piece;
  if (!trains)
    cost.weight = {};
  if (!backward) {
    cost.input = cost.recompute = {};
    cost.activation = 0;
  }
  piece.forward = hardware.seconds(cost.forward);
  piece.input = hardware.seconds(cost.input);
  piece.weight = hardware.seconds(cost.weight);
  piece.recompute = hardware.seconds(cost.recompute);
  piece.cost = cost;
  return piece;
}

static Piece layerPiece(const PlannerProblem &problem, const PlannerComponent &component, const ComponentPlan &plan,
                        double samples, bool backward) {
  UnitCost cost =
      layerCost(component.model, plan.parallel, plan.recompute, samples * component.segments, problem.hardware);
  auto curve = component.curves.find({plan.parallel.tp, plan.parallel.cp});
  if (curve != component.curves.end()) {
    double sequence = component.model.sequence / plan.parallel.cp;
    double seconds = samples * component.segments * curve->second.ofSample(sequence) + curve->second.c;
    double factor = problem.hardware.factors[static_cast<int>(Resource::Matmul)];
    cost.forward = {};
    cost.forward[Resource::Matmul] = seconds / factor;
    cost.input = cost.weight = cost.forward;
    if (plan.recompute == Recompute::Full)
      cost.recompute = cost.forward;
  }
  return price(cost, problem.hardware, backward, !component.frozen);
}

static void addState(PlannedStage &stage, double parameters, const StateBytes &bytes, const Parallelism &parallel,
                     bool trains) {
  StateBytes copied = bytes;
  copied.optimizer = 0;
  if (!trains)
    copied.gradients = 0;
  stage.copied += copied.of(parameters, parallel);
  stage.state += trains ? bytes.of(parameters, parallel) : copied.of(parameters, parallel);
}

static void addTo(PlannedStage &stage, const Piece &piece, int count, const StateBytes &bytes,
                  const Parallelism &parallel, bool trains) {
  stage.layers += count;
  stage.forward += count * piece.forward;
  stage.input += count * (piece.input + piece.recompute);
  stage.weight += count * piece.weight;
  stage.work += count * piece.cost.all();
  stage.activation += count * piece.cost.activation;
  // What ZeRO divides is whole while its layer runs.
  double whole = (parallel.zero >= 3 ? bytes.weights : 0) + (parallel.zero >= 2 && trains ? bytes.gradients : 0);
  stage.transient = std::max(stage.transient, piece.cost.transient + whole * piece.cost.parameters);
  addState(stage, count * piece.cost.parameters, bytes, parallel, trains);
}

/// partitionEvenly() of equal layers whose last one does `extra` besides: the last stage gets some, the others share
/// the rest evenly.
static Result<std::vector<int>> cutEqual(int layers, double each, double extra, int stages) {
  if (stages < 1 || stages > layers)
    return Error{"cannot cut " + std::to_string(layers) + " layers into " + std::to_string(stages) + " stages"};
  int best = 1;
  std::pair<double, double> least{1e300, 0};
  for (int last = 1; stages > 1 && last <= layers - stages + 1; ++last) {
    int others = layers - last, small = others / (stages - 1), more = others % (stages - 1);
    double large = (small + (more > 0)) * each, end = last * each + extra;
    double squares = end * end + (stages - 1 - more) * small * each * small * each + more * large * large;
    best = std::pair{std::max(large, end), squares} < least ? last : best;
    least = std::min(least, {std::max(large, end), squares});
  }
  std::vector<int> starts(stages, 0);
  for (int s = 1; s < stages; ++s) {
    int others = layers - best, small = others / (stages - 1), more = others % (stages - 1);
    starts[s] = starts[s - 1] + small + (s - 1 < more);
  }
  return starts;
}

Result<PlannedPipeline> planPipeline(const PlannerProblem &problem, const Candidate &candidate, double slowest) {
  const Hardware &hardware = problem.hardware;
  const bool twoComponents = candidate.placement != Placement::Single;
  if (twoComponents != (problem.components.size() == 2))
    return Error{std::string("placement ") + spelling(candidate.placement) + " needs " +
                 (twoComponents ? "two components" : "one component") + ", and there are " +
                 std::to_string(problem.components.size())};
  const PlannerComponent &language = problem.components.back();
  const PlannerComponent &encoder = problem.components.front();
  const Parallelism &lp = candidate.language.parallel, &ep = candidate.encoder.parallel;
  double lanes = lp.dp * candidate.microbatch;
  if (!(candidate.microbatch > 0) || std::fmod(problem.batch, lanes) != 0)
    return Error{std::to_string(problem.batch) + " samples do not divide into " + std::to_string(lp.dp) +
                 " lanes and micro-batches of " + std::to_string(candidate.microbatch)};
  const StateBytes &bytes = problem.state;
  const bool encoderTrains = twoComponents && !encoder.frozen;
  const bool languageBackward = !language.frozen || encoderTrains;
  PlannedPipeline result;

  Piece languageLayer = layerPiece(problem, language, candidate.language, candidate.microbatch, languageBackward);
  Piece head = price(headCost(language.model, lp, candidate.microbatch * language.segments, hardware), hardware,
                     languageBackward, !language.frozen);
  // No order of stages makes the slowest one less than the mean, or the fullest one hold less state than it.
  double work = language.model.layers * languageLayer.total() + head.total();
  double parameters = language.model.layers * languageLayer.cost.parameters;
  Piece encoderLayer; // in one pipeline with the language model's
  if (candidate.placement == Placement::Together) {
    ComponentPlan plan{lp, candidate.encoder.recompute};
    if (encoder.undivided) {
      plan.parallel.cp = 1;
      plan.parallel.sequenceParallel = false;
    }
    encoderLayer = layerPiece(problem, encoder, plan, candidate.microbatch, encoderTrains);
    work += encoder.model.layers * encoderLayer.total();
    parameters += encoder.model.layers * encoderLayer.cost.parameters;
  }
  if (microbatchesOf(problem, candidate) * work / lp.pp > slowest)
    return Error{"slower than what is known"};
  double mean = (language.frozen ? bytes.weights * parameters : bytes.of(parameters, lp)) / lp.pp;
  if (slowest < 1e30 && mean + problem.reserve > problem.hardware.memory)
    return Error{"too large"};

  auto buildLanguage = [&](std::vector<PlannedStage> &stages, const std::vector<int> &starts, int first, int count) {
    for (size_t s = 0; s < starts.size(); ++s) {
      int end = s + 1 < starts.size() ? starts[s + 1] : count;
      addTo(stages[first + s], languageLayer, end - starts[s], bytes, lp, !language.frozen);
    }
    addTo(stages.back(), head, 1, bytes, lp, !language.frozen);
    stages.back().layers -= 1;
    // The embedding is as large as the head.
    result.embedding = stages[first].state;
    addState(stages[first], head.cost.parameters, bytes, lp, !language.frozen);
    result.embedding = stages[first].state - result.embedding;
  };

  if (candidate.placement == Placement::Together) {
    std::vector<double> weights(encoder.model.layers, encoderLayer.total());
    weights.insert(weights.end(), language.model.layers, languageLayer.total());
    weights.back() += head.total();
    Result<std::vector<int>> starts = partitionEvenly(weights, lp.pp);
    if (!starts)
      return Error{starts.error()};
    result.stages.resize(lp.pp);
    int border = encoder.model.layers, all = static_cast<int>(weights.size());
    for (int s = 0; s < lp.pp; ++s) {
      int start = (*starts)[s], end = s + 1 < lp.pp ? (*starts)[s + 1] : all;
      PlannedStage &stage = result.stages[s];
      if (start < border) {
        result.encoderStarts.push_back(start);
        addTo(stage, encoderLayer, std::min(end, border) - start, bytes, lp, encoderTrains);
      }
      if (end > border) {
        result.languageStarts.push_back(std::max(0, start - border));
        addTo(stage, languageLayer, end - std::max(start, border), bytes, lp, !language.frozen);
      }
      stage.ofEncoder = end <= border;
      stage.backward = start >= border ? languageBackward : encoderTrains || end > border;
    }
    PlannedStage &last = result.stages.back();
    addTo(last, head, 1, bytes, lp, !language.frozen);
    last.layers -= 1;
    for (PlannedStage &stage : result.stages)
      if (!stage.ofEncoder) {
        addState(stage, head.cost.parameters, bytes, lp, !language.frozen);
        break;
      }
  } else {
    Result<std::vector<int>> starts = cutEqual(language.model.layers, languageLayer.total(), head.total(), lp.pp);
    if (!starts)
      return Error{"component '" + language.name + "': " + starts.error()};
    int before = candidate.placement == Placement::Disjoint ? ep.pp : 0;
    result.stages.resize(before + lp.pp);
    for (PlannedStage &stage : result.stages)
      stage.backward = languageBackward;
    buildLanguage(result.stages, *starts, before, language.model.layers);
    result.languageStarts = *starts;
    if (before > 0) {
      // In the time of a micro-batch on each lane of the language model, the encoder's lanes do all of them.
      double samples = candidate.microbatch * lp.dp / ep.dp;
      Piece layer = layerPiece(problem, encoder, candidate.encoder, samples, encoderTrains);
      Result<std::vector<int>> cuts = cutEqual(encoder.model.layers, layer.total(), 0, ep.pp);
      if (!cuts)
        return Error{"component '" + encoder.name + "': " + cuts.error()};
      for (int s = 0; s < before; ++s) {
        int end = s + 1 < before ? (*cuts)[s + 1] : encoder.model.layers;
        addTo(result.stages[s], layer, end - (*cuts)[s], bytes, ep, encoderTrains);
        result.stages[s].ofEncoder = true;
        result.stages[s].backward = encoderTrains;
      }
      result.encoderStarts = *cuts;
    }
  }

  for (PlannedStage &stage : result.stages) {
    const Parallelism &parallel = stage.ofEncoder && candidate.placement == Placement::Disjoint ? ep : lp;
    const PlannerComponent &component = stage.ofEncoder ? encoder : language;
    if (component.frozen)
      continue;
    double trained = stage.layers *
                     (stage.ofEncoder ? encoder.model.layerParameters() / parallel.tp : languageLayer.cost.parameters);
    if (&stage == &result.stages.back())
      trained += head.cost.parameters;
    stage.gradients = hardware.seconds(gradientCost(trained, parallel, microbatchesOf(problem, candidate), hardware));
    stage.update = hardware.seconds(updateCost(trained, parallel, hardware));
  }

  int stageRanks = lp.tp * lp.cp * lp.dp;
  bool sameNode = 2 * stageRanks <= hardware.devicesPerNode;
  if (result.stages.size() > 1)
    result.message = hardware.seconds(sendReceive(
        hardware, sameNode, 1, boundaryBytes(language.model, lp, candidate.microbatch * language.segments)));

  if (twoComponents && candidate.placement != Placement::Together) {
    // Payload of the boundary: the encoder's tokens as the language model reads them, in its width, 16 bits.
    result.reshardBytes =
        2.0 * problem.batch * encoder.segments * encoder.model.sequence / encoder.merge * language.model.hidden;
    // Every rank of the smaller side moves its share of each micro-batch.
    int ranks = std::min(ep.ranks(), lp.ranks()), microbatches = microbatchesOf(problem, candidate);
    bool oneNode = candidate.ranks() <= hardware.devicesPerNode;
    Work move = microbatches * sendReceive(hardware, oneNode, std::min(ranks, hardware.devicesPerNode),
                                           result.reshardBytes / ranks / microbatches);
    // Links carry both ways at once, and disjoint ranks use them so; colocated phases go one way after the other.
    bool twice = encoderTrains && candidate.placement == Placement::Colocated;
    result.reshard = (twice ? 2 : 1) * hardware.seconds(move);
  }
  if (candidate.placement == Placement::Colocated) {
    // As many passes as micro-batches of the language model, each of a whole lane's share.
    int passes = std::max(1, std::min(microbatchesOf(problem, candidate), problem.batch / std::max(1, ep.dp)));
    double samples = double(problem.batch) / ep.dp / passes;
    Piece layer = layerPiece(problem, encoder, candidate.encoder, samples, encoderTrains);
    int layers = encoder.model.layers;
    result.encoderForward = passes * layers * layer.forward;
    result.encoderBackward = passes * layers * (layer.total() - layer.forward);
    result.encoderWork = double(passes * layers) * layer.cost.all();
    double ofEncoder = layers * layer.cost.parameters;
    if (encoderTrains) {
      result.encoderGradients = hardware.seconds(gradientCost(ofEncoder, ep, passes, hardware));
      result.encoderUpdate = hardware.seconds(updateCost(ofEncoder, ep, hardware));
    }
    // Activations of all passes wait for the language model to finish, and so does the packed boundary tensor.
    result.encoderBytes = (encoderTrains ? bytes.of(ofEncoder, ep) : bytes.weights * ofEncoder) +
                          passes * layers * layer.cost.activation + layer.cost.transient +
                          2 * result.reshardBytes / (double(lp.dp) * lp.cp);
  }
  return result;
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
    // Every rank has a copy of every second stage, so ranks do the average; a block of p waits (p+1)th part, 3.3.
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
