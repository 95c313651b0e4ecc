// RUN: braid-opt %s --braid-to-rt --rt-verify-lifetimes | FileCheck %s

// Arguments: an absent optional tensor is None, other absent arguments are left to the schema; sizes stay symbolic.

#line = loc("some/folder/modeling.py":12:5)

module attributes {braid.symbols = {batch = 4, seq = 8}, pipe.symbols = ["seq", "batch"]} {

// CHECK-LABEL: func.func @arguments
// CHECK-SAME: (%[[X:.*]]: !rt.tensor, %[[W:.*]]: !rt.tensor) -> !rt.tensor attributes {pipe.entry}
func.func @arguments(%x: tensor<?x4xf32> {braid.dims = ["batch", "4"]}, %w: tensor<4x4xf32>) -> (tensor<?x2xf32> {braid.dims = ["batch", "2"]}) attributes {pipe.entry} {
  // CHECK: %[[BATCH:.*]] = rt.symbol 1
  %batch = braid.symbol "batch"
  // CHECK: %[[LINEAR:.*]] = rt.call "aten::linear"(input = %[[X]], weight = %[[W]], bias = none) at <"net.up", "modeling.py", 12> : !rt.tensor
  %0 = braid.linear(input = %x, weight = %w) {path = "net.up"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32> loc(#line)
  // CHECK: %[[SLICE:.*]] = rt.call "aten::slice.Tensor"(self = %[[LINEAR]], dim = 1, end = 2, step = 1)
  // CHECK-NEXT: rt.release %[[LINEAR]]
  %1 = braid.slice(self = %0, dim = 1, end = 2, step = 1) : (tensor<?x4xf32>) -> tensor<?x2xf32>
  // CHECK: %[[SUM:.*]] = rt.call "aten::add.Tensor"(self = %[[SLICE]], other = %[[SLICE]], alpha = 2)
  // CHECK-NEXT: rt.release %[[SLICE]]
  %2 = braid.add(self = %1, other = %1, alpha = 2) : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: %[[VIEW:.*]] = rt.call "aten::reshape"(self = %[[SUM]], shape = [%[[BATCH]], 2])
  // CHECK-NEXT: rt.release %[[SUM]]
  %3 = braid.view(self = %2, size = [%batch, 2]) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK-NEXT: return %[[VIEW]]
  return %3 : tensor<?x2xf32>
}

// Dead ops go, also chains of them; an unused result is released at once.
// CHECK-LABEL: func.func private @dead
func.func private @dead(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: aten::neg
  %0 = braid.neg(self = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = braid.neg(self = %0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[MAX:.*]]:2 = rt.call "aten::max.dim"
  // CHECK-NEXT: rt.release %[[MAX]]#1
  // CHECK-NEXT: return %[[MAX]]#0
  %2:2 = braid.max_dim(self = %x, dim = 1, keepdim = false) : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %2#0 : tensor<4xf32>
}

// What is borrowed, and what is returned twice, is retained for the return.
// CHECK-LABEL: func.func private @returns
// CHECK-SAME: (%[[X:.*]]: !rt.tensor)
func.func private @returns(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK: %[[NEG:.*]] = rt.call "aten::neg"(self = %[[X]])
  %0 = braid.neg(self = %x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[AGAIN:.*]] = rt.retain %[[NEG]]
  // CHECK-NEXT: %[[BORROWED:.*]] = rt.retain %[[X]]
  // CHECK-NEXT: return %[[NEG]], %[[AGAIN]], %[[BORROWED]]
  return %0, %0, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// An opaque op and its gradient: the absent entry of the list counts among the tensors that `wanted` numbers.
// CHECK-LABEL: func.func private @opaque
// CHECK-SAME: (%[[X:.*]]: !rt.tensor, %[[I:.*]]: !rt.tensor, %[[DY:.*]]: !rt.tensor)
func.func private @opaque(%x: tensor<4x4xf32>, %i: tensor<2xi64>, %dy: tensor<4x2xf32>) -> tensor<4x4xf32> {
  // CHECK: rt.call_gradient "aten::index.Tensor"(self = %[[X]], indices = tensors [none, %[[I]]]) cotangents [%[[DY]]] wanted [0]
  %0 = braid.aten_gradient "aten::index.Tensor"(%x, %i) cotangents(%dy) {names = ["self", "indices"], kinds = array<i64: 0, 3>, counts = array<i64: 1, 1>, constants = [unit, array<i1: false, true>], present_cotangents = array<i1: true>, wanted = array<i64: 0>} : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<4x4xf32>, tensor<4x2xf32>
  return %0 : tensor<4x4xf32>
}

// A merge checks its rows first: the mask has one entry for each row of 4 here.
// CHECK-LABEL: func.func private @merge
// CHECK-SAME: (%[[X:.*]]: !rt.tensor, %[[MASK:.*]]: !rt.tensor, %[[ROWS:.*]]: !rt.tensor)
func.func private @merge(%x: tensor<?x4xf32> {braid.dims = ["batch", "4"]}, %mask: tensor<?x1xi1> {braid.dims = ["batch", "1"]}, %rows: tensor<?x4xf32> {braid.dims = ["seq", "4"]}) -> tensor<?x4xf32> {
  // CHECK: %[[N:.*]] = rt.symbol 0
  // CHECK: rt.check_rows %[[MASK]], %[[N]] "masked_scatter"
  // CHECK: rt.call "aten::masked_scatter"(self = %[[X]], mask = %[[MASK]], source = %[[ROWS]])
  %0 = braid.merge_rows(self = %x, mask = %mask, source = %rows) : (tensor<?x4xf32>, tensor<?x1xi1>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Random numbers: a unit takes its streams from its callers, what is no unit has them itself. The sizes say where the
// samples are.
// CHECK-LABEL: func.func private @draws
// CHECK-SAME: attributes {rt.streams = 2 : i64}
func.func private @draws(%x: tensor<?x4xf32> {braid.dims = ["batch", "4"]}) -> tensor<?x4xf32> attributes {braid.streams = 2 : i64} {
  // CHECK: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: %[[BATCH:.*]] = rt.symbol 1
  // CHECK: %[[D:.*]] = rt.dropout %{{.*}}, 1.000000e-01 stream 1 before %[[ONE]] samples %[[BATCH]] at <"net.drop", "modeling.py", 12> : !rt.tensor
  %0 = braid.dropout(input = %x, p = 0.1, train = true) {path = "net.drop", stream = 1 : i64, samples = ["1", "batch"]} : (tensor<?x4xf32>) -> tensor<?x4xf32> loc(#line)
  // CHECK: %[[U:.*]] = rt.rand [4] f64 stream 0
  %1 = braid.rand(size = [4], dtype = f64) {stream = 0 : i64} : () -> tensor<4xf64>
  %2 = braid.to(self = %1, dtype = f32) : (tensor<4xf64>) -> tensor<4xf32>
  %3 = braid.mm(self = %0, mat2 = %0) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: rt.release %[[U]]
  %4 = braid.add(self = %3, other = %2) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: rt.call "aten::dropout"(input = %{{.*}}, p = 1.000000e-01, train = false)
  %5 = braid.dropout(input = %4, p = 0.1, train = false) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %5 : tensor<?x4xf32>
}
// CHECK-LABEL: func.func private @layers
// CHECK: rt.invoke @draws(%{{.*}}) in "net.layers.0" streams [4, 7]
// CHECK: rt.invoke @draws(%{{.*}}) in "net.layers.1" streams [9, 8]
func.func private @layers(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = braid.call @draws(%x) {path = "net.layers.0", streams = array<i64: 4, 7>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = braid.call @draws(%0) {path = "net.layers.1", streams = array<i64: 9, 8>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}
}
