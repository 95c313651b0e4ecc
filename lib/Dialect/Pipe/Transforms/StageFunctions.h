//===- StageFunctions.h - The functions of a stage -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_PIPE_TRANSFORMS_STAGEFUNCTIONS_H
#define BRAID_LIB_DIALECT_PIPE_TRANSFORMS_STAGEFUNCTIONS_H

#include "StageAssignment.h"

namespace braid::pipe {

/// What a stage's functions take and give, in order (PipeOps.td, pipe.stage).
struct StageSignature {
  llvm::SmallVector<std::string> params;         // symbol names
  llvm::SmallVector<mlir::BlockArgument> inputs; // of @main
  llvm::SmallVector<mlir::Value> valuesIn;       // results of calls of other stages
  llvm::SmallVector<mlir::BlockArgument> counts; // of @main
  llvm::SmallVector<mlir::Value> valuesOut;      // results of this stage's calls that other stages read
  bool loss = false;
  llvm::SmallVector<std::string> states; // buffers whose new value forward gives
  unsigned residuals = 0, carries = 0;
  unsigned replayed = 0;                    // results of `replay`
  llvm::SmallVector<std::string> gradients; // params that get one, in order
  mlir::func::FuncOp forward, input, weight, full;
  mlir::func::FuncOp replay; // null: nothing is recomputed, or backward functions do it
  bool recomputes = false;
};

/// Which values of @main get a cotangent, and which consumer gives one.
class CotangentInfo {
public:
  CotangentInfo(mlir::func::FuncOp main, mlir::SymbolTable &symbols);

  /// The derivative of a call, or null.
  DerivativeOp derivativeOf(CallOp call) const { return derivatives.lookup(call); }
  /// Whether any consumer gives the value a cotangent.
  bool hasGradient(mlir::Value value) const { return wanted.contains(value); }

private:
  llvm::DenseMap<mlir::Operation *, DerivativeOp> derivatives;
  llvm::DenseSet<mlir::Value> wanted;
};

/// Emits the functions of stage `number` into the module. `valuesOut` says what other stages read. With `replay`, what
/// units recompute is a function of its own.
mlir::FailureOr<StageSignature> emitStageFunctions(unsigned number, const StageInfo &stage,
                                                   llvm::ArrayRef<mlir::Value> valuesOut, mlir::func::FuncOp main,
                                                   const CotangentInfo &cotangents, bool replay,
                                                   mlir::SymbolTable &symbols, ShapeAnalysis &shapes);

} // namespace braid::pipe

#endif // BRAID_LIB_DIALECT_PIPE_TRANSFORMS_STAGEFUNCTIONS_H
