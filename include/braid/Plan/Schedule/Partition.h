//===- Partition.h - Consecutive parts of equal weight -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_PARTITION_H
#define BRAID_PLAN_SCHEDULE_PARTITION_H

#include "braid/Plan/Support/Result.h"

#include <vector>

namespace braid::plan {

/// Cuts `weights` into `parts` consecutive, non-empty parts so that the largest sum is least, and among such cuts the
/// sum of squares is least. Returns the first index of each part. Weights are not negative. Fails if there are fewer
/// weights than parts. The time grows with the square of their number.
Result<std::vector<int>> partitionEvenly(const std::vector<double> &weights, int parts);

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_PARTITION_H
