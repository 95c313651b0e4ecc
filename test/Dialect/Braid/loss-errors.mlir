// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x5xf32>, %t: tensor<3xi64>) {
  // expected-error@+1 {{has targets of shape [3] for scores of [2, 5]; they would be [2]}}
  %0 = braid.cross_entropy_loss(self = %x, target = %t) : (tensor<2x5xf32>, tensor<3xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x5xf32>, %t: tensor<2xi32>) {
  // expected-error@+1 {{takes classes of i64 or probabilities as targets, not 'i32'}}
  %0 = braid.cross_entropy_loss(self = %x, target = %t) : (tensor<2x5xf32>, tensor<2xi32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x5xf32>) {
  // expected-error@+1 {{has reduction 3; ATen knows 0 (none), 1 (mean) and 2 (sum)}}
  %0 = braid.mse_loss(self = %x, target = %x, reduction = 3) : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x5xf32>, %t: tensor<2x1xf32>) {
  // expected-error@+1 {{compares [2, 5] with [2, 1]; scores and weights must fit the target}}
  %0 = braid.binary_cross_entropy_with_logits(self = %x, target = %t) : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %w: tensor<7x6xf32>, %t: tensor<4xi64>) {
  // expected-error@+1 {{takes an input [rows, hidden] and a weight [classes, hidden], not [4, 5] and [7, 6]}}
  %0:2 = braid.linear_cross_entropy(input = %x, weight = %w, target = %t, ignore_index = -100) : (tensor<4x5xf32>, tensor<7x6xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4x7xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %w: tensor<7x5xf32>, %t: tensor<3xi64>) {
  // expected-error@+1 {{has targets of shape [3]; they would be [4]}}
  %0:2 = braid.linear_cross_entropy(input = %x, weight = %w, target = %t, ignore_index = -100) : (tensor<4x5xf32>, tensor<7x5xf32>, tensor<3xi64>) -> (tensor<f32>, tensor<4x7xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x5xbf16>, %w: tensor<7x5xbf16>, %t: tensor<4xi64>) {
  // expected-error@+1 {{takes an input of f32 or f64, not 'bf16'}}
  %0:2 = braid.linear_cross_entropy(input = %x, weight = %w, target = %t, ignore_index = -100) : (tensor<4x5xbf16>, tensor<7x5xbf16>, tensor<4xi64>) -> (tensor<bf16>, tensor<4x7xbf16>)
  return
}

// -----

func.func @f(%dy: tensor<f32>, %g: tensor<4x7xf32>, %w: tensor<6x5xf32>, %t: tensor<4xi64>) {
  // expected-error@+1 {{has a factor of shape [6, 5] and targets of shape [4] for gradients [4, 7]}}
  %0 = braid.linear_cross_entropy_backward_input(grad_output = %dy, grad_logits = %g, weight = %w, target = %t, ignore_index = -100) : (tensor<f32>, tensor<4x7xf32>, tensor<6x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return
}
