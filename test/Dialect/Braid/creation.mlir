// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

module attributes {braid.symbols = {seq = 8 : i64}} {

func.func @creation(%x: tensor<?xbf16> {braid.dims = ["seq"]}) {
  %seq = braid.symbol "seq"
  // expected-remark@+1 {{[seq] i64}}
  %0 = braid.arange(end = %seq) : () -> tensor<?xi64>
  // expected-remark@+1 {{[seq - 2] f32}}
  %1 = braid.arange_start(start = 2, end = %seq, dtype = f32) : () -> tensor<?xf32>
  // expected-remark@+1 {{[4] i64}}
  %2 = braid.arange_start_step(start = 10, end = 0, step = -3) : () -> tensor<4xi64>
  // expected-remark@+1 {{[seq, 0] f32}}
  %3 = braid.zeros(size = [%seq, 0]) : () -> tensor<?x0xf32>
  // expected-remark@+1 {{[] i1}}
  %4 = braid.full(size = [], fill_value = true) : () -> tensor<i1>
  // expected-remark@+1 {{[2] i64}}
  %5 = braid.full(size = [2], fill_value = 7) : () -> tensor<2xi64>
  // expected-remark@+1 {{[seq, 3] bf16}}
  %6 = braid.new_ones(self = %x, size = [%seq, 3]) : (tensor<?xbf16>) -> tensor<?x3xbf16>
  // expected-remark@+1 {{[1] f64}}
  %7 = braid.new_full(self = %x, size = [1], fill_value = 2.5, dtype = f64) : (tensor<?xbf16>) -> tensor<1xf64>
  // expected-remark@+1 {{[seq] i64}}
  %8 = braid.zeros_like(self = %x, dtype = i64) : (tensor<?xbf16>) -> tensor<?xi64>
  // expected-remark@+1 {{[seq, 2] f32}}
  %9 = braid.rand(size = [%seq, 2]) : () -> tensor<?x2xf32>
  // expected-remark@+1 {{[3] f64}}
  %10 = braid.rand(size = [3], dtype = f64) : () -> tensor<3xf64>
  return
}
}
