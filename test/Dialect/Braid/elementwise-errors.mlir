// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error@+1 {{cannot broadcast [2, 3] with [4, 3]: 2 and 4 differ, and neither is 1}}
  %0 = braid.add(self = %x, other = %y) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi1>, %y: tensor<2xi1>) {
  // expected-error@+1 {{subtracts bools; logical_not or bitwise_not inverts a mask}}
  %0 = braid.sub(self = %x, other = %y) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error@+1 {{has a float as alpha, but its result is 'i64'}}
  %0 = braid.add_scalar(self = %x, other = 1, alpha = 0.5) : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{has rounding mode "up"; ATen knows "floor" and "trunc"}}
  %0 = braid.div_mode(self = %x, other = %x, rounding_mode = "up") : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error@+1 {{raises integers to the power -1; only floats have negative powers}}
  %0 = braid.pow_scalar(self = %x, exponent = -1) : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{has neither min nor max}}
  %0 = braid.clamp(self = %x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{takes a condition of i1, not 'f32'}}
  %0 = braid.where(condition = %x, self = %x, other = %x) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{works on the bits of bools and integers, not of 'f32'}}
  %0 = braid.bitwise_and(self = %x, other = %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi1>) {
  // expected-error@+1 {{takes integers or floats, not 'i1'}}
  %0 = braid.neg(self = %x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error@+1 {{takes floats, not 'i64'}}
  %0 = braid.gelu(self = %x) : (tensor<2xi64>) -> tensor<2xi64>
  return
}
