// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-inline-modules -split-input-file -verify-diagnostics

// expected-error @below {{has no @main: import a model first (braid-import)}}
module {
}

// -----

module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{calls 'net.up', which has no body}}
    %0 = call @net.up(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @net.up(tensor<4xf32>) -> tensor<4xf32>
}

// -----

module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @net(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @net(%x: tensor<4xf32>) -> tensor<4xf32> attributes {braid.module = #braid.module<"net", class = "Net">} {
    // expected-error @below {{calls 'net' recursively}}
    %0 = call @net(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
