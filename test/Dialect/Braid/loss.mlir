// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64}} {

func.func @losses(%scores: tensor<?x128xf32> {braid.dims = ["batch*seq", "128"]}, %targets: tensor<?xi64> {braid.dims = ["batch*seq"]},
                  %images: tensor<?x10x?xf32> {braid.dims = ["batch", "10", "seq"]}, %labels: tensor<?x?xi64> {braid.dims = ["batch", "seq"]},
                  %w: tensor<128xf32>) {
  // expected-remark@+1 {{[] f32}}
  %0 = braid.cross_entropy_loss(self = %scores, target = %targets, weight = %w, reduction = 1, ignore_index = -100, label_smoothing = 0.0) : (tensor<?x128xf32>, tensor<?xi64>, tensor<128xf32>) -> tensor<f32>
  // expected-remark@+1 {{[batch, seq] f32}}
  %1 = braid.cross_entropy_loss(self = %images, target = %labels, reduction = 0) : (tensor<?x10x?xf32>, tensor<?x?xi64>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[] f32}}
  %2 = braid.cross_entropy_loss(self = %scores, target = %scores, reduction = 2) : (tensor<?x128xf32>, tensor<?x128xf32>) -> tensor<f32>
  // expected-remark@+1 {{[] f32, [] f32}}
  %3:2 = braid.nll_loss_forward(self = %scores, target = %targets, reduction = 1, ignore_index = -100) : (tensor<?x128xf32>, tensor<?xi64>) -> (tensor<f32>, tensor<f32>)
  // expected-remark@+1 {{[batch*seq, 128] f32}}
  %4 = braid.nll_loss_backward(grad_output = %3#0, self = %scores, target = %targets, reduction = 1, ignore_index = -100, total_weight = %3#1) : (tensor<f32>, tensor<?x128xf32>, tensor<?xi64>, tensor<f32>) -> tensor<?x128xf32>
  // expected-remark@+1 {{[] f32}}
  %5 = braid.mse_loss(self = %scores, target = %scores) : (tensor<?x128xf32>, tensor<?x128xf32>) -> tensor<f32>
  // expected-remark@+1 {{[batch*seq, 128] f32}}
  %6 = braid.binary_cross_entropy_with_logits(self = %scores, target = %scores, pos_weight = %w, reduction = 0) : (tensor<?x128xf32>, tensor<?x128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
  return
}

func.func @heads(%x: tensor<?x32xf32> {braid.dims = ["batch*seq", "32"]}, %w: tensor<128x32xf32>, %b: tensor<128xf32>,
                 %targets: tensor<?xi64> {braid.dims = ["batch*seq"]}) {
  // expected-remark@+1 {{[] f32, [batch*seq, 128] f32}}
  %0:2 = braid.linear_cross_entropy(input = %x, weight = %w, bias = %b, target = %targets, ignore_index = -100) : (tensor<?x32xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<?xi64>) -> (tensor<f32>, tensor<?x128xf32>)
  // expected-remark@+1 {{[batch*seq, 32] f32}}
  %1 = braid.linear_cross_entropy_backward_input(grad_output = %0#0, grad_logits = %0#1, weight = %w, target = %targets, ignore_index = -100) : (tensor<f32>, tensor<?x128xf32>, tensor<128x32xf32>, tensor<?xi64>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[128, 32] f32}}
  %2 = braid.linear_cross_entropy_backward_weight(grad_output = %0#0, grad_logits = %0#1, input = %x, target = %targets, ignore_index = -100) : (tensor<f32>, tensor<?x128xf32>, tensor<?x32xf32>, tensor<?xi64>) -> tensor<128x32xf32>
  // expected-remark@+1 {{[128] f32}}
  %3 = braid.linear_cross_entropy_backward_bias(grad_output = %0#0, grad_logits = %0#1) : (tensor<f32>, tensor<?x128xf32>) -> tensor<128xf32>
  return
}
}
