//===- ElementwiseOps.td - Elementwise operators ---------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_ELEMENTWISEOPS_TD
#define BRAID_DIALECT_BRAID_IR_ELEMENTWISEOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

/// Shapes broadcast, element types promote as in ATen.
class Braid_BinaryOp<string mnemonic, string atenName, list<AtenArg> args, string gradientRule = "",
                     string shapeRule = "broadcast">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, factorRule = "broadcast">;
/// Shapes broadcast; the result is i1.
class Braid_CompareOp<string mnemonic, string atenName, list<AtenArg> args>
    : Braid_BinaryOp<mnemonic, atenName, args, "", "compare">;
/// Same shape and element type as the first operand.
class Braid_UnaryOp<string mnemonic, string atenName, list<AtenArg> args, string gradientRule = "",
                    string shapeRule = "sameAsFirst">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, factorRule = "broadcast">;
/// Integers become the default float type.
class Braid_UnaryFloatOp<string mnemonic, string atenName, string gradientRule>
    : Braid_UnaryOp<mnemonic, atenName, [T<"self">], gradientRule, "unaryFloat">;

// Arithmetic.
def Braid_AddOp : Braid_BinaryOp<"add", "aten::add.Tensor", [T<"self">, T<"other">, Scalar<"alpha">], "add">;
def Braid_AddScalarOp : Braid_BinaryOp<"add_scalar", "aten::add.Scalar",
  [T<"self">, Scalar<"other">, Scalar<"alpha">], "addScalar">;
def Braid_SubOp : Braid_BinaryOp<"sub", "aten::sub.Tensor", [T<"self">, T<"other">, Scalar<"alpha">], "sub",
  "subtract">;
def Braid_SubScalarOp : Braid_BinaryOp<"sub_scalar", "aten::sub.Scalar",
  [T<"self">, Scalar<"other">, Scalar<"alpha">], "subScalar", "subtract">;
def Braid_RsubScalarOp : Braid_BinaryOp<"rsub_scalar", "aten::rsub.Scalar",
  [T<"self">, Scalar<"other">, Scalar<"alpha">], "rsubScalar", "subtract">;
def Braid_MulOp : Braid_BinaryOp<"mul", "aten::mul.Tensor", [T<"self">, T<"other">], "mul">;
def Braid_MulScalarOp : Braid_BinaryOp<"mul_scalar", "aten::mul.Scalar", [T<"self">, Scalar<"other">], "mulScalar">;
def Braid_DivOp : Braid_BinaryOp<"div", "aten::div.Tensor", [T<"self">, T<"other">], "div", "broadcastFloat">;
def Braid_DivScalarOp : Braid_BinaryOp<"div_scalar", "aten::div.Scalar", [T<"self">, Scalar<"other">], "divScalar",
  "broadcastFloat">;
def Braid_DivModeOp : Braid_BinaryOp<"div_mode", "aten::div.Tensor_mode",
  [T<"self">, T<"other">, Str<"rounding_mode">], "divMode", "divideMode">;
def Braid_FloorDivideOp : Braid_BinaryOp<"floor_divide", "aten::floor_divide", [T<"self">, T<"other">], "", "rounded">;
def Braid_FloorDivideScalarOp : Braid_BinaryOp<"floor_divide_scalar", "aten::floor_divide.Scalar",
  [T<"self">, Scalar<"other">], "", "rounded">;
def Braid_RemainderOp : Braid_BinaryOp<"remainder", "aten::remainder.Tensor", [T<"self">, T<"other">], "remainder",
  "rounded">;
def Braid_RemainderScalarOp : Braid_BinaryOp<"remainder_scalar", "aten::remainder.Scalar",
  [T<"self">, Scalar<"other">], "remainderScalar", "rounded">;
def Braid_PowOp : Braid_BinaryOp<"pow", "aten::pow.Tensor_Tensor", [T<"self">, T<"exponent">], "pow", "power">;
def Braid_PowScalarOp : Braid_BinaryOp<"pow_scalar", "aten::pow.Tensor_Scalar", [T<"self">, Scalar<"exponent">],
  "powScalar", "power">;
def Braid_PowBaseOp : Braid_BinaryOp<"pow_base", "aten::pow.Scalar", [Scalar<"self">, T<"exponent">], "powBase",
  "power">;
def Braid_MaximumOp : Braid_BinaryOp<"maximum", "aten::maximum", [T<"self">, T<"other">], "maximum">;
def Braid_MinimumOp : Braid_BinaryOp<"minimum", "aten::minimum", [T<"self">, T<"other">], "minimum">;
def Braid_FmodOp : Braid_BinaryOp<"fmod", "aten::fmod.Tensor", [T<"self">, T<"other">], "byAutograd">;
def Braid_FmodScalarOp : Braid_BinaryOp<"fmod_scalar", "aten::fmod.Scalar", [T<"self">, Scalar<"other">],
  "byAutograd">;
