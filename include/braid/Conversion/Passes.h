//===- Passes.h - Passes between dialects --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_CONVERSION_PASSES_H
#define BRAID_CONVERSION_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace braid {

/// On the LLVM functions of kernels, which are worth optimizing and vectorizing.
inline constexpr llvm::StringLiteral kernelFunctionAttr = "braid-kernel";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "braid/Conversion/Passes.h.inc"

} // namespace braid

#endif // BRAID_CONVERSION_PASSES_H
