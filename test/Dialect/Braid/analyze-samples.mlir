// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file --braid-split-loss --braid-analyze-samples | FileCheck %s

// Rows of one sample stay together: the batch may be divided.

// CHECK-LABEL: module @rows
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @rows attributes {braid.symbols = {batch = 2 : i64}} {
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

// CHECK-LABEL: module @pairs
// CHECK-SAME: braid.whole_loss = "braid.mm in head at {{.*}} mixes samples"
module @pairs attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %t = braid.transpose(self = %x, dim0 = 0, dim1 = 1) : (tensor<?x7xf32>) -> tensor<7x?xf32>
    %0 = braid.mm(self = %x, mat2 = %t) {path = "head"} : (tensor<?x7xf32>, tensor<7x?xf32>) -> tensor<?x?xf32>
    %1 = braid.mean(self = %0) : (tensor<?x?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// So does a statistic over the batch.

// CHECK-LABEL: module @statistic
// CHECK-SAME: braid.whole_loss = "braid.mean_dim in norm at {{.*}} mixes samples"
module @statistic attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %m = braid.mean_dim(self = %x, dim = [0]) {path = "norm"} : (tensor<?x7xf32>) -> tensor<7xf32>
    %0 = braid.sub(self = %x, other = %m) : (tensor<?x7xf32>, tensor<7xf32>) -> tensor<?x7xf32>
    %1 = braid.mean(self = %0) : (tensor<?x7xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// arange(batch) as an index picks each sample's own row of a value that has the samples along dim 0 ...

// CHECK-LABEL: module @own_rows
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @own_rows attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]},
                  %at: tensor<?xi64> {braid.input = "at", braid.dims = ["batch"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %n = braid.arange(end = %b) : () -> tensor<?xi64>
    %0 = braid.index(self = %x, indices = [%n, %at]) : (tensor<?x7xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xf32>
    %1 = braid.mean(self = %0) : (tensor<?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// ... but not of a parameter, whose rows the second micro-batch would count from 0 again,

// CHECK-LABEL: module @slots
// CHECK-SAME: braid.whole_loss = "braid.index{{.*}} computes with the numbers of the samples"
module @slots attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @slot : tensor<9xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?xf32> {braid.input = "x", braid.dims = ["batch"]}) -> tensor<f32> {
    %s = braid.get_param @slot : tensor<9xf32>
    %b = braid.symbol "batch"
    %n = braid.arange(end = %b) : () -> tensor<?xi64>
    %0 = braid.index(self = %s, indices = [%n]) : (tensor<9xf32>, tensor<?xi64>) -> tensor<?xf32>
    %1 = braid.mul(self = %x, other = %0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = braid.mean(self = %1) : (tensor<?xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// and not in another order.

// CHECK-LABEL: module @reversed
// CHECK-SAME: braid.whole_loss = "braid.arange_start_step{{.*}}
module @reversed attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?xf32> {braid.input = "x", braid.dims = ["batch"]}) -> tensor<f32> {
    %one = arith.constant 1 : index
    %b = braid.symbol "batch"
    %last = arith.subi %b, %one : index
    %n = braid.arange_start_step(start = %last, end = -1, step = -1) : () -> tensor<?xi64>
    %0 = braid.index(self = %x, indices = [%n]) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
    %1 = braid.mean(self = %0) : (tensor<?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A dim that the number of samples enters twice.

// CHECK-LABEL: module @twice
// CHECK-SAME: braid.whole_loss = "braid.expand{{.*}} makes a tensor whose dim 1 is batch"
module @twice attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x1x7xf32> {braid.input = "x", braid.dims = ["batch", "1", "7"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %0 = braid.expand(self = %x, size = [%b, %b, 7]) : (tensor<?x1x7xf32>) -> tensor<?x?x7xf32>
    %1 = braid.mean(self = %0) : (tensor<?x?x7xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// The number of samples as a position.

// CHECK-LABEL: module @position
// CHECK-SAME: braid.whole_loss = "braid.select{{.*}} uses the number of samples as a value"
module @position attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @table : tensor<9x7xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %t = braid.get_param @table : tensor<9x7xf32>
    %b = braid.symbol "batch"
    %row = braid.select(self = %t, dim = 0, index = %b) : (tensor<9x7xf32>) -> tensor<7xf32>
    %0 = braid.mul(self = %x, other = %row) : (tensor<?x7xf32>, tensor<7xf32>) -> tensor<?x7xf32>
    %1 = braid.mean(self = %0) : (tensor<?x7xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A view that merges the samples with other dims, as MultiheadAttention does, and splits them again.

// CHECK-LABEL: module @merged
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @merged attributes {braid.symbols = {batch = 2 : i64, seq = 5 : i64}} {
  func.func @main(%x: tensor<?x?x8xf32> {braid.input = "x", braid.dims = ["batch", "seq", "8"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %s = braid.symbol "seq"
    %n = arith.muli %b, %s : index
    %0 = braid.transpose(self = %x, dim0 = 0, dim1 = 1) : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %1 = braid.view(self = %0, size = [%n, 8]) : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
    %2 = braid.exp(self = %1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = braid.view(self = %2, size = [%s, %b, 8]) : (tensor<?x8xf32>) -> tensor<?x?x8xf32>
    %4 = braid.mean(self = %3) : (tensor<?x?x8xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}

// -----

// A cast that rounds the sum is another use than for the loss.

// CHECK-LABEL: module @flag
// CHECK-SAME: braid.whole_loss = "braid.to{{.*}} uses a sum over the samples in another way than for the loss"
module @flag attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %s = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %b = braid.to(self = %s, dtype = i1) : (tensor<f32>) -> tensor<i1>
    %f = braid.to(self = %b, dtype = f32) : (tensor<i1>) -> tensor<f32>
    %0 = braid.mul(self = %x, other = %f) : (tensor<?x7xf32>, tensor<f32>) -> tensor<?x7xf32>
    %1 = braid.mean(self = %0) : (tensor<?x7xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A table that is repeated for each sample.

// CHECK-LABEL: module @repeated
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @repeated attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @table : tensor<4x7xf32> at 0 {requires_grad}
  func.func @main(%y: tensor<?x7xf32> {braid.input = "y", braid.dims = ["batch", "7"]}) -> tensor<f32> {
    %t = braid.get_param @table : tensor<4x7xf32>
    %b = braid.symbol "batch"
    %0 = braid.repeat(self = %t, repeats = [%b, 1]) : (tensor<4x7xf32>) -> tensor<?x7xf32>
    %1 = braid.view(self = %0, size = [%b, 4, 7]) : (tensor<?x7xf32>) -> tensor<?x4x7xf32>
    %2 = braid.unsqueeze(self = %y, dim = 1) : (tensor<?x7xf32>) -> tensor<?x1x7xf32>
    %3 = braid.mul(self = %1, other = %2) : (tensor<?x4x7xf32>, tensor<?x1x7xf32>) -> tensor<?x4x7xf32>
    %4 = braid.mean(self = %3) : (tensor<?x4x7xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}

// -----

// A divisor that is the same for all micro-batches would be added up once for each.

// CHECK-LABEL: module @shared_divisor
// CHECK-SAME: braid.whole_loss = "what divides the loss, braid.sum {{.*}} counts the same in every micro-batch"
module @shared_divisor attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]},
                  %m: tensor<7xi1> {braid.input = "m", braid.dims = ["7"], braid.collate = "shared"}) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.sum(self = %m) : (tensor<7xi1>) -> tensor<i64>
    %2 = braid.div(self = %0, other = %1) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// A count that compares with the first sample compares with another one in each micro-batch.

// CHECK-LABEL: module @first_sample
// CHECK-SAME: braid.whole_loss = "braid.select {{.*}} mixes samples"
module @first_sample attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x7xf32> {braid.input = "x", braid.dims = ["batch", "7"]},
                  %y: tensor<?xi64> {braid.input = "y", braid.dims = ["batch"]}) -> tensor<f32> {
    %0 = braid.sum(self = %x) : (tensor<?x7xf32>) -> tensor<f32>
    %1 = braid.select(self = %y, dim = 0, index = 0) : (tensor<?xi64>) -> tensor<i64>
    %2 = braid.eq(self = %y, other = %1) : (tensor<?xi64>, tensor<i64>) -> tensor<?xi1>
    %3 = braid.sum(self = %2) : (tensor<?xi1>) -> tensor<i64>
    %4 = braid.div(self = %0, other = %3) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
