// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-raise-linear-cross-entropy | FileCheck %s

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64}} {

// The logits are read as rows: so is the input of the linear instead.
// CHECK-LABEL: func.func @head
// CHECK:         %[[ROWS:.*]] = braid.reshape(self = %arg0, shape = [{{.*}}, 32]) {path = "net.lm_head"}
// CHECK:         %[[LOSS:.*]], %{{.*}} = braid.linear_cross_entropy(input = %[[ROWS]], weight = %arg1, target = %arg2, ignore_index = -1) {path = "net.lm_head"}
// CHECK-NEXT:    return %[[LOSS]]
// CHECK-NOT:     braid.linear(
func.func @head(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %w: tensor<100x32xf32>,
                %t: tensor<?xi64> {braid.dims = ["batch*seq"]}) -> tensor<f32> {
  %0 = braid.linear(input = %x, weight = %w) {path = "net.lm_head"} : (tensor<?x?x32xf32>, tensor<100x32xf32>) -> tensor<?x?x100xf32>
  %1 = braid.view(self = %0, size = [-1, 100]) {path = "net"} : (tensor<?x?x100xf32>) -> tensor<?x100xf32>
  %2 = braid.cross_entropy_loss(self = %1, target = %t, reduction = 2, ignore_index = -1) {path = "net"} : (tensor<?x100xf32>, tensor<?xi64>) -> tensor<f32>
  return %2 : tensor<f32>
}

// Logits without their last row, as models write it that shift the labels.
// CHECK-LABEL: func.func @shifted
// CHECK:         %[[SLICE:.*]] = braid.slice(self = %arg0, dim = 1, start = 0, end = -1)
// CHECK:         %[[ROWS:.*]] = braid.reshape(self = %[[SLICE]], shape = [{{.*}}, 32])
// CHECK:         braid.linear_cross_entropy(input = %[[ROWS]], weight = %arg1, bias = %arg3, target = %arg2, ignore_index = -100)
func.func @shifted(%x: tensor<?x?x32xf64> {braid.dims = ["batch", "seq", "32"]}, %w: tensor<100x32xf64>,
                   %t: tensor<?xi64> {braid.dims = ["batch*seq - batch"]}, %b: tensor<100xf64>) -> tensor<f64> {
  %0 = braid.linear(input = %x, weight = %w, bias = %b) : (tensor<?x?x32xf64>, tensor<100x32xf64>, tensor<100xf64>) -> tensor<?x?x100xf64>
  %1 = braid.slice(self = %0, dim = 1, start = 0, end = -1) : (tensor<?x?x100xf64>) -> tensor<?x?x100xf64>
  %2 = braid.view(self = %1, size = [-1, 100]) : (tensor<?x?x100xf64>) -> tensor<?x100xf64>
  %3 = braid.cross_entropy_loss(self = %2, target = %t, reduction = 2) : (tensor<?x100xf64>, tensor<?xi64>) -> tensor<f64>
  return %3 : tensor<f64>
}

// Means, smoothed labels, other types, logits with another reader, logits that are no product, and those with one bias for
// all classes stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     linear_cross_entropy
func.func @others(%x: tensor<8x32xf32>, %h: tensor<8x32xbf16>, %w: tensor<100x32xf32>, %v: tensor<100x32xbf16>, %t: tensor<8xi64>,
                  %b: tensor<1xf32>) -> (tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>, tensor<f32>, tensor<8x100xf32>, tensor<f32>) {
  %0 = braid.linear(input = %x, weight = %w) : (tensor<8x32xf32>, tensor<100x32xf32>) -> tensor<8x100xf32>
  %1 = braid.cross_entropy_loss(self = %0, target = %t, reduction = 1) : (tensor<8x100xf32>, tensor<8xi64>) -> tensor<f32>
  %2 = braid.linear(input = %x, weight = %w) : (tensor<8x32xf32>, tensor<100x32xf32>) -> tensor<8x100xf32>
  %3 = braid.cross_entropy_loss(self = %2, target = %t, reduction = 2, label_smoothing = 1.000000e-01) : (tensor<8x100xf32>, tensor<8xi64>) -> tensor<f32>
  %4 = braid.linear(input = %h, weight = %v) : (tensor<8x32xbf16>, tensor<100x32xbf16>) -> tensor<8x100xbf16>
  %5 = braid.cross_entropy_loss(self = %4, target = %t, reduction = 2) : (tensor<8x100xbf16>, tensor<8xi64>) -> tensor<bf16>
  %6 = braid.linear(input = %x, weight = %w) : (tensor<8x32xf32>, tensor<100x32xf32>) -> tensor<8x100xf32>
  %7 = braid.cross_entropy_loss(self = %6, target = %t, reduction = 2) : (tensor<8x100xf32>, tensor<8xi64>) -> tensor<f32>
  %8 = braid.relu(self = %6) : (tensor<8x100xf32>) -> tensor<8x100xf32>
  %9 = braid.cross_entropy_loss(self = %8, target = %t, reduction = 2) : (tensor<8x100xf32>, tensor<8xi64>) -> tensor<f32>
  %10 = braid.linear(input = %x, weight = %w, bias = %b) : (tensor<8x32xf32>, tensor<100x32xf32>, tensor<1xf32>) -> tensor<8x100xf32>
  %11 = braid.cross_entropy_loss(self = %10, target = %t, reduction = 2) : (tensor<8x100xf32>, tensor<8xi64>) -> tensor<f32>
  return %1, %3, %5, %7, %9, %8, %11 : tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>, tensor<f32>, tensor<8x100xf32>, tensor<f32>
}
}
