//===- ViewOps.td - Views and other rearrangements -------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_VIEWOPS_TD
#define BRAID_DIALECT_BRAID_IR_VIEWOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_ViewLikeOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule,
                       string factorRule>
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, "none", factorRule = factorRule>;
class Braid_SplitLikeOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule,
                        string factorRule = "alongDim">
    : Braid_AtenMultiOp<mnemonic, atenName, args, (outs Variadic<AnyRankedTensor>:$results), shapeRule, gradientRule,
                        "none", factorRule>;

// The same elements under other dims.
def Braid_ViewOp : Braid_ViewLikeOp<"view", "aten::view", [T<"self">, SymIntList<"size">], "view", "view", "view">;
def Braid_ReshapeOp : Braid_ViewLikeOp<"reshape", "aten::reshape", [T<"self">, SymIntList<"shape">], "view", "view",
  "view">;
def Braid_FlattenOp : Braid_ViewLikeOp<"flatten", "aten::flatten.using_ints",
  [T<"self">, Int<"start_dim", "0">, Int<"end_dim", "-1">], "flatten", "flatten", "view">;
def Braid_UnflattenOp : Braid_ViewLikeOp<"unflatten", "aten::unflatten.int",
  [T<"self">, Int<"dim">, SymIntList<"sizes">], "unflatten", "unflatten", "view">;
def Braid_UnsqueezeOp : Braid_ViewLikeOp<"unsqueeze", "aten::unsqueeze", [T<"self">, Int<"dim">], "unsqueeze",
  "unsqueeze", "unsqueeze">;
def Braid_SqueezeOp : Braid_ViewLikeOp<"squeeze", "aten::squeeze", [T<"self">], "squeeze", "squeeze", "squeeze">;
def Braid_SqueezeDimOp : Braid_ViewLikeOp<"squeeze_dim", "aten::squeeze.dim", [T<"self">, Int<"dim">], "squeeze",
  "squeezeDim", "squeeze">;
def Braid_SqueezeDimsOp : Braid_ViewLikeOp<"squeeze_dims", "aten::squeeze.dims", [T<"self">, IntList<"dim">],
  "squeeze", "squeezeDims", "squeeze">;

// The same elements in another order.
def Braid_PermuteOp : Braid_ViewLikeOp<"permute", "aten::permute", [T<"self">, IntList<"dims">], "permute", "permute",
  "permute">;
def Braid_TransposeOp : Braid_ViewLikeOp<"transpose", "aten::transpose.int", [T<"self">, Int<"dim0">, Int<"dim1">],
  "permute", "transpose", "permute">;
def Braid_TOp : Braid_ViewLikeOp<"t", "aten::t", [T<"self">], "permute", "t", "permute">;
def Braid_FlipOp : Braid_ViewLikeOp<"flip", "aten::flip", [T<"self">, IntList<"dims">], "flip", "flip", "alongDims">;
def Braid_RollOp : Braid_ViewLikeOp<"roll", "aten::roll", [T<"self">, SymIntList<"shifts">, IntList<"dims">], "roll",
  "roll", "alongDims">;

// More elements.
def Braid_ExpandOp : Braid_ViewLikeOp<"expand", "aten::expand", [T<"self">, SymIntList<"size">], "expand", "expand",
  "broadcast">;
def Braid_ExpandAsOp : Braid_ViewLikeOp<"expand_as", "aten::expand_as", [T<"self">, T<"other">], "expandAs",
  "expandAs", "broadcast">;
def Braid_BroadcastTensorsOp : Braid_SplitLikeOp<"broadcast_tensors", "aten::broadcast_tensors", [TList<"tensors">],
  "broadcastTensors", "broadcastTensors", "broadcast">;
def Braid_RepeatOp : Braid_ViewLikeOp<"repeat", "aten::repeat", [T<"self">, SymIntList<"repeats">], "repeat", "repeat",
  "repeat">;
def Braid_RepeatInterleaveOp : Braid_ViewLikeOp<"repeat_interleave", "aten::repeat_interleave.self_int",
  [T<"self">, SymInt<"repeats">, OptInt<"dim">], "repeatInterleave", "repeatInterleave", "alongDim">;
