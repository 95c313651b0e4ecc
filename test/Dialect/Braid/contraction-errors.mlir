// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{cannot multiply [2, 3] with [4, 5]: 3 and 4 differ}}
  %0 = braid.mm(self = %x, mat2 = %y) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x5xf64>) {
  // expected-error@+1 {{takes operands of one element type, but 'self' is 'f32' and 'mat2' is 'f64'}}
  %0 = braid.mm(self = %x, mat2 = %y) : (tensor<2x3xf32>, tensor<3x5xf64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3x5xf32>) {
  // expected-error@+1 {{takes 'self' of rank 3, not [2, 3]}}
  %0 = braid.bmm(self = %x, mat2 = %y) : (tensor<2x3xf32>, tensor<2x3x5xf32>) -> tensor<2x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %w: tensor<5x4xf32>) {
  // expected-error@+1 {{cannot apply a weight of shape [5, 4] to an input of shape [2, 3]: the last dims, 4 and 3, differ}}
  %0 = braid.linear(input = %x, weight = %w) : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{cannot add a bias of shape [4] to [2, 5]}}
  %0 = braid.linear(input = %x, weight = %w, bias = %b) : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{cannot expand 'self', [3, 5], to the product's [2, 5]}}
  %0 = braid.addmm(self = %b, mat1 = %x, mat2 = %y) : (tensor<3x5xf32>, tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x8x8xf32>, %w: tensor<8x4x2x2xf32>) {
  // expected-error@+1 {{has a weight of shape [8, 4, 2, 2] and 1 groups, for inputs of 4 channels, but the input is [2, 3, 8, 8]}}
  %0 = braid.convolution(input = %x, weight = %w, stride = [1, 1], padding = [0, 0], dilation = [1, 1], output_padding = [0, 0], groups = 1) : (tensor<2x3x8x8xf32>, tensor<8x4x2x2xf32>) -> tensor<2x8x7x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4x4xf32>, %w: tensor<8x3x5x5xf32>) {
  // expected-error@+1 {{has a weight of shape [8, 3, 5, 5] that does not fit the padded input, [2, 3, 4, 4] with 0 on each side of spatial dim 0}}
  %0 = braid.convolution(input = %x, weight = %w, stride = [1, 1], padding = [0, 0], dilation = [1, 1], output_padding = [0, 0], groups = 1) : (tensor<2x3x4x4xf32>, tensor<8x3x5x5xf32>) -> tensor<2x8x1x1xf32>
  return
}
