//===- LossOps.td - Losses -------------------------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_LOSSOPS_TD
#define BRAID_DIALECT_BRAID_IR_LOSSOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_LossOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule = "",
                   string factorRule = "loss">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, "loss", factorRule = factorRule>;

// `reduction` is ATen's: 0 none, 1 mean, 2 sum.
def Braid_CrossEntropyLossOp : Braid_LossOp<"cross_entropy_loss", "aten::cross_entropy_loss",
  [T<"self">, T<"target">, OptT<"weight">, Int<"reduction", "1">, SymInt<"ignore_index">,
   Float<"label_smoothing", "0.0">], "crossEntropy", "crossEntropyLoss", "classLoss">;
def Braid_NllLossForwardOp : Braid_AtenMultiOp<"nll_loss_forward", "aten::nll_loss_forward",
  [T<"self">, T<"target">, OptT<"weight">, Int<"reduction">, SymInt<"ignore_index">],
  (outs AnyRankedTensor:$output, AnyRankedTensor:$total_weight), "nllLossForward", "nllLossForward", "loss",
  "classLoss">;
def Braid_NllLossBackwardOp : Braid_LossOp<"nll_loss_backward", "aten::nll_loss_backward",
  [T<"grad_output">, T<"self">, T<"target">, OptT<"weight">, Int<"reduction">, SymInt<"ignore_index">,
   T<"total_weight">], "nllLossBackward", "", "nllLossBackward">;
def Braid_MseLossOp : Braid_LossOp<"mse_loss", "aten::mse_loss", [T<"self">, T<"target">, Int<"reduction", "1">],
  "pointwiseLoss", "mseLoss">;
def Braid_MseLossBackwardOp : Braid_LossOp<"mse_loss_backward", "aten::mse_loss_backward",
  [T<"grad_output">, T<"self">, T<"target">, Int<"reduction">], "broadcast", "", "broadcast">;
def Braid_BinaryCrossEntropyWithLogitsOp : Braid_LossOp<"binary_cross_entropy_with_logits",
  "aten::binary_cross_entropy_with_logits",
  [T<"self">, T<"target">, OptT<"weight">, OptT<"pos_weight">, Int<"reduction", "1">], "pointwiseLoss",
  "binaryCrossEntropyWithLogits">;

// braid's own, which libbraid_rt registers: the sum of the cross entropies of linear(input, weight, bias), [rows, hidden],
// to the classes in target, [rows]. Rows with the target ignore_index are left out of every product. `grad_logits` is
// the gradient of the sum with respect to the logits of the rows that remain, packed: at most [rows, classes].
def Braid_LinearCrossEntropyOp : Braid_AtenMultiOp<"linear_cross_entropy", "braid::linear_cross_entropy",
  [T<"input">, T<"weight">, OptT<"bias">, T<"target">, Int<"ignore_index", "-100">],
  (outs AnyRankedTensor:$loss, AnyRankedTensor:$grad_logits), "linearCrossEntropy", "linearCrossEntropy",
  "linearCrossEntropy", "linearCrossEntropy">;
class Braid_LinearCrossEntropyBackwardOp<string of, list<AtenArg> args>
    : Braid_AtenOp<"linear_cross_entropy_backward_" # of, "braid::linear_cross_entropy_backward_" # of, args,
                   "linearCrossEntropyBackward", "", "linearCrossEntropyBackward">;
def Braid_LinearCrossEntropyBackwardInputOp : Braid_LinearCrossEntropyBackwardOp<"input",
  [T<"grad_output">, T<"grad_logits">, T<"weight">, T<"target">, Int<"ignore_index", "-100">]>;
def Braid_LinearCrossEntropyBackwardWeightOp : Braid_LinearCrossEntropyBackwardOp<"weight",
  [T<"grad_output">, T<"grad_logits">, T<"input">, T<"target">, Int<"ignore_index", "-100">]>;
def Braid_LinearCrossEntropyBackwardBiasOp : Braid_LinearCrossEntropyBackwardOp<"bias",
  [T<"grad_output">, T<"grad_logits">]>;

// Import takes these without a reduction, and reduces what they give.
def Braid_BinaryCrossEntropyOp : Braid_LossOp<"binary_cross_entropy", "aten::binary_cross_entropy",
  [T<"self">, T<"target">, OptT<"weight">, Int<"reduction", "1">], "binaryCrossEntropy", "byAutograd">;
def Braid_MultiMarginLossOp : Braid_LossOp<"multi_margin_loss", "aten::multi_margin_loss",
  [T<"self">, T<"target">, Scalar<"p">, Scalar<"margin">, OptT<"weight">, Int<"reduction", "1">], "marginLoss",
  "byAutograd", "classLoss">;
def Braid_MultilabelMarginLossOp : Braid_LossOp<"multilabel_margin_loss", "aten::multilabel_margin_loss",
  [T<"self">, T<"target">, Int<"reduction", "1">], "marginLoss", "byAutograd", "classLoss">;
def Braid_CtcLossOp : Braid_LossOp<"ctc_loss", "aten::ctc_loss.Tensor",
  [T<"log_probs">, T<"targets">, T<"input_lengths">, T<"target_lengths">, Int<"blank", "0">, Int<"reduction", "1">,
   Bool<"zero_infinity">], "ctcLoss", "byAutograd", "ctcLoss">;

#endif // BRAID_DIALECT_BRAID_IR_LOSSOPS_TD
