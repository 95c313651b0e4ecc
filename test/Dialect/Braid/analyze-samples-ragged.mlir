// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file --braid-split-loss --braid-analyze-samples | FileCheck %s

// Attention inside of segments, from offsets: rows of other segments add nothing.

// CHECK-LABEL: module @segments
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @segments attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %n = braid.symbol "rows"
    %ends = braid.slice(self = %cu, dim = 0, start = 1, end = 9223372036854775807, step = 1) : (tensor<?xi64>) -> tensor<?xi64>
    %place = braid.arange(end = %n) : () -> tensor<?xi64>
    %column = braid.unsqueeze(self = %place, dim = 1) : (tensor<?xi64>) -> tensor<?x1xi64>
    %after = braid.ge(self = %column, other = %ends) : (tensor<?x1xi64>, tensor<?xi64>) -> tensor<?x?xi1>
    %segment = braid.sum_dim(self = %after, dim = [1]) : (tensor<?x?xi1>) -> tensor<?xi64>
    %left = braid.unsqueeze(self = %segment, dim = 1) : (tensor<?xi64>) -> tensor<?x1xi64>
    %same = braid.eq(self = %left, other = %segment) : (tensor<?x1xi64>, tensor<?xi64>) -> tensor<?x?xi1>
    %other = braid.bitwise_not(self = %same) : (tensor<?x?xi1>) -> tensor<?x?xi1>
    %t = braid.transpose(self = %x, dim0 = 0, dim1 = 1) : (tensor<?x4xf32>) -> tensor<4x?xf32>
    %scores = braid.mm(self = %x, mat2 = %t) : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>
    %masked = braid.masked_fill_scalar(self = %scores, mask = %other, value = 0xFFF0000000000000 : f64) : (tensor<?x?xf32>, tensor<?x?xi1>) -> tensor<?x?xf32>
    %weights = braid.softmax(self = %masked, dim = -1) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %0 = braid.mm(self = %weights, mat2 = %x) : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Without the mask a row sees those of all samples; the message names where they met.

// CHECK-LABEL: module @unmasked
// CHECK-SAME: braid.whole_loss = "braid.mm in scores at {{.*}} mixes samples"
module @unmasked attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %t = braid.transpose(self = %x, dim0 = 0, dim1 = 1) : (tensor<?x4xf32>) -> tensor<4x?xf32>
    %scores = braid.mm(self = %x, mat2 = %t) {path = "scores"} : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>
    %weights = braid.softmax(self = %scores, dim = -1) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %0 = braid.mm(self = %weights, mat2 = %x) : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A causal mask over all rows lets a row see the samples before its own.

// CHECK-LABEL: module @causal
// CHECK-SAME: braid.whole_loss = "braid.{{(mm|ge)}}{{.*}} mixes samples"
module @causal attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %n = braid.symbol "rows"
    %place = braid.arange(end = %n) : () -> tensor<?xi64>
    %column = braid.unsqueeze(self = %place, dim = 1) : (tensor<?xi64>) -> tensor<?x1xi64>
    %seen = braid.ge(self = %column, other = %place) : (tensor<?x1xi64>, tensor<?xi64>) -> tensor<?x?xi1>
    %weights = braid.to(self = %seen, dtype = f32) : (tensor<?x?xi1>) -> tensor<?x?xf32>
    %0 = braid.mm(self = %weights, mat2 = %x) : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Rows are picked by an index that counts them; the picks of a micro-batch are its own ...

