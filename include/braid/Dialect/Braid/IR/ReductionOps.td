//===- ReductionOps.td - ATen operators ---------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_REDUCTIONOPS_TD
#define BRAID_DIALECT_BRAID_IR_REDUCTIONOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

def Braid_SumDimOp : Braid_AtenOp<"sum_dim", "aten::sum.dim_IntList",
  [T<"self">, IntList<"dim">, Bool<"keepdim">, Dtype<>], "reduceDims", "sumDim">;

#endif // BRAID_DIALECT_BRAID_IR_REDUCTIONOPS_TD
