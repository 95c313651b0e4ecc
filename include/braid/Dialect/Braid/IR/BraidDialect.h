//===- BraidDialect.h - The model graph dialect --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_BRAIDDIALECT_H
#define BRAID_DIALECT_BRAID_IR_BRAIDDIALECT_H

#include "braid/Dialect/Braid/IR/AtenCall.h"
#include "braid/Dialect/Braid/IR/FactorMap.h"
#include "braid/Dialect/Braid/IR/GradientBuilder.h"
#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h.inc"
#include "braid/Dialect/Braid/IR/BraidInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "braid/Dialect/Braid/IR/BraidAttrs.h.inc"

#define GET_OP_CLASSES
#include "braid/Dialect/Braid/IR/BraidOps.h.inc"

#define GET_OP_CLASSES
#include "braid/Dialect/Braid/IR/AtenOps.h.inc"

#endif // BRAID_DIALECT_BRAID_IR_BRAIDDIALECT_H
