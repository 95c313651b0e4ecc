//===- CreationOps.td - Tensors from sizes alone ---------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_CREATIONOPS_TD
#define BRAID_DIALECT_BRAID_IR_CREATIONOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_CreationOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string factorRule = "">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, "", "none", factorRule = factorRule>;

// With integer bounds; other bounds stay opaque.
def Braid_ArangeOp : Braid_CreationOp<"arange", "aten::arange", [SymInt<"end">, Dtype<>], "arange", "position">;
def Braid_ArangeStartOp : Braid_CreationOp<"arange_start", "aten::arange.start",
  [SymInt<"start">, SymInt<"end">, Dtype<>], "arange", "position">;
def Braid_ArangeStartStepOp : Braid_CreationOp<"arange_start_step", "aten::arange.start_step",
  [SymInt<"start">, SymInt<"end">, SymInt<"step">, Dtype<>], "arange", "position">;

def Braid_ZerosOp : Braid_CreationOp<"zeros", "aten::zeros", [SymIntList<"size">, Dtype<>], "filled", "filled">;
def Braid_OnesOp : Braid_CreationOp<"ones", "aten::ones", [SymIntList<"size">, Dtype<>], "filled", "filled">;
def Braid_FullOp : Braid_CreationOp<"full", "aten::full", [SymIntList<"size">, Scalar<"fill_value">, Dtype<>],
  "filled", "filled">;
def Braid_NewZerosOp : Braid_CreationOp<"new_zeros", "aten::new_zeros", [T<"self">, SymIntList<"size">, Dtype<>],
  "filled", "filled">;
def Braid_NewOnesOp : Braid_CreationOp<"new_ones", "aten::new_ones", [T<"self">, SymIntList<"size">, Dtype<>],
  "filled", "filled">;
def Braid_NewFullOp : Braid_CreationOp<"new_full", "aten::new_full",
  [T<"self">, SymIntList<"size">, Scalar<"fill_value">, Dtype<>], "filled", "filled">;
def Braid_ZerosLikeOp : Braid_CreationOp<"zeros_like", "aten::zeros_like", [T<"self">, Dtype<>], "cast", "broadcast">;
def Braid_OnesLikeOp : Braid_CreationOp<"ones_like", "aten::ones_like", [T<"self">, Dtype<>], "cast", "broadcast">;
def Braid_FullLikeOp : Braid_CreationOp<"full_like", "aten::full_like", [T<"self">, Scalar<"fill_value">, Dtype<>],
  "cast", "broadcast">;

// Uniform in [0, 1), a function of the seed, the step, the sample and `stream`: see Random.h.
def Braid_RandOp : Braid_AtenOp<"rand", "aten::rand", [SymIntList<"size">, Dtype<>], "filled", "", "random",
  factorRule = "filled">;

#endif // BRAID_DIALECT_BRAID_IR_CREATIONOPS_TD
