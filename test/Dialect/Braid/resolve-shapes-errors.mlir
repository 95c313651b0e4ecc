// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-resolve-shapes -split-input-file -verify-diagnostics

// expected-error @below {{has no flat @main: run braid-inline-modules first}}
module {
}

// -----

module {
  // expected-error @below {{argument 0 has dynamic dims and no braid.dims that names them}}
  func.func @main(%x: tensor<?xf32> {braid.input = "x"}) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<?xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 0: '2*(' is no size expression}}
  func.func @main(%x: tensor<?xf32> {braid.input = "x", braid.dims = ["2*("]}) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<?xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// Sizes that cannot be equal, and sizes that are not in the example.
module attributes {braid.symbols = {batch = 2 : i64, seq = 5 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]},
                  %y: tensor<?x4xf32> {braid.input = "y", braid.dims = ["seq", "4"]}) -> tensor<?x4xf32> {
    // expected-error @below {{[batch, 4]}}
    %0 = braid.add(self = %x, other = %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
}

// -----

module attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]}) -> tensor<?xf32> {
    %zero = arith.constant 0 : index
    %b = braid.symbol "batch"
    // expected-error @below {{divides a size by zero}}
    %n = arith.floordivsi %b, %zero : index
    %0 = braid.view(self = %x, size = [%n]) : (tensor<?x4xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
