// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, keys = 8 : i64}} {

func.func @norms(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %w: tensor<32xf32>,
                 %half: tensor<?x32xbf16> {braid.dims = ["seq", "32"]}) {
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %0 = braid.softmax(self = %x, dim = -1) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[seq, 32] f32}}
  %1 = braid.log_softmax(self = %half, dim = 1, dtype = f32) : (tensor<?x32xbf16>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %2 = braid._softmax_backward_data(grad_output = %x, output = %0, dim = -1, input_dtype = f32) : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %3 = braid.layer_norm(input = %x, normalized_shape = [32], weight = %w, bias = %w, eps = 1.0e-5) : (tensor<?x?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32, [batch, seq, 1] f32, [batch, seq, 1] f32}}
  %4:3 = braid.native_layer_norm(input = %x, normalized_shape = [32], weight = %w, eps = 1.0e-5) : (tensor<?x?x32xf32>, tensor<32xf32>) -> (tensor<?x?x32xf32>, tensor<?x?x1xf32>, tensor<?x?x1xf32>)
  // expected-remark@+1 {{[batch, seq, 32] f32, [32] f32, [0] f32}}
  %5:3 = braid.native_layer_norm_backward(grad_out = %x, input = %x, normalized_shape = [32], mean = %4#1, rstd = %4#2, weight = %w, output_mask = [true, true, false])
      : (tensor<?x?x32xf32>, tensor<?x?x32xf32>, tensor<?x?x1xf32>, tensor<?x?x1xf32>, tensor<32xf32>) -> (tensor<?x?x32xf32>, tensor<32xf32>, tensor<0xf32>)
  // expected-remark@+1 {{[seq, 32] bf16}}
  %6 = braid.rms_norm(input = %half, normalized_shape = [32]) : (tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return
}

func.func @channels(%x: tensor<?x6x?xf32> {braid.dims = ["batch", "6", "seq"]}, %c: tensor<6xf32>) {
  // expected-remark@+1 {{[batch, 6, seq] f32, [0] f32, [0] f32}}
  %0:3 = braid.native_batch_norm(input = %x, running_mean = %c, running_var = %c) : (tensor<?x6x?xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<?x6x?xf32>, tensor<0xf32>, tensor<0xf32>)
  // expected-remark@+1 {{[batch, 6, seq] f32, [6] f32, [6] f32}}
  %1:3 = braid.native_batch_norm(input = %x, weight = %c, training = true) : (tensor<?x6x?xf32>, tensor<6xf32>) -> (tensor<?x6x?xf32>, tensor<6xf32>, tensor<6xf32>)
  // expected-remark@+1 {{[batch, 6, seq] f32, [6] f32, [0] f32}}
  %2:3 = braid.native_batch_norm_backward(grad_out = %x, input = %x, weight = %c, save_mean = %1#1, save_invstd = %1#2, train = true, eps = 1.0e-5, output_mask = [true, true, false])
      : (tensor<?x6x?xf32>, tensor<?x6x?xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<?x6x?xf32>, tensor<6xf32>, tensor<0xf32>)
  // expected-remark@+1 {{[batch, 6, seq] f32}}
  %3 = braid.group_norm(input = %x, num_groups = 3, weight = %c) : (tensor<?x6x?xf32>, tensor<6xf32>) -> tensor<?x6x?xf32>
  return
}

func.func @attention(%q: tensor<?x4x?x8xf32> {braid.dims = ["batch", "4", "seq", "8"]},
                     %k: tensor<?x4x?x8xf32> {braid.dims = ["batch", "4", "keys", "8"]},
                     %v: tensor<?x4x?x16xf32> {braid.dims = ["batch", "4", "keys", "16"]},
                     %shared: tensor<?x2x?x8xf32> {braid.dims = ["batch", "2", "keys", "8"]},
                     %mask: tensor<?x1x?x?xi1> {braid.dims = ["batch", "1", "seq", "keys"]}) {
  // expected-remark@+1 {{[batch, 4, seq, 16] f32}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %k, value = %v, attn_mask = %mask) : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x16xf32>, tensor<?x1x?x?xi1>) -> tensor<?x4x?x16xf32>
  // expected-remark@+1 {{[batch, 4, seq, 8] f32}}
  %1 = braid.scaled_dot_product_attention(query = %q, key = %shared, value = %shared, is_causal = true, scale = 5.0e-1, enable_gqa = true)
      : (tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x4x?x8xf32>
  // expected-remark@+1 {{[batch, 4, seq, 8] f32, [batch, 4, seq] f32}}
  %2:2 = braid._scaled_dot_product_flash_attention_for_cpu(query = %q, key = %k, value = %k) : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) -> (tensor<?x4x?x8xf32>, tensor<?x4x?xf32>)
  // expected-remark@+1 {{[batch, 4, seq, 8] f32, [batch, 4, keys, 8] f32, [batch, 4, keys, 8] f32}}
  %3:3 = braid._scaled_dot_product_flash_attention_for_cpu_backward(grad_out = %2#0, query = %q, key = %k, value = %k, out = %2#0, logsumexp = %2#1, dropout_p = 0.0)
      : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?xf32>) -> (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
  return
}
}
