// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-differentiate | FileCheck %s

// The first layer's input needs no gradient, the second's does: two derivatives of one unit. Residuals hold no
// parameter; what only parameter gradients need is in backward_weight.

// CHECK-LABEL: func.func @main
// CHECK: braid.call @Layer({{.*}}) params({{.*}}) {derivative = @[[FIRST:.*]], path = "net.layers.0"}
// CHECK: braid.call @Layer({{.*}}) params({{.*}}) {derivative = @[[SECOND:.*]], path = "net.layers.1"}
// CHECK: braid.call @glue({{.*}}) {derivative = @glue.forward
// CHECK-LABEL: func.func private @Layer.forward(
// CHECK-SAME: -> (tensor<?x4xf32> {braid.dims = ["batch", "4"]}, tensor<?x4xf32> {braid.dims = ["batch", "4"]})
// CHECK-LABEL: func.func private @Layer.backward_input(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x4xf32> {{{.*}}braid.param}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK: %[[DX:.*]] = braid.{{.*}}%[[DY]]{{.*}}%[[W]]
// CHECK-LABEL: func.func private @Layer.backward_weight(
// CHECK-LABEL: func.func private @Layer.backward(
module attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @w0 : tensor<4x4xf32> at 0 {requires_grad}
  braid.param @w1 : tensor<4x4xf32> at 64 {requires_grad}
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]}) -> tensor<f32> {
    %w0 = braid.get_param @w0 : tensor<4x4xf32>
    %0 = braid.call @Layer(%x) params(%w0) {path = "net.layers.0"} : (tensor<?x4xf32>) -> tensor<?x4xf32>, tensor<4x4xf32>
    %w1 = braid.get_param @w1 : tensor<4x4xf32>
    %1 = braid.call @Layer(%0) params(%w1) {path = "net.layers.1"} : (tensor<?x4xf32>) -> tensor<?x4xf32>, tensor<4x4xf32>
    %2 = braid.call @glue(%1) {path = "net", glue} : (tensor<?x4xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  func.func private @Layer(%x: tensor<?x4xf32> {braid.dims = ["batch", "4"]},
                           %w: tensor<4x4xf32> {braid.dims = ["4", "4"], braid.param, braid.requires_grad})
      -> (tensor<?x4xf32> {braid.dims = ["batch", "4"]}) {
    %0 = braid.linear(input = %x, weight = %w) {path = "fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func private @glue(%x: tensor<?x4xf32> {braid.dims = ["batch", "4"]}) -> (tensor<f32> {braid.dims = []}) {
    %0 = braid.sum(self = %x) : (tensor<?x4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
