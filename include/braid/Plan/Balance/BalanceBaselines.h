//===- BalanceBaselines.h - What balancing is compared with -------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders in the manner of other systems, all with the same number of samples in each micro-batch, up to one. They are
// re-built from descriptions, not the systems' own code, and run on the same stages as ours.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_BALANCEBASELINES_H
#define BRAID_PLAN_BALANCE_BALANCEBASELINES_H

#include "braid/Plan/Balance/Assignment.h"

#include <cstdint>

namespace braid::plan {

/// Samples in a random order, cut into micro-batches.
Assignment randomOrder(const SampleLoads &samples, int microbatches, uint64_t seed);

/// In the manner of DistTrain: micro-batches as the samples come, put into an order that fills the first encoder
/// stage's waits. The smallest is first and the next smallest ones drain the pipeline; between them, each time the one
/// whose forward is nearest to what the language model leaves free.
Assignment distTrainOrder(const StepModel &model, const SampleLoads &samples, int microbatches);

/// In the manner of DIP: micro-batches as the samples come, their order searched by timing `evaluations` steps.
Assignment dipOrder(const StepModel &model, StepTimer &timer, const SampleLoads &samples, int evaluations,
                    uint64_t seed);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_BALANCEBASELINES_H
