// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, height = 16 : i64}} {

func.func @products(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %w: tensor<64x32xf32>, %b: tensor<64xf32>,
                    %flat: tensor<?x32xf32> {braid.dims = ["batch*seq", "32"]}, %row: tensor<32xf32>) {
  // expected-remark@+1 {{[batch, seq, 64] f32}}
  %0 = braid.linear(input = %x, weight = %w, bias = %b) : (tensor<?x?x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  // expected-remark@+1 {{[32, 64] f32}}
  %1 = braid.t(self = %w) : (tensor<64x32xf32>) -> tensor<32x64xf32>
  // expected-remark@+1 {{[batch*seq, 64] f32}}
  %2 = braid.mm(self = %flat, mat2 = %1) : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  // expected-remark@+1 {{[batch*seq, 64] f32}}
  %3 = braid.addmm(self = %b, mat1 = %flat, mat2 = %1) : (tensor<64xf32>, tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  // expected-remark@+1 {{[batch, seq, 64] f32}}
  %4 = braid.matmul(self = %x, other = %1) : (tensor<?x?x32xf32>, tensor<32x64xf32>) -> tensor<?x?x64xf32>
  // expected-remark@+1 {{[batch, seq] f32}}
  %5 = braid.matmul(self = %x, other = %row) : (tensor<?x?x32xf32>, tensor<32xf32>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[batch, 32, seq] f32}}
  %6 = braid.transpose(self = %x, dim0 = 1, dim1 = 2) : (tensor<?x?x32xf32>) -> tensor<?x32x?xf32>
  // expected-remark@+1 {{[batch, seq, seq] f32}}
  %7 = braid.bmm(self = %x, mat2 = %6) : (tensor<?x?x32xf32>, tensor<?x32x?xf32>) -> tensor<?x?x?xf32>
  return
}

func.func @convolutions(%image: tensor<?x3x?x32xf32> {braid.dims = ["batch", "3", "height", "32"]}, %w: tensor<8x3x4x4xf32>,
                        %b: tensor<8xf32>, %g: tensor<?x8x4x8xf32> {braid.dims = ["batch", "8", "height floordiv 4", "8"]}) {
  // expected-remark@+1 {{[batch, 8, height floordiv 4, 8] f32}}
  %0 = braid.convolution(input = %image, weight = %w, bias = %b, stride = [4, 4], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1)
      : (tensor<?x3x?x32xf32>, tensor<8x3x4x4xf32>, tensor<8xf32>) -> tensor<?x8x?x8xf32>
  // expected-remark@+1 {{[batch, 8, height floordiv 2, 16] f32}}
  %1 = braid.convolution(input = %image, weight = %w, stride = [2], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 1)
      : (tensor<?x3x?x32xf32>, tensor<8x3x4x4xf32>) -> tensor<?x8x?x16xf32>
  // What the mask leaves out is empty.
  // expected-remark@+1 {{[0] f32, [8, 3, 4, 4] f32, [8] f32}}
  %2:3 = braid.convolution_backward(grad_output = %g, input = %image, weight = %w, bias_sizes = [8], stride = [4, 4], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1, output_mask = [false, true, true])
      : (tensor<?x8x4x8xf32>, tensor<?x3x?x32xf32>, tensor<8x3x4x4xf32>) -> (tensor<0xf32>, tensor<8x3x4x4xf32>, tensor<8xf32>)
  return
}
}
