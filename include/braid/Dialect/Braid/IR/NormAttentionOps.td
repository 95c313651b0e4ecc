//===- NormAttentionOps.td - Softmax, normalisation and attention -*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_NORMATTENTIONOPS_TD
#define BRAID_DIALECT_BRAID_IR_NORMATTENTIONOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_SoftmaxLikeOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule,
                          string gradientRule = "">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, "softmax", factorRule = "alongDim">;

def Braid_SoftmaxOp : Braid_SoftmaxLikeOp<"softmax", "aten::softmax.int", [T<"self">, Int<"dim">, Dtype<>], "softmax",
  "softmax">;
def Braid_LogSoftmaxOp : Braid_SoftmaxLikeOp<"log_softmax", "aten::log_softmax.int",
  [T<"self">, Int<"dim">, Dtype<>], "softmax", "logSoftmax">;
// The forms with an underscore are what ATen calls below autograd.
def Braid_NativeSoftmaxOp : Braid_SoftmaxLikeOp<"_softmax", "aten::_softmax",
  [T<"self">, Int<"dim">, Bool<"half_to_float">], "halfSoftmax", "nativeSoftmax">;
def Braid_NativeLogSoftmaxOp : Braid_SoftmaxLikeOp<"_log_softmax", "aten::_log_softmax",
  [T<"self">, Int<"dim">, Bool<"half_to_float">], "halfSoftmax", "nativeLogSoftmax">;
def Braid_SoftmaxBackwardDataOp : Braid_SoftmaxLikeOp<"_softmax_backward_data", "aten::_softmax_backward_data",
  [T<"grad_output">, T<"output">, Int<"dim">, Dtype<"input_dtype">], "softmaxBackward">;
def Braid_LogSoftmaxBackwardDataOp : Braid_SoftmaxLikeOp<"_log_softmax_backward_data",
  "aten::_log_softmax_backward_data",
  [T<"grad_output">, T<"output">, Int<"dim">, Dtype<"input_dtype">], "softmaxBackward">;

def Braid_LayerNormOp : Braid_AtenOp<"layer_norm", "aten::layer_norm",
  [T<"input">, SymIntList<"normalized_shape">, OptT<"weight">, OptT<"bias">, Float<"eps", "1e-5">], "layerNorm",
  "layerNorm", "norm", factorRule = "norm">;
def Braid_NativeLayerNormOp : Braid_AtenMultiOp<"native_layer_norm", "aten::native_layer_norm",
  [T<"input">, SymIntList<"normalized_shape">, OptT<"weight">, OptT<"bias">, Float<"eps">],
  (outs AnyRankedTensor:$output, AnyRankedTensor:$mean, AnyRankedTensor:$rstd), "nativeLayerNorm", "nativeLayerNorm",
  "norm", "norm">;
/// Results that `output_mask` leaves out are empty, of shape [0].
def Braid_NativeLayerNormBackwardOp : Braid_AtenMultiOp<"native_layer_norm_backward",
  "aten::native_layer_norm_backward",
  [T<"grad_out">, T<"input">, SymIntList<"normalized_shape">, T<"mean">, T<"rstd">, OptT<"weight">, OptT<"bias">,
   BoolList<"output_mask">],
  (outs AnyRankedTensor:$grad_input, AnyRankedTensor:$grad_weight, AnyRankedTensor:$grad_bias),
  "nativeLayerNormBackward", "", "norm", "normBackward">;
def Braid_RmsNormOp : Braid_AtenOp<"rms_norm", "aten::rms_norm",
  [T<"input">, SymIntList<"normalized_shape">, OptT<"weight">, Float<"eps">], "layerNorm", "rmsNorm", "norm",
  factorRule = "norm">;

// Per channel over the batch and all other dims, in training; with the given statistics otherwise. Statistics that
// training updates are states, which import takes out of the operator.
def Braid_NativeBatchNormOp : Braid_AtenMultiOp<"native_batch_norm", "aten::native_batch_norm",
  [T<"input">, OptT<"weight">, OptT<"bias">, OptT<"running_mean">, OptT<"running_var">, Bool<"training">,
   Float<"momentum">, Float<"eps">],
  (outs AnyRankedTensor:$output, AnyRankedTensor:$mean, AnyRankedTensor:$rstd), "nativeBatchNorm", "nativeBatchNorm",
  "batchNorm", "batchNorm">;
def Braid_NativeBatchNormBackwardOp : Braid_AtenMultiOp<"native_batch_norm_backward",
  "aten::native_batch_norm_backward",
  [T<"grad_out">, T<"input">, OptT<"weight">, OptT<"running_mean">, OptT<"running_var">, OptT<"save_mean">,
   OptT<"save_invstd">, Bool<"train">, Float<"eps">, BoolList<"output_mask">],
  (outs AnyRankedTensor:$grad_input, AnyRankedTensor:$grad_weight, AnyRankedTensor:$grad_bias),
  "nativeBatchNormBackward", "", "batchNorm", "batchNormBackward">;
def Braid_GroupNormOp : Braid_AtenOp<"group_norm", "aten::group_norm",
  [T<"input">, Int<"num_groups">, OptT<"weight">, OptT<"bias">, Float<"eps", "1e-5">], "groupNorm", "groupNorm",
  "norm", factorRule = "groupNorm">;

def Braid_ScaledDotProductAttentionOp : Braid_AtenOp<"scaled_dot_product_attention",
  "aten::scaled_dot_product_attention",
  [T<"query">, T<"key">, T<"value">, OptT<"attn_mask">, Float<"dropout_p", "0.0">, Bool<"is_causal">, Float<"scale">,
   Bool<"enable_gqa">],
  "scaledDotProductAttention", "scaledDotProductAttention", "attention", factorRule = "attention">;
def Braid_FlashAttentionForCpuOp : Braid_AtenMultiOp<"_scaled_dot_product_flash_attention_for_cpu",
  "aten::_scaled_dot_product_flash_attention_for_cpu",
  [T<"query">, T<"key">, T<"value">, Float<"dropout_p", "0.0">, Bool<"is_causal">, OptT<"attn_mask">, Float<"scale">],
  (outs AnyRankedTensor:$output, AnyRankedTensor:$logsumexp), "flashAttentionForCpu", "flashAttentionForCpu",
  "attention", "attention">;
def Braid_FlashAttentionForCpuBackwardOp : Braid_AtenMultiOp<"_scaled_dot_product_flash_attention_for_cpu_backward",
  "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
  [T<"grad_out">, T<"query">, T<"key">, T<"value">, T<"out">, T<"logsumexp">, Float<"dropout_p">, Bool<"is_causal">,
   OptT<"attn_mask">, Float<"scale">],
  (outs AnyRankedTensor:$grad_query, AnyRankedTensor:$grad_key, AnyRankedTensor:$grad_value),
  "flashAttentionForCpuBackward", "", "attentionBackward", "attentionBackward">;

#endif // BRAID_DIALECT_BRAID_IR_NORMATTENTIONOPS_TD
