// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-outline-units -split-input-file | FileCheck %s

// Two equal layers share one function; the mask, computed from inputs alone, and the loss are glue.

// CHECK-LABEL: func.func @main
// CHECK: %[[MASK:.*]] = braid.call @inputs({{.*}}) {glue, input_only, path = "net"}
// CHECK: %[[A:.*]] = braid.call @Layer(%{{.*}}, %[[MASK]]) params(%{{.*}}) {path = "net.layers.0"}
// CHECK: %[[B:.*]] = braid.call @Layer(%[[A]], %[[MASK]]) params(%{{.*}}) {path = "net.layers.1"}
// CHECK: %[[L:.*]] = braid.call @{{.*}}glue(%[[B]]) {glue, path = "net"}
// CHECK: return %[[L]]
// CHECK-LABEL: func.func private @inputs
// CHECK: braid.gt_scalar
// CHECK-LABEL: func.func private @Layer
// CHECK-SAME: braid.param, braid.requires_grad
// CHECK: braid.linear({{.*}}) {path = "fc"}
// CHECK: braid.where
// CHECK-NOT: func.func private @Layer
module attributes {braid.symbols = {batch = 2 : i64},
                   braid.classes = {net.layers.0 = "Layer", net.layers.1 = "Layer"}} {
  braid.param @net.layers.0.fc.weight : tensor<4x4xf32> at 0 {requires_grad}
  braid.param @net.layers.1.fc.weight : tensor<4x4xf32> at 64 {requires_grad}
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]}) -> tensor<f32> {
    %mask = braid.gt_scalar(self = %x, other = 0) {path = "net"} : (tensor<?x4xf32>) -> tensor<?x4xi1>
    %w0 = braid.get_param @net.layers.0.fc.weight : tensor<4x4xf32>
    %0 = braid.linear(input = %x, weight = %w0) {path = "net.layers.0.fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %1 = braid.where(condition = %mask, self = %0, other = %x) {path = "net.layers.0"} : (tensor<?x4xi1>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %w1 = braid.get_param @net.layers.1.fc.weight : tensor<4x4xf32>
    %2 = braid.linear(input = %1, weight = %w1) {path = "net.layers.1.fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %3 = braid.where(condition = %mask, self = %2, other = %1) {path = "net.layers.1"} : (tensor<?x4xi1>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = braid.mean(self = %3) {path = "net"} : (tensor<?x4xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}

// -----

// A layer's second half needs what another layer made of its first. Each half is a unit of its own.

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = braid.call @[[FIRST:.*]](%{{.*}}) params(%{{.*}}) {path = "a"}
// CHECK: %[[B:.*]] = braid.call @{{.*}}(%[[A]]) params(%{{.*}}) {path = "b"}
// CHECK: %[[C:.*]] = braid.call @{{.*}}(%[[B]]) params(%{{.*}}) {path = "a"}
// CHECK: return %[[C]]
module {
  braid.param @a.w : tensor<4x4xf32> at 0 {requires_grad}
  braid.param @b.w : tensor<4x4xf32> at 64 {requires_grad}
  func.func @main(%x: tensor<2x4xf32> {braid.input = "x"}) -> tensor<2x4xf32> {
    %a = braid.get_param @a.w : tensor<4x4xf32>
    %b = braid.get_param @b.w : tensor<4x4xf32>
    %0 = braid.linear(input = %x, weight = %a) {path = "a"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = braid.linear(input = %0, weight = %b) {path = "b"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %2 = braid.linear(input = %1, weight = %a) {path = "a"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
}
