//===- KernelBody.h - Elementwise ops as scalar code ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_BRAIDTORT_KERNELBODY_H
#define BRAID_LIB_CONVERSION_BRAIDTORT_KERNELBODY_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"

namespace braid {

/// Whether kernels hold elements of this type: f32, f64, i64 and i1.
bool isKernelType(mlir::Type elementType);

/// The scalar value of a constant whose elements are all the same; null for any other.
mlir::TypedAttr getSplatScalar(mlir::Value tensor);

/// Whether the op reduces the last dim of its operand, and nothing else.
bool isRowReduction(mlir::Operation *op, int64_t operandRank);

/// Whether the op is a reduction whose result lacks the dim.
bool dropsRowDim(mlir::Operation *op);

/// Whether an element of the result depends on the whole row, as in softmax.
bool needsRows(mlir::Operation *op);

/// Whether an operand has an element for each row, and lacks the last dim: the targets of a cross entropy.
bool isPerRow(mlir::OpOperand &operand);

/// Emits the value of one element of the op's result, from those of its tensor operands, with ATen's promotions. Returns
/// null, and may leave dead code behind, where there is no scalar form: then the op stays a call.
mlir::Value emitScalar(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands);

} // namespace braid

#endif // BRAID_LIB_CONVERSION_BRAIDTORT_KERNELBODY_H
