//===- MicroBatches.h - Dividing a batch --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a step's inputs to micro-batches: which samples each holds, which rows of each input, and what the symbols are
// in it. Shapes and offsets alone decide, so every rank finds the same and a whole file can be checked before the first
// step.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_MICROBATCHES_H
#define BRAID_RUNTIME_CORE_MICROBATCHES_H

#include "runtime/core/Program.h"

#include <vector>

namespace braid::runtime {

struct MicroBatch {
  int64_t begin = 0, samples = 0;
  std::vector<plan::InputCut> cuts; // of each input that is divided
  std::vector<int64_t> symbols;     // in the plan's order
};

/// What the inputs with collate rule pad are filled up to: the size that the program has for a dim, or the largest
/// among the dims of one name.
std::vector<std::vector<int64_t>> padShapes(const Program &program, std::vector<std::vector<int64_t>> shapes);

/// Samples are divided evenly, the first micro-batches taking one more where it does not come out even. Fails where the
/// shapes do not fit the plan: other ranks, two values for one symbol, a size that is not what its expression says, a
/// guard that does not hold, fewer samples than micro-batches, offsets that do not count the rows that there are.
plan::Result<std::vector<MicroBatch>> divide(const Program &program, const std::vector<std::vector<int64_t>> &shapes,
                                             const plan::ReadValues &read = {});

/// The sizes of an expression's dims in a micro-batch; fails where one cannot be computed or is negative.
plan::Result<std::vector<int64_t>> evaluate(const Program &program, const std::vector<plan::Expr> &dims,
                                            const MicroBatch &microbatch);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_MICROBATCHES_H
