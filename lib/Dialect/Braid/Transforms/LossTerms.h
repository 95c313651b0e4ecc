//===- LossTerms.h - What a loss is made of ------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_LOSSTERMS_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_LOSSTERMS_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace braid {

/// Takes a loss apart into what adds over the parts of a batch, what divides it, and what is the same for all parts.
class LossTerms {
public:
  LossTerms(mlir::func::FuncOp main, ShapeAnalysis &shapes) : main(main), shapes(shapes) {}

  /// On failure `reason` says which op is of no known form.
  bool collect(mlir::Value loss);

  /// A mean becomes a sum divided by a count; sums need no count.
  llvm::SetVector<mlir::Operation *> terms;
  /// In divisors: what the whole batch gives is the sum of what its parts give.
  llvm::SetVector<mlir::Operation *> counts;
  /// Those of `counts` that leave the loss undefined where they are 0.
  llvm::DenseSet<mlir::Operation *> needed;
  /// Summands that depend on no input: parameters and constants.
  llvm::SmallVector<mlir::OpOperand *> fixed;
  /// add_scalar and its kin: the number that they add is such a summand.
  llvm::SmallVector<mlir::Operation *> fixedScalars;
  std::string reason;

  /// The values that a sum adds, before they became floats.
  static mlir::Value countedBy(SumOp sum);
  static bool isInteger(mlir::Value value);

private:
  bool collectCounts(mlir::Value divisor, bool needed);
  llvm::SmallVector<mlir::OpOperand *, 2> summandsOf(mlir::Operation *op);
  bool isFixed(mlir::Value value);
  bool dependsOn(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> isOne);
  std::optional<bool> growsWithBatch(mlir::Value index);

  mlir::func::FuncOp main;
  ShapeAnalysis &shapes;
};

} // namespace braid

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_LOSSTERMS_H
