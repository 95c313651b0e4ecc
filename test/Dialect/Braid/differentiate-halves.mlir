// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-differentiate | FileCheck %s

// A rotary embedding reads two halves of each head: their gradients are one concatenation, without zeros to add. Of
// slices that leave something out, or overlap, each has zeros around it.

// CHECK-LABEL: func.func private @overlap.backward_input(
// CHECK-COUNT-2: braid.slice_backward
// CHECK-LABEL: func.func private @gap.backward_input(
// CHECK-COUNT-2: braid.slice_backward
// CHECK-LABEL: func.func private @rotate.backward_input(
// CHECK-NOT:     slice_backward
// CHECK:         %[[FIRST:.*]] = braid.slice(self = %arg0, dim = 1, start = 4
// CHECK:         braid.cat(tensors = [%[[FIRST]], %{{.*}}], dim = -1)
module attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @w : tensor<8xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x8xf32> {braid.input = "x", braid.dims = ["batch", "8"]}) -> tensor<f32> {
    %w = braid.get_param @w : tensor<8xf32>
    %0 = braid.call @scale(%x) params(%w) {path = "net"} : (tensor<?x8xf32>) -> tensor<?x8xf32>, tensor<8xf32>
    %1 = braid.call @rotate(%0) {path = "net.a"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %2 = braid.call @gap(%1) {path = "net.b"} : (tensor<?x8xf32>) -> tensor<?x7xf32>
    %3 = braid.call @overlap(%1) {path = "net.c"} : (tensor<?x8xf32>) -> tensor<?x9xf32>
    %4 = braid.call @sum(%2, %3) {path = "net.d"} : (tensor<?x7xf32>, tensor<?x9xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
  func.func private @scale(%x: tensor<?x8xf32> {braid.dims = ["batch", "8"]},
                           %w: tensor<8xf32> {braid.dims = ["8"], braid.param, braid.requires_grad})
      -> (tensor<?x8xf32> {braid.dims = ["batch", "8"]}) {
    %0 = braid.mul(self = %x, other = %w) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }
  func.func private @rotate(%x: tensor<?x8xf32> {braid.dims = ["batch", "8"]}) -> (tensor<?x8xf32> {braid.dims = ["batch", "8"]}) {
    %0 = braid.slice(self = %x, dim = -1, start = 0, end = 4, step = 1) : (tensor<?x8xf32>) -> tensor<?x4xf32>
    %1 = braid.slice(self = %x, dim = -1, start = 4, end = 9223372036854775807, step = 1) : (tensor<?x8xf32>) -> tensor<?x4xf32>
    %2 = braid.neg(self = %1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = braid.cat(tensors = [%2, %0], dim = -1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
    return %3 : tensor<?x8xf32>
  }
  func.func private @gap(%x: tensor<?x8xf32> {braid.dims = ["batch", "8"]}) -> (tensor<?x7xf32> {braid.dims = ["batch", "7"]}) {
    %0 = braid.slice(self = %x, dim = 1, start = 0, end = 4, step = 1) : (tensor<?x8xf32>) -> tensor<?x4xf32>
    %1 = braid.slice(self = %x, dim = 1, start = 5, end = 8, step = 1) : (tensor<?x8xf32>) -> tensor<?x3xf32>
    %2 = braid.cat(tensors = [%1, %0], dim = 1) : (tensor<?x3xf32>, tensor<?x4xf32>) -> tensor<?x7xf32>
    return %2 : tensor<?x7xf32>
  }
  func.func private @overlap(%x: tensor<?x8xf32> {braid.dims = ["batch", "8"]}) -> (tensor<?x9xf32> {braid.dims = ["batch", "9"]}) {
    %0 = braid.slice(self = %x, dim = 1, start = 0, end = 5, step = 1) : (tensor<?x8xf32>) -> tensor<?x5xf32>
    %1 = braid.slice(self = %x, dim = 1, start = 4, end = 8, step = 1) : (tensor<?x8xf32>) -> tensor<?x4xf32>
    %2 = braid.cat(tensors = [%1, %0], dim = 1) : (tensor<?x4xf32>, tensor<?x5xf32>) -> tensor<?x9xf32>
    return %2 : tensor<?x9xf32>
  }
  func.func private @sum(%a: tensor<?x7xf32> {braid.dims = ["batch", "7"]}, %b: tensor<?x9xf32> {braid.dims = ["batch", "9"]}) -> (tensor<f32> {braid.dims = []}) {
    %0 = braid.sum(self = %a) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.sum(self = %b) : (tensor<?x9xf32>) -> tensor<f32>
    %2 = braid.add(self = %0, other = %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
