//===- CostTables.h - Predictions beside published tables ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the cost model says of runs that others measured, row by row. docs/Costs.md, section 4, says of each table what
// is fitted on it (mostly nothing) and prints the errors; `braid-sim costs` prints them again.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COMPARISON_COSTTABLES_H
#define BRAID_PLAN_COMPARISON_COSTTABLES_H

#include "braid/Plan/Cost/TrainingRun.h"
#include "braid/Plan/Support/TextTable.h"

#include <array>
#include <string>
#include <vector>

namespace braid::plan {

struct ComparedRow {
  std::string label;
  double published = 0, predicted = 0;

  double error() const { return predicted / published - 1; }
};

struct ComparedTable {
  std::string title; // with the unit
  std::vector<ComparedRow> rows;

  double medianError() const; // of absolute relative errors
  std::string str() const;
};

/// All-reduces inside a node: the link's latency, hop and bandwidth fitted to measured times, and what they predict.
/// Columns gpus, size_mib and time_ns_in_place.
struct FittedLink {
  Link link;
  ComparedTable table;
};
Result<FittedLink> fitNodeLink(const TextTable &allReduce);

/// Weak scaling with full recomputation (Narayanan et al., 2021, table 1): seconds of a step.
Result<ComparedTable> compareMegatron(const TextTable &table, const Hardware &hardware);
/// Full against selective recomputation with sequence parallelism (Korthikanti et al., 2022, table 5): seconds of a
/// step each, and GiB of state and of activations.
Result<std::vector<ComparedTable>> compareSequenceParallel(const TextTable &table, const Hardware &hardware);
/// Megatron-Turing NLG 530B (Smith et al., 2022): seconds of a step.
Result<ComparedTable> compareTuring(const TextTable &table, const Hardware &hardware);

/// AMDP, PipeDream-2BW and 1F1B on one or two nodes (AMDP, 2026): thousand tokens a second, through the simulator.
/// Three constants are fitted on the rows with d = 4: seconds per FLOP of each model, and per window.
struct AmdpComparison {
  std::array<double, 3> constants{};
  ComparedTable fitted;            // d = 4
  std::vector<ComparedTable> held; // d = 8; two nodes, d = 8 and 16; windows of 1, 2, 4 and 8 blocks
  bool ordered = true;             // AMDP > 2BW > 1F1B wherever the published table has all three
};
Result<AmdpComparison> compareAmdp(const TextTable &table, const Hardware &hardware);

/// What the paper on heterogeneous layouts leaves open, besides the sizes of layers.
struct HeterogeneousAssumptions {
  double gradientBytes = 2;     // per parameter
  bool undividedEncoder = true; // by context and sequence parallelism, under one layout for all
  double reserve = 6e9;         // bytes of a device that are not the model's
};

/// One side of a comparison.
struct HeterogeneousRun {
  std::string layout;
  double seconds = 0, bytes = 0;                   // of a step, of the fullest device
  double publishedSeconds = 0, publishedBytes = 0; // 0: not in the table
};
/// Heterogeneous against homogeneous parallelism (2026): gains in throughput per device, percent. Nothing is fitted.
/// Sizes of the models' layers are assumed; where the paper prints no layouts, the planner's best of each kind compete.
struct HeterogeneousRow {
  std::string label;
  double low = 0, high = 0; // published, percent
  double predicted = 0;     // percent
  double reshardShare = 0;  // of the heterogeneous step
  bool searched = false;    // layouts are the planner's
  HeterogeneousRun homogeneous, heterogeneous;

  bool sameSign() const { return (predicted > 0) == (low > 0); }
};
struct CrossoverPoint {
  double encoder = 0;                 // billions of parameters
  double colocated = 0, disjoint = 0; // gains over the homogeneous plan, percent
};
struct HeterogeneousComparison {
  std::vector<HeterogeneousRow> rows;
  std::vector<CrossoverPoint> crossover; // beside a language model of 120B

  int sameSigns() const;
  /// The smallest encoder that gains more on devices of its own; 0 if none does.
  double crossoverSize() const;
  std::string str() const;
};
/// Columns mode, workload, quantity, homogeneous, heterogeneous and those of the layouts.
Result<HeterogeneousComparison> compareHeterogeneous(const TextTable &table,
                                                     const HeterogeneousAssumptions &assumptions = {});

} // namespace braid::plan

#endif // BRAID_PLAN_COMPARISON_COSTTABLES_H
