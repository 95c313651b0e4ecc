//===- InitAll.h - Registers all of braid --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_INITALL_H
#define BRAID_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace braid {

/// Every dialect that braid's phases use, ours and MLIR's.
void registerAllDialects(mlir::DialectRegistry &registry);
/// Every pass and pipeline of braid, with MLIR's canonicalizer, CSE and symbol DCE.
void registerAllPasses();

} // namespace braid

#endif // BRAID_INITALL_H
