//===- InitAll.cpp - Registers all of braid -------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/InitAll.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

namespace braid {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<BraidDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>();
}

void registerAllPasses() {
  registerBraidPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
}

} // namespace braid
