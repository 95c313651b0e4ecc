// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-outline-units -split-input-file -verify-diagnostics

// expected-error @below {{has no flat @main: run braid-resolve-shapes first}}
module {
}

// -----

// A layer's second half needs what another layer made of its first.
module {
  braid.param @a.w : tensor<4x4xf32> at 0 {requires_grad}
  braid.param @b.w : tensor<4x4xf32> at 64 {requires_grad}
  func.func @main(%x: tensor<2x4xf32> {braid.input = "x"}) -> tensor<2x4xf32> {
    %a = braid.get_param @a.w : tensor<4x4xf32>
    %b = braid.get_param @b.w : tensor<4x4xf32>
    %0 = braid.linear(input = %x, weight = %a) {path = "a"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = braid.linear(input = %0, weight = %b) {path = "b"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %2 = braid.linear(input = %1, weight = %a) {path = "a"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
}

// -----

module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    // expected-error @below {{returns a value that no unit computes}}
    return %x : tensor<f32>
  }
}
