//===- LearningRate.cpp - Schedules of the learning rate ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LearningRate.h"
#include "runtime/core/Text.h"

#include <cmath>
#include <numbers>

using namespace braid;
using namespace braid::runtime;

plan::Status LearningRateSchedule::check() const {
  if (kind != "constant" && kind != "linear" && kind != "cosine")
    return plan::Error{text("there is no learning rate schedule '", kind, "'; choose constant, linear or cosine")};
  if (warmup < 0 || steps < 0)
    return plan::Error{text("the learning rate schedule has ", warmup, " steps of warm-up and ", steps,
                            " steps; give numbers of at least 0")};
  if (steps > 0 && warmup > steps)
    return plan::Error{
        text("the learning rate warms up for ", warmup, " of ", steps, " steps; make the warm-up shorter")};
  if (!(minimum >= 0 && minimum <= 1))
    return plan::Error{text("the minimum of the learning rate is ", minimum, " of it; give a share from 0 to 1")};
  return {};
}

double LearningRateSchedule::factor(int64_t step, int64_t runSteps) const {
  if (step < warmup)
    return double(step) / double(warmup);
  if (kind == "constant")
    return 1;
  int64_t falling = (steps ? steps : runSteps) - warmup;
  double progress = falling > 0 ? std::min(1.0, double(step - warmup) / double(falling)) : 1;
  double left = kind == "linear" ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return left * (1 - minimum) + minimum;
}
