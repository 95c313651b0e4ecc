//===- OpRules.h - Shape, gradient and cost rules by family --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that op definitions name as their shape, gradient and flops rules. A rule takes the op's own class or,
// where several ops share it, mlir::Operation *. Shape rules live in lib/Dialect/Braid/IR/*Shapes.cpp, gradient rules in
// *Gradients.cpp, one file a family.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_OPRULES_H
#define BRAID_DIALECT_BRAID_IR_OPRULES_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#define BRAID_SHAPE_RULE(name, OpTy)                                                                                   \
  namespace braid::shapes {                                                                                            \
  llvm::LogicalResult name(OpTy op, ShapeAnalysis &analysis, llvm::SmallVectorImpl<TensorShape> &results);             \
  }
#define BRAID_GRADIENT_RULE(name, OpTy)                                                                                \
  namespace braid::gradients {                                                                                         \
  llvm::LogicalResult name(OpTy op, GradientBuilder &g);                                                               \
  }
#define BRAID_FLOPS_RULE(name, OpTy)                                                                                   \
  namespace braid::costs {                                                                                             \
  plan::Expr name(OpTy op, ShapeAnalysis &analysis);                                                                   \
  }

// Elementwise.
BRAID_SHAPE_RULE(broadcast, mlir::Operation *)
BRAID_SHAPE_RULE(sameAsFirst, mlir::Operation *)
BRAID_GRADIENT_RULE(add, AddOp)
BRAID_GRADIENT_RULE(mul, MulOp)
BRAID_GRADIENT_RULE(neg, NegOp)

// Reductions.
BRAID_SHAPE_RULE(reduceDims, mlir::Operation *)
BRAID_GRADIENT_RULE(sumDim, SumDimOp)

// Views.
BRAID_SHAPE_RULE(view, mlir::Operation *)
BRAID_SHAPE_RULE(expand, ExpandOp)
BRAID_SHAPE_RULE(cast, ToOp)
BRAID_GRADIENT_RULE(view, mlir::Operation *)
BRAID_GRADIENT_RULE(expand, ExpandOp)
BRAID_GRADIENT_RULE(cast, ToOp)

// Costs.
BRAID_FLOPS_RULE(elementwise, mlir::Operation *)
BRAID_FLOPS_RULE(none, mlir::Operation *)

#undef BRAID_SHAPE_RULE
#undef BRAID_GRADIENT_RULE
#undef BRAID_FLOPS_RULE

#endif // BRAID_DIALECT_BRAID_IR_OPRULES_H
