//===- MicroBatches.h - Dividing a batch --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the shapes of a step's inputs to micro-batches: which samples each holds and what the symbols are in it. Shapes
// alone decide, so every rank finds the same and a whole file can be checked before the first step.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_MICROBATCHES_H
#define BRAID_RUNTIME_CORE_MICROBATCHES_H

#include "runtime/core/Program.h"

#include <vector>

namespace braid::runtime {

struct MicroBatch {
  int64_t begin = 0, samples = 0; // of the inputs that are divided
  std::vector<int64_t> symbols;   // in the plan's order
};

/// Samples are divided evenly, the first micro-batches taking one more where it does not come out even. Fails where the
/// shapes do not fit the plan: other ranks, two values for one symbol, a size that is not what its expression says, a
/// guard that does not hold, fewer samples than micro-batches.
plan::Result<std::vector<MicroBatch>> divide(const Program &program, const std::vector<std::vector<int64_t>> &shapes);

/// The sizes of an expression's dims in a micro-batch; fails where one cannot be computed or is negative.
plan::Result<std::vector<int64_t>> evaluate(const Program &program, const std::vector<plan::Expr> &dims,
                                            const MicroBatch &microbatch);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_MICROBATCHES_H
