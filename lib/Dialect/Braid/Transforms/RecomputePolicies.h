//===- RecomputePolicies.h - What each unit computes again ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_RECOMPUTEPOLICIES_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_RECOMPUTEPOLICIES_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid {

/// The policy ("none", "selective", "full") of each call of @main, by the `recompute` of a plan file (may be empty), or
/// one word for all, which comes before the plan. Calls that nothing names are not there.
mlir::FailureOr<llvm::DenseMap<mlir::Operation *, mlir::StringRef>>
findRecomputePolicies(mlir::func::FuncOp main, mlir::StringRef planFile, mlir::StringRef word);

} // namespace braid

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_RECOMPUTEPOLICIES_H
