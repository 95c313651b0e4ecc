//===- ResultTypes.h - Types of results by their shapes -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_RESULTTYPES_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_RESULTTYPES_H

#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"

#include "mlir/IR/Operation.h"

namespace braid {

/// Gives an op's tensor results the types that its operands make them. Fails after an error at an op without a shape.
mlir::LogicalResult setResultTypes(mlir::Operation *op, ShapeAnalysis &shapes);

} // namespace braid

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_RESULTTYPES_H
