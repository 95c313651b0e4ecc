//===- ViewOps.td - ATen operators ---------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_VIEWOPS_TD
#define BRAID_DIALECT_BRAID_IR_VIEWOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

def Braid_ViewOp : Braid_AtenOp<"view", "aten::view", [T<"self">, SymIntList<"size">], "view", "view", "none">;
def Braid_ReshapeOp : Braid_AtenOp<"reshape", "aten::reshape", [T<"self">, SymIntList<"shape">], "view", "view", "none">;
def Braid_ExpandOp : Braid_AtenOp<"expand", "aten::expand", [T<"self">, SymIntList<"size">], "expand", "expand", "none">;
def Braid_ToOp : Braid_AtenOp<"to", "aten::to.dtype", [T<"self">, Dtype<>], "cast", "cast">;

#endif // BRAID_DIALECT_BRAID_IR_VIEWOPS_TD
