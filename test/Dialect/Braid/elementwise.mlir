// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

// expected-remark@+1 {{guard seq = other, for braid.sub}}
module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, other = 8 : i64}} {

func.func @broadcasting(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]},
                        %row: tensor<32xf32>, %column: tensor<?x1xf32> {braid.dims = ["seq", "1"]},
                        %y: tensor<?x32xf32> {braid.dims = ["other", "32"]}) {
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %0 = braid.add(self = %x, other = %row) : (tensor<?x?x32xf32>, tensor<32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[seq, 32] f32}}
  %1 = braid.mul(self = %row, other = %column) : (tensor<32xf32>, tensor<?x1xf32>) -> tensor<?x32xf32>
  // seq and other are equal in the example only.
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %2 = braid.sub(self = %x, other = %y, alpha = 2) : (tensor<?x?x32xf32>, tensor<?x32xf32>) -> tensor<?x?x32xf32>
  return
}

// torch.result_type: tensors with dims, then tensors without, then numbers.
func.func @promotion(%half: tensor<?xbf16> {braid.dims = ["seq"]}, %long: tensor<?xi64> {braid.dims = ["seq"]},
                     %wide: tensor<f64>, %flag: tensor<?xi1> {braid.dims = ["seq"]}) {
  // expected-remark@+1 {{[seq] bf16}}
  %0 = braid.mul(self = %half, other = %wide) : (tensor<?xbf16>, tensor<f64>) -> tensor<?xbf16>
  // expected-remark@+1 {{[seq] f64}}
  %1 = braid.mul(self = %long, other = %wide) : (tensor<?xi64>, tensor<f64>) -> tensor<?xf64>
  // expected-remark@+1 {{[seq] bf16}}
  %2 = braid.add(self = %long, other = %half) : (tensor<?xi64>, tensor<?xbf16>) -> tensor<?xbf16>
  // expected-remark@+1 {{[seq] f32}}
  %3 = braid.mul_scalar(self = %long, other = 1.5) : (tensor<?xi64>) -> tensor<?xf32>
  // expected-remark@+1 {{[seq] i1}}
  %4 = braid.add(self = %flag, other = %flag) : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  // expected-remark@+1 {{[seq] i64}}
  %5 = braid.add_scalar(self = %flag, other = 1) : (tensor<?xi1>) -> tensor<?xi64>
  // expected-remark@+1 {{[seq] f32}}
  %6 = braid.div(self = %long, other = %long) : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xf32>
  // expected-remark@+1 {{[seq] i64}}
  %7 = braid.div_mode(self = %long, other = %long, rounding_mode = "floor") : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  // expected-remark@+1 {{[seq] f32}}
  %8 = braid.exp(self = %long) : (tensor<?xi64>) -> tensor<?xf32>
  // expected-remark@+1 {{[seq] i1}}
  %9 = braid.le(self = %long, other = %half) : (tensor<?xi64>, tensor<?xbf16>) -> tensor<?xi1>
  // expected-remark@+1 {{[seq] bf16}}
  %10 = braid.where(condition = %flag, self = %half, other = %wide) : (tensor<?xi1>, tensor<?xbf16>, tensor<f64>) -> tensor<?xbf16>
  // expected-remark@+1 {{[seq] f64}}
  %11 = braid.to(self = %flag, dtype = f64) : (tensor<?xi1>) -> tensor<?xf64>
  // expected-remark@+1 {{[seq] bf16}}
  %12 = braid.pow_scalar(self = %half, exponent = 2) : (tensor<?xbf16>) -> tensor<?xbf16>
  // expected-remark@+1 {{[seq] f32}}
  %13 = braid.clamp(self = %long, min = 0.5) : (tensor<?xi64>) -> tensor<?xf32>
  // expected-remark@+1 {{[seq] i1}}
  %14 = braid.bitwise_not(self = %flag) : (tensor<?xi1>) -> tensor<?xi1>
  return
}

func.func @empty(%none: tensor<0x4xf32>, %row: tensor<1x4xf32>) {
  // expected-remark@+1 {{[0, 4] f32}}
  %0 = braid.add(self = %none, other = %row) : (tensor<0x4xf32>, tensor<1x4xf32>) -> tensor<0x4xf32>
  return
}
}