def Braid_PadOp : Braid_ViewLikeOp<"pad", "aten::pad", [T<"self">, SymIntList<"pad">, Str<"mode">, Float<"value">],
  "pad", "pad", "pad">;
def Braid_ConstantPadNdOp : Braid_ViewLikeOp<"constant_pad_nd", "aten::constant_pad_nd",
  [T<"self">, SymIntList<"pad">, Scalar<"value">], "pad", "constantPadNd", "pad">;
def Braid_CatOp : Braid_ViewLikeOp<"cat", "aten::cat", [TList<"tensors">, Int<"dim", "0">], "cat", "cat", "cat">;
def Braid_StackOp : Braid_ViewLikeOp<"stack", "aten::stack", [TList<"tensors">, Int<"dim", "0">], "stack", "stack",
  "stack">;

// Fewer elements.
def Braid_SelectOp : Braid_ViewLikeOp<"select", "aten::select.int", [T<"self">, Int<"dim">, SymInt<"index">], "select",
  "select", "select">;
def Braid_SliceOp : Braid_ViewLikeOp<"slice", "aten::slice.Tensor",
  [T<"self">, Int<"dim", "0">, SymInt<"start">, SymInt<"end">, SymInt<"step">], "slice", "slice", "slice">;
def Braid_NarrowOp : Braid_ViewLikeOp<"narrow", "aten::narrow",
  [T<"self">, Int<"dim">, SymInt<"start">, SymInt<"length">], "narrow", "narrow", "slice">;
def Braid_SplitOp : Braid_SplitLikeOp<"split", "aten::split.Tensor",
  [T<"self">, SymInt<"split_size">, Int<"dim", "0">], "split", "split">;
def Braid_SplitWithSizesOp : Braid_SplitLikeOp<"split_with_sizes", "aten::split_with_sizes",
  [T<"self">, SymIntList<"split_sizes">, Int<"dim", "0">], "splitWithSizes", "splitWithSizes">;
def Braid_ChunkOp : Braid_SplitLikeOp<"chunk", "aten::chunk", [T<"self">, Int<"chunks">, Int<"dim", "0">], "chunk",
  "chunk">;
def Braid_UnbindOp : Braid_SplitLikeOp<"unbind", "aten::unbind.int", [T<"self">, Int<"dim", "0">], "unbind", "unbind",
  "select">;
def Braid_SliceScatterOp : Braid_ViewLikeOp<"slice_scatter", "aten::slice_scatter",
  [T<"self">, T<"src">, Int<"dim", "0">, SymInt<"start">, SymInt<"end">, SymInt<"step">], "sliceScatter",
  "sliceScatter", "sliceScatter"> {
  let description = [{`self` with `src` in place of its part start:end:step of a dim.}];
}
def Braid_UnfoldOp : Braid_ViewLikeOp<"unfold", "aten::unfold",
  [T<"self">, Int<"dimension">, Int<"size">, Int<"step">], "unfold", "unfold", "unfold">;
def Braid_TriuOp : Braid_ViewLikeOp<"triu", "aten::triu", [T<"self">, SymInt<"diagonal">], "triangle", "triu",
  "triangle">;
def Braid_TrilOp : Braid_ViewLikeOp<"tril", "aten::tril", [T<"self">, SymInt<"diagonal">], "triangle", "tril",
  "triangle">;

// Backward.
def Braid_SliceBackwardOp : Braid_ViewLikeOp<"slice_backward", "aten::slice_backward",
  [T<"grad_output">, SymIntList<"input_sizes">, Int<"dim">, SymInt<"start">, SymInt<"end">, SymInt<"step">],
  "sliceBackward", "sliceBackward", "sliceBackward">;
def Braid_SelectBackwardOp : Braid_ViewLikeOp<"select_backward", "aten::select_backward",
  [T<"grad_output">, SymIntList<"input_sizes">, Int<"dim">, SymInt<"index">], "selectBackward", "selectBackward",
  "selectBackward">;

def Braid_UnfoldBackwardOp : Braid_ViewLikeOp<"unfold_backward", "aten::unfold_backward",
  [T<"grad_in">, SymIntList<"input_sizes">, Int<"dim">, Int<"size">, Int<"step">], "unfoldBackward", "",
  "unfoldBackward">;

#endif // BRAID_DIALECT_BRAID_IR_VIEWOPS_TD
