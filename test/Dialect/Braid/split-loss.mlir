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

// -----

// A divisor that counts what a mask leaves becomes a count too; it goes on as it went.

// CHECK-LABEL: module @counted
// CHECK: func.func @main
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: tensor<i64> {braid.count = 0 : i64
// CHECK-SAME: %[[BATCH:[a-z0-9]+]]: tensor<i64> {braid.count = 1 : i64
// CHECK: %[[FLOAT:.*]] = braid.to(self = %[[COUNT]], dtype = f32)
// CHECK: %[[TWICE:.*]] = braid.mul_scalar(self = %[[FLOAT]], other = 2)
// CHECK: braid.div(self = %{{.*}}, other = %[[TWICE]])
// CHECK: braid.div(self = %{{.*}}, other = %[[BATCH]])
// CHECK-LABEL: func.func @prologue
// CHECK: %[[MASK:.*]] = braid.ne_scalar
// CHECK: braid.sum(self = %[[MASK]], dtype = i64)
// CHECK: braid.scalar_tensor
module @counted attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]},
                  %y: tensor<?x7xi64> {braid.input = "y", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %mask = braid.ne_scalar(self = %y, other = 0) : (tensor<?x7xi64>) -> tensor<?x7xi1>
    %float = braid.to(self = %mask, dtype = f32) : (tensor<?x7xi1>) -> tensor<?x7xf32>
    %kept = braid.mul(self = %x, other = %float) : (tensor<?x7xf32>, tensor<?x7xf32>) -> tensor<?x7xf32>
    %sum = braid.sum(self = %kept) : (tensor<?x7xf32>) -> tensor<f32>
    %count = braid.sum(self = %float) : (tensor<?x7xf32>) -> tensor<f32>
    %twice = braid.mul_scalar(self = %count, other = 2) : (tensor<f32>) -> tensor<f32>
    %0 = braid.div(self = %sum, other = %twice) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %b = braid.symbol "batch"
    %n = braid.scalar_tensor %b : tensor<i64>
    %all = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.div(self = %all, other = %n) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    %2 = braid.add(self = %0, other = %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// So does a sum of weights, in float64. A count that another number is added to may be 0.

// CHECK-LABEL: module @weights
// CHECK: func.func @main
// CHECK-SAME: tensor<i64> {braid.count = 0 : i64
// CHECK-SAME: %[[WEIGHT:[a-z0-9]+]]: tensor<f64> {braid.count = 1 : i64
// CHECK: %[[FLOAT:.*]] = braid.to(self = %[[WEIGHT]], dtype = f32)
// CHECK: braid.div(self = %{{.*}}, other = %[[FLOAT]])
// CHECK-LABEL: func.func @prologue
// CHECK-SAME: braid.nonzero = [false, true]
// CHECK: braid.sum(self = %{{.*}}, dtype = f64)
module @weights attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]},
                  %w: tensor<?x7xf32> {braid.input = "w", braid.dims = ["batch", "7"]},
                  %y: tensor<?x7xi64> {braid.input = "y", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %sum = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %weight = braid.sum(self = %w) : (tensor<?x7xf32>) -> tensor<f32>
    %0 = braid.div(self = %sum, other = %weight) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %count = braid.sum(self = %y) : (tensor<?x7xi64>) -> tensor<i64>
    %some = braid.clamp_min(self = %count, min = 1) : (tensor<i64>) -> tensor<i64>
    %1 = braid.div(self = %0, other = %some) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A divisor that depends on a parameter and the inputs is none.

// CHECK-LABEL: module @trained
// CHECK-SAME: braid.whole_loss = "braid.sum{{.*}} divides the loss and is no count: a sum over inputs, or over a mask of them, or the batch's size"
module @trained attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @p : tensor<7xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %p = braid.get_param @p : tensor<7xf32>
    %z = braid.mul(self = %x, other = %p) : (tensor<?x7xf32>, tensor<7xf32>) -> tensor<?x7xf32>
    %sum = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %weight = braid.sum(self = %z) : (tensor<?x7xf32>) -> tensor<f32>
    %0 = braid.div(self = %sum, other = %weight) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// What no input enters is added by each part, divided by their number: a weighted pair of losses with the weights' own
// penalty, less a number.

// CHECK-LABEL: module @fixed
// CHECK: func.func @main
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: tensor<i64> {braid.count = 0 : i64
// CHECK-SAME: %[[SECOND:[a-z0-9]+]]: tensor<i64> {braid.count = 1 : i64
// CHECK-SAME: %[[PARTS:[a-z0-9]+]]: tensor<i64> {braid.count = 2 : i64, braid.dims = [], braid.parts}
// CHECK: %[[P:.*]] = braid.get_param @p
// CHECK: %[[LOSSES:.*]] = braid.stack
// CHECK: %[[WEIGHTED:.*]] = braid.mul(self = %[[LOSSES]]
// CHECK: %[[SHARE:.*]] = braid.div(self = %[[P]], other = %[[PARTS]])
// CHECK: %[[BOTH:.*]] = braid.add(self = %[[WEIGHTED]], other = %[[SHARE]])
// CHECK: %[[TOTAL:.*]] = braid.sum(self = %[[BOTH]])
// CHECK: %[[NUMBER:.*]] = braid.constant dense<3.000000e+00>
// CHECK: %[[PIECE:.*]] = braid.div(self = %[[NUMBER]], other = %[[PARTS]])
// CHECK: %[[LOSS:.*]] = braid.sub(self = %[[PIECE]], other = %[[TOTAL]])
// CHECK: return %[[LOSS]]
// CHECK-LABEL: func.func @prologue
// CHECK: arith.constant 1 : index
// CHECK: braid.scalar_tensor
module @fixed attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @p : tensor<2xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %p = braid.get_param @p : tensor<2xf32>
    %w = braid.exp(self = %p) : (tensor<2xf32>) -> tensor<2xf32>
    %a = braid.mean(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %square = braid.mul(self = %x, other = %x) : (tensor<?x7xf32>, tensor<?x7xf32>) -> tensor<?x7xf32>
    %b = braid.mean(self = %square) : (tensor<?x7xf32>) -> tensor<f32>
    %losses = braid.stack(tensors = [%a, %b], dim = 0) : (tensor<f32>, tensor<f32>) -> tensor<2xf32>
    %weighted = braid.mul(self = %losses, other = %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %all = braid.add(self = %weighted, other = %p) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %total = braid.sum(self = %all) : (tensor<2xf32>) -> tensor<f32>
    %0 = braid.rsub_scalar(self = %total, other = 3) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @nothing
// CHECK-SAME: braid.whole_loss = "the loss depends on no input"
module @nothing attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @p : tensor<2xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %p = braid.get_param @p : tensor<2xf32>
    %0 = braid.sum(self = %p) : (tensor<2xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @squared
// CHECK-SAME: braid.whole_loss = "braid.scalar_tensor{{.*}} divides the loss and is no count
module @squared attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %square = arith.muli %b, %b : index
    %n = braid.scalar_tensor %square : tensor<i64>
    %sum = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %0 = braid.div(self = %sum, other = %n) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
