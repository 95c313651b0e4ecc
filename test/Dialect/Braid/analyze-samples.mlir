// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file --braid-split-loss --braid-analyze-samples | FileCheck %s

// Rows of one sample stay together: the batch may be divided.

// CHECK-LABEL: module
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @w : tensor<7x7xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x4x7xf32> {braid.input = "x", braid.dims = ["batch", "4", "7"]}) -> tensor<f32> {
    %w = braid.get_param @w : tensor<7x7xf32>
    %0 = braid.linear(input = %x, weight = %w) : (tensor<?x4x7xf32>, tensor<7x7xf32>) -> tensor<?x4x7xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4x7xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A product of all pairs of samples mixes them.

// CHECK: braid.whole_loss = "braid.mm in head at {{.*}} mixes samples"
module attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %t = braid.transpose(self = %x, dim0 = 0, dim1 = 1) : (tensor<?x7xf32>) -> tensor<7x?xf32>
    %0 = braid.mm(self = %x, mat2 = %t) {path = "head"} : (tensor<?x7xf32>, tensor<7x?xf32>) -> tensor<?x?xf32>
    %1 = braid.mean(self = %0) : (tensor<?x?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// So does a statistic over the batch.

// CHECK: braid.whole_loss = "braid.mean_dim in norm at {{.*}} mixes samples"
module attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %m = braid.mean_dim(self = %x, dim = [0]) {path = "norm"} : (tensor<?x7xf32>) -> tensor<7xf32>
    %0 = braid.sub(self = %x, other = %m) : (tensor<?x7xf32>, tensor<7xf32>) -> tensor<?x7xf32>
    %1 = braid.mean(self = %0) : (tensor<?x7xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