// CHECK-LABEL: module @picks
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @picks attributes {braid.symbols = {batch = 2 : i64, rows = 7 : i64, picks = 3 : i64}} {
  func.func @main(%y: tensor<?x4xf32> {braid.input = "y", braid.dims = ["batch", "4"]},
                  %x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["batch + 1"], braid.collate = "offsets(x)"},
                  %i: tensor<?xi64> {braid.input = "i", braid.dims = ["picks"], braid.collate = "index_into(x)"}) -> tensor<f32> {
    %0 = braid.index(self = %x, indices = [%i]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    %2 = braid.mean(self = %y) : (tensor<?x4xf32>) -> tensor<f32>
    %3 = braid.add(self = %1, other = %2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}

// -----

// ... but not of a tensor with other rows,

// CHECK-LABEL: module @other_rows
// CHECK-SAME: braid.whole_loss = "braid.index{{.*}} mixes samples"
module @other_rows attributes {braid.symbols = {batch = 2 : i64, rows = 7 : i64, picks = 3 : i64}} {
  func.func @main(%y: tensor<?x4xf32> {braid.input = "y", braid.dims = ["batch", "4"]},
                  %x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["batch + 1"], braid.collate = "offsets(x)"},
                  %i: tensor<?xi64> {braid.input = "i", braid.dims = ["picks"], braid.collate = "index_into(x)"}) -> tensor<f32> {
    %0 = braid.index(self = %y, indices = [%i]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// nor by where segments begin: the first row of an empty segment is that of the next sample,

// CHECK-LABEL: module @first_rows
// CHECK-SAME: braid.whole_loss = "braid.index{{.*}} mixes samples"
module @first_rows attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %starts = braid.slice(self = %cu, dim = 0, start = 0, end = -1, step = 1) : (tensor<?xi64>) -> tensor<?xi64>
    %0 = braid.index(self = %x, indices = [%starts]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// nor are the numbers of rows good for values.

// CHECK-LABEL: module @values
// CHECK-SAME: braid.whole_loss = "braid.to{{.*}} computes with the numbers of the samples' rows, which count rows"
module @values attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?xf32> {braid.input = "x", braid.dims = ["rows"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %n = braid.symbol "rows"
    %place = braid.arange(end = %n) : () -> tensor<?xi64>
    %flag = braid.to(self = %place, dtype = i1) : (tensor<?xi64>) -> tensor<?xi1>
    %0 = braid.mul(self = %x, other = %flag) : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
    %1 = braid.mean(self = %0) : (tensor<?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A cumulative sum runs on from sample to sample.

// CHECK-LABEL: module @cumulative
// CHECK-SAME: braid.whole_loss = "braid.cumsum{{.*}} mixes samples"
module @cumulative attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?xf32> {braid.input = "x", braid.dims = ["rows"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %0 = braid.cumsum(self = %x, dim = 0) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = braid.mean(self = %0) : (tensor<?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Ragged rows have no number that is the same for any K.

// CHECK-LABEL: module @draws
// CHECK-SAME: braid.whole_loss = "braid.dropout{{.*}} draws random numbers for rows that samples have more or less of (rows)"
module @draws attributes {braid.symbols = {batch = 2 : i64, rows = 7 : i64}} {
  func.func @main(%y: tensor<?x4xf32> {braid.input = "y", braid.dims = ["batch", "4"]},
                  %x: tensor<?xf32> {braid.input = "x", braid.dims = ["rows"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["batch + 1"], braid.collate = "offsets(x)"}) -> tensor<f32> {
    %0 = braid.dropout(input = %x, p = 1.000000e-01, train = true) {stream = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
    %1 = braid.mean(self = %0) : (tensor<?xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// An input with the samples in another dim needs a rule that divides that.

// CHECK-LABEL: module @undivided
// CHECK-SAME: braid.whole_loss = "dim 1 of input 'y' is batch, and its collate rule shared does not divide it; collate: concat(1) does"
module @undivided attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]},
                  %y: tensor<4x?xf32> {braid.input = "y", braid.dims = ["4", "batch"]}) -> tensor<f32> {
    %t = braid.transpose(self = %y, dim0 = 0, dim1 = 1) : (tensor<4x?xf32>) -> tensor<?x4xf32>
    %0 = braid.mul(self = %x, other = %t) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @second
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @second attributes {braid.symbols = {batch = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]},
                  %y: tensor<4x?xf32> {braid.input = "y", braid.dims = ["4", "batch"], braid.collate = "concat(1)"}) -> tensor<f32> {
    %t = braid.transpose(self = %y, dim0 = 0, dim1 = 1) : (tensor<4x?xf32>) -> tensor<?x4xf32>
    %0 = braid.mul(self = %x, other = %t) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = braid.mean(self = %0) : (tensor<?x4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// An expert layer sorts rows by a key, works on each, and puts them back ...

// CHECK-LABEL: module @experts
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @experts attributes {braid.symbols = {batch = 4 : i64}} {
  braid.param @w : tensor<3x4x4xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]},
                  %key: tensor<?xi64> {braid.input = "key", braid.dims = ["batch"]}) -> tensor<f32> {
    %w = braid.get_param @w : tensor<3x4x4xf32>
    %b = braid.symbol "batch"
    %sorted, %order = braid.sort(self = %key, dim = -1, descending = false) : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
    %rows = braid.index(self = %x, indices = [%order]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %f = braid.to(self = %sorted, dtype = f32) : (tensor<?xi64>) -> tensor<?xf32>
    %h = braid.aten "aten::histc"(%f) {constants = [unit, 3, 2], counts = array<i64: 1, 0, 0>, dims = [["3"]], kinds = array<i64: 0, 6, 10>, names = ["self", "bins", "max"]} : (tensor<?xf32>) -> tensor<3xf32>
    %ends = braid.cumsum(self = %h, dim = 0, dtype = i32) : (tensor<3xf32>) -> tensor<3xi32>
    %0 = braid.aten "aten::_grouped_mm"(%rows, %w, %ends) {constants = [unit, unit, unit], counts = array<i64: 1, 1, 1>, dims = [["a.0", "4"]], kinds = array<i64: 0, 0, 1>, names = ["self", "mat2", "offs"]} : (tensor<?x4xf32>, tensor<3x4x4xf32>, tensor<3xi32>) -> tensor<?x4xf32>
    %z = braid.zeros_like(self = %order) : (tensor<?xi64>) -> tensor<?xi64>
    %n = braid.arange(end = %b) : () -> tensor<?xi64>
    %inverse = braid.index_put(self = %z, indices = [%order], values = %n, accumulate = false) : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    %back = braid.index(self = %0, indices = [%inverse]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %1 = braid.mul(self = %back, other = %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = braid.mean(self = %1) : (tensor<?x4xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// ... and sorted rows do not meet those that are in their places.

// CHECK-LABEL: module @unordered
// CHECK-SAME: braid.whole_loss = "braid.mul{{.*}} mixes samples"
module @unordered attributes {braid.symbols = {batch = 4 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]},
                  %key: tensor<?xi64> {braid.input = "key", braid.dims = ["batch"]}) -> tensor<f32> {
    %sorted, %order = braid.sort(self = %key, dim = -1, descending = false) : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
    %rows = braid.index(self = %x, indices = [%order]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %1 = braid.mul(self = %rows, other = %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = braid.mean(self = %1) : (tensor<?x4xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Row numbers that a permutation sorts give its inverse: each micro-batch's own.

// CHECK-LABEL: module @argsort
// CHECK-NOT: braid.whole_loss
// CHECK: func.func @main
module @argsort attributes {braid.symbols = {rows = 7 : i64, texts = 2 : i64}} {
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["rows", "4"], braid.collate = "concat(0)"},
                  %cu: tensor<?xi64> {braid.input = "cu", braid.dims = ["texts + 1"], braid.collate = "offsets(x)"},
                  %p: tensor<?xi64> {braid.input = "p", braid.dims = ["rows"], braid.collate = "index_into(p)"}) -> tensor<f32> {
    %0 = braid.index(self = %x, indices = [%p]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %sorted, %inverse = braid.sort(self = %p, dim = -1, descending = false) : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
    %1 = braid.index(self = %0, indices = [%inverse]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %2 = braid.mul(self = %1, other = %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = braid.mean(self = %2) : (tensor<?x4xf32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}
