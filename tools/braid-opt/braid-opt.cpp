//===- braid-opt.cpp - Runs passes on MLIR files --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/InitAll.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  braid::registerAllDialects(registry);
  braid::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "braid's modular optimizer driver\n", registry));
}
