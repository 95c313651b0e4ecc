//===- Collate.h - Collate rules of @main's inputs -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_COLLATE_H
#define BRAID_DIALECT_BRAID_IR_COLLATE_H

#include "braid/Plan/Collate/BatchDivision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid {

/// On an input of @main: how it divides, in the words of plan.yaml.
inline constexpr llvm::StringLiteral collateAttrName = "braid.collate"; // "offsets(pixel_values)"

/// The inputs of @main in order, with the numbers of their arguments. Where none is stated, the rule is stack for
/// inputs whose dim 0 is that of the first input that has a name there, else shared. Fails after an error for a rule or
/// dims that cannot be read.
struct CollatedInputs {
  std::vector<plan::CollatedInput> inputs;
  llvm::SmallVector<unsigned> arguments;
};
mlir::FailureOr<CollatedInputs> getCollatedInputs(mlir::func::FuncOp main);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_COLLATE_H
