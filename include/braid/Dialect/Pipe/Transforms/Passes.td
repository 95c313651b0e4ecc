//===- Passes.td - Stages and schedules ---------------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_PIPE_TRANSFORMS_PASSES_TD
#define BRAID_DIALECT_PIPE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormStages : Pass<"pipe-form-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts @main into stages and schedules them";
  let description = [{
    Unit calls are assigned to the components of the plan, or to `stages` stages balanced by FLOPs. Each stage becomes
    four functions of whole values (forward, backward-input, backward-weight, backward); values between any two stages
    become `pipe.value`s and `pipe.edge`s. Units that are computed from inputs alone are cloned into each stage that
    reads them. The schedule is generated and verified by lib/Plan.
    ```mlir
    pipe.stage 0 on 0 forward(@stage0.forward) ...
    pipe.value 0 of 0 : tensor<?x16x32xf64> {...}
    pipe.edge 0 from 0 to 1
    pipe.schedule "1f1b" microbatches 2 rows ["0F0,0SEND_F0,...", ...]
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "1", "Number of stages where no plan names components">,
    Option<"microbatches", "microbatches", "int64_t", "0", "Number of micro-batches; 0: the plan's, or 1">,
    Option<"schedule", "schedule", "std::string", "\"\"", "a kind of docs/Schedules.md; empty: the plan's, or 1f1b">,
    Option<"planFile", "plan", "std::string", "\"\"", "plan.yaml">
  ];
  let dependentDialects = ["::braid::pipe::PipeDialect"];
  let statistics = [Statistic<"numStages", "stages", "Stages">, Statistic<"numEdges", "edges", "Edges">];
}

def EmitPlan : Pass<"pipe-emit-plan", "::mlir::ModuleOp"> {
  let summary = "Writes the plan section of the binary";
  let description = [{
    The JSON of docs/RuntimeABI.md, from the module's inputs, parameters, stages and schedule, as the string attribute
    `pipe.plan`; `pipe.symbols` gives the order of the symbols.
  }];
  let options = [
    Option<"planFile", "plan", "std::string", "\"\"", "plan.yaml: its optimizer becomes the default of the binary">,
    Option<"device", "device", "std::string", "\"cpu\"", "cpu or cuda">
  ];
}

#endif // BRAID_DIALECT_PIPE_TRANSFORMS_PASSES_TD
