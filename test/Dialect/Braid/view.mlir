// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -verify-diagnostics -o %t.mlir
// RUN: braid-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir

// expected-remark@+2 {{guard 2*((batch*seq) floordiv 2) = batch*seq, for braid.view}}
// expected-remark@+1 {{guard batch = 2, for braid.unbind}}
module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, most = 64 : i64}} {

func.func @reshapes(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]},
                    %flat: tensor<?xf32> {braid.dims = ["batch*seq"]}, %scalar: tensor<f32>) {
  %batch = braid.size %x, 0 : tensor<?x?x32xf32>
  %seq = braid.size %x, 1 : tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 4, 8] f32}}
  %0 = braid.view(self = %x, size = [%batch, %seq, -1, 8]) : (tensor<?x?x32xf32>) -> tensor<?x?x4x8xf32>
  // expected-remark@+1 {{[batch*seq, 32] f32}}
  %1 = braid.view(self = %x, size = [-1, 32]) : (tensor<?x?x32xf32>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[batch, seq] f32}}
  %2 = braid.reshape(self = %flat, shape = [%batch, -1]) : (tensor<?xf32>) -> tensor<?x?xf32>
  // batch*seq halves are whole in the example only.
  // expected-remark@+1 {{[2, (batch*seq) floordiv 2] f32}}
  %3 = braid.view(self = %flat, size = [2, -1]) : (tensor<?xf32>) -> tensor<2x?xf32>
  // expected-remark@+1 {{[batch*seq, 32] f32}}
  %4 = braid.flatten(self = %x, end_dim = 1) : (tensor<?x?x32xf32>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[1] f32}}
  %5 = braid.flatten(self = %scalar) : (tensor<f32>) -> tensor<1xf32>
  // expected-remark@+1 {{[batch, seq, 4, 8] f32}}
  %6 = braid.unflatten(self = %x, dim = 2, sizes = [4, -1]) : (tensor<?x?x32xf32>) -> tensor<?x?x4x8xf32>
  // expected-remark@+1 {{[batch, seq, 32, 1] f32}}
  %7 = braid.unsqueeze(self = %x, dim = -1) : (tensor<?x?x32xf32>) -> tensor<?x?x32x1xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %8 = braid.squeeze_dim(self = %7, dim = 3) : (tensor<?x?x32x1xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %9 = braid.squeeze(self = %7) : (tensor<?x?x32x1xf32>) -> tensor<?x?x32xf32>
  return
}

func.func @orders(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}) {
  // expected-remark@+1 {{[32, batch, seq] f32}}
  %0 = braid.permute(self = %x, dims = [2, 0, -2]) : (tensor<?x?x32xf32>) -> tensor<32x?x?xf32>
  // expected-remark@+1 {{[32, seq, batch] f32}}
  %1 = braid.transpose(self = %x, dim0 = 0, dim1 = -1) : (tensor<?x?x32xf32>) -> tensor<32x?x?xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %2 = braid.triu(self = %x, diagonal = 1) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[batch, seq, 32] f32}}
  %3 = braid.roll(self = %x, shifts = [1], dims = [1]) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  return
}

func.func @more(%row: tensor<1x?xf32> {braid.dims = ["1", "seq"]}, %x: tensor<?x?xf32> {braid.dims = ["batch", "seq"]}) {
  %batch = braid.size %x, 0 : tensor<?x?xf32>
  // expected-remark@+1 {{[batch, seq] f32}}
  %0 = braid.expand(self = %row, size = [%batch, -1]) : (tensor<1x?xf32>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[4, batch, seq] f32}}
  %1 = braid.expand(self = %row, size = [4, %batch, -1]) : (tensor<1x?xf32>) -> tensor<4x?x?xf32>
  // expected-remark@+1 {{[3, batch, 2*seq] f32}}
  %2 = braid.repeat(self = %x, repeats = [3, 1, 2]) : (tensor<?x?xf32>) -> tensor<3x?x?xf32>
  // expected-remark@+1 {{[batch, 4*seq] f32}}
  %3 = braid.repeat_interleave(self = %x, repeats = 4, dim = 1) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[batch, seq + 3] f32}}
  %4 = braid.pad(self = %x, pad = [1, 2], mode = "constant", value = 0.0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[2*batch + 1, seq] f32}}
  %5 = braid.cat(tensors = [%x, %x, %row], dim = 0) : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[batch, seq, 2] f32}}
  %6 = braid.stack(tensors = [%x, %x], dim = -1) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?x2xf32>
  // expected-remark@+1 {{[batch, seq] f32, [batch, seq] f32}}
  %7:2 = braid.broadcast_tensors(tensors = [%row, %x]) : (tensor<1x?xf32>, tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>)
  return
}

