//===- RtDialect.h - Runtime calls with explicit ownership ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_RT_IR_RTDIALECT_H
#define BRAID_DIALECT_RT_IR_RTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "braid/Dialect/Rt/IR/RtDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "braid/Dialect/Rt/IR/RtTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "braid/Dialect/Rt/IR/RtAttrs.h.inc"

#define GET_OP_CLASSES
#include "braid/Dialect/Rt/IR/RtOps.h.inc"

namespace braid::rt {

/// The braid_dtype of an element type; nothing for types that the runtime lacks.
std::optional<int32_t> getDtype(mlir::Type elementType);

/// Whether a handle belongs to the function that holds it. Arguments and constants are borrowed.
bool isOwned(mlir::Value tensor);

/// The attributes that `pipe` leaves for code generation.
inline constexpr llvm::StringLiteral entryAttrName = "pipe.entry";     // unit, on functions that the plan names
inline constexpr llvm::StringLiteral symbolsAttrName = "pipe.symbols"; // ["batch", "seq"]: the order of `symbols`
inline constexpr llvm::StringLiteral streamsAttrName = "rt.streams";   // 2 : i64, how many the caller passes
inline constexpr llvm::StringLiteral planAttrName = "pipe.plan";       // the plan's JSON

} // namespace braid::rt

#endif // BRAID_DIALECT_RT_IR_RTDIALECT_H
