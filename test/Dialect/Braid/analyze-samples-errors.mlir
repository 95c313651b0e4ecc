// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-analyze-samples -split-input-file -verify-diagnostics

// expected-error @below {{has no flat @main: run braid-resolve-shapes first}}
module {
}

// -----

// What was decided before is not asked again.
module attributes {braid.whole_loss = "for a reason"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
