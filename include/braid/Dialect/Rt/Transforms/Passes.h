//===- Passes.h - Passes on runtime calls --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_RT_TRANSFORMS_PASSES_H
#define BRAID_DIALECT_RT_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace braid::rt {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "braid/Dialect/Rt/Transforms/Passes.h.inc"

} // namespace braid::rt

#endif // BRAID_DIALECT_RT_TRANSFORMS_PASSES_H
