// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{names dim 2 of a tensor of rank 2; dims are -2 to 1}}
  %0 = braid.sum_dim(self = %x, dim = [2]) : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{names dim 1 twice}}
  %0 = braid.sum_dim(self = %x, dim = [1, -1]) : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error@+1 {{takes means of floats, not of 'i64'; give it a float dtype}}
  %0 = braid.mean(self = %x) : (tensor<2xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x0xf32>) {
  // expected-error@+1 {{has no result over dim 1 of [2, 0], which is empty}}
  %0 = braid.amax(self = %x, dim = [1]) : (tensor<2x0xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  // expected-error@+1 {{appends [1, 3] to [2, 3]; all dims but 1 must be equal}}
  %0 = braid.diff(self = %x, append = %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{takes the top 4 of 3 along dim 1 of [2, 3]}}
  %0:2 = braid.topk(self = %x, k = 4) : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}
