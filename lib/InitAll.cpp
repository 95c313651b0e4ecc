//===- InitAll.cpp - Registers all of braid -------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/InitAll.h"

#include "braid/Conversion/Passes.h"
#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"
#include "braid/Dialect/Pipe/IR/PipeDialect.h"
#include "braid/Dialect/Pipe/Transforms/Passes.h"
#include "braid/Dialect/Rt/IR/RtDialect.h"
#include "braid/Dialect/Rt/Transforms/Passes.h"
#include "braid/Pipelines/Phases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

namespace braid {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<BraidDialect, pipe::PipeDialect, rt::RtDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect>();
}

void registerAllPasses() {
  registerBraidPasses();
  pipe::registerPipePasses();
  rt::registerRtPasses();
  registerConversionPasses();
  registerPhasePipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
}

} // namespace braid
