// RUN: braid-opt %s --braid-to-rt=kernels=false --rt-verify-lifetimes | FileCheck %s

// Equal constants are one, of the module; what describes the model is left to the plan.

module attributes {pipe.symbols = ["batch"], pipe.plan = "{}"} {
braid.weights @weights file("model.pt") {bytes = 1, digest = "0"}
braid.param @w : tensor<2xf32> at 0

// CHECK-NOT: braid.
// CHECK: rt.constant @[[C:.*]] = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: rt.constant @[[D:.*]] = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf64>
// CHECK-NOT: rt.constant

// CHECK-LABEL: func.func private @shared
func.func private @shared(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: rt.get_constant @[[C]]
  %c = braid.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // Called for two layers, so the path inside is all that it can name.
  // CHECK: rt.call "aten::mul.Tensor"{{.*}} at <"act", "module.mlir", [[#@LINE+1]]>
  %0 = braid.mul(self = %x, other = %c) {path = "act"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func private @single
func.func private @single(%x: tensor<2xf32>) -> tensor<2xf64> {
  // CHECK: rt.get_constant @[[C]]
  // CHECK: rt.get_constant @[[D]]
  %c = braid.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %d = braid.constant dense<[1.0, 2.0]> : tensor<2xf64>
  // CHECK: rt.call "aten::add.Tensor"{{.*}} at <"net.head.act", "module.mlir", [[#@LINE+1]]>
  %0 = braid.add(self = %x, other = %c) {path = "act"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // A path that names the caller already stays.
  // CHECK: rt.call "aten::add.Tensor"{{.*}} at <"net.head.out", "module.mlir", [[#@LINE+1]]>
  %1 = braid.add(self = %0, other = %d) {path = "net.head.out"} : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf64>
  return %1 : tensor<2xf64>
}

// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.*]]: !rt.tensor) -> (!rt.tensor, !rt.tensor) attributes {pipe.entry}
func.func @forward(%x: tensor<2xf32>) -> (tensor<2xf64>, tensor<i64>) attributes {pipe.entry} {
  // CHECK: %[[A:.*]] = rt.invoke @shared(%[[X]]) in "net.layers.0" : (!rt.tensor) -> !rt.tensor
  %0 = braid.call @shared(%x) {path = "net.layers.0"} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[B:.*]] = rt.invoke @shared(%[[A]]) in "net.layers.1"
  // CHECK-NEXT: rt.release %[[A]]
  %1 = braid.call @shared(%0) {path = "net.layers.1"} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[Y:.*]] = rt.invoke @single(%[[B]]) : (!rt.tensor) -> !rt.tensor
  // CHECK-NEXT: rt.release %[[B]]
  %2 = braid.call @single(%1) {path = "net.head"} : (tensor<2xf32>) -> tensor<2xf64>
  // CHECK: %[[N:.*]] = rt.scalar
  %batch = braid.symbol "batch"
  %3 = braid.scalar_tensor %batch : tensor<i64>
  // CHECK: return %[[Y]], %[[N]]
  return %2, %3 : tensor<2xf64>, tensor<i64>
}
}