def Braid_Atan2Op : Braid_BinaryOp<"atan2", "aten::atan2", [T<"self">, T<"other">], "byAutograd", "broadcastFloat">;
def Braid_HypotOp : Braid_BinaryOp<"hypot", "aten::hypot", [T<"self">, T<"other">], "byAutograd">;
def Braid_LogaddexpOp : Braid_BinaryOp<"logaddexp", "aten::logaddexp", [T<"self">, T<"other">], "byAutograd">;
def Braid_ClampOp : Braid_BinaryOp<"clamp", "aten::clamp", [T<"self">, Scalar<"min">, Scalar<"max">], "clamp",
  "clamp">;
def Braid_ClampMinOp : Braid_BinaryOp<"clamp_min", "aten::clamp_min", [T<"self">, Scalar<"min">], "clampMin",
  "clamp">;
def Braid_WhereOp : Braid_BinaryOp<"where", "aten::where.self", [T<"condition">, T<"self">, T<"other">], "where",
  "where">;

// Logic.
def Braid_AndOp : Braid_BinaryOp<"and", "aten::__and__.Tensor", [T<"self">, T<"other">], "", "bitwise">;
def Braid_BitwiseAndOp : Braid_BinaryOp<"bitwise_and", "aten::bitwise_and.Tensor", [T<"self">, T<"other">], "",
  "bitwise">;
def Braid_BitwiseOrOp : Braid_BinaryOp<"bitwise_or", "aten::bitwise_or.Tensor", [T<"self">, T<"other">], "",
  "bitwise">;
def Braid_BitwiseXorOp : Braid_BinaryOp<"bitwise_xor", "aten::bitwise_xor.Tensor", [T<"self">, T<"other">], "",
  "bitwise">;
def Braid_BitwiseNotOp : Braid_UnaryOp<"bitwise_not", "aten::bitwise_not", [T<"self">], "", "bitwise">;
def Braid_LogicalAndOp : Braid_CompareOp<"logical_and", "aten::logical_and", [T<"self">, T<"other">]>;
def Braid_LogicalOrOp : Braid_CompareOp<"logical_or", "aten::logical_or", [T<"self">, T<"other">]>;
def Braid_LogicalXorOp : Braid_CompareOp<"logical_xor", "aten::logical_xor", [T<"self">, T<"other">]>;
def Braid_LogicalNotOp : Braid_CompareOp<"logical_not", "aten::logical_not", [T<"self">]>;

// Comparisons.
def Braid_EqOp : Braid_CompareOp<"eq", "aten::eq.Tensor", [T<"self">, T<"other">]>;
def Braid_NeOp : Braid_CompareOp<"ne", "aten::ne.Tensor", [T<"self">, T<"other">]>;
def Braid_LtOp : Braid_CompareOp<"lt", "aten::lt.Tensor", [T<"self">, T<"other">]>;
def Braid_LeOp : Braid_CompareOp<"le", "aten::le.Tensor", [T<"self">, T<"other">]>;
def Braid_GtOp : Braid_CompareOp<"gt", "aten::gt.Tensor", [T<"self">, T<"other">]>;
def Braid_GeOp : Braid_CompareOp<"ge", "aten::ge.Tensor", [T<"self">, T<"other">]>;
def Braid_EqScalarOp : Braid_CompareOp<"eq_scalar", "aten::eq.Scalar", [T<"self">, Scalar<"other">]>;
def Braid_NeScalarOp : Braid_CompareOp<"ne_scalar", "aten::ne.Scalar", [T<"self">, Scalar<"other">]>;
def Braid_LtScalarOp : Braid_CompareOp<"lt_scalar", "aten::lt.Scalar", [T<"self">, Scalar<"other">]>;
def Braid_LeScalarOp : Braid_CompareOp<"le_scalar", "aten::le.Scalar", [T<"self">, Scalar<"other">]>;
def Braid_GtScalarOp : Braid_CompareOp<"gt_scalar", "aten::gt.Scalar", [T<"self">, Scalar<"other">]>;
def Braid_GeScalarOp : Braid_CompareOp<"ge_scalar", "aten::ge.Scalar", [T<"self">, Scalar<"other">]>;

