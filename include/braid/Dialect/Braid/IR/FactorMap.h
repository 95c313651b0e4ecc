//===- FactorMap.h - How an op's dims correspond -------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_FACTORMAP_H
#define BRAID_DIALECT_BRAID_IR_FACTORMAP_H

#include "llvm/ADT/SmallVector.h"

namespace braid {

/// Einsum-like: each dim of each tensor operand and result has a factor, numbered from 0; equal numbers are the same
/// index. A matmul [i, k] x [k, j] -> [i, j] has operands {{0, 1}, {1, 2}} and results {{0, 2}}. `whole` marks a dim
/// over which the op mixes elements other than by a sum, or indexes freely: it cannot be divided.
/// A dim that a view splits or merges carries the factor of its major part.
struct FactorMap {
  static constexpr int whole = -1;
  llvm::SmallVector<llvm::SmallVector<int, 4>> operands; // one per tensor operand, in operand order
  llvm::SmallVector<llvm::SmallVector<int, 4>> results;
};

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_FACTORMAP_H
