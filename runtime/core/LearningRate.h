//===- LearningRate.h - Schedules of the learning rate -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_LEARNINGRATE_H
#define BRAID_RUNTIME_CORE_LEARNINGRATE_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <string>

namespace braid::runtime {

/// What every learning rate is multiplied by, from step to step: the formulas of transformers' get_constant_schedule_,
/// get_linear_schedule_ and get_cosine_with_min_lr_schedule_with_warmup. They start at 0 where there is a warm-up.
struct LearningRateSchedule {
  std::string kind = "constant"; // constant, linear, cosine
  int64_t warmup = 0;            // steps over which the factor rises from 0 to 1
  int64_t steps = 0;             // at which it has come to the minimum, where it stays; 0: the run's last
  double minimum = 0;            // share of the learning rate

  plan::Status check() const;
  /// Of step `step`, which counts from 0, of a run of `runSteps`.
  double factor(int64_t step, int64_t runSteps) const;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_LEARNINGRATE_H
