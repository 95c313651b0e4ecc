//===- Types.h - Element types of LibTorch and MLIR ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_TYPES_H
#define BRAID_LIB_IMPORT_TYPES_H

#include "mlir/IR/BuiltinTypes.h"

#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

namespace braid::torchscript {

/// Null for types that braid lacks (complex, quantised, float8).
mlir::Type toMlirType(mlir::MLIRContext *context, c10::ScalarType type);
/// The inverse.
c10::ScalarType toScalarType(mlir::Type type);

/// "f64", "i64", "bool": as plans and --input spell them.
std::string typeName(mlir::Type type);
mlir::Type parseTypeName(mlir::MLIRContext *context, llvm::StringRef name);

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_TYPES_H
