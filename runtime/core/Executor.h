//===- Executor.h - Walking a rank's action table ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank's part of a step: the actions of its row in order, each on one micro-batch. Values and gradients of edges
// wait in slots from the action that makes them to the action that uses them; residuals and carries from forward to
// backward; all are let go as soon as they are used.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_EXECUTOR_H
#define BRAID_RUNTIME_CORE_EXECUTOR_H

#include "runtime/core/ActionLog.h"
#include "runtime/core/Optimizer.h"
#include "runtime/core/ParameterStore.h"
#include "runtime/core/Program.h"
#include "runtime/data/Batches.h"
#include "runtime/transport/Transport.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace braid::runtime {

struct StepReport {
  double loss = 0; // on rank 0
  double gradientNorm = 0;
  /// Why the step changed no parameter, the same on every rank; empty where all is well.
  std::string problem;
  int culprit = 0; // the rank that the problem arose on
};

class Executor {
public:
  struct Options {
    double clipNorm = 0;          // 0: none
    bool keepGradients = false;   // copies of the next step's gradients, before clipping
    bool updateNonFinite = false; // with a loss or gradients that are no finite numbers
    int64_t seed = 0;             // of random numbers
  };

  /// `transport` is null for a program of one rank.
  Executor(const Program &program, int rank, Transport *transport, ParameterStore &parameters, Optimizer &optimizer,
           Options options);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  /// One optimizer step over `count` batches from number `first` on, which count as one batch of their union. A failure
  /// names the step, the action and, for a message, the peer and what it carries.
  plan::Result<StepReport> step(int64_t number, const Batches &batches, int64_t first, int64_t count = 1);
  plan::Result<StepReport> step(int64_t number, const Batches &batches) { return step(number, batches, number); }

  /// The loss of all batches together; of a loss that is no sum over samples, the mean of the batches'. Forward only:
  /// nothing of the training changes.
  plan::Result<StepReport> lossOf(const Batches &batches);

  /// With keepGradients, of parameters whose home is on this rank, by number.
  std::map<int, Tensor> takeKeptGradients() { return std::move(kept); }

private:
  plan::Status begin(const Batches &data, int64_t first, int64_t count, int64_t firstSample);
  plan::Status countTerms(int64_t first, int64_t count, int64_t firstSample);
  /// How positions and tags read in the messages of transports.
  std::string describePosition(int rank, uint64_t position) const;
  std::string describeTag(uint64_t tag) const;
  /// Runs the actions of this rank's row that `wanted` picks; `when` is for messages.
  template <typename Wanted> plan::Status runRow(const std::string &when, const Wanted &wanted);
  plan::Status run(const plan::Action &action);
  plan::Status forward(const plan::Action &action);
  plan::Status recompute(const plan::Action &action);
  plan::Status backwardInput(const plan::Action &action);
  plan::Status backwardWeight(const plan::Action &action);
  plan::Status fullBackward(const plan::Action &action);
  plan::Status sendEdges(const plan::Action &action);
  plan::Status receiveEdges(const plan::Action &action);
  plan::Status exchangeTied(const plan::Action &action);
  plan::Status norm();
  /// What is not finite on this rank: 1 for a loss, plus 2 (n + 1) for the gradient of parameter n; 0 where all is.
  int nonFinite(double sumOfSquares) const;
  void describeNonFinite(const std::vector<double> &ofRanks);
  plan::Status exchangeLoss(const plan::Action &action);

  plan::Status send(int peer, Tensor value, uint64_t tag, const std::string &what);
  plan::Result<Tensor> receive(int peer, DType dtype, const std::vector<int64_t> &sizes, uint64_t tag,
                               const std::string &what);
  plan::Status finishSends(size_t mostLeft);

  /// Parameters, then residuals or what else follows: the operands of a function.
  std::vector<braid_tensor> parameterOperands(const ModelStage &stage) const;
  plan::Result<std::vector<Tensor>> call(braid_function function, int microbatch,
                                         const std::vector<braid_tensor> &operands, size_t results);
  /// The sum over all consumers, for each value that has a gradient.
  plan::Result<std::vector<Tensor>> cotangents(const ModelStage &stage, int microbatch);
  void storeEdgeGradients(const ModelStage &stage, int microbatch, std::vector<Tensor> &results);
  plan::Status storeGradients(int stage, std::vector<Tensor> &results, size_t first);

  const MicroBatch &microbatch(int number) const { return current->microbatches[number]; }

  const Program &program;
  int rank;
  Transport *transport;
  ParameterStore &parameters;
  Optimizer &optimizer;
  Options options;
  ActionLog log;

  // Of the running step.
  int64_t stepNumber = 0;
  const Batches *batches = nullptr;
  const Batches::Step *current = nullptr;
  int64_t firstSample = 0; // of the current batch, counted over the step's or the evaluation's
  bool training = true;
  std::vector<Tensor> counts;
  using PerMicroBatch = std::vector<Tensor>;
  std::vector<PerMicroBatch> values, gradients;                     // [edge][micro-batch]
  std::vector<std::vector<std::vector<Tensor>>> residuals, carries; // [stage][micro-batch]
  std::vector<double> losses;                                       // [stage]
  std::map<int, Tensor> states;                                     // new values of buffers, by parameter
  struct PendingSend {
    Transfer transfer;
    Tensor buffer;
  };
  std::deque<PendingSend> pending;
  StepReport report;
  std::map<int, Tensor> kept;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_EXECUTOR_H
