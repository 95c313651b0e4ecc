//===- GradientRules.h - Shared parts of gradient rules ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gradient rules and decompositions have in common: reading the arguments of an op, and small groups of ops.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_GRADIENTRULES_H
#define BRAID_DIALECT_BRAID_IR_GRADIENTRULES_H

#include "braid/Dialect/Braid/IR/OpRules.h"

namespace braid::gradients {

using llvm::ArrayRef;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::success;
using mlir::Operation;
using mlir::Value;
using Sizes = SmallVector<Expr, 4>;

/// A dim counted from the front. Tensors of rank 0 take 0 and -1.
int64_t wrapDim(int64_t dim, int64_t rank);
/// Dims of a reduction, from the front and in order: all if absent or empty.
SmallVector<int64_t> wrapDims(std::optional<ArrayRef<int64_t>> dims, int64_t rank);

/// An argument of the op, for create() of an op with the same one.
ArgValue argument(Operation *op, StringRef name);
/// The same for a backward operator, which has no defaults: `absent` where the op leaves it out.
ArgValue argumentOr(Operation *op, StringRef name, ArgValue absent);
/// A size argument as an expression, `absent` where the op leaves it out.
Expr sizeArgument(GradientBuilder &g, Operation *op, StringRef name, Expr absent = 0);
Sizes sizesArgument(GradientBuilder &g, Operation *op, StringRef name);

/// An int, float or bool as a number, `absent` if null.
double toDouble(mlir::TypedAttr scalar, double absent);

// Each of these gives null for null, so that a failed create() ends in a null gradient and not in a crash.
/// value * factor; the value itself for 1 and for an absent factor.
Value scaled(GradientBuilder &g, Value value, mlir::TypedAttr factor);
Value scaled(GradientBuilder &g, Value value, double factor);
/// value / count.
Value divided(GradientBuilder &g, Value value, const Expr &count);
/// value * scale, or value / sqrt(size) where there is no scale: what attention does to its scores.
Value scaledForSize(GradientBuilder &g, Value value, std::optional<double> scale, const Expr &size);
Value castTo(GradientBuilder &g, Value value, mlir::Type elementType);
Value reshaped(GradientBuilder &g, Value value, Sizes sizes);
Value expandedTo(GradientBuilder &g, Value value, Value like);
/// The value with zeros where the mask is true.
Value maskedOut(GradientBuilder &g, Value value, Value mask);
/// A result of a reduction, with size 1 for the dims of `self` that were reduced, in the element type of `self`.
Value unreduced(GradientBuilder &g, Value result, Value self, ArrayRef<int64_t> dims);

/// Zeros that take the memory of one element: nobody may write to them.
Value zeros(GradientBuilder &g, const TensorShape &shape);

/// For ops that braid-decompose rewrites: they have no gradient of their own.
LogicalResult undecomposed(Operation *op);

} // namespace braid::gradients

#endif // BRAID_DIALECT_BRAID_IR_GRADIENTRULES_H
