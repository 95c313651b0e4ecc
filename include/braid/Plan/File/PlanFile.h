//===- PlanFile.h - plan.yaml -----------------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file in which a user says which modules run on which ranks, in which layout and under which schedule. Every key
// is optional. Errors read "FILE:LINE:COLUMN: ..." and name the nearest key that is known.
//
//   inputs:
//     input_ids:  {dims: [batch, seq], collate: pad(0)}      stack, pad(VALUE), concat, concat(DIM), offsets(INPUT),
//     cu_seqlens: {dims: [segments + 1], collate: offsets(pixels)}   index_into(INPUT, DIMS), shared   docs/Samples.md
//   components:                     modules are patterns (Text.h); the first that matches wins
//     vision:   {modules: [net.vision], mesh: {ranks: [0-3], axes: {dp: 4}}, frozen: true}
//     language: {modules: ["*"], mesh: {ranks: [4-7], axes: {pp: 2, tp: 2}}, layout: {sequence_parallel: true}}
//   schedule:  {kind: 1f1b, microbatches: 8, directions: 1, chunks: 1, async: false, table: FILE.csv}
//   balance:   {kind: entrain}
//   precision: {compute: bf16, master: fp32}
//   recompute: {language: selective}                         component or module pattern: none, selective, full
//   optimizer: {kind: adamw, lr: 1.0e-3, betas: [0.9, 0.999], eps: 1.0e-8, weight_decay: 0.01, clip: 1.0,
//               accumulate: 4, schedule: {kind: cosine, warmup: 100, steps: 1000, minimum: 0.1}, zero: 1,
//               groups: [{parameters: ["**.bias", net.embed], lr: 1.0e-4, weight_decay: 0}]}   the first match wins
//              {kind: sgd, momentum: 0.9, nesterov: true}                                      docs/Training.md
//   seed:      7                                             of random numbers (dropout)
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_FILE_PLANFILE_H
#define BRAID_PLAN_FILE_PLANFILE_H

#include "braid/Plan/Collate/CollateRule.h"
#include "braid/Plan/Expr/Expr.h"
#include "braid/Plan/Mesh/Mesh.h"
#include "braid/Plan/Support/Location.h"
#include "braid/Plan/Support/Result.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::plan {

/// A table of a step lists every action of every micro-batch.
inline constexpr int maxMicrobatches = 1 << 16;

struct PlanInput {
  std::string name;
  std::vector<Expr> dims;
  std::optional<CollateRule> collate;
  FileLocation location;
};

struct PlanPattern {
  std::string text;
  FileLocation location;
};

struct PlanMesh : Mesh {
  FileLocation location;
};

struct PlanComponent {
  std::string name;
  std::vector<PlanPattern> modules;
  std::optional<PlanMesh> mesh;
  bool frozen = false;
  bool sequenceParallel = false;
  FileLocation location;
};

struct PlanSchedule {
  std::string kind = "1f1b";
  int microbatches = 1;
  int directions = 1;
  int chunks = 1;
  bool async = false;
  bool recomputeEarly = false; // recompute: early
  std::string table;           // a CSV file that replaces the generator
};

struct PlanRecompute {
  PlanPattern pattern; // a component's name or a module pattern
  std::string policy;  // none, selective, full
};

struct PlanLearningRate {
  std::string kind = "constant"; // constant, linear, cosine
  int64_t warmup = 0;
  int64_t steps = 0;  // 0: as many as the run takes
  double minimum = 0; // share of lr at the end
};

/// Parameters with rates of their own.
struct PlanGroup {
  std::vector<PlanPattern> parameters; // of a parameter, or of a module that it lies below
  std::optional<double> lr, weightDecay;
};

/// What is absent has the runtime's default, which is PyTorch's for the kind.
struct PlanOptimizer {
  std::string kind = "adamw"; // sgd, adamw
  std::optional<double> lr, weightDecay;
  std::optional<double> momentum; // sgd
  bool nesterov = false;          // sgd
  std::optional<std::pair<double, double>> betas;
  std::optional<double> eps;
  double clip = 0;        // 0: none
  int64_t accumulate = 1; // batches of a step
  PlanLearningRate schedule;
  std::vector<PlanGroup> groups;
  int zero = 0; // 0: replicated state, 1: state sharded, 2: gradients too, 3: parameters too
};

struct PlanFile {
  std::string name; // of the file, as in diagnostics
  std::vector<PlanInput> inputs;
  std::vector<PlanComponent> components; // in order: the first match wins
  std::optional<PlanSchedule> schedule;
  std::string balance = "none";                  // none, entrain
  std::string computePrecision, masterPrecision; // fp64, fp32, bf16, fp16; empty: the model's own
  std::vector<PlanRecompute> recompute;          // in order: the first match wins; one word is the pattern *
  std::optional<PlanOptimizer> optimizer;
  int64_t seed = 0; // of random numbers

  /// The component that a module belongs to, or nullptr.
  const PlanComponent *componentOf(std::string_view modulePath) const;
};

/// Reads the text of a plan; `fileName` is for diagnostics.
Result<PlanFile> parsePlan(const std::string &text, const std::string &fileName);
Result<PlanFile> readPlan(const std::string &path);

} // namespace braid::plan

#endif // BRAID_PLAN_FILE_PLANFILE_H
