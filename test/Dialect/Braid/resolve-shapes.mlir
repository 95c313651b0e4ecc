// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file --braid-resolve-shapes | FileCheck %s

// Sizes become arith over symbols, -1 is computed, constants become static.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[BATCH:.*]] = braid.symbol "batch"
// CHECK-DAG: %[[SEQ:.*]] = braid.symbol "seq"
// CHECK-NOT: braid.size
// CHECK: braid.view(self = %{{.*}}, size = [%[[BATCH]], %[[SEQ]], 4, 8]) : (tensor<?x?x32xf32>) -> tensor<?x?x4x8xf32>
// CHECK: braid.reshape(self = %{{.*}}, shape = [%{{.*}}, 32]) : (tensor<?x?x4x8xf32>) -> tensor<?x32xf32>
module attributes {braid.symbols = {batch = 2 : i64, seq = 5 : i64}} {
  func.func @main(%x: tensor<?x?x32xf32> {braid.input = "x", braid.dims = ["batch", "seq", "32"]}) -> tensor<?x?xf32> {
    %b = braid.size %x, 0 : tensor<?x?x32xf32>
    %h = braid.size %x, 2 : tensor<?x?x32xf32>
    %eight = arith.constant 8 : index
    %heads = arith.floordivsi %h, %eight : index
    %0 = braid.view(self = %x, size = [%b, -1, %heads, 8]) : (tensor<?x?x32xf32>) -> tensor<?x?x?x8xf32>
    %1 = braid.reshape(self = %0, shape = [-1, %h]) : (tensor<?x?x?x8xf32>) -> tensor<?x?xf32>
    return %1 : tensor<?x?xf32>
  }
}

// -----

// Two sizes that the example makes equal become a guard.

// CHECK: braid.guards = {{\[\[}}"seq", "==", "16", "braid.add in net.embed{{.*}}"]]
module attributes {braid.symbols = {batch = 2 : i64, seq = 16 : i64}} {
  func.func @main(%x: tensor<?x?xf32> {braid.input = "x", braid.dims = ["batch", "seq"]}) -> tensor<?x?xf32> {
    %p = braid.constant dense<1.0> : tensor<16xf32>
    %0 = braid.add(self = %x, other = %p) {path = "net.embed"} : (tensor<?x?xf32>, tensor<16xf32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
}
