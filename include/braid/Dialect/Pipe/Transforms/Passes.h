//===- Passes.h - Stages and schedules -----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_PIPE_TRANSFORMS_PASSES_H
#define BRAID_DIALECT_PIPE_TRANSFORMS_PASSES_H

#include "braid/Dialect/Pipe/IR/PipeDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace braid::pipe {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "braid/Dialect/Pipe/Transforms/Passes.h.inc"

} // namespace braid::pipe

#endif // BRAID_DIALECT_PIPE_TRANSFORMS_PASSES_H
