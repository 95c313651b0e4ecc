//===- Random.h - Ops that draw random numbers -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A random number is a function of (seed, step, sample, stream, offset): docs/Training.md. The run knows seed and step,
// the executor the first sample of a micro-batch; the other two are here, as discardable attributes:
//   stream   which of the model's draws it is: import counts them in the order in which forward makes them. Inside of a
//            unit it is a place in the list `streams` of the unit's calls, since layers share a unit and no numbers.
//   samples  ["8", "batch"]: how many elements of the dims before the samples there are, and how many samples; offset
//            counts the elements of one sample. Without it the tensor is the same for all samples, and has one offset.
// So nothing depends on how the batch is divided and which rank computes, and a backward draws the same numbers again.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_RANDOM_H
#define BRAID_DIALECT_BRAID_IR_RANDOM_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace braid {

inline constexpr llvm::StringLiteral streamAttrName = "stream";
inline constexpr llvm::StringLiteral samplesAttrName = "samples";
inline constexpr llvm::StringLiteral streamsAttrName = "braid.streams"; // on a unit: how many its calls list
inline constexpr int64_t streamEnd = int64_t(1) << 24;                 // as many as the counter has room for

/// rand, and a dropout that drops something, of its own or inside of an attention.
bool drawsRandomNumbers(mlir::Operation *op);

/// Gives `to` what `from` draws by, so that both draw the same numbers.
void copyDraw(mlir::Operation *from, mlir::Operation *to);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_RANDOM_H
