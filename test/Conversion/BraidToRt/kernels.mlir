// RUN: braid-opt %s --braid-to-rt --rt-verify-lifetimes --split-input-file | FileCheck %s

// A chain of elementwise ops reads its inputs once; the dim that broadcasts is the row's.
module attributes {pipe.symbols = ["batch"], braid.symbols = {batch = 2 : i64}} {
// CHECK: rt.kernel @[[K:.*]] rank 2 inputs [0, 0, 1] outputs [0] {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[W:.*]]: f32, %[[R:.*]]: f32):
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[X]], %[[W]] : f32
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[A]] : f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[T]], %[[R]] : f32
// CHECK-NEXT: rt.yield %[[M]] : f32
// CHECK-LABEL: func.func private @chain
// CHECK: %[[B:.*]] = rt.symbol 0
// CHECK: %[[Y:.*]] = rt.launch @[[K]](%{{.*}}, %{{.*}}, %{{.*}}) over [%[[B]], 8]
// CHECK: return %[[Y]]
func.func private @chain(%x: tensor<?x8xf32> {braid.dims = ["batch", "8"]}, %w: tensor<8xf32>,
                         %r: tensor<?x1xf32> {braid.dims = ["batch", "1"]})
    -> (tensor<?x8xf32> {braid.dims = ["batch", "8"]}) {
  %0 = braid.add(self = %x, other = %w) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = braid.tanh(self = %0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = braid.mul(self = %1, other = %r) : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
}

// -----

// A row reduction, what is computed from it, and what it scales are one kernel. Both values that leave it are outputs,
// and the mean is a row's.
// CHECK: rt.kernel @[[K:.*]] rank 2 inputs [0] outputs [{{.*}}] {
// CHECK: rt.row_sum
// CHECK: math.sqrt
// CHECK-LABEL: func.func private @norm
// CHECK: %[[Y:.*]]:2 = rt.launch @[[K]]
// CHECK-NOT: rt.call
func.func private @norm(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>) {
  %0 = braid.mul(self = %x, other = %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = braid.mean_dim(self = %0, dim = [-1], keepdim = true) : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = braid.rsqrt(self = %1) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = braid.mul(self = %x, other = %2) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %3, %1 : tensor<4x8xf32>, tensor<4x1xf32>
}

// -----

// What needs a matmul of the first half cannot be in the first half's kernel: the graph would have a cycle.
// CHECK-LABEL: func.func private @around
// CHECK: rt.launch
// CHECK: rt.call "aten::mm"
// CHECK: rt.launch
func.func private @around(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = braid.exp(self = %x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = braid.neg(self = %0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = braid.mm(self = %1, mat2 = %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = braid.mul(self = %2, other = %0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = braid.add(self = %3, other = %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// -----

// One op alone, and types that no loop has, stay calls.
// CHECK-NOT: rt.kernel
// CHECK: rt.call "aten::neg"
// CHECK: rt.call "aten::mul.Tensor"
// CHECK: rt.call "aten::add.Tensor"
func.func private @left(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %0 = braid.neg(self = %x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = braid.mul(self = %h, other = %h) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %2 = braid.add(self = %1, other = %h) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0, %2 : tensor<4xf32>, tensor<4xf16>
}

// -----

// The gradient of a cross entropy: no zeros are filled and scattered into; the log-probabilities
// are read by the second only, once.
// CHECK: rt.kernel @[[K:.*]] rank 2 inputs [1, 0, 2] outputs [0] {
// CHECK: rt.column
// CHECK: rt.row_sum
// CHECK-LABEL: func.func private @loss
// CHECK: rt.launch @[[K]]
// CHECK-NOT: rt.call
func.func private @loss(%dy: tensor<f32>, %p: tensor<4x8xf32>, %t: tensor<4xi64>, %n: tensor<f32>) -> tensor<4x8xf32> {
  %0 = braid.nll_loss_backward(grad_output = %dy, self = %p, target = %t, reduction = 2, ignore_index = -100, total_weight = %n) : (tensor<f32>, tensor<4x8xf32>, tensor<4xi64>, tensor<f32>) -> tensor<4x8xf32>
  %1 = braid._log_softmax_backward_data(grad_output = %0, output = %p, dim = 1, input_dtype = f32) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A reduction that drops its dim broadcasts along rows, not along columns, as the sizes of a square hide.
// CHECK-LABEL: func.func private @square
// CHECK: rt.launch
// CHECK: rt.launch
func.func private @square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = braid.exp(self = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = braid.sum_dim(self = %0, dim = [-1], keepdim = false) : (tensor<4x4xf32>) -> tensor<4xf32>
  %2 = braid.div(self = %0, other = %1) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %3 = braid.neg(self = %2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
