// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-outline-units -split-input-file -verify-diagnostics

// expected-error @below {{has no flat @main: run braid-resolve-shapes first}}
module {
}

// -----

module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    // expected-error @below {{returns a value that no unit computes}}
    return %x : tensor<f32>
  }
}
