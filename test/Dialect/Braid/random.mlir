// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file --braid-split-loss --braid-analyze-samples | FileCheck %s --check-prefix=SAMPLES
// RUN: braid-opt %s -split-input-file --braid-outline-units | FileCheck %s --check-prefix=UNITS
// RUN: braid-opt %s -split-input-file --braid-outline-units --braid-decompose --braid-differentiate --cse \
// RUN:   | FileCheck %s --check-prefix=DERIVATIVES

// Numbers go by samples where a dim holds them, also merged with its neighbours and behind others; a value that is the
// same for all samples has no place for them.

// SAMPLES-LABEL: module @places
// SAMPLES-NOT: braid.whole_loss
// SAMPLES: braid.dropout(input = %arg0, p = 1.000000e-01, train = true) {samples = ["1", "batch"], stream = 0 : i64}
// SAMPLES: braid.dropout({{.*}}) {samples = ["1", "batch"], stream = 1 : i64}
// SAMPLES: braid.dropout({{.*}}) {samples = ["4", "batch"], stream = 2 : i64}
// SAMPLES: braid.rand({{.*}}) {samples = ["1", "batch"], stream = 3 : i64}
// SAMPLES: braid.rand(size = [7]) {stream = 4 : i64}
// SAMPLES: braid.dropout(input = %{{.*}}, p = 5.000000e-01, train = true) {stream = 5 : i64} : (tensor<7xf32>)
// SAMPLES: braid.dropout(input = %{{.*}}, p = 5.000000e-01) : (tensor<7xf32>)
module @places attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @w : tensor<7xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x4x7xf32> {braid.input = "x", braid.dims = ["batch", "4", "7"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %w = braid.get_param @w : tensor<7xf32>
    %0 = braid.dropout(input = %x, p = 0.1, train = true) {stream = 0 : i64} : (tensor<?x4x7xf32>) -> tensor<?x4x7xf32>
    %1 = braid.flatten(self = %0, start_dim = 0, end_dim = 1) : (tensor<?x4x7xf32>) -> tensor<?x7xf32>
    %2 = braid.dropout(input = %1, p = 0.1, train = true) {stream = 1 : i64} : (tensor<?x7xf32>) -> tensor<?x7xf32>
    %3 = braid.view(self = %2, size = [%b, 4, 7]) : (tensor<?x7xf32>) -> tensor<?x4x7xf32>
    %4 = braid.transpose(self = %3, dim0 = 0, dim1 = 1) : (tensor<?x4x7xf32>) -> tensor<4x?x7xf32>
    %5 = braid.dropout(input = %4, p = 0.1, train = true) {stream = 2 : i64} : (tensor<4x?x7xf32>) -> tensor<4x?x7xf32>
    %6 = braid.rand(size = [%b, 1]) {stream = 3 : i64} : () -> tensor<?x1xf32>
    %7 = braid.mul(self = %5, other = %6) : (tensor<4x?x7xf32>, tensor<?x1xf32>) -> tensor<4x?x7xf32>
    %8 = braid.rand(size = [7]) {stream = 4 : i64} : () -> tensor<7xf32>
    %9 = braid.mul(self = %8, other = %w) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %10 = braid.dropout(input = %9, p = 0.5, train = true) {stream = 5 : i64} : (tensor<7xf32>) -> tensor<7xf32>
    %11 = braid.dropout(input = %10, p = 0.5) : (tensor<7xf32>) -> tensor<7xf32>
    %12 = braid.mul(self = %7, other = %11) : (tensor<4x?x7xf32>, tensor<7xf32>) -> tensor<4x?x7xf32>
    %13 = braid.mean(self = %12) : (tensor<4x?x7xf32>) -> tensor<f32>
    return %13 : tensor<f32>
  }
}

// -----

// Equal layers share a function; the streams are the calls'. The gradient drops what forward dropped: from its own
// stream, with no mask among the residuals. What rand gave is drawn again as well.

// UNITS-LABEL: module @layers
// UNITS: braid.call @Layer(%{{.*}}) params(%{{.*}}) {path = "net.layers.0", streams = array<i64: 4, 7>}
// UNITS: braid.call @Layer(%{{.*}}) params(%{{.*}}) {path = "net.layers.1", streams = array<i64: 9, 8>}
// UNITS: func.func private @Layer
// UNITS-SAME: attributes {braid.streams = 2 : i64}
// UNITS: braid.dropout({{.*}}) {path = "", stream = 0 : i64}
// UNITS: braid.rand({{.*}}) {path = "", stream = 1 : i64}
// UNITS-NOT: func.func private @Layer

