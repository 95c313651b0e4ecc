// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64}} {

func.func @reductions(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]},
                      %flag: tensor<?x?xi1> {braid.dims = ["batch", "seq"]}) {
  // expected-remark@+1 {{[] f32}}
  %0 = braid.sum(self = %x) : (tensor<?x?x32xf32>) -> tensor<f32>
  // expected-remark@+1 {{[1, seq, 1] f32}}
  %1 = braid.sum_dim(self = %x, dim = [-1, 0], keepdim = true) : (tensor<?x?x32xf32>) -> tensor<1x?x1xf32>
  // An empty list means all dims.
  // expected-remark@+1 {{[] f32}}
  %2 = braid.sum_dim(self = %x, dim = []) : (tensor<?x?x32xf32>) -> tensor<f32>
  // Sums of bools count.
  // expected-remark@+1 {{[batch] i64}}
  %3 = braid.sum_dim(self = %flag, dim = [1]) : (tensor<?x?xi1>) -> tensor<?xi64>
  // expected-remark@+1 {{[batch] f64}}
  %4 = braid.mean_dim(self = %flag, dim = [1], dtype = f64) : (tensor<?x?xi1>) -> tensor<?xf64>
  // expected-remark@+1 {{[batch, 32] f32, [batch, 32] i64}}
  %5:2 = braid.max_dim(self = %x, dim = 1) : (tensor<?x?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xi64>)
  // expected-remark@+1 {{[1, 1, 1] i64}}
  %6 = braid.argmax(self = %x, keepdim = true) : (tensor<?x?x32xf32>) -> tensor<1x1x1xi64>
  // expected-remark@+1 {{[batch, seq] i1}}
  %7 = braid.any_dim(self = %x, dim = 2) : (tensor<?x?x32xf32>) -> tensor<?x?xi1>
  // expected-remark@+1 {{[batch, seq, 1] f32}}
  %8 = braid.var_correction(self = %x, dim = [2], correction = 0, keepdim = true) : (tensor<?x?x32xf32>) -> tensor<?x?x1xf32>
  return
}

func.func @scans(%flag: tensor<?x?xi1> {braid.dims = ["batch", "seq"]}, %x: tensor<?x?xf32> {braid.dims = ["batch", "seq"]},
                 %first: tensor<?x1xi64> {braid.dims = ["batch", "1"]}, %none: tensor<0xf32>) {
  %k = arith.constant 3 : index
  // expected-remark@+1 {{[batch, seq] i64}}
  %0 = braid.cumsum(self = %flag, dim = -1) : (tensor<?x?xi1>) -> tensor<?x?xi64>
  // expected-remark@+1 {{[batch, seq - 1] f32}}
  %1 = braid.diff(self = %x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // One element more in front: as many differences as elements.
  // expected-remark@+1 {{[batch, seq] f32}}
  %2 = braid.diff(self = %x, prepend = %first) : (tensor<?x?xf32>, tensor<?x1xi64>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[0] f32}}
  %3 = braid.diff(self = %none) : (tensor<0xf32>) -> tensor<0xf32>
  // expected-remark@+1 {{[batch, seq] f32, [batch, seq] i64}}
  %4:2 = braid.sort(self = %x, descending = true) : (tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  // expected-remark@+1 {{[batch, 3] f32, [batch, 3] i64}}
  %5:2 = braid.topk(self = %x, k = %k) : (tensor<?x?xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  return
}
}
