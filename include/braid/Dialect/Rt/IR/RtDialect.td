//===- RtDialect.td - Runtime calls with explicit ownership --*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_RT_IR_RTDIALECT_TD
#define BRAID_DIALECT_RT_IR_RTDIALECT_TD

include "mlir/IR/OpBase.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let summary = "Calls into the runtime with explicit ownership; one op is one call of the C ABI";
  let description = [{
    Functions are `func.func` over `!rt.tensor`: arguments are borrowed, results are owned by the caller. A handle that
    an op makes is owned until exactly one `rt.release` or `func.return` takes it. See docs/Dialects/Rt.md.
  }];
  let cppNamespace = "::braid::rt";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect"];
}

#endif // BRAID_DIALECT_RT_IR_RTDIALECT_TD
