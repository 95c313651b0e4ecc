//===- PipeDialect.h - Stages, edges, schedule ---------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_PIPE_IR_PIPEDIALECT_H
#define BRAID_DIALECT_PIPE_IR_PIPEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "braid/Dialect/Pipe/IR/PipeDialect.h.inc"

#define GET_OP_CLASSES
#include "braid/Dialect/Pipe/IR/PipeOps.h.inc"

#endif // BRAID_DIALECT_PIPE_IR_PIPEDIALECT_H
