// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%w: tensor<9x4xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{takes 'indices' of i64 or i32, not 'f32'}}
  %0 = braid.embedding(weight = %w, indices = %i) : (tensor<9x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<9x4xf32>, %m: tensor<9xi1>) {
  // expected-error@+1 {{indexes by 'i1', so that the number of results depends on data; indices are i64 or i32}}
  %0 = braid.index(self = %x, indices = [%m]) : (tensor<9x4xf32>, tensor<9xi1>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<9xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{has 2 indices for [9]}}
  %0 = braid.index(self = %x, indices = [%i, %i]) : (tensor<9xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<9x4xf32>, %i: tensor<2xi64>, %v: tensor<3x4xf32>) {
  // expected-error@+1 {{cannot write values of shape [3, 4] to [2, 4], which the indices name}}
  %0 = braid.index_put(self = %x, indices = [%i], values = %v) : (tensor<9x4xf32>, tensor<2xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %i: tensor<3x4xi64>) {
  // expected-error@+1 {{has an index of shape [3, 4] that is larger than self, [2, 4]}}
  %0 = braid.gather(self = %x, dim = 1, index = %i) : (tensor<2x4xf32>, tensor<3x4xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{takes a mask of i1, not 'f32'}}
  %0 = braid.masked_fill_scalar(self = %x, mask = %x, value = 0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %m: tensor<2x1xi1>, %v: tensor<4xf64>) {
  // expected-error@+1 {{takes operands of one element type, but 'self' is 'f32' and 'source' is 'f64'}}
  %0 = braid.merge_rows(self = %x, mask = %m, source = %v) : (tensor<2x4xf32>, tensor<2x1xi1>, tensor<4xf64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error@+1 {{needs num_classes: taken from the data, the result's size depends on them}}
  %0 = braid.one_hot(self = %x) : (tensor<2xi64>) -> tensor<2x?xi64>
  return
}
