//===- Options.h - The command line of a compiled program --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_OPTIONS_H
#define BRAID_RUNTIME_CORE_OPTIONS_H

#include "runtime/aten/Tensor.h"
#include "runtime/core/LearningRate.h"
#include "runtime/core/Optimizer.h"
#include "runtime/core/ParameterGroups.h"
#include "runtime/core/Progress.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace braid::runtime {

enum class TransportKind { Auto, Shm, Tcp, Gloo, Threads };

struct RunOptions {
  int local = 0; // ranks to start here; 0: whoever started us decides
  TransportKind transport = TransportKind::Auto;
  std::string data;
  int64_t steps = 0;           // 0: each batch of the data once
  int64_t accumulate = 0;      // batches of a step; 0: the plan's
  std::optional<int64_t> seed; // of random numbers; nothing: the plan's
  OptimizerSettings optimizer;
  LearningRateSchedule learningRate;
  std::vector<ParameterGroup> groups; // before the plan's
  double clipNorm = 0;                // 0: none
  bool updateNonFinite = false;
  std::string out;
  bool overwrite = false; // what an earlier run left in `out`
  bool dumpGradients = false;
  std::string evalData;
  int64_t evalEvery = 0; // steps; 0: after the last only
  int64_t saveEvery = 0; // steps; 0: never
  int64_t keep = 0;      // checkpoints; 0: all
  std::string resume;
  std::string weights;
  bool showPlan = false;
  int threads = 1;
  MatrixLibrary matrixLibrary = MatrixLibrary::Auto;
  double deadline = 300;  // seconds that a rank waits for another
  double standstill = 10; // seconds that the process of a rank may be stopped
  ProgressMode progress = ProgressMode::Auto;
  bool quiet = false;
};

struct ParsedOptions {
  RunOptions options;
  std::optional<int> exit; // set where the program ends here: help was shown, or the arguments are wrong
};

/// The plan's optimizer and schedule of the learning rate hold where the command line is silent.
ParsedOptions parseOptions(int argc, char **argv, const OptimizerSettings &defaults,
                           const LearningRateSchedule &learningRate = {});

/// What decides how a run trains, by name, as it reads in messages.
std::map<std::string, std::string> trainingSettings(const RunOptions &options);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_OPTIONS_H
