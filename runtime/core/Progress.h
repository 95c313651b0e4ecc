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
  Progress(ProgressMode mode, bool quiet, int64_t steps);
  ~Progress();

  void update(const StepMetrics &metrics);

private:
  bool bar, quiet;
  bool drawn = false;
  int64_t steps;
  std::chrono::steady_clock::time_point start;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_PROGRESS_H
