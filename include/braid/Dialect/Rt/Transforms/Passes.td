//===- Passes.td - Passes on runtime calls ------------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_RT_TRANSFORMS_PASSES_TD
#define BRAID_DIALECT_RT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyLifetimes : Pass<"rt-verify-lifetimes", "::mlir::ModuleOp"> {
  let summary = "Proves that every owned handle is given up exactly once";
  let description = [{
    The contract of the rt phase: functions are one block; every handle that an op makes is released or returned exactly
    once and not used afterwards; arguments and constants, which are borrowed, never are.
    ```mlir
    %0 = rt.call "aten::neg"(self = %arg0) : !rt.tensor
    rt.release %0
    %1 = rt.call "aten::neg"(self = %0) : !rt.tensor   // error: uses a handle after it was given up
    ```
  }];
}

#endif // BRAID_DIALECT_RT_TRANSFORMS_PASSES_TD
