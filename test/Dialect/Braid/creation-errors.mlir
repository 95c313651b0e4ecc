// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f() {
  // expected-error@+1 {{has a negative size: [2, -3]}}
  %0 = braid.zeros(size = [2, -3]) : () -> tensor<2x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{counts from 5 to 2 in steps of 1}}
  %0 = braid.arange_start(start = 5, end = 2) : () -> tensor<0xi64>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{draws floating-point numbers, and its result is [2]}}
  %0 = braid.rand(size = [2], dtype = i64) : () -> tensor<2xi64>
  return
}