// Functions of one value.
def Braid_NegOp : Braid_UnaryOp<"neg", "aten::neg", [T<"self">], "neg", "number">;
def Braid_AbsOp : Braid_UnaryOp<"abs", "aten::abs", [T<"self">], "abs", "number">;
def Braid_SignOp : Braid_UnaryOp<"sign", "aten::sign", [T<"self">]>;
def Braid_ExpOp : Braid_UnaryFloatOp<"exp", "aten::exp", "exp">;
def Braid_LogOp : Braid_UnaryFloatOp<"log", "aten::log", "log">;
def Braid_Log1pOp : Braid_UnaryFloatOp<"log1p", "aten::log1p", "log1p">;
def Braid_SqrtOp : Braid_UnaryFloatOp<"sqrt", "aten::sqrt", "sqrt">;
def Braid_RsqrtOp : Braid_UnaryFloatOp<"rsqrt", "aten::rsqrt", "rsqrt">;
def Braid_ReciprocalOp : Braid_UnaryFloatOp<"reciprocal", "aten::reciprocal", "reciprocal">;
def Braid_SinOp : Braid_UnaryFloatOp<"sin", "aten::sin", "sin">;
def Braid_CosOp : Braid_UnaryFloatOp<"cos", "aten::cos", "cos">;
def Braid_ErfOp : Braid_UnaryFloatOp<"erf", "aten::erf", "erf">;
def Braid_TanhOp : Braid_UnaryFloatOp<"tanh", "aten::tanh", "tanh">;
def Braid_SigmoidOp : Braid_UnaryFloatOp<"sigmoid", "aten::sigmoid", "sigmoid">;
def Braid_AcosOp : Braid_UnaryFloatOp<"acos", "aten::acos", "byAutograd">;
def Braid_AcoshOp : Braid_UnaryFloatOp<"acosh", "aten::acosh", "byAutograd">;
def Braid_AsinOp : Braid_UnaryFloatOp<"asin", "aten::asin", "byAutograd">;
def Braid_AsinhOp : Braid_UnaryFloatOp<"asinh", "aten::asinh", "byAutograd">;
def Braid_AtanOp : Braid_UnaryFloatOp<"atan", "aten::atan", "byAutograd">;
def Braid_AtanhOp : Braid_UnaryFloatOp<"atanh", "aten::atanh", "byAutograd">;
def Braid_CoshOp : Braid_UnaryFloatOp<"cosh", "aten::cosh", "byAutograd">;
def Braid_DigammaOp : Braid_UnaryFloatOp<"digamma", "aten::digamma", "byAutograd">;
def Braid_ErfcOp : Braid_UnaryFloatOp<"erfc", "aten::erfc", "byAutograd">;
def Braid_ErfinvOp : Braid_UnaryFloatOp<"erfinv", "aten::erfinv", "byAutograd">;
def Braid_Exp2Op : Braid_UnaryFloatOp<"exp2", "aten::exp2", "byAutograd">;
def Braid_Expm1Op : Braid_UnaryFloatOp<"expm1", "aten::expm1", "byAutograd">;
def Braid_LgammaOp : Braid_UnaryFloatOp<"lgamma", "aten::lgamma", "byAutograd">;
def Braid_Log10Op : Braid_UnaryFloatOp<"log10", "aten::log10", "byAutograd">;
def Braid_Log2Op : Braid_UnaryFloatOp<"log2", "aten::log2", "byAutograd">;
def Braid_SinhOp : Braid_UnaryFloatOp<"sinh", "aten::sinh", "byAutograd">;
def Braid_TanOp : Braid_UnaryFloatOp<"tan", "aten::tan", "byAutograd">;
def Braid_ReluOp : Braid_UnaryOp<"relu", "aten::relu", [T<"self">], "relu", "number">;
def Braid_SiluOp : Braid_UnaryOp<"silu", "aten::silu", [T<"self">], "silu", "floating">;
def Braid_GeluOp : Braid_UnaryOp<"gelu", "aten::gelu", [T<"self">, Str<"approximate">], "gelu", "floating">;
def Braid_HardtanhOp : Braid_UnaryOp<"hardtanh", "aten::hardtanh", [T<"self">, Scalar<"min_val">, Scalar<"max_val">],
  "hardtanh", "number">;
def Braid_HardswishOp : Braid_UnaryOp<"hardswish", "aten::hardswish", [T<"self">], "hardswish", "floating">;
def Braid_HardsigmoidOp : Braid_UnaryOp<"hardsigmoid", "aten::hardsigmoid", [T<"self">], "hardsigmoid", "floating">;
def Braid_LeakyReluOp : Braid_UnaryOp<"leaky_relu", "aten::leaky_relu", [T<"self">, Scalar<"negative_slope">],
  "leakyRelu", "floating">;
def Braid_EluOp : Braid_UnaryOp<"elu", "aten::elu",
  [T<"self">, Scalar<"alpha">, Scalar<"scale">, Scalar<"input_scale">], "elu", "floating">;
