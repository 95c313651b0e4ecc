//===- GatherScatterOps.td - Reading and writing by index or mask -*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_GATHERSCATTEROPS_TD
#define BRAID_DIALECT_BRAID_IR_GATHERSCATTEROPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_GatherOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule = "",
                     string factorRule = "">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, "none", factorRule = factorRule>;

def Braid_EmbeddingOp : Braid_GatherOp<"embedding", "aten::embedding",
  [T<"weight">, T<"indices">, SymInt<"padding_idx">, Bool<"scale_grad_by_freq">, Bool<"sparse">], "embedding",
  "embedding", "embedding">;
def Braid_EmbeddingDenseBackwardOp : Braid_GatherOp<"embedding_dense_backward", "aten::embedding_dense_backward",
  [T<"grad_output">, T<"indices">, SymInt<"num_weights">, SymInt<"padding_idx">, Bool<"scale_grad_by_freq">],
  "embeddingDenseBackward", "", "embeddingDenseBackward">;

def Braid_IndexOp : Braid_GatherOp<"index", "aten::index.Tensor", [T<"self">, OptTList<"indices">], "index", "index",
  "index">;
def Braid_IndexPutOp : Braid_GatherOp<"index_put", "aten::index_put",
  [T<"self">, OptTList<"indices">, T<"values">, Bool<"accumulate">], "indexPut", "indexPut", "indexPut">;
def Braid_IndexSelectOp : Braid_GatherOp<"index_select", "aten::index_select", [T<"self">, Int<"dim">, T<"index">],
  "indexSelect", "indexSelect", "indexSelect">;
def Braid_IndexAddOp : Braid_GatherOp<"index_add", "aten::index_add",
  [T<"self">, Int<"dim">, T<"index">, T<"source">, Scalar<"alpha">], "indexAdd", "indexAdd", "indexAdd">;
def Braid_GatherAlongOp : Braid_GatherOp<"gather", "aten::gather",
  [T<"self">, Int<"dim">, T<"index">, Bool<"sparse_grad">], "gather", "gather", "gather">;
def Braid_ScatterAddOp : Braid_GatherOp<"scatter_add", "aten::scatter_add",
  [T<"self">, Int<"dim">, T<"index">, T<"src">], "scatter", "scatterAdd", "scatter">;
def Braid_ScatterOp : Braid_GatherOp<"scatter", "aten::scatter.src", [T<"self">, Int<"dim">, T<"index">, T<"src">],
  "scatter", "scatter", "scatter">;
def Braid_ScatterValueOp : Braid_GatherOp<"scatter_value", "aten::scatter.value",
  [T<"self">, Int<"dim">, T<"index">, Scalar<"value">], "scatter", "scatterValue", "scatter">;
def Braid_OneHotOp : Braid_GatherOp<"one_hot", "aten::one_hot", [T<"self">, Int<"num_classes", "-1">], "oneHot", "",
  "oneHot">;

// By mask.
def Braid_MaskedFillScalarOp : Braid_GatherOp<"masked_fill_scalar", "aten::masked_fill.Scalar",
  [T<"self">, T<"mask">, Scalar<"value">], "maskedFill", "maskedFillScalar", "broadcast">;
def Braid_MaskedFillTensorOp : Braid_GatherOp<"masked_fill_tensor", "aten::masked_fill.Tensor",
  [T<"self">, T<"mask">, T<"value">], "maskedFill", "maskedFillTensor", "broadcast">;
def Braid_MaskedScatterOp : Braid_GatherOp<"masked_scatter", "aten::masked_scatter",
  [T<"self">, T<"mask">, T<"source">], "maskedScatter", "maskedScatter">;
def Braid_MaskedScatterBackwardOp : Braid_GatherOp<"masked_scatter_backward", "aten::masked_scatter_backward",
  [T<"grad_output">, T<"mask">, SymIntList<"sizes">], "maskedScatterBackward", "">;
def Braid_MergeRowsOp : Braid_GatherOp<"merge_rows", "braid::merge_rows", [T<"self">, T<"mask">, T<"source">],
  "maskedScatter", "mergeRows"> {
  let description = [{
    As masked_scatter, but the mask has as many true rows as the source has: the source's rows replace them in order.
    masked_scatter itself says nothing if rows of the source are left over. The operator is the runtime's own.
  }];
}

#endif // BRAID_DIALECT_BRAID_IR_GATHERSCATTEROPS_TD
