//===- Pipeline.h - Stages, placement and edges that a schedule runs -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler, the generators, the verifier and the simulator agree on: which stages there are, on which ranks
// they live, and which values flow between them. Stages are numbered in topological order, so every edge goes from a
// lower to a higher number. It may join any two stages, whether on one rank or on two.
//
// Deferral (Entrain, 2026, section 4): a stage that defers computes each micro-batch with a partner in two parts, the
// kept samples as part 0 and the deferred ones as part 1 (F and F'). Later stages that do not defer read the deferred
// part together with the partner: their micro-batch j needs part 0 of j and part 1 of every i whose partner is j, and
// the gradients go back the same way. Samples change micro-batches, so the sum of all gradients does not change.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_PIPELINE_H
#define BRAID_PLAN_SCHEDULE_PIPELINE_H

#include "braid/Plan/Support/Result.h"

#include <string>
#include <vector>

namespace braid::plan {

struct Stage {
  std::string name;        // for diagnostics and drawings; may be empty
  bool backward = true;    // false: nothing behind it needs a gradient, so it has no B
  bool trains = true;      // it has parameters that STEP updates
  bool recomputes = false; // RECOMPUTE comes before its backward
  bool defers = false;     // computes micro-batches that have a partner in two parts
  int component = 0;       // index into Pipeline::components
};

/// A value that one stage computes and another reads.
struct Edge {
  int id = 0;
  int from = 0, to = 0;
  bool carriesGradient = true; // whether a gradient comes back
};

/// Parameters used by several stages. They have one home, which sums the gradients and sends the values back.
struct TiedGroup {
  int home = 0;
  std::vector<int> copies;
};

struct Pipeline {
  std::vector<Stage> stages;
  std::vector<std::vector<int>> placement; // [direction][stage] -> rank; one direction unless stages are replicated
  int microbatches = 1;
  std::vector<Edge> edges; // ordered by id within one pair of stages
  std::vector<TiedGroup> tied;
  int lossStage = -1;                  // -1: the last one
  std::vector<std::string> components; // names, where stages belong to several: encoders, then what reads them
  /// Of each micro-batch: the one that takes its deferred samples; -1 or not listed: it defers none.
  std::vector<int> partner;

  int numStages() const { return static_cast<int>(stages.size()); }
  int directions() const { return static_cast<int>(placement.size()); }
  int numRanks() const;
  int rankOf(int stage, int direction = 0) const { return placement[direction][stage]; }
  int getLossStage() const { return lossStage < 0 ? numStages() - 1 : lossStage; }
  int partnerOf(int microbatch) const {
    return microbatch < static_cast<int>(partner.size()) ? partner[microbatch] : -1;
  }
  /// Whether the stage computes this part of this micro-batch.
  bool hasPart(int stage, int microbatch, int sub) const {
    return sub == 0 || (sub == 1 && stages[stage].defers && partnerOf(microbatch) >= 0);
  }

  /// Stages 0 .. count-1 in a row; stage s on rank s unless a placement is given.
  static Pipeline chain(int count, int microbatches, std::vector<int> placement = {});

  /// Numbers in range, edges forwards, gradients only where both ends have a backward, deferring stages first.
  Status check() const;
};

/// The neighbours of each stage by edges, each neighbour once and in increasing order: what messages follow.
struct PipelineGraph {
  explicit PipelineGraph(const Pipeline &pipeline);

  std::vector<std::vector<int>> producers; // stages whose output it reads
  std::vector<std::vector<int>> consumers;
  std::vector<std::vector<int>> gradientProducers; // of these, those that get a gradient back
  std::vector<std::vector<int>> gradientConsumers;
  /// Stages on the longest path from a stage to the end, itself included, along edges that carry gradients where the
  /// stage has a backward, else along any: the micro-batches that 1F1B keeps in flight.
  std::vector<int> depth;
  std::vector<char> defers;                   // of each stage
  std::vector<int> partner;                   // Pipeline::partner
  std::vector<std::vector<int>> deferredInto; // of each micro-batch: those whose deferred samples it takes
};

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_PIPELINE_H
