// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{has no @main of unit calls that returns one loss: run braid-outline-units first}}
module {
}

// -----

module {
  braid.param @w : tensor<4xf32> at 0
  func.func @main(%x: tensor<4xf32> {braid.input = "x"}) -> tensor<f32> {
    %w = braid.get_param @w : tensor<4xf32>
    // expected-error @below {{the loss depends on no trainable parameter: is every parameter frozen?}}
    %0 = braid.call @Layer(%x) params(%w) {path = "net"} : (tensor<4xf32>) -> tensor<f32>, tensor<4xf32>
    return %0 : tensor<f32>
  }
  func.func private @Layer(%x: tensor<4xf32> {braid.dims = ["4"]}, %w: tensor<4xf32> {braid.dims = ["4"], braid.param})
      -> (tensor<f32> {braid.dims = []}) {
    %0 = braid.sum(self = %w) : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// detach cuts the gradient off.
module {
  braid.param @w : tensor<4xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<4xf32> {braid.input = "x"}) -> tensor<f32> {
    %w = braid.get_param @w : tensor<4xf32>
    // expected-error @below {{the loss depends on no trainable parameter}}
    %0 = braid.call @Layer(%x) params(%w) {path = "net"} : (tensor<4xf32>) -> tensor<f32>, tensor<4xf32>
    return %0 : tensor<f32>
  }
  func.func private @Layer(%x: tensor<4xf32> {braid.dims = ["4"]},
                           %w: tensor<4xf32> {braid.dims = ["4"], braid.param, braid.requires_grad})
      -> (tensor<f32> {braid.dims = []}) {
    %0 = braid.detach(self = %w) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = braid.mul(self = %x, other = %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = braid.sum(self = %1) : (tensor<4xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
