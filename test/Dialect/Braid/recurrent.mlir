// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, steps = 3 : i64}} {

func.func @lstm(%x: tensor<?x?x5xf32> {braid.dims = ["batch", "steps", "5"]}, %h: tensor<2x?x4xf32> {braid.dims = ["2", "batch", "4"]},
                %wi: tensor<16x5xf32>, %wh: tensor<16x4xf32>, %b: tensor<16xf32>) {
  // Both directions: twice the features, and a state for each.
  // expected-remark@+1 {{[batch, steps, 8] f32, [2, batch, 4] f32, [2, batch, 4] f32}}
  %0:3 = braid.lstm(input = %x, hx = [%h, %h], params = [%wi, %wh, %b, %b, %wi, %wh, %b, %b], has_biases = true, num_layers = 1, dropout = 0.0, train = true, bidirectional = true, batch_first = true) : (tensor<?x?x5xf32>, tensor<2x?x4xf32>, tensor<2x?x4xf32>, tensor<16x5xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x5xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x?x8xf32>, tensor<2x?x4xf32>, tensor<2x?x4xf32>)
  return
}

func.func @gru(%x: tensor<?x?x4xf32> {braid.dims = ["steps", "batch", "4"]}, %h: tensor<2x?x4xf32> {braid.dims = ["2", "batch", "4"]},
               %w: tensor<12x4xf32>) {
  // expected-remark@+1 {{[steps, batch, 4] f32, [2, batch, 4] f32}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %w, %w, %w], has_biases = false, num_layers = 2, dropout = 0.0, train = true, bidirectional = false, batch_first = false) : (tensor<?x?x4xf32>, tensor<2x?x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) -> (tensor<?x?x4xf32>, tensor<2x?x4xf32>)
  return
}
}
