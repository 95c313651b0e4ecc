//===- PoolingOps.td - Pooling, resampling, windows -------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators on images [batch, channels, spatial dims...]; most take them without the batch too. An operator is named
// after its number of spatial dims. Pools of one spatial dim are, by import, pools of two of which one is 1.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_POOLINGOPS_TD
#define BRAID_DIALECT_BRAID_IR_POOLINGOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_PoolOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule = "",
                   string flopsRule = "pool">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, flopsRule, factorRule = "image">;
/// Maxima, and where in the image they are.
class Braid_MaxPoolOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule,
                      string flopsRule = "pool">
    : Braid_AtenMultiOp<mnemonic, atenName, args, (outs AnyRankedTensor:$result, AnyRankedTensor:$indices), shapeRule,
                        gradientRule, flopsRule, "image">;

// Over windows.
def Braid_MaxPool2dWithIndicesOp : Braid_MaxPoolOp<"max_pool2d_with_indices", "aten::max_pool2d_with_indices",
  [T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, IntList<"dilation">, Bool<"ceil_mode">],
  "pool", "pool">;
def Braid_MaxPool2dWithIndicesBackwardOp : Braid_PoolOp<"max_pool2d_with_indices_backward",
  "aten::max_pool2d_with_indices_backward",
  [T<"grad_output">, T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, IntList<"dilation">,
   Bool<"ceil_mode">, T<"indices">], "poolBackward", "", "reduction">;
def Braid_MaxPool3dWithIndicesOp : Braid_MaxPoolOp<"max_pool3d_with_indices", "aten::max_pool3d_with_indices",
  [T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, IntList<"dilation">, Bool<"ceil_mode">],
  "pool", "pool">;
def Braid_MaxPool3dWithIndicesBackwardOp : Braid_PoolOp<"max_pool3d_with_indices_backward",
  "aten::max_pool3d_with_indices_backward",
  [T<"grad_output">, T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, IntList<"dilation">,
   Bool<"ceil_mode">, T<"indices">], "poolBackward", "", "reduction">;
def Braid_AvgPool2dOp : Braid_PoolOp<"avg_pool2d", "aten::avg_pool2d",
  [T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, Bool<"ceil_mode">,
   Bool<"count_include_pad", "true">, OptInt<"divisor_override">], "pool", "pool">;
def Braid_AvgPool2dBackwardOp : Braid_PoolOp<"avg_pool2d_backward", "aten::avg_pool2d_backward",
  [T<"grad_output">, T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, Bool<"ceil_mode">,
   Bool<"count_include_pad">, OptInt<"divisor_override">], "poolBackward">;
def Braid_AvgPool3dOp : Braid_PoolOp<"avg_pool3d", "aten::avg_pool3d",
  [T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, Bool<"ceil_mode">,
   Bool<"count_include_pad", "true">, OptInt<"divisor_override">], "pool", "pool">;
def Braid_AvgPool3dBackwardOp : Braid_PoolOp<"avg_pool3d_backward", "aten::avg_pool3d_backward",
  [T<"grad_output">, T<"self">, IntList<"kernel_size">, IntList<"stride">, IntList<"padding">, Bool<"ceil_mode">,
   Bool<"count_include_pad">, OptInt<"divisor_override">], "poolBackward">;

// To a given size.
def Braid_AdaptiveAvgPool2dOp : Braid_PoolOp<"adaptive_avg_pool2d", "aten::adaptive_avg_pool2d",
  [T<"self">, SymIntList<"output_size">], "adaptivePool", "adaptiveAvgPool", "reduction">;
def Braid_AdaptiveAvgPool2dBackwardOp : Braid_PoolOp<"_adaptive_avg_pool2d_backward",
  "aten::_adaptive_avg_pool2d_backward", [T<"grad_output">, T<"self">], "adaptivePoolBackward", "", "elementwise">;
def Braid_AdaptiveMaxPool2dOp : Braid_MaxPoolOp<"adaptive_max_pool2d", "aten::adaptive_max_pool2d",
  [T<"self">, IntList<"output_size">], "adaptivePool", "adaptiveMaxPool", "reduction">;
def Braid_AdaptiveMaxPool2dBackwardOp : Braid_PoolOp<"adaptive_max_pool2d_backward",
  "aten::adaptive_max_pool2d_backward", [T<"grad_output">, T<"self">, T<"indices">], "adaptivePoolBackward", "",
  "elementwise">;

