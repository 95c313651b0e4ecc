//===- Transformer.h - Work and memory of transformer layers ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FLOP, memory traffic, communication and memory of a stack of equal transformer layers on one rank, from its sizes
// and its parallelism. docs/Costs.md, section 2, has the formulas with their sources. Bytes assume 16-bit activations.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COST_TRANSFORMER_H
#define BRAID_PLAN_COST_TRANSFORMER_H

#include "braid/Plan/Cost/Hardware.h"

#include <string>

namespace braid::plan {

struct Transformer {
  int layers = 1;
  double hidden = 0;
  double heads = 1;
  double keyValueHeads = 0;    // 0: as many as heads
  double headSize = 0;         // 0: hidden / heads
  double feedForward = 0;      // 0: 4 hidden
  bool gated = false;          // three matrices in the feed-forward part instead of two
  bool fusedAttention = false; // scores never reach memory
  double vocabulary = 0;       // of the head at the end and the embedding at the start; 0: none
  double sequence = 0;         // tokens of a sample

  double attentionSize() const { return heads * (headSize > 0 ? headSize : hidden / heads); }
  double keyValueSize() const { return attentionSize() * (keyValueHeads > 0 ? keyValueHeads / heads : 1); }
  double feedForwardSize() const { return feedForward > 0 ? feedForward : 4 * hidden; }
  /// Entries of a layer's matrices; 12 hidden^2 for the plain one. Biases and norms are left out.
  double layerParameters() const;
  double parameters() const { return layers * layerParameters() + vocabulary * hidden; }

  /// Forward of one sample through one layer: 2 per parameter and token, and 4 s^2 a for scores and values.
  double layerFlops() const;
  double attentionFlops() const { return 4 * sequence * sequence * attentionSize(); }
  /// Forward of one sample through the head.
  double headFlops() const { return 2 * sequence * hidden * vocabulary; }
  Status check() const;
};

/// Axes of a component's mesh; tp is the fastest, then cp, dp, pp, as Megatron numbers ranks.
struct Parallelism {
  int tp = 1, cp = 1, pp = 1, dp = 1;
  bool sequenceParallel = false; // activations between tensor-parallel parts are divided over tp too
  int zero = 0;                  // 1: optimizer state divided over dp x cp, 2: gradients too, 3: weights too

  int ranks() const { return tp * cp * pp * dp; }
};

enum class Recompute { None, Selective, Full };
const char *spelling(Recompute recompute);

/// One layer, head or embedding: work of one micro-batch on one rank, and bytes kept from its forward to its backward.
struct UnitCost {
  Work forward, input, weight, recompute;
  double activation = 0;
  double transient = 0;  // bytes held only while it runs its backward, besides `activation`: what it recomputes
  double parameters = 0; // on this rank

  Work all() const { return forward + input + weight + recompute; }
};

/// `samples` of a micro-batch on one data-parallel lane; it need not be whole.
UnitCost layerCost(const Transformer &model, const Parallelism &parallel, Recompute recompute, double samples,
                   const Hardware &hardware);
UnitCost headCost(const Transformer &model, const Parallelism &parallel, double samples, const Hardware &hardware);

/// Bytes of a layer's activations. (Korthikanti et al., Reducing Activation Recomputation, 2022, table 2)
double layerActivation(const Transformer &model, const Parallelism &parallel, Recompute recompute, double samples);
/// Bytes of a micro-batch's activation at a stage boundary, per rank.
double boundaryBytes(const Transformer &model, const Parallelism &parallel, double samples);

/// Bytes per parameter. The default is mixed precision as in Megatron: 16-bit weights, 32-bit gradients, Adam's state.
struct StateBytes {
  double weights = 2, gradients = 4, optimizer = 12;

  /// Of these parameters of one rank.
  double of(double parameters, const Parallelism &parallel) const;
};

/// Reduction of gradients over dp (and cp) in a step of so many micro-batches, and the optimizer's step on one rank.
/// From ZeRO's stage 2 on gradients are reduced after each micro-batch, as no rank holds a whole sum; in stage 3 weights
/// are gathered for each forward and each backward.
Work gradientCost(double parameters, const Parallelism &parallel, int microbatches, const Hardware &hardware);
Work updateCost(double parameters, const Parallelism &parallel, const Hardware &hardware);

} // namespace braid::plan

#endif // BRAID_PLAN_COST_TRANSFORMER_H
