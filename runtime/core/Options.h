//===- Options.h - The command line of a compiled program --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_OPTIONS_H
#define BRAID_RUNTIME_CORE_OPTIONS_H

#include "runtime/core/Optimizer.h"
#include "runtime/core/Progress.h"

#include <cstdint>
#include <optional>
#include <string>

namespace braid::runtime {

enum class TransportKind { Shm, Threads };

struct RunOptions {
  int local = 0; // ranks to start here; 0: whoever started us decides
  TransportKind transport = TransportKind::Shm;
  std::string data;
  int64_t steps = 0; // 0: each batch of the data once
  OptimizerSettings optimizer;
  double clipNorm = 0; // 0: none
  bool updateNonFinite = false;
  std::string out;
  bool overwrite = false; // what an earlier run left in `out`
  bool dumpGradients = false;
  std::string weights;
  bool showPlan = false;
  int threads = 1;
  double deadline = 300; // seconds that a rank waits for another
  ProgressMode progress = ProgressMode::Auto;
  bool quiet = false;
};

struct ParsedOptions {
  RunOptions options;
  std::optional<int> exit; // set where the program ends here: help was shown, or the arguments are wrong
};

/// `defaults` is the plan's optimizer, which holds where the command line is silent.
ParsedOptions parseOptions(int argc, char **argv, const OptimizerSettings &defaults);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_OPTIONS_H
