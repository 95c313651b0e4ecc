//===- Transformer.cpp - Work and memory of transformer layers ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Cost/Transformer.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

/// Bytes of an activation's entry.
static constexpr double entry = 2;

// Entries that kernels read and write besides matrix products, counted over an unfused layer, per token.
// Scores (heads x sequence): written by the product, read and written by the masked softmax and by dropout with a mask
// of half an entry, read by the second product. Backward: dropout, softmax (reads two, writes one), three products.
static constexpr double scoresForward = 5.5, scoresBackward = 8.5;
// Inside tensor parallelism, hidden x: bias, GeLU and layout of heads.
static constexpr double innerForward = 14, innerBackward = 18;
// Outside it, hidden x: two norms (2 each) and two bias-dropout-adds (3.5 each); their gradients.
static constexpr double outerForward = 11, outerBackward = 14;
// The optimizer's bytes per parameter: reads and clears a 32-bit gradient, reads and writes three 32-bit states, writes
// a 16-bit weight.
static constexpr double updateBytes = 34;

double Transformer::layerParameters() const {
  return 2 * hidden * attentionSize() + 2 * hidden * keyValueSize() + (gated ? 3 : 2) * hidden * feedForwardSize();
}

double Transformer::layerFlops() const { return 2 * sequence * layerParameters() + attentionFlops(); }

Status Transformer::check() const {
  auto refuse = [](const char *what, double value) {
    return Error{std::string("the model has ") + std::to_string(value) + " " + what + "; give a positive number"};
  };
  if (layers < 1)
    return refuse("layers", layers);
  if (!(hidden > 0))
    return refuse("hidden size", hidden);
  if (!(heads > 0))
    return refuse("heads", heads);
  if (!(sequence > 0))
    return refuse("tokens in a sequence", sequence);
  return {};
}

const char *spelling(Recompute recompute) {
  static const char *const names[] = {"none", "selective", "full"};
  return names[static_cast<int>(recompute)];
}

double boundaryBytes(const Transformer &model, const Parallelism &parallel, double samples) {
  return entry * samples * model.sequence * model.hidden / parallel.cp / (parallel.sequenceParallel ? parallel.tp : 1);
}

double layerActivation(const Transformer &model, const Parallelism &parallel, Recompute recompute, double samples) {
  double t = parallel.tp, spread = parallel.sequenceParallel ? t : 1;
  double sbh = samples * model.sequence / parallel.cp * model.hidden;
  if (recompute == Recompute::Full)
    return entry * sbh / spread; // the layer's input
  // Table 2: 10 outside tensor parallelism, 24 inside: 8 of attention (Q, K, V and the core's output) and 16 + ... of a
  // feed-forward part four times as wide, here scaled to other widths; a gated one keeps three wide tensors for two.
  double attention = (2 * model.attentionSize() + 2 * model.keyValueSize()) / model.hidden * entry;
  double wide = (model.gated ? 3 : 2) * model.feedForwardSize() / model.hidden * entry;
  double bytes = 10 / spread + (attention + wide) / t;
  if (recompute == Recompute::None && !model.fusedAttention)
    bytes += 5 * model.heads * model.sequence / (model.hidden * t);
  return sbh * bytes;
}

