// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/ReportFlops%shlibext \
// RUN:   --pass-pipeline='builtin.module(example-report-flops)' -o /dev/null 2>&1 | FileCheck %s
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/ReportFlops%shlibext \
// RUN:   --pass-pipeline='builtin.module(example-report-flops{at-least=50000})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LARGE --implicit-check-not="remark: @up"

module attributes {braid.symbols = {batch = 8 : i64}} {
  braid.param @"up.weight" : tensor<64x32xf32> at 0 {requires_grad}
  braid.param @"down.weight" : tensor<32x64xf32> at 8192 {requires_grad}

  // A product of [batch, 32] and [32, 64]: 2 * 32 operations for each of batch * 64 elements; then one for each.
  // CHECK: report-flops.mlir:[[#@LINE+1]]:{{[0-9]+}}: remark: @up: 4160*batch FLOPs, 33280 in the example, 2 ops
  func.func private @up(%x: tensor<?x32xf32> {braid.dims = ["batch", "32"]}, %w: tensor<64x32xf32> {braid.dims = ["64", "32"]}) -> (tensor<?x64xf32> {braid.dims = ["batch", "64"]}) {
    %0 = braid.linear(input = %x, weight = %w) : (tensor<?x32xf32>, tensor<64x32xf32>) -> tensor<?x64xf32>
    %1 = braid.relu(self = %0) : (tensor<?x64xf32>) -> tensor<?x64xf32>
    return %1 : tensor<?x64xf32>
  }

  // Two calls of @up, and a product of [batch, 64] and [64, 32].
  // CHECK: remark: @main: 12416*batch FLOPs, 99328 in the example, 5 ops
  // LARGE: remark: @main
  func.func @main(%x: tensor<?x32xf32> {braid.input = "x", braid.dims = ["batch", "32"]}) -> tensor<?x32xf32> {
    %up = braid.get_param @"up.weight" : tensor<64x32xf32>
    %down = braid.get_param @"down.weight" : tensor<32x64xf32>
    %0 = braid.call @up(%x) params(%up) {path = "up"} : (tensor<?x32xf32>) -> tensor<?x64xf32>, tensor<64x32xf32>
    %1 = braid.linear(input = %0, weight = %down) : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
    %2 = braid.call @up(%1) params(%up) {path = "again"} : (tensor<?x32xf32>) -> tensor<?x64xf32>, tensor<64x32xf32>
    return %1 : tensor<?x32xf32>
  }
}
