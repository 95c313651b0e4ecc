// RUN: braid-opt %s --braid-decompose --split-input-file | FileCheck %s

// What the values are is tested against PyTorch in NormAttentionGradientCases.cpp and LossGradientCases.cpp; here is
// which form each op takes.

// CHECK-LABEL: func @layer_norm
// CHECK: %[[OUT:[a-z]+]], %{{.*}} = braid.native_layer_norm(input = %{{.*}}, normalized_shape = [4], {{.*}} eps = {{9.99999|1.00000}}
// CHECK: return %[[OUT]]
func.func @layer_norm(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = braid.layer_norm(input = %x, normalized_shape = [4], weight = %w, bias = %b, eps = 1.0e-06) {path = "net.norm"}
    : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Projections, cut into heads: nothing is copied, the kernel saves its logarithms.
// CHECK-LABEL: func @heads
// CHECK-NOT: braid.repeat
// CHECK: braid._scaled_dot_product_flash_attention_for_cpu
// CHECK-SAME: path = "net.attention"
func.func @heads(%x: tensor<2x5x8xf32>, %w: tensor<8x8xf32>) -> tensor<2x2x5x4xf32> {
  %0 = braid.linear(input = %x, weight = %w) : (tensor<2x5x8xf32>, tensor<8x8xf32>) -> tensor<2x5x8xf32>
  %1 = braid.view(self = %0, size = [2, 5, 2, 4]) : (tensor<2x5x8xf32>) -> tensor<2x5x2x4xf32>
  %2 = braid.transpose(self = %1, dim0 = 1, dim1 = 2) : (tensor<2x5x2x4xf32>) -> tensor<2x2x5x4xf32>
  %3 = braid.scaled_dot_product_attention(query = %2, key = %2, value = %2, is_causal = true) {path = "net.attention"}
    : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
  return %3 : tensor<2x2x5x4xf32>
}

// How an argument lies in memory is not known, and the kernel reads vectors as if they were dense.
// CHECK-LABEL: func @unknown
// CHECK-COUNT-3: braid.repeat(self = %{{.*}}, repeats = [1, 1, 1, 1])
// CHECK: braid._scaled_dot_product_flash_attention_for_cpu
func.func @unknown(%q: tensor<2x2x5x4xf32>, %k: tensor<2x2x5x4xf32>, %v: tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32> {
  %0 = braid.scaled_dot_product_attention(query = %q, key = %k, value = %v)
    : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
  return %0 : tensor<2x2x5x4xf32>
}

// -----

// A sequence that may be empty is not for the kernel, which divides by its length.
// CHECK-LABEL: func @empty
// CHECK-NOT: flash_attention
// CHECK: braid.softmax
// CHECK-NOT: flash_attention
module attributes {braid.symbols = {seq = 5 : i64}} {
  func.func @empty(%q: tensor<2x2x?x4xf32> {braid.dims = ["2", "2", "seq - 1", "4"]}) -> tensor<2x2x?x4xf32> {
    %0 = braid.scaled_dot_product_attention(query = %q, key = %q, value = %q)
      : (tensor<2x2x?x4xf32>, tensor<2x2x?x4xf32>, tensor<2x2x?x4xf32>) -> tensor<2x2x?x4xf32>
    return %0 : tensor<2x2x?x4xf32>
  }
}
