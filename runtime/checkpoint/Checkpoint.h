//===- Checkpoint.h - Saving and resuming training ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder RUN/checkpoints/step<N> with model.safetensors, optimizer.safetensors and state.json, as
// docs/RuntimeABI.md says. It is written under another name, made durable and then renamed: one that has its name is
// whole, whatever ended the run. Tensors go by the parameters' names, so any cut of the same model resumes from it.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define BRAID_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/core/Optimizer.h"
#include "runtime/core/ParameterStore.h"
#include "runtime/core/Program.h"
#include "runtime/core/Weights.h"
#include "runtime/data/Safetensors.h"
#include "runtime/transport/Transport.h"

#include <map>
#include <string>

namespace braid::runtime {

/// How far a run has come.
struct TrainingState {
  int64_t step = 0;     // optimizer steps that are done
  int64_t position = 0; // batches that they used
  /// Learning rate and so on, as they read in messages, by name. A run that is taken up may have others.
  std::map<std::string, std::string> settings;
};

/// A checkpoint on disk.
class Checkpoint {
public:
  /// `path` is a checkpoint, or the folder of a run, which stands for its latest one. Refuses one of another model or
  /// optimizer.
  static plan::Result<Checkpoint> open(const Program &program, const OptimizerSettings &settings,
                                       const std::string &path);

  const std::string &folder() const { return path; }
  const TrainingState &state() const { return training; }

  /// Gives this rank's parameters and buffers, and the optimizer state of those that it owns, what the checkpoint
  /// holds.
  plan::Status load(const Program &program, int rank, const Weights &weights, ParameterStore &parameters,
                    Optimizer &optimizer) const;

private:
  Checkpoint(std::string path, TrainingState training, SafetensorsFile model, SafetensorsFile optimizer)
      : path(std::move(path)), training(training), model(std::move(model)), optimizerState(std::move(optimizer)) {}

  std::string path;
  TrainingState training;
  SafetensorsFile model, optimizerState;
};

/// All ranks together, rank 0 writing, add a checkpoint to the run in `out`. Those of later steps, of what the run did
/// before it was taken up again, go; then only the newest `keep` are left, all where it is 0.
plan::Status saveCheckpoint(const Program &program, int rank, Transport *transport, const ParameterStore &parameters,
                            const Weights &weights, const Optimizer &optimizer, const TrainingState &state,
                            const std::string &out, int64_t keep);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CHECKPOINT_CHECKPOINT_H