func.func @parts(%x: tensor<?x?x6xf32> {braid.dims = ["batch", "seq", "6"]},
                 %table: tensor<64x6xf32>, %none: tensor<0x6xf32>) {
  %seq = braid.size %x, 1 : tensor<?x?x6xf32>
  // expected-remark@+1 {{[batch, seq, 6] f32}}
  %0 = braid.slice(self = %x, dim = 1, start = 0, end = 9223372036854775807) : (tensor<?x?x6xf32>) -> tensor<?x?x6xf32>
  // expected-remark@+1 {{[batch, seq - 1, 6] f32}}
  %1 = braid.slice(self = %x, dim = 1, start = 1) : (tensor<?x?x6xf32>) -> tensor<?x?x6xf32>
  // expected-remark@+1 {{[batch, seq - 1, 6] f32}}
  %2 = braid.slice(self = %x, dim = 1, end = -1) : (tensor<?x?x6xf32>) -> tensor<?x?x6xf32>
  // expected-remark@+1 {{[batch, seq, 2] f32}}
  %3 = braid.slice(self = %x, dim = 2, start = -4, end = 100, step = 2) : (tensor<?x?x6xf32>) -> tensor<?x?x2xf32>
  // No more rows than the table has.
  // expected-remark@+1 {{[-max(64, seq) + seq + 64, 6] f32}}
  %4 = braid.slice(self = %table, end = %seq) : (tensor<64x6xf32>) -> tensor<?x6xf32>
  // expected-remark@+1 {{[0, 6] f32}}
  %5 = braid.slice(self = %none, start = 2) : (tensor<0x6xf32>) -> tensor<0x6xf32>
  // A part that is replaced leaves the shape as it is, whatever its bounds are.
  // expected-remark@+1 {{[64, 6] f32}}
  %replaced = braid.slice_scatter(self = %table, src = %4, end = %seq) : (tensor<64x6xf32>, tensor<?x6xf32>) -> tensor<64x6xf32>
  // expected-remark@+1 {{[batch, 6] f32}}
  %6 = braid.select(self = %x, dim = 1, index = -1) : (tensor<?x?x6xf32>) -> tensor<?x6xf32>
  // expected-remark@+1 {{[seq, 6] f32}}
  %7 = braid.narrow(self = %table, dim = 0, start = 0, length = %seq) : (tensor<64x6xf32>) -> tensor<?x6xf32>
  // expected-remark@+1 {{[batch, seq, 4] f32, [batch, seq, 2] f32}}
  %8:2 = braid.split(self = %x, split_size = 4, dim = 2) : (tensor<?x?x6xf32>) -> (tensor<?x?x4xf32>, tensor<?x?x2xf32>)
  // expected-remark@+1 {{[batch, seq, 2] f32, [batch, seq, 2] f32, [batch, seq, 2] f32}}
  %9:3 = braid.chunk(self = %x, chunks = 3, dim = -1) : (tensor<?x?x6xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2xf32>)
  // Two samples: a number of results is fixed by the example.
  // expected-remark@+1 {{[seq, 6] f32, [seq, 6] f32}}
  %10:2 = braid.unbind(self = %x) : (tensor<?x?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>)
  // expected-remark@+1 {{[batch, seq, 1] f32, [batch, seq, 5] f32}}
  %11:2 = braid.split_with_sizes(self = %x, split_sizes = [1, 5], dim = 2) : (tensor<?x?x6xf32>) -> (tensor<?x?x1xf32>, tensor<?x?x5xf32>)
  return
}
}
