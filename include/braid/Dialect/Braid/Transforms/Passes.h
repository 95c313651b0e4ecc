//===- Passes.h - Passes on the model graph ------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_TRANSFORMS_PASSES_H
#define BRAID_DIALECT_BRAID_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace braid {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

} // namespace braid

#endif // BRAID_DIALECT_BRAID_TRANSFORMS_PASSES_H