def Braid_SoftplusOp : Braid_UnaryOp<"softplus", "aten::softplus", [T<"self">, Scalar<"beta">, Scalar<"threshold">],
  "softplus", "floating">;
def Braid_MishOp : Braid_UnaryOp<"mish", "aten::mish", [T<"self">], "mish", "floating">;
def Braid_SoftshrinkOp : Braid_UnaryOp<"softshrink", "aten::softshrink", [T<"self">, Scalar<"lambd">], "byAutograd",
  "shrink">;
def Braid_HardshrinkOp : Braid_UnaryOp<"hardshrink", "aten::hardshrink", [T<"self">, Scalar<"lambd">], "byAutograd",
  "floating">;
def Braid_ThresholdOp : Braid_UnaryOp<"threshold", "aten::threshold",
  [T<"self">, Scalar<"threshold">, Scalar<"value">], "byAutograd", "number">;
// Whole numbers: no gradient passes.
def Braid_FloorOp : Braid_UnaryOp<"floor", "aten::floor", [T<"self">]>;
def Braid_CeilOp : Braid_UnaryOp<"ceil", "aten::ceil", [T<"self">]>;
def Braid_RoundOp : Braid_UnaryOp<"round", "aten::round", [T<"self">]>;
def Braid_TruncOp : Braid_UnaryOp<"trunc", "aten::trunc", [T<"self">]>;
def Braid_FracOp : Braid_UnaryOp<"frac", "aten::frac", [T<"self">], "byAutograd">;
// Its mask is a function of the seed, the step, the sample and `stream`, so a backward makes it again: see Random.h.
def Braid_DropoutOp : Braid_AtenOp<"dropout", "aten::dropout", [T<"input">, Float<"p">, Bool<"train">], "sameAsFirst",
  "dropout", "random", factorRule = "broadcast">;
// The same values; no gradient passes.
def Braid_DetachOp : Braid_UnaryOp<"detach", "aten::detach", [T<"self">]>;
def Braid_ToOp : Braid_AtenOp<"to", "aten::to.dtype", [T<"self">, Dtype<>], "cast", "cast", factorRule = "broadcast">;

// Backward.
def Braid_GeluBackwardOp : Braid_BinaryOp<"gelu_backward", "aten::gelu_backward",
  [T<"grad_output">, T<"self">, Str<"approximate">]>;
def Braid_SiluBackwardOp : Braid_BinaryOp<"silu_backward", "aten::silu_backward", [T<"grad_output">, T<"self">]>;
def Braid_HardtanhBackwardOp : Braid_BinaryOp<"hardtanh_backward", "aten::hardtanh_backward",
  [T<"grad_output">, T<"self">, Scalar<"min_val">, Scalar<"max_val">]>;
def Braid_HardswishBackwardOp : Braid_BinaryOp<"hardswish_backward", "aten::hardswish_backward",
  [T<"grad_output">, T<"self">]>;
def Braid_HardsigmoidBackwardOp : Braid_BinaryOp<"hardsigmoid_backward", "aten::hardsigmoid_backward",
  [T<"grad_output">, T<"self">]>;
def Braid_LeakyReluBackwardOp : Braid_BinaryOp<"leaky_relu_backward", "aten::leaky_relu_backward",
  [T<"grad_output">, T<"self">, Scalar<"negative_slope">, Bool<"self_is_result">]>;
def Braid_EluBackwardOp : Braid_BinaryOp<"elu_backward", "aten::elu_backward",
  [T<"grad_output">, Scalar<"alpha">, Scalar<"scale">, Scalar<"input_scale">, Bool<"is_result">,
   T<"self_or_result">]>;
def Braid_SoftplusBackwardOp : Braid_BinaryOp<"softplus_backward", "aten::softplus_backward",
  [T<"grad_output">, T<"self">, Scalar<"beta">, Scalar<"threshold">]>;
def Braid_MishBackwardOp : Braid_BinaryOp<"mish_backward", "aten::mish_backward", [T<"grad_output">, T<"self">]>;
def Braid_SigmoidBackwardOp : Braid_BinaryOp<"sigmoid_backward", "aten::sigmoid_backward",
  [T<"grad_output">, T<"output">]>;
def Braid_TanhBackwardOp : Braid_BinaryOp<"tanh_backward", "aten::tanh_backward", [T<"grad_output">, T<"output">]>;
def Braid_ThresholdBackwardOp : Braid_BinaryOp<"threshold_backward", "aten::threshold_backward",
  [T<"grad_output">, T<"self">, Scalar<"threshold">], "", "thresholdBackward">;

#endif // BRAID_DIALECT_BRAID_IR_ELEMENTWISEOPS_TD
