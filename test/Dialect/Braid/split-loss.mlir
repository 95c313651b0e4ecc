// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file --braid-split-loss | FileCheck %s

// A mean becomes a sum over a count; @prologue counts the labels that are not ignored.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: tensor<i64> {braid.count = 0 : i64, braid.dims = []}
// CHECK: %[[SUM:.*]] = braid.cross_entropy_loss({{.*}}reduction = 2{{.*}}ignore_index = -100
// CHECK: %[[LOSS:.*]] = braid.div(self = %[[SUM]], other = %[[COUNT]])
// CHECK: return %[[LOSS]]
// CHECK-LABEL: func.func @prologue
// CHECK-SAME: braid.counts = ["braid.cross_entropy_loss{{.*}}"]
// CHECK: %[[LABELS:.*]] = braid.view
// CHECK: %[[KEPT:.*]] = braid.ne_scalar(self = %[[LABELS]], other = -100)
// CHECK: braid.sum(self = %[[KEPT]])
module attributes {braid.symbols = {batch = 2 : i64, seq = 5 : i64}} {
  func.func @main(%x: tensor<?x?x7xf32> {braid.input = "x", braid.dims = ["batch", "seq", "7"]},
                  %y: tensor<?x?xi64> {braid.input = "y", braid.dims = ["batch", "seq"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %s = braid.symbol "seq"
    %n = arith.muli %b, %s : index
    %0 = braid.view(self = %x, size = [%n, 7]) : (tensor<?x?x7xf32>) -> tensor<?x7xf32>
    %1 = braid.view(self = %y, size = [%n]) : (tensor<?x?xi64>) -> tensor<?xi64>
    %2 = braid.cross_entropy_loss(self = %0, target = %1, reduction = 1, ignore_index = -100) : (tensor<?x7xf32>, tensor<?xi64>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Anything else stays whole, with the reason.

// CHECK: braid.whole_loss = "braid.exp{{.*}} is neither a mean loss
module attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %0 = braid.mean(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.exp(self = %0) : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A sum may become wider, and no narrower.

// CHECK-LABEL: module @wider
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @wider attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xbf16> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f64> {
    %0 = braid.mean(self = %x) : (tensor<?x7xbf16>) -> tensor<bf16>
    %1 = braid.to(self = %0, dtype = f64) : (tensor<bf16>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}

// -----

// CHECK-LABEL: module @narrower
// CHECK-SAME: braid.whole_loss = "braid.to{{.*}} rounds the loss
module @narrower attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<bf16> {
    %0 = braid.mean(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.to(self = %0, dtype = bf16) : (tensor<f32>) -> tensor<bf16>
    return %1 : tensor<bf16>
  }
}

// -----

// CHECK-LABEL: module @integer
// CHECK-SAME: braid.whole_loss = "braid.to{{.*}} rounds the loss
module @integer attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.to(self = %0, dtype = i64) : (tensor<f32>) -> tensor<i64>
    %2 = braid.to(self = %1, dtype = f32) : (tensor<i64>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
