// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, rows = 5 : i64}} {

func.func @rows(%table: tensor<128x32xf32>, %ids: tensor<?x?xi64> {braid.dims = ["batch", "seq"]},
                %g: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}) {
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %0 = braid.embedding(weight = %table, indices = %ids, padding_idx = -1) : (tensor<128x32xf32>, tensor<?x?xi64>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[128, 32] f32}}
  %1 = braid.embedding_dense_backward(grad_output = %g, indices = %ids, num_weights = 128, padding_idx = -1) : (tensor<?x?x32xf32>, tensor<?x?xi64>) -> tensor<128x32xf32>
  // expected-remark@+1 {{[batch, seq, 10] i64}}
  %2 = braid.one_hot(self = %ids, num_classes = 10) : (tensor<?x?xi64>) -> tensor<?x?x10xi64>
  return
}

func.func @indices(%x: tensor<?x?x4x6xf32> {braid.dims = ["batch", "seq", "4", "6"]},
                   %i: tensor<?xi64> {braid.dims = ["rows"]}, %j: tensor<3x1xi64>) {
  // In place if the indexed dims are neighbours, in front if not.
  // expected-remark@+1 {{[batch, 3, rows, 6] f32}}
  %0 = braid.index(self = %x, indices = [none, %i, %j]) : (tensor<?x?x4x6xf32>, tensor<?xi64>, tensor<3x1xi64>) -> tensor<?x3x?x6xf32>
  // expected-remark@+1 {{[3, rows, seq, 6] f32}}
  %1 = braid.index(self = %x, indices = [%i, none, %j]) : (tensor<?x?x4x6xf32>, tensor<?xi64>, tensor<3x1xi64>) -> tensor<3x?x?x6xf32>
  // expected-remark@+1 {{[rows, seq, 4, 6] f32}}
  %2 = braid.index(self = %x, indices = [%i]) : (tensor<?x?x4x6xf32>, tensor<?xi64>) -> tensor<?x?x4x6xf32>
  // expected-remark@+1 {{[batch, seq, 4, 6] f32}}
  %3 = braid.index_put(self = %x, indices = [%i], values = %2, accumulate = true) : (tensor<?x?x4x6xf32>, tensor<?xi64>, tensor<?x?x4x6xf32>) -> tensor<?x?x4x6xf32>
  // expected-remark@+1 {{[batch, rows, 4, 6] f32}}
  %4 = braid.index_select(self = %x, dim = 1, index = %i) : (tensor<?x?x4x6xf32>, tensor<?xi64>) -> tensor<?x?x4x6xf32>
  return
}

func.func @along(%x: tensor<?x?xf32> {braid.dims = ["batch", "seq"]}, %at: tensor<?x3xi64> {braid.dims = ["batch", "3"]}) {
  // expected-remark@+1 {{[batch, 3] f32}}
  %0 = braid.gather(self = %x, dim = 1, index = %at) : (tensor<?x?xf32>, tensor<?x3xi64>) -> tensor<?x3xf32>
  // expected-remark@+1 {{[batch, seq] f32}}
  %1 = braid.scatter_add(self = %x, dim = 1, index = %at, src = %0) : (tensor<?x?xf32>, tensor<?x3xi64>, tensor<?x3xf32>) -> tensor<?x?xf32>
  return
}

func.func @masks(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %mask: tensor<?x?x1xi1> {braid.dims = ["batch", "seq", "1"]},
                 %images: tensor<?x32xf32> {braid.dims = ["rows", "32"]}) {
  %rows = braid.size %images, 0 : tensor<?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %0 = braid.masked_fill_scalar(self = %x, mask = %mask, value = 0xFFF0000000000000 : f64) : (tensor<?x?x32xf32>, tensor<?x?x1xi1>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %1 = braid.masked_scatter(self = %x, mask = %mask, source = %images) : (tensor<?x?x32xf32>, tensor<?x?x1xi1>, tensor<?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %2 = braid.merge_rows(self = %x, mask = %mask, source = %images) : (tensor<?x?x32xf32>, tensor<?x?x1xi1>, tensor<?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[rows, 32] f32}}
  %3 = braid.masked_scatter_backward(grad_output = %x, mask = %mask, sizes = [%rows, 32]) : (tensor<?x?x32xf32>, tensor<?x?x1xi1>) -> tensor<?x32xf32>
  return
}
}
