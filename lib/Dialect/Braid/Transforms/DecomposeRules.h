//===- DecomposeRules.h - One op in parts ---------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule emits the parts of one op with the builder, which serves here as a maker of ops only, and gives the value
// that takes the place of the op's result; null after an error.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_DECOMPOSERULES_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_DECOMPOSERULES_H

#include "braid/Dialect/Braid/IR/GradientRules.h"

namespace braid::decompositions {

mlir::Value layerNorm(LayerNormOp op, GradientBuilder &g);
mlir::Value rmsNorm(RmsNormOp op, GradientBuilder &g);
mlir::Value groupNorm(GroupNormOp op, GradientBuilder &g);
mlir::Value crossEntropy(CrossEntropyLossOp op, GradientBuilder &g);
mlir::Value attention(ScaledDotProductAttentionOp op, GradientBuilder &g);

} // namespace braid::decompositions

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_DECOMPOSERULES_H
