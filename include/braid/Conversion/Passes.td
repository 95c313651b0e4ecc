//===- Passes.td - Passes between dialects ------------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_CONVERSION_PASSES_TD
#define BRAID_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def Recompute : Pass<"braid-recompute", "::mlir::ModuleOp"> {
  let summary = "Divides forward functions into what is kept and what is computed again";
  let description = [{
    For each derivative with a policy: forward keeps fewer values, and a function `recompute` gives the residuals from
    them. `full` keeps the unit's inputs. `selective` keeps the fewest bytes (in the example) from which ops that are
    cheap lead to every residual: those of at most 16 operations for each element that they read or write.

    Kernels of the function are formed first, and a kernel is kept or computed again as a whole: so both parts run the
    very same code as a forward without recomputation, and give the same bits.
    ```mlir
    braid.derivative @Layer forward(@Layer.forward) input(...) {policy = "full"}
    braid.derivative @Layer forward(@Layer.forward) recompute(@Layer.recompute) input(...) {policy = "full"}   // after
    ```
  }];
  let options = [Option<"kernels", "kernels", "bool", "true", "Fuse elementwise ops into kernels">];
  let dependentDialects = ["::braid::rt::RtDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numDivided", "divided", "Forward functions divided">];
}

def BraidToRt : Pass<"braid-to-rt", "::mlir::ModuleOp"> {
  let summary = "Turns functions over tensors into runtime calls with explicit lifetimes";
  let description = [{
    Every ATen operator becomes an `rt.call` with the arguments that the op holds; a handle is released right after its
    last use; borrowed handles that are returned are retained first. Ops whose results nobody uses go, equal constants
    become one constant of the module. With `kernels`, connected elementwise ops and reductions of the last dim become
    one `rt.launch` of an `rt.kernel`, which reads and writes memory once. Symbols are numbered as `pipe.symbols` lists them.
    ```mlir
    %0 = braid.view(self = %x, size = [%b, 32]) {path = "net.up"} : (tensor<?x4x8xf32>) -> tensor<?x32xf32>
    %1 = braid.neg(self = %0) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    // becomes
    %0 = rt.call "aten::view"(self = %x, size = [%b, 32]) at <"net.up", "model.py", 12> : !rt.tensor
    %1 = rt.call "aten::neg"(self = %0) at <"net.up", "model.py", 13> : !rt.tensor
    rt.release %0
    ```
  }];
  let options = [Option<"kernels", "kernels", "bool", "true", "Fuse elementwise ops into kernels">];
  let dependentDialects = ["::braid::rt::RtDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numCalls", "calls", "Runtime calls">,
                    Statistic<"numKernels", "kernels", "Distinct kernels">,
                    Statistic<"numConstants", "constants", "Distinct constants">];
}

def RtToLLVM : Pass<"rt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turns runtime calls into a program for the C ABI";
  let description = [{
    Each function becomes `i32 f(ptr symbols, ptr operands, ptr results)`; those with `pipe.entry` stand in the
    program's function table. Handles live in slots of the stack frame; a failing call branches to one block that
    releases them all. docs/Dialects/Rt.md shows the layout.
  }];
  let options = [Option<"emitMain", "emit-main", "bool", "true", "Define main, which calls braid_rt_main">,
                 Option<"kernelCpu", "kernel-cpu", "std::string", "\"\"",
                        "A processor that kernels get a second version for, taken where it can run">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels compiled">,
                    Statistic<"numOperators", "operators", "Operators that the initializer resolves">,
                    Statistic<"numHelpers", "helpers", "Shapes of calls, one internal function each">];
}

#endif // BRAID_CONVERSION_PASSES_TD
