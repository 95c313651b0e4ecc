//===- Program.h - The plan of a compiled program ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/RuntimeABI.md describes as JSON, read and checked: after load() every number is in range, every function
// exists and the operands of each stage are consistent, so nothing later has to doubt the plan.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_PROGRAM_H
#define BRAID_RUNTIME_CORE_PROGRAM_H

#include "braid/Plan/Collate/BatchDivision.h"
#include "braid/Plan/Expr/Guard.h"
#include "braid/Plan/Schedule/Schedule.h"
#include "braid/Plan/Support/Result.h"
#include "braid_rt.h"
#include "runtime/core/LearningRate.h"
#include "runtime/core/Optimizer.h"
#include "runtime/core/ParameterGroups.h"
#include "runtime/data/DType.h"

#include <optional>
#include <string>
#include <vector>

namespace braid::runtime {

struct Input {
  std::string name;
  DType dtype;
  std::vector<plan::Expr> dims;
  plan::CollateRule collate;
};

struct WeightsFile {
  std::string file;
  uint64_t bytes = 0;
  std::string digest;
};

struct ModelParameter {
  enum class Kind { Parameter, Buffer, Constant };
  std::string name;
  std::vector<std::string> aliases;
  DType dtype;
  std::vector<int64_t> shape, strides;
  uint64_t offset = 0;
  Kind kind = Kind::Parameter;
  bool trainable = false;
  int home = 0;         // the stage that owns it
  bool updated = false; // some stage produces its gradient
};

struct ModelStage {
  std::string name;
  int rank = 0;
  std::vector<int> parameters, inputs, edgesIn, valuesOut, counts, gradients;
  std::vector<int> gradientEdges;  // of edgesIn, those whose value has a gradient
  std::vector<int> gradientValues; // of valuesOut, those that have one
  bool loss = false;
  std::vector<int> states; // buffers whose new value forward gives
  int residuals = 0, carries = 0;
  bool recomputes = false; // RECOMPUTE stands before each backward
  int replayed = 0;        // results of `replay`, which backward functions take as residuals
  braid_function forward = nullptr;
  braid_function replay = nullptr; // null: backward functions recompute themselves
  braid_function backwardInput = nullptr, backwardWeight = nullptr, backward = nullptr; // null: nothing to do
};

struct ModelValue {
  int stage = 0;
  std::string name;
  DType dtype;
  std::vector<plan::Expr> dims;
  bool gradient = false;
};

struct ModelEdge {
  int value = 0, from = 0, to = 0;
};

struct LossCounts {
  braid_function function = nullptr;
  std::vector<int> inputs;
  std::vector<std::string> names;
  std::vector<bool> nonzero; // where one of these is 0, the loss is undefined
};

struct Program {
  std::string model;
  int worldSize = 1, microbatches = 1;
  std::vector<std::string> symbols;
  std::vector<plan::Guard> guards;
  std::vector<Input> inputs;
  WeightsFile weights;
  std::vector<ModelParameter> parameters;
  std::vector<ModelStage> stages;
  std::vector<ModelValue> values;
  std::vector<ModelEdge> edges;
  LossCounts counts;
  plan::Schedule schedule;
  OptimizerSettings optimizer;
  LearningRateSchedule learningRate;
  std::vector<ParameterGroup> groups;
  int64_t accumulate = 1; // batches of a step
  double clipNorm = 0;    // largest norm of all gradients together; 0: none
  int64_t seed = 0;       // of random numbers
  std::string wholeBatch; // why the loss is no sum over samples; empty where it is
  std::string planText;   // as compiled in
  braid_initializer initialize = nullptr;

  static plan::Result<Program> load(const braid_program &program);

  /// As their collate rules see them.
  std::vector<plan::CollatedInput> collatedInputs() const;
  int rankOf(const ModelParameter &parameter) const { return stages[parameter.home].rank; }
  /// Numbers of the edges from one stage to another, those with a gradient only if wanted.
  std::vector<int> edgesBetween(int from, int to, bool gradientOnly) const;
  /// Whether a tensor of the parameter exists on this rank.
  bool uses(int rank, int parameter) const;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_PROGRAM_H
