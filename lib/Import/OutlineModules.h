//===- OutlineModules.h - One function per module call -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_OUTLINEMODULES_H
#define BRAID_LIB_IMPORT_OUTLINEMODULES_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid::torchscript {

/// One call of a torch module. Calls are numbered in the order in which they start.
struct ModuleCall {
  std::string path;      // unique: a module's second call has "#1" behind its name
  std::string className; // "LlamaDecoderLayer"
  int parent = -1;
  std::optional<mlir::Location> loc;
};

/// Moves the ops of each call, which follow each other and carry its path, into a private function of that name, and
/// drops the path from them. Values that cross become arguments and results, with their dims as attributes.
mlir::LogicalResult outlineModules(mlir::func::FuncOp main, llvm::ArrayRef<ModuleCall> calls, ShapeAnalysis &shapes);

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_OUTLINEMODULES_H
