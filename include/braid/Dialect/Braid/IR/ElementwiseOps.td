//===- ElementwiseOps.td - ATen operators ---------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_ELEMENTWISEOPS_TD
#define BRAID_DIALECT_BRAID_IR_ELEMENTWISEOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

/// Shapes broadcast, element types promote as in ATen.
class Braid_BinaryOp<string mnemonic, string atenName, list<AtenArg> args, string gradientRule = "">
    : Braid_AtenOp<mnemonic, atenName, args, "broadcast", gradientRule>;
/// Same shape and element type as the first operand.
class Braid_UnaryOp<string mnemonic, string atenName, list<AtenArg> args, string gradientRule = "">
    : Braid_AtenOp<mnemonic, atenName, args, "sameAsFirst", gradientRule>;

def Braid_AddOp : Braid_BinaryOp<"add", "aten::add.Tensor", [T<"self">, T<"other">, Scalar<"alpha">], "add">;
def Braid_MulOp : Braid_BinaryOp<"mul", "aten::mul.Tensor", [T<"self">, T<"other">], "mul">;
def Braid_NegOp : Braid_UnaryOp<"neg", "aten::neg", [T<"self">], "neg">;

#endif // BRAID_DIALECT_BRAID_IR_ELEMENTWISEOPS_TD
