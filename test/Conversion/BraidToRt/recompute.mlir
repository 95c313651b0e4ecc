// RUN: braid-opt %s --braid-differentiate=recompute=full --braid-recompute | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: braid-opt %s --braid-differentiate=recompute=selective --braid-recompute | FileCheck %s --check-prefixes=CHECK,SELECTIVE
// RUN: braid-opt %s --braid-differentiate --braid-recompute | FileCheck %s --check-prefix=NONE

// linear, a chain of two elementwise ops, linear. A forward that keeps everything has x, and of the chain the operand,
// what is between and the result. Full keeps x and runs the first product again, but not the second, which no residual
// needs. Selective keeps x and the first product, and runs the chain again. Both run the chain by the kernel of the
// forward, as a whole.

// CHECK: rt.kernel @[[K:.*]] rank 2 inputs [0] outputs [0, 0] {
// CHECK-LABEL: func.func private @Layer.forward(
// FULL-SAME: -> (tensor<?x64xf32> {braid.dims = ["batch", "64"]}, tensor<?x64xf32> {braid.dims = ["batch", "64"]})
// SELECTIVE-SAME: -> (tensor<?x64xf32> {braid.dims = ["batch", "64"]}, tensor<?x64xf32> {braid.dims = ["batch", "64"]}, tensor<?x256xf32> {braid.dims = ["batch", "256"]})
// CHECK: braid.linear
// CHECK: rt.launch @[[K]]
// CHECK: braid.linear
// CHECK: braid.derivative @Layer forward(@Layer.forward) recompute(@Layer.recompute)
// CHECK-LABEL: func.func private @Layer.recompute(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<256x64xf32> {{{.*}}braid.param}
// CHECK-SAME: attributes {braid.has_kernels}
// FULL: braid.linear
// SELECTIVE-NOT: braid.linear
// CHECK: rt.launch @[[K]]
// CHECK-NOT: braid.linear
// CHECK: return

// NONE-NOT: rt.kernel
// NONE-NOT: @Layer.recompute
module attributes {braid.symbols = {batch = 128 : i64}} {
  braid.param @w0 : tensor<256x64xf32> at 0 {requires_grad}
  braid.param @w1 : tensor<64x256xf32> at 65536 {requires_grad}
  func.func @main(%x: tensor<?x64xf32> {braid.input = "x", braid.dims = ["batch", "64"]}) -> tensor<f32> {
    %w0 = braid.get_param @w0 : tensor<256x64xf32>
    %w1 = braid.get_param @w1 : tensor<64x256xf32>
    %0 = braid.call @Layer(%x) params(%w0, %w1) {path = "net.layers.0"} : (tensor<?x64xf32>) -> tensor<?x64xf32>, tensor<256x64xf32>, tensor<64x256xf32>
    %1 = braid.call @glue(%0) {path = "net", glue} : (tensor<?x64xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @Layer(%x: tensor<?x64xf32> {braid.dims = ["batch", "64"]},
                           %w0: tensor<256x64xf32> {braid.dims = ["256", "64"], braid.param, braid.requires_grad},
                           %w1: tensor<64x256xf32> {braid.dims = ["64", "256"], braid.param, braid.requires_grad})
      -> (tensor<?x64xf32> {braid.dims = ["batch", "64"]}) {
    %0 = braid.linear(input = %x, weight = %w0) {path = "up"} : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
    %1 = braid.tanh(self = %0) {path = "act"} : (tensor<?x256xf32>) -> tensor<?x256xf32>
    %2 = braid.exp(self = %1) {path = "act"} : (tensor<?x256xf32>) -> tensor<?x256xf32>
    %3 = braid.linear(input = %2, weight = %w1) {path = "down"} : (tensor<?x256xf32>, tensor<64x256xf32>) -> tensor<?x64xf32>
    return %3 : tensor<?x64xf32>
  }
  func.func private @glue(%x: tensor<?x64xf32> {braid.dims = ["batch", "64"]}) -> (tensor<f32> {braid.dims = []}) {
    %0 = braid.sum(self = %x) : (tensor<?x64xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
