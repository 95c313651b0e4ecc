//===- PipeOps.td - Stages, edges, schedule -----------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_PIPE_IR_PIPEOPS_TD
#define BRAID_DIALECT_PIPE_IR_PIPEOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let summary = "Stages, the values between them, and the table of actions";
  let description = [{
    Ops of this dialect stand at the top of a module beside the stages' functions. They hold facts, not code: the plan
    section of the binary is written from them. docs/Dialects/Pipe.md.
  }];
  let cppNamespace = "::braid::pipe";
}

class Pipe_Op<string mnemonic, list<Trait> traits = []> : Op<Pipe_Dialect, mnemonic, traits>;

def Pipe_StageOp : Pipe_Op<"stage", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A stage: its rank, its functions and what they take and give";
  let description = [{
    Forward takes (params..., inputs..., values_in..., counts...) and gives (values_out..., loss if any, states..., residuals...);
    backward_input takes (params..., residuals..., cotangents of values_out with a gradient...) and gives (cotangents of
    values_in with a gradient..., carries...); backward_weight takes (params..., residuals..., carries...) and gives
    (gradients...); backward is the two fused. `states` are buffers whose
    new value forward gives, `units` the module paths in the stage.

    `policies` says for each of `units` what is recomputed, where anything is. Backward functions do so themselves, a
    unit at a time; or, where there is a function `replay`, it takes (params..., residuals...) and gives `replayed`
    tensors, which backward functions take in the place of the residuals.
    ```mlir
    pipe.stage 0 on 0 forward(@stage0.forward) input(@stage0.backward_input) weight(@stage0.backward_weight)
        full(@stage0.backward) {name = "vision.0", params = [@w], inputs = ["pixels"], values_in = array<i64>,
        values_out = array<i64: 0>, counts = array<i64>, residuals = 7, carries = 2, gradients = [@w], units = ["vision"]}
    ```
  }];
  let arguments = (ins I64Attr:$number, I64Attr:$rank, StrAttr:$name, FlatSymbolRefAttr:$forward,
                       OptionalAttr<FlatSymbolRefAttr>:$input, OptionalAttr<FlatSymbolRefAttr>:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$full, OptionalAttr<FlatSymbolRefAttr>:$replay,
                       FlatSymbolRefArrayAttr:$params, StrArrayAttr:$inputs,
                       DenseI64ArrayAttr:$values_in, DenseI64ArrayAttr:$values_out, DenseI64ArrayAttr:$counts,
                       UnitAttr:$loss, OptionalAttr<FlatSymbolRefArrayAttr>:$states, I64Attr:$residuals,
                       OptionalAttr<I64Attr>:$replayed, I64Attr:$carries, FlatSymbolRefArrayAttr:$gradients,
                       StrArrayAttr:$units, OptionalAttr<StrArrayAttr>:$policies, F64Attr:$flops);
  let assemblyFormat = [{
    $number `on` $rank `forward` `(` $forward `)` (`input` `(` $input^ `)`)? (`weight` `(` $weight^ `)`)?
    (`full` `(` $full^ `)`)? (`replay` `(` $replay^ `)`)? attr-dict
  }];
}

def Pipe_ValueOp : Pipe_Op<"value"> {
  let summary = "A tensor that leaves its stage";
  let description = [{
    `dims` are its sizes for one micro-batch; `gradient` says that a cotangent comes back.
    ```mlir
    pipe.value 0 of 0 : tensor<?x16x32xf64> {dims = ["batch", "16", "32"], gradient, name = "net.projector"}
    ```
  }];
  let arguments = (ins I64Attr:$number, I64Attr:$stage, TypeAttrOf<AnyRankedTensor>:$type, StrArrayAttr:$dims,
                       UnitAttr:$gradient, StrAttr:$name);
  let assemblyFormat = "$number `of` $stage `:` $type attr-dict";
}

def Pipe_EdgeOp : Pipe_Op<"edge"> {
  let summary = "A value on its way to a stage";
  let arguments = (ins I64Attr:$value, I64Attr:$from, I64Attr:$to);
  let assemblyFormat = "$value `from` $from `to` $to attr-dict";
}

def Pipe_ScheduleOp : Pipe_Op<"schedule"> {
  let summary = "The table of actions, one row per rank";
  let description = [{Rows are in the text form of braid/Plan/Schedule/Schedule.h, PyTorch's extended.}];
  let arguments = (ins StrAttr:$kind, I64Attr:$microbatches, StrArrayAttr:$rows);
  let assemblyFormat = "$kind `microbatches` $microbatches attr-dict `rows` $rows";
}

#endif // BRAID_DIALECT_PIPE_IR_PIPEOPS_TD
