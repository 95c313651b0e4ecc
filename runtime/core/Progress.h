//===- Progress.h - What a person sees while training ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_PROGRESS_H
#define BRAID_RUNTIME_CORE_PROGRESS_H

#include "runtime/data/Metrics.h"

#include <chrono>
#include <cstdint>

namespace braid::runtime {

enum class ProgressMode { Auto, On, Off };

/// A bar that redraws itself on a terminal; elsewhere plain lines, at most about twenty.
class Progress {
public:
  /// A run of `steps` steps, of which `done` are done already.
  Progress(ProgressMode mode, bool quiet, int64_t steps, int64_t done);
  ~Progress();

  void update(const StepMetrics &metrics);
  void evaluated(int64_t step, double loss);

private:
  bool bar, quiet;
  bool drawn = false;
  int64_t steps, first;
  std::chrono::steady_clock::time_point start;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_PROGRESS_H
