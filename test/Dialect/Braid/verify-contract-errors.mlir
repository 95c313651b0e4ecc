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
