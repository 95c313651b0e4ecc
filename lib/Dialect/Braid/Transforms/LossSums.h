//===- LossSums.h - What keeps a sum a sum -------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_LOSSSUMS_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_LOSSSUMS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"

namespace braid {

/// On an argument of @main: the number of parts of the batch, over all of its batches. What is the same for all parts
/// becomes a sum over them when it is divided by it.
inline constexpr llvm::StringLiteral partsAttrName = "braid.parts";

/// Whether `result`, linear in `sum`, keeps its values: casts to bool, integers or a narrower floating-point type round
/// them, and what they give for two parts does not add up to what they give for the whole.
bool keepsSum(mlir::Value sum, mlir::Value result);

} // namespace braid

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_LOSSSUMS_H