def Braid_AdaptiveAvgPool3dOp : Braid_PoolOp<"adaptive_avg_pool3d", "aten::adaptive_avg_pool3d",
  [T<"self">, SymIntList<"output_size">], "adaptivePool", "byAutograd", "reduction">;
def Braid_AdaptiveMaxPool3dOp : Braid_MaxPoolOp<"adaptive_max_pool3d", "aten::adaptive_max_pool3d",
  [T<"self">, IntList<"output_size">], "adaptivePool", "byAutograd", "reduction">;

// Where a grid [batch, spatial dims..., coordinates] says.
def Braid_GridSamplerOp : Braid_AtenOp<"grid_sampler", "aten::grid_sampler",
  [T<"input">, T<"grid">, Int<"interpolation_mode">, Int<"padding_mode">, Bool<"align_corners">], "gridSampler",
  "byAutograd", "upsample", factorRule = "gridSampler">;

// Resampling: each with its backward operator.
class Braid_UpsampleOp<string mnemonic, list<AtenArg> options>
    : Braid_PoolOp<mnemonic, "aten::" # mnemonic, !listconcat([T<"self">, SymIntList<"output_size">], options),
                   "upsample", "upsample", "upsample">;
class Braid_UpsampleBackwardOp<string mnemonic, list<AtenArg> options>
    : Braid_PoolOp<mnemonic, "aten::" # mnemonic,
                   !listconcat([T<"grad_output">, SymIntList<"output_size">, SymIntList<"input_size">], options),
                   "upsampleBackward", "", "upsample">;

def Braid_UpsampleNearest1dOp : Braid_UpsampleOp<"upsample_nearest1d", [Float<"scales">]>;
def Braid_UpsampleNearest1dBackwardOp : Braid_UpsampleBackwardOp<"upsample_nearest1d_backward", [Float<"scales">]>;
def Braid_UpsampleNearest2dOp : Braid_UpsampleOp<"upsample_nearest2d", [Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleNearest2dBackwardOp : Braid_UpsampleBackwardOp<"upsample_nearest2d_backward",
  [Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleNearestExact2dOp : Braid_UpsampleOp<"_upsample_nearest_exact2d",
  [Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleNearestExact2dBackwardOp : Braid_UpsampleBackwardOp<"_upsample_nearest_exact2d_backward",
  [Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleNearest3dOp : Braid_UpsampleOp<"upsample_nearest3d",
  [Float<"scales_d">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleNearest3dBackwardOp : Braid_UpsampleBackwardOp<"upsample_nearest3d_backward",
  [Float<"scales_d">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleLinear1dOp : Braid_UpsampleOp<"upsample_linear1d", [Bool<"align_corners">, Float<"scales">]>;
def Braid_UpsampleLinear1dBackwardOp : Braid_UpsampleBackwardOp<"upsample_linear1d_backward",
  [Bool<"align_corners">, Float<"scales">]>;
def Braid_UpsampleBilinear2dOp : Braid_UpsampleOp<"upsample_bilinear2d",
  [Bool<"align_corners">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleBilinear2dBackwardOp : Braid_UpsampleBackwardOp<"upsample_bilinear2d_backward",
  [Bool<"align_corners">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleBicubic2dOp : Braid_UpsampleOp<"upsample_bicubic2d",
  [Bool<"align_corners">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleBicubic2dBackwardOp : Braid_UpsampleBackwardOp<"upsample_bicubic2d_backward",
  [Bool<"align_corners">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleTrilinear3dOp : Braid_UpsampleOp<"upsample_trilinear3d",
  [Bool<"align_corners">, Float<"scales_d">, Float<"scales_h">, Float<"scales_w">]>;
def Braid_UpsampleTrilinear3dBackwardOp : Braid_UpsampleBackwardOp<"upsample_trilinear3d_backward",
  [Bool<"align_corners">, Float<"scales_d">, Float<"scales_h">, Float<"scales_w">]>;

// Windows as columns [batch, channels * window, windows], and their sum.
def Braid_Im2colOp : Braid_PoolOp<"im2col", "aten::im2col",
  [T<"self">, IntList<"kernel_size">, IntList<"dilation">, IntList<"padding">, IntList<"stride">], "im2col", "im2col",
  "none">;
def Braid_Col2imOp : Braid_PoolOp<"col2im", "aten::col2im",
  [T<"self">, SymIntList<"output_size">, IntList<"kernel_size">, IntList<"dilation">, IntList<"padding">,
   IntList<"stride">], "col2im", "col2im", "reduction">;

#endif // BRAID_DIALECT_BRAID_IR_POOLINGOPS_TD
