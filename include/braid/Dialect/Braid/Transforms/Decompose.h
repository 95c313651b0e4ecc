//===- Decompose.h - Ops in parts that have gradients --------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_TRANSFORMS_DECOMPOSE_H
#define BRAID_DIALECT_BRAID_TRANSFORMS_DECOMPOSE_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid {

/// Rewrites layer_norm, rms_norm, cross_entropy_loss and scaled_dot_product_attention into differentiable parts that
/// compute the same. What cannot be (random dropout) is an error at the op.
llvm::LogicalResult decompose(mlir::func::FuncOp function, ShapeAnalysis &shapes);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_TRANSFORMS_DECOMPOSE_H
