// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-analyze-samples -split-input-file -verify-diagnostics | FileCheck %s

// expected-error @below {{has no flat @main: run braid-resolve-shapes first}}
module {
}

// -----

// What was decided before is not asked again.
// CHECK: module attributes {braid.whole_loss = "for a reason"}
module attributes {braid.whole_loss = "for a reason"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
