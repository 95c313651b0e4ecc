// RUN: not braid-opt %s -split-input-file --braid-verify-contract=phase=differentiate 2>&1 | FileCheck %s

// CHECK: error: 'braid.derivative' op has the policy 'some'; there are selective and full
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.call @unit(%x) {derivative = @unit.forward} : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unit(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unit.forward(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  braid.derivative @unit forward(@unit.forward) {policy = "some", input_grads = array<i1: true>, param_grads = array<i1>, result_grads = array<i1: true>}
}

// -----

// What forward keeps has another shape than what recompute takes.
// CHECK: error: {{.*}}has a recompute function that does not fit its forward and backward ones
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.call @unit(%x) {derivative = @unit.forward} : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unit(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unit.forward(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
    %0 = braid.sum(self = %x) : (tensor<4xf32>) -> tensor<f32>
    return %0, %x : tensor<f32>, tensor<4xf32>
  }
  func.func private @unit.recompute(%x: tensor<5xf32>) -> tensor<5xf32> {
    return %x : tensor<5xf32>
  }
  braid.derivative @unit forward(@unit.forward) recompute(@unit.recompute) {policy = "full", input_grads = array<i1: true>, param_grads = array<i1>, result_grads = array<i1: true>}
}
