// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, h = 7 : i64, w = 8 : i64}} {

func.func @pools(%x: tensor<?x3x?x?xf32> {braid.dims = ["batch", "3", "h", "w"]}, %one: tensor<3x7x8xf32>) {
  // expected-remark@+1 {{[batch, 3, (h + 1) floordiv 2, (w + 1) floordiv 2] f32, [batch, 3, (h + 1) floordiv 2, (w + 1) floordiv 2] i64}}
  %0:2 = braid.max_pool2d_with_indices(self = %x, kernel_size = [3], stride = [2], padding = [1]) : (tensor<?x3x?x?xf32>) -> (tensor<?x3x?x?xf32>, tensor<?x3x?x?xi64>)
  // Without a stride windows do not overlap; without a batch there is none.
  // expected-remark@+1 {{[3, 3, 4] f32}}
  %1 = braid.avg_pool2d(self = %one, kernel_size = [2, 2]) : (tensor<3x7x8xf32>) -> tensor<3x3x4xf32>
  // The last window of dim 1 reaches past the end; one of dim 2 would begin there.
  // expected-remark@+1 {{[3, 4, 4] f32}}
  %2 = braid.avg_pool2d(self = %one, kernel_size = [2, 1], stride = [2, 2], ceil_mode = true) : (tensor<3x7x8xf32>) -> tensor<3x4x4xf32>
  // expected-remark@+1 {{[batch, 3, 1, 1] f32}}
  %3 = braid.adaptive_avg_pool2d(self = %x, output_size = [1, 1]) : (tensor<?x3x?x?xf32>) -> tensor<?x3x1x1xf32>
  // expected-remark@+1 {{[batch, 3, 2, 3] f32, [batch, 3, 2, 3] i64}}
  %4:2 = braid.adaptive_max_pool2d(self = %x, output_size = [2, 3]) : (tensor<?x3x?x?xf32>) -> (tensor<?x3x2x3xf32>, tensor<?x3x2x3xi64>)
  // expected-remark@+1 {{[batch, 3, 14, 16] f32}}
  %5 = braid.upsample_nearest2d(self = %x, output_size = [14, 16]) : (tensor<?x3x?x?xf32>) -> tensor<?x3x14x16xf32>
  // expected-remark@+1 {{[12, 42] f32}}
  %6 = braid.im2col(self = %one, kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [1, 1]) : (tensor<3x7x8xf32>) -> tensor<12x42xf32>
  // expected-remark@+1 {{[3, 7, 8] f32}}
  %7 = braid.col2im(self = %6, output_size = [7, 8], kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [1, 1]) : (tensor<12x42xf32>) -> tensor<3x7x8xf32>
  return
}
}
