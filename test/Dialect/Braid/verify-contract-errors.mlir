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
