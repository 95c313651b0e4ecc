//===- PlannerPipeline.cpp - Stages of a candidate ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannerCosts.h"
#include "braid/Plan/Schedule/Partition.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

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
  std::pair<double, double> least{anyTime, 0};
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

namespace {
/// Puts a candidate's layers into stages, with their times and bytes.
class PipelineBuilder {
public:
  PipelineBuilder(const PlannerProblem &problem, const Candidate &candidate, double slowest)
      : problem(problem), candidate(candidate), slowest(slowest), hardware(problem.hardware), bytes(problem.state),
        language(problem.components.back()), encoder(problem.components.front()), lp(candidate.language.parallel),
        ep(candidate.encoder.parallel), twoComponents(candidate.placement != Placement::Single),
        encoderTrains(twoComponents && !encoder.frozen), languageBackward(!language.frozen || encoderTrains) {}

  Result<PlannedPipeline> run() {
    if (twoComponents != (problem.components.size() == 2))
      return Error{std::string("placement ") + spelling(candidate.placement) + " needs " +
                   (twoComponents ? "two components" : "one component") + ", and there are " +
                   std::to_string(problem.components.size())};
    if (!(candidate.microbatch > 0) || std::fmod(problem.batch, lp.dp * candidate.microbatch) != 0)
      return Error{std::to_string(problem.batch) + " samples do not divide into " + std::to_string(lp.dp) +
                   " lanes and micro-batches of " + decimal(candidate.microbatch)};
    priceLayers();
    if (Status status = checkBounds(); !status)
      return Error{status.error()};
    if (Status status = candidate.placement == Placement::Together ? buildTogether() : buildApart(); !status)
      return Error{status.error()};
    addUpdates();
    addBoundaries();
    if (candidate.placement == Placement::Colocated)
      addColocatedEncoder();
    return std::move(result);
  }

private:
  void priceLayers() {
    languageLayer = layerPiece(problem, language, candidate.language, candidate.microbatch, languageBackward);
    head = price(headCost(language.model, lp, candidate.microbatch * language.segments, hardware), hardware,
                 languageBackward, !language.frozen);
    if (candidate.placement != Placement::Together)
      return;
    ComponentPlan plan{lp, candidate.encoder.recompute};
    if (encoder.undivided) {
      plan.parallel.cp = 1;
      plan.parallel.sequenceParallel = false;
    }
    encoderLayer = layerPiece(problem, encoder, plan, candidate.microbatch, encoderTrains);
  }

  /// No order of stages makes the slowest one less than the mean, or the fullest one hold less state than it.
  Status checkBounds() const {
    double work = language.model.layers * languageLayer.total() + head.total();
    double parameters = language.model.layers * languageLayer.cost.parameters;
    if (candidate.placement == Placement::Together) {
      work += encoder.model.layers * encoderLayer.total();
      parameters += encoder.model.layers * encoderLayer.cost.parameters;
    }
    if (microbatchesOf(problem, candidate) * work / lp.pp > slowest)
      return Error{"slower than what is known"};
    double mean = (language.frozen ? bytes.weights * parameters : bytes.of(parameters, lp)) / lp.pp;
    if (slowest < anyTime && mean + problem.reserve > hardware.memory)
      return Error{"too large"};
    return {};
  }

  void addHead(PlannedStage &stage) {
    addTo(stage, head, 1, bytes, lp, !language.frozen);
    stage.layers -= 1;
  }
  /// It is as large as the head.
  void addEmbedding(PlannedStage &stage) { addState(stage, head.cost.parameters, bytes, lp, !language.frozen); }

  /// One pipeline of both components' layers, in one layout.
  Status buildTogether() {
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
    addHead(result.stages.back());
    auto first = std::find_if(result.stages.begin(), result.stages.end(),
                              [](const PlannedStage &stage) { return !stage.ofEncoder; });
    if (first != result.stages.end())
      addEmbedding(*first);
    return {};
  }

  /// The language model's pipeline, and before it that of an encoder with ranks of its own.
  Status buildApart() {
    Result<std::vector<int>> starts = cutEqual(language.model.layers, languageLayer.total(), head.total(), lp.pp);
    if (!starts)
      return Error{"component '" + language.name + "': " + starts.error()};
    int before = candidate.placement == Placement::Disjoint ? ep.pp : 0;
    result.stages.resize(before + lp.pp);
    for (PlannedStage &stage : result.stages)
      stage.backward = languageBackward;
    for (int s = 0; s < lp.pp; ++s) {
      int end = s + 1 < lp.pp ? (*starts)[s + 1] : language.model.layers;
      addTo(result.stages[before + s], languageLayer, end - (*starts)[s], bytes, lp, !language.frozen);
    }
    addHead(result.stages.back());
    result.embedding = result.stages[before].state;
    addEmbedding(result.stages[before]);
    result.embedding = result.stages[before].state - result.embedding;
    result.languageStarts = *starts;
    if (before == 0)
      return {};
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
    return {};
  }

  /// What ends a step on each stage: the reduction of gradients and the optimizer.
  void addUpdates() {
    for (PlannedStage &stage : result.stages) {
      const Parallelism &parallel = stage.ofEncoder && candidate.placement == Placement::Disjoint ? ep : lp;
      const PlannerComponent &component = stage.ofEncoder ? encoder : language;
      if (component.frozen)
        continue;
      double trained = stage.layers * (stage.ofEncoder ? encoder.model.layerParameters() / parallel.tp
                                                       : languageLayer.cost.parameters);
      if (&stage == &result.stages.back())
        trained += head.cost.parameters;
      stage.gradients = hardware.seconds(gradientCost(trained, parallel, microbatchesOf(problem, candidate), hardware));
      stage.update = hardware.seconds(updateCost(trained, parallel, hardware));
    }
  }

  /// Messages between stages, and the reshard between components.
  void addBoundaries() {
    int stageRanks = lp.tp * lp.cp * lp.dp;
    bool sameNode = 2 * stageRanks <= hardware.devicesPerNode;
    if (result.stages.size() > 1)
      result.message = hardware.seconds(sendReceive(
          hardware, sameNode, 1, boundaryBytes(language.model, lp, candidate.microbatch * language.segments)));
    if (!twoComponents || candidate.placement == Placement::Together)
      return;
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

  /// As many passes as micro-batches of the language model, each of a whole lane's share.
  void addColocatedEncoder() {
    int passes = std::max(1, std::min(microbatchesOf(problem, candidate), problem.batch / std::max(1, ep.dp)));
    double samples = double(problem.batch) / ep.dp / passes;
    Piece layer = layerPiece(problem, encoder, candidate.encoder, samples, encoderTrains);
    int layers = encoder.model.layers;
    result.encoderForward = passes * layers * layer.forward;
    result.encoderBackward = passes * layers * (layer.total() - layer.forward);
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

  const PlannerProblem &problem;
  const Candidate &candidate;
  double slowest;
  const Hardware &hardware;
  const StateBytes &bytes;
  const PlannerComponent &language, &encoder; // of Single, the same
  const Parallelism &lp, &ep;
  bool twoComponents, encoderTrains, languageBackward;
  Piece languageLayer, head;
  Piece encoderLayer; // in one pipeline with the language model's
  PlannedPipeline result;
};
} // namespace

Result<PlannedPipeline> planPipeline(const PlannerProblem &problem, const Candidate &candidate, double slowest) {
  return PipelineBuilder(problem, candidate, slowest).run();
}

} // namespace braid::plan
