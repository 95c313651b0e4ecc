// RUN: braid-opt %s | braid-opt | FileCheck %s

// CHECK: rt.constant @weights = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
rt.constant @weights = dense<[1.0, 2.0]> : tensor<2xf32>

// CHECK-LABEL: func.func private @operators
// CHECK-SAME: (%[[X:.*]]: !rt.tensor, %[[Y:.*]]: !rt.tensor) -> !rt.tensor
func.func private @operators(%x: !rt.tensor, %y: !rt.tensor) -> !rt.tensor {
  // CHECK: %[[N:.*]] = rt.symbol 1
  %n = rt.symbol 1
  // CHECK: rt.call "aten::view"(self = %[[X]], size = [%[[N]], 32, -1]) at <"net.up", "model.py", 12> : !rt.tensor
  %0 = rt.call "aten::view"(self = %x, size = [%n, 32, -1]) at <"net.up", "model.py", 12> : !rt.tensor
  rt.release %0
  // CHECK: rt.call "aten::cat"(tensors = tensors [%[[X]], %[[Y]]], dim = 1) : !rt.tensor
  %1 = rt.call "aten::cat"(tensors = tensors [%x, %y], dim = 1) : !rt.tensor
  rt.release %1
  // CHECK: rt.call "aten::index.Tensor"(self = %[[X]], indices = tensors [none, %[[Y]]]) : !rt.tensor
  %2 = rt.call "aten::index.Tensor"(self = %x, indices = tensors [none, %y]) : !rt.tensor
  rt.release %2
  // CHECK: rt.call "aten::every"(a = none, b = size %[[N]], c = true, d = 1.000000e-05, e = "tanh", f = bf16, g = [], h = bools [true, false]) : !rt.tensor, !rt.tensor
  %3:2 = rt.call "aten::every"(a = none, b = size %n, c = true, d = 1.0e-5, e = "tanh", f = bf16, g = [], h = bools [true, false]) : !rt.tensor, !rt.tensor
  // CHECK: rt.call "aten::full_like"(self = %[[X]], fill_value = 0xFFF0000000000000 : f64) : !rt.tensor
  %5 = rt.call "aten::full_like"(self = %x, fill_value = 0xFFF0000000000000 : f64) : !rt.tensor
  rt.release %5
  // CHECK: rt.release %{{.*}}#0, %{{.*}}#1
  rt.release %3#0, %3#1
  // CHECK: rt.call_gradient "aten::every"(self = %[[X]]) cotangents [none, %[[Y]]] wanted [0] at <"net", "", 0> : !rt.tensor
  %4 = rt.call_gradient "aten::every"(self = %x) cotangents [none, %y] wanted [0] at <"net", "", 0> : !rt.tensor
  return %4 : !rt.tensor
}

// CHECK-LABEL: func.func private @random
// CHECK-SAME: attributes {rt.streams = 2 : i64}
func.func private @random(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) attributes {rt.streams = 2 : i64} {
  // CHECK: %[[N:.*]] = rt.symbol 0
  %n = rt.symbol 0
  // CHECK: %[[D:.*]] = rt.dropout %{{.*}}, 1.000000e-01 stream 1 before %[[N]] samples %[[N]] at <"net", "m.py", 3> : !rt.tensor
  %0 = rt.dropout %x, 0.1 stream 1 before %n samples %n at <"net", "m.py", 3> : !rt.tensor
  // CHECK: %[[U:.*]] = rt.rand [%[[N]], 7] f32 stream 0 : !rt.tensor
  %1 = rt.rand [%n, 7] f32 stream 0 : !rt.tensor
  return %0, %1 : !rt.tensor, !rt.tensor
}
// CHECK: rt.invoke @random(%{{.*}}) in "net.layers.0" streams [3, 4] :
func.func private @layer(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) {
  %0:2 = rt.invoke @random(%x) in "net.layers.0" streams [3, 4] : (!rt.tensor) -> (!rt.tensor, !rt.tensor)
  return %0#0, %0#1 : !rt.tensor, !rt.tensor
}

// CHECK: rt.kernel @softmax rank 2 inputs [0] outputs [0] {
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32):
rt.kernel @softmax rank 2 inputs [0] outputs [0] {
^bb0(%v: f32):
  // CHECK-NEXT: rt.row_max %[[V]] : f32
  %0 = rt.row_max %v : f32
  %1 = arith.subf %v, %0 : f32
  %2 = math.exp %1 : f32
  // CHECK: rt.row_sum
  %3 = rt.row_sum %2 : f32
  %4 = arith.divf %2, %3 : f32
  // CHECK: rt.row_size
  // CHECK: rt.column
  %5 = rt.row_size
  %6 = rt.column
  // CHECK: rt.yield %{{.*}} : f32
  rt.yield %4 : f32
}

// CHECK-LABEL: func.func private @launches
func.func private @launches(%x: !rt.tensor) -> !rt.tensor {
  %n = rt.symbol 0
  // CHECK: rt.launch @softmax(%{{.*}}) over [%{{.*}}, 8] at <"net", "", 3> : (!rt.tensor) -> !rt.tensor
  %0 = rt.launch @softmax(%x) over [%n, 8] at <"net", "", 3> : (!rt.tensor) -> !rt.tensor
  return %0 : !rt.tensor
}

// CHECK-LABEL: func.func private @values
func.func private @values(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) {
  %n = rt.symbol 0
  // CHECK: rt.scalar %{{.*}} at <"net", "model.py", 3>
  %0 = rt.scalar %n at <"net", "model.py", 3>
  // CHECK: %[[C:.*]] = rt.get_constant @weights
  %1 = rt.get_constant @weights
  // CHECK: rt.check_rows %{{.*}}, %{{.*}} "image rows" at <"net", "model.py", 4>
  rt.check_rows %x, %n "image rows" at <"net", "model.py", 4>
  // CHECK: rt.retain %[[C]]
  %2 = rt.retain %1
  return %0, %2 : !rt.tensor, !rt.tensor
}

// CHECK-LABEL: func.func private @calls
func.func private @calls(%x: !rt.tensor) -> !rt.tensor {
  // CHECK: rt.invoke @values(%{{.*}}) in "net.layers.0" : (!rt.tensor) -> (!rt.tensor, !rt.tensor)
  %0:2 = rt.invoke @values(%x) in "net.layers.0" : (!rt.tensor) -> (!rt.tensor, !rt.tensor)
  rt.release %0#0
  return %0#1 : !rt.tensor
}
