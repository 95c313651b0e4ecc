// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-inline-modules | FileCheck %s

// Ops take the path of the function that they were in; a second call of one module keeps its number.

// CHECK: braid.classes = {net.act = "GELU", net.up = "Linear"}
module {
  braid.param @net.up.weight : tensor<4x4xf32> at 64 {requires_grad}

  // CHECK-LABEL: func.func @main
  // CHECK: braid.linear({{.*}}) {path = "net.up"}
  // CHECK: braid.gelu({{.*}}) {path = "net.act"}
  // CHECK: braid.gelu({{.*}}) {path = "net.act#1"}
  // CHECK-NOT: call
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]}) -> tensor<?x4xf32> {
    %0 = call @net.up(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = call @net.act(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = call @"net.act#1"(%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    return %2 : tensor<?x4xf32>
  }
  // CHECK-NOT: func.func private
  func.func private @net.up(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
      attributes {braid.module = #braid.module<"net.up", class = "Linear">} {
    %w = braid.get_param @net.up.weight : tensor<4x4xf32>
    %0 = braid.linear(input = %x, weight = %w) : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func private @net.act(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
      attributes {braid.module = #braid.module<"net.act", class = "GELU">} {
    %0 = braid.gelu(self = %x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func private @"net.act#1"(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
      attributes {braid.module = #braid.module<"net.act", class = "GELU">} {
    %0 = braid.gelu(self = %x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
}