UnitCost layerCost(const Transformer &model, const Parallelism &parallel, Recompute recompute, double samples,
                   const Hardware &hardware) {
  UnitCost cost;
  const double t = parallel.tp, c = parallel.cp;
  const double tokens = samples * model.sequence / c;
  cost.parameters = model.layerParameters() / t;
  double dense = 2 * tokens * cost.parameters / hardware.flops;
  double core = samples * model.attentionFlops() / (t * c) / hardware.flops;

  // Memory traffic of what is no matrix product.
  double scores = model.fusedAttention ? 0 : model.heads * model.sequence / t;
  double inner = model.hidden / t, outer = model.hidden / (parallel.sequenceParallel ? t : 1);
  auto traffic = [&](double ofScores, double ofInner, double ofOuter) {
    return entry * tokens * (ofScores * scores + ofInner * inner + ofOuter * outer) / hardware.bandwidth;
  };

  // Two collectives of a boundary tensor each way: all-reduces, or as much as all-gathers and reduce-scatters.
  RankGroup tensor = RankGroup::strided(parallel.tp, 1, hardware);
  Work reduce = 2 * allReduce(hardware, tensor, entry * tokens * model.hidden);
  // Keys and values of all other sequence shards pass by, and their gradients on the way back.
  RankGroup context = RankGroup::strided(parallel.cp, parallel.tp, hardware);
  Work exchange = allGather(hardware, context, entry * samples * model.sequence * 2 * model.keyValueSize() / t);

  cost.forward[Resource::Matmul] = dense + core;
  cost.forward[Resource::Memory] = traffic(scoresForward, innerForward, outerForward);
  cost.forward[Resource::Launch] = 1;
  cost.forward += reduce + exchange;
  cost.input[Resource::Matmul] = dense + 2 * core;
  cost.input[Resource::Memory] = traffic(scoresBackward, innerBackward, outerBackward);
  cost.input[Resource::Launch] = 1;
  cost.input += reduce + 2 * exchange;
  cost.weight[Resource::Matmul] = dense;
  cost.weight[Resource::Launch] = 1;
  if (recompute == Recompute::Full)
    cost.recompute = cost.forward;
  if (recompute == Recompute::Selective && !model.fusedAttention) {
    cost.recompute[Resource::Matmul] = core;
    cost.recompute[Resource::Memory] = traffic(scoresForward, 0, 0);
    cost.recompute[Resource::Launch] = 0.25; // some of a layer's kernels
  }
  cost.activation = layerActivation(model, parallel, recompute, samples);
  cost.transient = std::max(0.0, layerActivation(model, parallel, Recompute::None, samples) - cost.activation);
  return cost;
}

UnitCost headCost(const Transformer &model, const Parallelism &parallel, double samples, const Hardware &hardware) {
  UnitCost cost;
  double flops = samples * model.headFlops() / (parallel.tp * parallel.cp) / hardware.flops;
  cost.forward[Resource::Matmul] = cost.input[Resource::Matmul] = cost.weight[Resource::Matmul] = flops;
  // Korthikanti et al., section 4.3: the input in 16 bits, the logits in 32.
  cost.activation =
      samples * model.sequence / parallel.cp *
      (entry * model.hidden / (parallel.sequenceParallel ? parallel.tp : 1) + 4 * model.vocabulary / parallel.tp);
  cost.parameters = model.vocabulary * model.hidden / parallel.tp;
  return cost;
}

double StateBytes::of(double parameters, const Parallelism &parallel) const {
  double lanes = double(parallel.dp) * parallel.cp;
  auto part = [&](double bytes, int stage) { return bytes / (parallel.zero >= stage ? lanes : 1); };
  return parameters * (part(weights, 3) + part(gradients, 2) + part(optimizer, 1));
}

Work gradientCost(double parameters, const Parallelism &parallel, int microbatches, const Hardware &hardware) {
  RankGroup lanes = RankGroup::strided(parallel.dp * parallel.cp, parallel.tp, hardware);
  // Under ZeRO a reduce-scatter and an all-gather, each with half of an all-reduce's bytes.
  double halves = parallel.zero >= 3 ? 3.0 * microbatches : parallel.zero == 2 ? microbatches + 1.0 : 2.0;
  return halves / 2 * allReduce(hardware, lanes, entry * parameters);
}

Work updateCost(double parameters, const Parallelism &parallel, const Hardware &hardware) {
  Work work;
  work[Resource::Memory] =
      updateBytes * parameters / (parallel.zero >= 1 ? double(parallel.dp) * parallel.cp : 1) / hardware.bandwidth;
  return work;
}

} // namespace braid::plan
