// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-autocast=type=bf16 -split-input-file -verify-diagnostics

// expected-error @below {{has no flat @main: run braid-inline-modules first}}
module {
}

// -----

module {
  // expected-error @below {{parameter 'w' is 'f64', and with a compute precision of bf16 parameters are float32; trace the model with float32 parameters}}
  braid.param @w : tensor<4xf64> at 0 {requires_grad}
  func.func @main(%x: tensor<4xf64> {braid.input = "x"}) -> tensor<f64> {
    %w = braid.get_param @w : tensor<4xf64>
    %0 = braid.mul(self = %x, other = %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %1 = braid.sum(self = %0) : (tensor<4xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}
