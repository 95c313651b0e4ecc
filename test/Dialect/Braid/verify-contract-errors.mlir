// REQUIRES: braid-opt
// RUN: not braid-opt %s -split-input-file --braid-phase-units 2>&1 | FileCheck %s
// RUN: not braid-opt %s -split-input-file --braid-phase-differentiate 2>&1 | FileCheck %s --check-prefix=CALLS

// IR that a person wrote is refused where it breaks what a phase may assume.

// CHECK: error: {{.*}}has no @main of one block
// CALLS: error: {{.*}}has no @main
module {
}

// -----

// CALLS: error: 'braid.exp' op stands outside of a unit
module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    %0 = braid.exp(self = %x) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// CHECK: error: 'func.func' op returns result 1 behind the loss, which names no buffer (braid.state)
module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> (tensor<f32>, tensor<f32>) {
    %0 = braid.exp(self = %x) : (tensor<f32>) -> tensor<f32>
    return %0, %0 : tensor<f32>, tensor<f32>
  }
}

// -----

// CHECK: error: 'func.func' op returns a new value of 'w', which is trained
module {
  braid.param @w : tensor<f32> at 0 {requires_grad}
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> (tensor<f32>, tensor<f32> {braid.state = @w}) {
    %0 = braid.exp(self = %x) : (tensor<f32>) -> tensor<f32>
    return %0, %0 : tensor<f32>, tensor<f32>
  }
}

// -----

// CHECK: error: 'braid.rand' op draws random numbers and has no stream to draw them from: give it a number of its own, as in {stream = 3 : i64}
module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    %0 = braid.rand(size = []) : () -> tensor<f32>
    %1 = braid.mul(self = %x, other = %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// CHECK: error: 'braid.dropout' op draws from stream 3, as another op does: their numbers would be the same, so give it a stream of its own
// CHECK: note: drawn from here
module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    %0 = braid.rand(size = []) {stream = 3 : i64} : () -> tensor<f32>
    %1 = braid.mul(self = %x, other = %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = braid.dropout(input = %1, p = 0.5, train = true) {stream = 3 : i64} : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// CALLS: error: 'braid.rand' op draws from a stream that its unit does not list (braid.streams)
module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    %0 = braid.call @unit(%x) {streams = array<i64: 7>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unit(%x: tensor<f32>) -> tensor<f32> attributes {braid.streams = 1 : i64} {
    %0 = braid.rand(size = []) {stream = 1 : i64} : () -> tensor<f32>
    %1 = braid.mul(self = %x, other = %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// CALLS: error: 'braid.call' op lists 1 streams of random numbers, and 'unit' draws from 2 (braid.streams)
module {
  func.func @main(%x: tensor<f32> {braid.input = "x"}) -> tensor<f32> {
    %0 = braid.call @unit(%x) {streams = array<i64: 7>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unit(%x: tensor<f32>) -> tensor<f32> attributes {braid.streams = 2 : i64} {
    return %x : tensor<f32>
  }
}
