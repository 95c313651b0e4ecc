//===- ElementTypes.h - Element types in MLIR ----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_ELEMENTTYPES_H
#define BRAID_DIALECT_BRAID_IR_ELEMENTTYPES_H

#include "braid/Plan/File/ElementType.h"

#include "mlir/IR/Types.h"

namespace braid {

mlir::Type toType(mlir::MLIRContext *context, plan::ElementType type);
/// Nothing for types that the runtime does not have.
std::optional<plan::ElementType> toElementType(mlir::Type type);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_ELEMENTTYPES_H
