//===- ContractionOps.td - Matrix products and convolutions -*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_CONTRACTIONOPS_TD
#define BRAID_DIALECT_BRAID_IR_CONTRACTIONOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_ContractionOp<string mnemonic, string atenName, list<AtenArg> args, string rule, string gradientRule,
                          string flopsRule = "contraction">
    : Braid_AtenOp<mnemonic, atenName, args, rule, gradientRule, flopsRule, factorRule = rule>;

def Braid_MmOp : Braid_ContractionOp<"mm", "aten::mm", [T<"self">, T<"mat2">], "mm", "mm">;
def Braid_BmmOp : Braid_ContractionOp<"bmm", "aten::bmm", [T<"self">, T<"mat2">], "bmm", "bmm">;
def Braid_AddmmOp : Braid_ContractionOp<"addmm", "aten::addmm",
  [T<"self">, T<"mat1">, T<"mat2">, Scalar<"beta">, Scalar<"alpha">], "addmm", "addmm">;
def Braid_BaddbmmOp : Braid_ContractionOp<"baddbmm", "aten::baddbmm",
  [T<"self">, T<"batch1">, T<"batch2">, Scalar<"beta">, Scalar<"alpha">], "baddbmm", "baddbmm">;
def Braid_MatmulOp : Braid_ContractionOp<"matmul", "aten::matmul", [T<"self">, T<"other">], "matmul", "matmul">;
def Braid_LinearOp : Braid_ContractionOp<"linear", "aten::linear", [T<"input">, T<"weight">, OptT<"bias">], "linear",
  "linear">;

def Braid_ConvolutionOp : Braid_ContractionOp<"convolution", "aten::convolution",
  [T<"input">, T<"weight">, OptT<"bias">, SymIntList<"stride">, SymIntList<"padding">, SymIntList<"dilation">,
   Bool<"transposed">, SymIntList<"output_padding">, SymInt<"groups">], "convolution", "convolution", "convolution">;
/// Results that `output_mask` leaves out are empty, of shape [0]; `bias_sizes` is given in any case.
def Braid_ConvolutionBackwardOp : Braid_AtenMultiOp<"convolution_backward", "aten::convolution_backward",
  [T<"grad_output">, T<"input">, T<"weight">, SymIntList<"bias_sizes">, SymIntList<"stride">, SymIntList<"padding">,
   SymIntList<"dilation">, Bool<"transposed">, SymIntList<"output_padding">, SymInt<"groups">, BoolList<"output_mask">],
  (outs AnyRankedTensor:$grad_input, AnyRankedTensor:$grad_weight, AnyRankedTensor:$grad_bias),
  "convolutionBackward", "", "convolutionBackward", "convolutionBackward">;

// Distances between the rows of two matrices.
def Braid_CdistOp : Braid_AtenOp<"cdist", "aten::cdist", [T<"x1">, T<"x2">, Float<"p", "2.0">, OptInt<"compute_mode">],
  "cdist", "byAutograd", "contraction", factorRule = "cdist">;

#endif // BRAID_DIALECT_BRAID_IR_CONTRACTIONOPS_TD
