// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-split-loss -split-input-file -verify-diagnostics

// expected-error @below {{has no @main that returns one loss: import a model first (braid-import)}}
module {
}

// -----

// expected-error @below {{has no @main that returns one loss}}
module {
  func.func private @main(tensor<4xf32>) -> tensor<f32>
}