// DERIVATIVES-LABEL: module @layers
// DERIVATIVES: func.func private @Layer.forward(
// DERIVATIVES-SAME: -> (tensor<?x4xf32> {{{.*}}}, tensor<?x4xf32> {{{.*}}}) attributes {braid.streams = 2 : i64}
// DERIVATIVES: func.func private @Layer.backward_input(
// DERIVATIVES-SAME: attributes {braid.streams = 2 : i64}
// DERIVATIVES: %[[U:.*]] = braid.rand(size = [4]) {path = "", stream = 1 : i64}
// DERIVATIVES: %[[D:.*]] = braid.mul(self = %{{.*}}, other = %[[U]])
// DERIVATIVES: braid.dropout(input = %[[D]], p = 1.000000e-01, train = true) {path = "", stream = 0 : i64}
module @layers attributes {braid.symbols = {batch = 2 : i64},
                           braid.classes = {net.layers.0 = "Layer", net.layers.1 = "Layer"}} {
  braid.param @net.layers.0.fc.weight : tensor<4x4xf32> at 0 {requires_grad}
  braid.param @net.layers.1.fc.weight : tensor<4x4xf32> at 64 {requires_grad}
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]}) -> tensor<f32> {
    %w0 = braid.get_param @net.layers.0.fc.weight : tensor<4x4xf32>
    %0 = braid.linear(input = %x, weight = %w0) {path = "net.layers.0.fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %1 = braid.dropout(input = %0, p = 0.1, train = true) {path = "net.layers.0", stream = 4 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = braid.rand(size = [4]) {path = "net.layers.0", stream = 7 : i64} : () -> tensor<4xf32>
    %3 = braid.mul(self = %1, other = %2) {path = "net.layers.0"} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %w1 = braid.get_param @net.layers.1.fc.weight : tensor<4x4xf32>
    %4 = braid.linear(input = %3, weight = %w1) {path = "net.layers.1.fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %5 = braid.dropout(input = %4, p = 0.1, train = true) {path = "net.layers.1", stream = 9 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %6 = braid.rand(size = [4]) {path = "net.layers.1", stream = 8 : i64} : () -> tensor<4xf32>
    %7 = braid.mul(self = %5, other = %6) {path = "net.layers.1"} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %8 = braid.mean(self = %7) {path = "net"} : (tensor<?x4xf32>) -> tensor<f32>
    return %8 : tensor<f32>
  }
}

// -----

// An attention that drops weights takes the formula, and its dropout the attention's stream and place.

// SAMPLES-LABEL: module @attention
// SAMPLES: braid.scaled_dot_product_attention({{.*}}) {path = "head", samples = ["1", "batch"], stream = 0 : i64}

// DERIVATIVES-LABEL: module @attention
// DERIVATIVES: %[[W:.*]] = braid.softmax
// DERIVATIVES: %[[K:.*]] = braid.dropout(input = %[[W]], p = 2.000000e-01, train = true) {path = "head", stream = 0 : i64} : (tensor<?x2x5x5xf32>)
// DERIVATIVES: braid.matmul(self = %[[K]],
// The weights are kept once: what was dropped of them is drawn again.
// DERIVATIVES: func.func private @glue.forward(
// DERIVATIVES: %[[W:.*]] = braid.softmax
// DERIVATIVES: return %{{.*}}, %{{.*}}, %[[W]], %{{.*}} : tensor<f32>, tensor<?x2x5x4xf32>, tensor<?x2x5x5xf32>, tensor<?x2x5x4xf32>, tensor<?x2x5x4xf32>, tensor<?x2x4x5xf32>{{$}}
// DERIVATIVES: func.func private @glue.backward_weight(
// DERIVATIVES-SAME: %[[P:arg[0-9]+]]: tensor<?x2x5x5xf32>
// DERIVATIVES: braid.dropout(input = %[[P]],
module @attention attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @head.w : tensor<4xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x2x5x4xf32> {braid.input = "x", braid.dims = ["batch", "2", "5", "4"]}) -> tensor<f32> {
    %w = braid.get_param @head.w : tensor<4xf32>
    %0 = braid.mul(self = %x, other = %w) {path = "head"} : (tensor<?x2x5x4xf32>, tensor<4xf32>) -> tensor<?x2x5x4xf32>
    %1 = braid.scaled_dot_product_attention(query = %0, key = %0, value = %0, dropout_p = 0.2) {path = "head", stream = 0 : i64} : (tensor<?x2x5x4xf32>, tensor<?x2x5x4xf32>, tensor<?x2x5x4xf32>) -> tensor<?x2x5x4xf32>
    %2 = braid.mean(self = %1) : (tensor<?x2x5x4xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// A count of the loss that depends on a random mask: the prologue draws the same mask.

// SAMPLES-LABEL: module @prologue
// SAMPLES: func.func @main
// SAMPLES: braid.rand({{.*}}) {samples = ["1", "batch"], stream = 3 : i64}
// SAMPLES: func.func @prologue
// SAMPLES: braid.rand({{.*}}) {samples = ["1", "batch"], stream = 3 : i64}
module @prologue attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @w : tensor<9x9xf32> at 0 {requires_grad}
  func.func @main(%x: tensor<?x9xf32> {braid.input = "x", braid.dims = ["batch", "9"]},
                  %y: tensor<?xi64> {braid.input = "y", braid.dims = ["batch"]}) -> tensor<f32> {
    %b = braid.symbol "batch"
    %w = braid.get_param @w : tensor<9x9xf32>
    %0 = braid.linear(input = %x, weight = %w) : (tensor<?x9xf32>, tensor<9x9xf32>) -> tensor<?x9xf32>
    %1 = braid.rand(size = [%b]) {stream = 3 : i64} : () -> tensor<?xf32>
    %2 = braid.lt_scalar(self = %1, other = 0.5) : (tensor<?xf32>) -> tensor<?xi1>
    %3 = braid.masked_fill_scalar(self = %y, mask = %2, value = -100) : (tensor<?xi64>, tensor<?xi1>) -> tensor<?xi64>
    %4 = braid.cross_entropy_loss(self = %0, target = %3) : (tensor<?x9xf32>, tensor<?xi64>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
