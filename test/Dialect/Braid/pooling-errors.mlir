// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<7x8xf32>) {
  // expected-error@+1 {{takes an image [batch (may be absent), channels, 2 spatial dims], none of them but the batch empty, not [7, 8]}}
  %0 = braid.avg_pool2d(self = %x, kernel_size = [2]) : (tensor<7x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{has 3 entries in 'kernel_size' for 2 spatial dims}}
  %0 = braid.avg_pool2d(self = %x, kernel_size = [2, 2, 2]) : (tensor<3x7x8xf32>) -> tensor<3x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{has a kernel of 2, a stride of 0, a dilation of 1 and a padding of 0 in spatial dim 0; the first three are positive, the last is not negative}}
  %0 = braid.avg_pool2d(self = %x, kernel_size = [2], stride = [0]) : (tensor<3x7x8xf32>) -> tensor<3x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{has a padding of 2 in spatial dim 0, more than half of its window of 3}}
  %0:2 = braid.max_pool2d_with_indices(self = %x, kernel_size = [3], padding = [2]) : (tensor<3x7x8xf32>) -> (tensor<3x3x4xf32>, tensor<3x3x4xi64>)
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{has a window of 9 that does not fit spatial dim 0 of size 7 with 0 on each side}}
  %0 = braid.avg_pool2d(self = %x, kernel_size = [9, 2]) : (tensor<3x7x8xf32>) -> tensor<3x1x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{needs an output_size of 2 sizes, none negative, not [1]}}
  %0 = braid.adaptive_avg_pool2d(self = %x, output_size = [1]) : (tensor<3x7x8xf32>) -> tensor<3x1x1xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{takes an image [batch, channels, 2 spatial dims], none of them but the batch empty, not [3, 7, 8]}}
  %0 = braid.upsample_nearest2d(self = %x, output_size = [14, 16]) : (tensor<3x7x8xf32>) -> tensor<3x14x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x7x8xf32>) {
  // expected-error@+1 {{needs an output_size of 2 positive sizes, not [0, 16]}}
  %0 = braid.upsample_nearest2d(self = %x, output_size = [0, 16]) : (tensor<2x3x7x8xf32>) -> tensor<2x3x0x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x7x8xf32>) {
  // expected-error@+1 {{has a gradient of shape [2, 3, 7, 8] for an output of [2, 3, 14, 16]}}
  %0 = braid.upsample_nearest2d_backward(grad_output = %x, output_size = [14, 16], input_size = [2, 3, 7, 8]) : (tensor<2x3x7x8xf32>) -> tensor<2x3x7x8xf32>
  return
}

// -----

func.func @f(%x: tensor<12x41xf32>) {
  // expected-error@+1 {{has columns of shape [12, 41] for windows of 4 elements, of which the image has 42}}
  %0 = braid.col2im(self = %x, output_size = [7, 8], kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [1, 1]) : (tensor<12x41xf32>) -> tensor<3x7x8xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7x8xf32>) {
  // expected-error@+1 {{needs two entries in 'kernel_size'}}
  %0 = braid.im2col(self = %x, kernel_size = [2], dilation = [1, 1], padding = [0, 0], stride = [1, 1]) : (tensor<3x7x8xf32>) -> tensor<12x42xf32>
  return
}
