// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-factors)' -verify-diagnostics -o /dev/null

// Dims with the same letter are the same index; a dot is a dim that cannot be divided.

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, keys = 8 : i64, rows = 5 : i64}} {

func.func @elementwise(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %row: tensor<32xf32>,
                       %column: tensor<?x1xf32> {braid.dims = ["seq", "1"]}, %mask: tensor<?x?x1xi1> {braid.dims = ["batch", "seq", "1"]}) {
  // expected-remark@+1 {{[i j k], [k] -> [i j k], 32*batch*seq flops}}
  %0 = braid.add(self = %x, other = %row) : (tensor<?x?x32xf32>, tensor<32xf32>) -> tensor<?x?x32xf32>
  // The column is repeated: its 1 is not the other's 32.
  // expected-remark@+1 {{[i j k], [j .] -> [i j k], 32*batch*seq flops}}
  %1 = braid.mul(self = %x, other = %column) : (tensor<?x?x32xf32>, tensor<?x1xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i j k] -> [i j k], 32*batch*seq flops}}
  %2 = braid.silu(self = %x) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i j k], [i j .] -> [i j k], 0 flops}}
  %3 = braid.masked_fill_scalar(self = %x, mask = %mask, value = 0) : (tensor<?x?x32xf32>, tensor<?x?x1xi1>) -> tensor<?x?x32xf32>
  return
}

func.func @recurrent(%x: tensor<?x?x4xf32> {braid.dims = ["batch", "seq", "4"]}, %h: tensor<2x?x4xf32> {braid.dims = ["2", "batch", "4"]}, %w: tensor<12x4xf32>) {
  // Steps follow each other; each weight is met once by each.
  // expected-remark@+1 {{[i . .], [. i .], [. .], [. .], [. .], [. .] -> [i . .], [. i .], 384*batch*seq flops}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %w, %w, %w], has_biases = false, num_layers = 2, dropout = 0.0, train = true, bidirectional = false, batch_first = true) : (tensor<?x?x4xf32>, tensor<2x?x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) -> (tensor<?x?x4xf32>, tensor<2x?x4xf32>)
  return
}

func.func @distances(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %y: tensor<1x?x32xf32> {braid.dims = ["1", "rows", "32"]}) {
  // expected-remark@+1 {{[i j .], [. k .] -> [i j k], 64*batch*rows*seq flops}}
  %0 = braid.cdist(x1 = %x, x2 = %y, p = 2.0) : (tensor<?x?x32xf32>, tensor<1x?x32xf32>) -> tensor<?x?x?xf32>
  return
}

func.func @grids(%x: tensor<?x3x7x8xf32> {braid.dims = ["batch", "3", "7", "8"]}, %grid: tensor<?x4x5x2xf32> {braid.dims = ["batch", "4", "5", "2"]}) {
  // expected-remark@+1 {{[i j . .], [i k l .] -> [i j k l], 480*batch flops}}
  %0 = braid.grid_sampler(input = %x, grid = %grid, interpolation_mode = 0, padding_mode = 0, align_corners = false) : (tensor<?x3x7x8xf32>, tensor<?x4x5x2xf32>) -> tensor<?x3x4x5xf32>
  return
}

func.func @labels(%x: tensor<?x?x5xf32> {braid.dims = ["seq", "batch", "5"]}, %y: tensor<?x3xi64> {braid.dims = ["batch", "3"]},
                  %n: tensor<?xi64> {braid.dims = ["batch"]}) {
  // expected-remark@+1 {{[. i .], [i .], [i], [i] -> [i], 30*batch*seq flops}}
  %0 = braid.ctc_loss(log_probs = %x, targets = %y, input_lengths = %n, target_lengths = %n, blank = 0, reduction = 0) : (tensor<?x?x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xf32>
  return
}

func.func @reductions(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}) {
  // A sum of parts is a sum; a mean or maximum of parts is not.
  // expected-remark@+1 {{[i j k] -> [i k], 32*batch*seq flops}}
  %0 = braid.sum_dim(self = %x, dim = [1]) : (tensor<?x?x32xf32>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[i j .] -> [i j .], 32*batch*seq flops}}
  %1 = braid.mean_dim(self = %x, dim = [-1], keepdim = true) : (tensor<?x?x32xf32>) -> tensor<?x?x1xf32>
  // expected-remark@+1 {{[. i j] -> [i j], [i j], 32*batch*seq flops}}
  %2:2 = braid.max_dim(self = %x, dim = 0) : (tensor<?x?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xi64>)
  // expected-remark@+1 {{[i . k] -> [i . k], 32*batch*seq flops}}
  %3 = braid.cumsum(self = %x, dim = 1) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i j .] -> [i j .], 160*batch*seq flops}}
  %4 = braid.softmax(self = %x, dim = -1) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  return
}

func.func @views(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %one: tensor<1x?xf32> {braid.dims = ["1", "seq"]}) {
  %batch = braid.size %x, 0 : tensor<?x?x32xf32>
  // Dims that merge or split carry the factor of their major part.
  // expected-remark@+1 {{[i . j] -> [i j], 0 flops}}
  %0 = braid.view(self = %x, size = [-1, 32]) : (tensor<?x?x32xf32>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[i j] -> [i . j .], 0 flops}}
  %1 = braid.view(self = %0, size = [%batch, -1, 4, 8]) : (tensor<?x32xf32>) -> tensor<?x?x4x8xf32>
  // expected-remark@+1 {{[i j k l] -> [i k j l], 0 flops}}
  %2 = braid.transpose(self = %1, dim0 = 1, dim1 = 2) : (tensor<?x?x4x8xf32>) -> tensor<?x4x?x8xf32>
  // expected-remark@+1 {{[i j k] -> [i . j k], 0 flops}}
  %3 = braid.unsqueeze(self = %x, dim = 1) : (tensor<?x?x32xf32>) -> tensor<?x1x?x32xf32>
  // expected-remark@+1 {{[i . j k] -> [i j k], 0 flops}}
  %4 = braid.squeeze_dim(self = %3, dim = 1) : (tensor<?x1x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[. j] -> [i j], 0 flops}}
  %5 = braid.expand(self = %one, size = [%batch, -1]) : (tensor<1x?xf32>) -> tensor<?x?xf32>
  // expected-remark@+1 {{[i . j] -> [i . j], 0 flops}}
  %6 = braid.slice(self = %x, dim = 1, start = 1) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i j k] -> [i j k], 0 flops}}
  %7 = braid.slice(self = %x, dim = 1, start = 0, end = 9223372036854775807) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i . j], [i . j] -> [i . j], 0 flops}}
  %part = braid.slice_scatter(self = %x, src = %6, dim = 1, start = 1) : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i . k] -> [i k], 0 flops}}
  %8 = braid.select(self = %x, dim = 1, index = 0) : (tensor<?x?x32xf32>) -> tensor<?x32xf32>
  // expected-remark@+1 {{[i j .] -> [i j .], [i j .], 0 flops}}
  %9:2 = braid.split(self = %x, split_size = 16, dim = -1) : (tensor<?x?x32xf32>) -> (tensor<?x?x16xf32>, tensor<?x?x16xf32>)
  // expected-remark@+1 {{[i . k], [i . k] -> [i . k], 0 flops}}
  %10 = braid.cat(tensors = [%x, %x], dim = 1) : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i j k], [i j k] -> [. i j k], 0 flops}}
  %11 = braid.stack(tensors = [%x, %x]) : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<2x?x?x32xf32>
  // expected-remark@+1 {{[i j .] -> [i j .], 0 flops}}
  %12 = braid.pad(self = %x, pad = [0, 1]) : (tensor<?x?x32xf32>) -> tensor<?x?x33xf32>
  // expected-remark@+1 {{[i . .] -> [i . .], 0 flops}}
  %13 = braid.triu(self = %x) : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  return
}

func.func @products(%x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %w: tensor<64x32xf32>, %b: tensor<64xf32>,
                    %flat: tensor<?x32xf32> {braid.dims = ["rows", "32"]}, %t: tensor<32x64xf32>,
                    %image: tensor<?x3x8x8xf32> {braid.dims = ["batch", "3", "8", "8"]}, %kernel: tensor<16x3x2x2xf32>,
                    %y: tensor<?x32x?xf32> {braid.dims = ["batch", "32", "keys"]}) {
  // expected-remark@+1 {{[j k i], [l i] -> [j k l], 4096*batch*seq flops}}
  %0 = braid.linear(input = %x, weight = %w) : (tensor<?x?x32xf32>, tensor<64x32xf32>) -> tensor<?x?x64xf32>
  // Parts of a divided sum would add the bias once each.
  // expected-remark@+1 {{[i j .], [k .], [k] -> [i j k], 4160*batch*seq flops}}
  %1 = braid.linear(input = %x, weight = %w, bias = %b) : (tensor<?x?x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  // expected-remark@+1 {{[i j], [j k] -> [i k], 4096*rows flops}}
  %2 = braid.mm(self = %flat, mat2 = %t) : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  // expected-remark@+1 {{[j], [i .], [. j] -> [i j], 4160*rows flops}}
  %3 = braid.addmm(self = %b, mat1 = %flat, mat2 = %t) : (tensor<64xf32>, tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  // expected-remark@+1 {{[j k i], [i l] -> [j k l], 4096*batch*seq flops}}
  %4 = braid.matmul(self = %x, other = %t) : (tensor<?x?x32xf32>, tensor<32x64xf32>) -> tensor<?x?x64xf32>
  // expected-remark@+1 {{[i j k], [i k l] -> [i j l], 64*batch*keys*seq flops}}
  %5 = braid.bmm(self = %x, mat2 = %y) : (tensor<?x?x32xf32>, tensor<?x32x?xf32>) -> tensor<?x?x?xf32>
  // expected-remark@+1 {{[i k . .], [j k . .] -> [i j . .], 6144*batch flops}}
  %6 = braid.convolution(input = %image, weight = %kernel, stride = [2, 2], padding = [0, 0], dilation = [1, 1], output_padding = [0, 0], groups = 1)
      : (tensor<?x3x8x8xf32>, tensor<16x3x2x2xf32>) -> tensor<?x16x4x4xf32>
  // expected-remark@+1 {{[i k . .], [i j . .], [k j . .] -> [i j . .], [k j . .], [k], 12288*batch flops}}
  %7:3 = braid.convolution_backward(grad_output = %6, input = %image, weight = %kernel, bias_sizes = [16], stride = [2, 2], padding = [0, 0], dilation = [1, 1], output_padding = [0, 0], groups = 1, output_mask = [true, true, true])
      : (tensor<?x16x4x4xf32>, tensor<?x3x8x8xf32>, tensor<16x3x2x2xf32>) -> (tensor<?x3x8x8xf32>, tensor<16x3x2x2xf32>, tensor<16xf32>)
  return
}

func.func @attention(%q: tensor<?x4x?x8xf32> {braid.dims = ["batch", "4", "seq", "8"]},
                     %k: tensor<?x2x?x8xf32> {braid.dims = ["batch", "2", "keys", "8"]},
                     %mask: tensor<?x1x?x?xi1> {braid.dims = ["batch", "1", "seq", "seq"]},
                     %x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %w: tensor<32xf32>) {
  // expected-remark@+1 {{[i j . .], [i j . .], [i j . .], [i . . .] -> [i j . .], 148*batch*seq*seq flops}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %q, value = %q, attn_mask = %mask) : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x1x?x?xi1>) -> tensor<?x4x?x8xf32>
  // Heads of the key are the major part of the query's.
  // expected-remark@+1 {{[i j . .], [i j . .], [i j . .] -> [i j . .], 148*batch*keys*seq flops}}
  %1 = braid.scaled_dot_product_attention(query = %q, key = %k, value = %k, enable_gqa = true) : (tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x4x?x8xf32>
  // expected-remark@+1 {{[i j .], [.] -> [i j .], [i j .], [i j .], 224*batch*seq flops}}
  %2:3 = braid.native_layer_norm(input = %x, normalized_shape = [32], weight = %w, eps = 1.0e-5) : (tensor<?x?x32xf32>, tensor<32xf32>) -> (tensor<?x?x32xf32>, tensor<?x?x1xf32>, tensor<?x?x1xf32>)
  // The weight's gradient is a sum over batch and seq.
  // expected-remark@+1 {{[i j .], [i j .], [i j .], [i j .], [.] -> [i j .], [.], [.], 448*batch*seq flops}}
  %3:3 = braid.native_layer_norm_backward(grad_out = %x, input = %x, normalized_shape = [32], mean = %2#1, rstd = %2#2, weight = %w, output_mask = [true, true, false])
      : (tensor<?x?x32xf32>, tensor<?x?x32xf32>, tensor<?x?x1xf32>, tensor<?x?x1xf32>, tensor<32xf32>) -> (tensor<?x?x32xf32>, tensor<32xf32>, tensor<0xf32>)
  return
}

func.func @images(%x: tensor<?x6x8x8xf32> {braid.dims = ["batch", "6", "8", "8"]}, %c: tensor<6xf32>) {
  // expected-remark@+1 {{[i j . .] -> [i j . .], [i j . .], 864*batch flops}}
  %0:2 = braid.max_pool2d_with_indices(self = %x, kernel_size = [3, 3], stride = [2, 2], padding = [1, 1]) : (tensor<?x6x8x8xf32>) -> (tensor<?x6x4x4xf32>, tensor<?x6x4x4xi64>)
  // expected-remark@+1 {{[i j . .], [i j . .], [i j . .] -> [i j . .], 96*batch flops}}
  %1 = braid.max_pool2d_with_indices_backward(grad_output = %0#0, self = %x, kernel_size = [3, 3], stride = [2, 2], padding = [1, 1], dilation = [1], indices = %0#1)
      : (tensor<?x6x4x4xf32>, tensor<?x6x8x8xf32>, tensor<?x6x4x4xi64>) -> tensor<?x6x8x8xf32>
  // expected-remark@+1 {{[i j . .] -> [i j . .], 384*batch flops}}
  %2 = braid.avg_pool2d(self = %x, kernel_size = [2]) : (tensor<?x6x8x8xf32>) -> tensor<?x6x4x4xf32>
  // expected-remark@+1 {{[i j . .] -> [i j . .], 384*batch flops}}
  %3 = braid.adaptive_avg_pool2d(self = %x, output_size = [1, 1]) : (tensor<?x6x8x8xf32>) -> tensor<?x6x1x1xf32>
  // Four neighbours, each a multiply and an add.
  // expected-remark@+1 {{[i j . .] -> [i j . .], 12288*batch flops}}
  %4 = braid.upsample_bilinear2d(self = %x, output_size = [16, 16]) : (tensor<?x6x8x8xf32>) -> tensor<?x6x16x16xf32>
  // Channels are the major part of a column.
  // expected-remark@+1 {{[i j . .] -> [i j .], 0 flops}}
  %5 = braid.im2col(self = %x, kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [2, 2]) : (tensor<?x6x8x8xf32>) -> tensor<?x24x16xf32>
  // expected-remark@+1 {{[i j .] -> [i j . .], 384*batch flops}}
  %6 = braid.col2im(self = %5, output_size = [8, 8], kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [2, 2]) : (tensor<?x24x16xf32>) -> tensor<?x6x8x8xf32>
  // expected-remark@+1 {{[i j . l] -> [i j . l .], 0 flops}}
  %7 = braid.unfold(self = %x, dimension = 2, size = 4, step = 2) : (tensor<?x6x8x8xf32>) -> tensor<?x6x3x8x4xf32>
  // With given statistics every element is for itself; in training a channel is normalised over the batch.
  // expected-remark@+1 {{[i j k l], [j], [j], [j] -> [i j k l], [.], [.], 768*batch flops}}
  %8:3 = braid.native_batch_norm(input = %x, weight = %c, running_mean = %c, running_var = %c) : (tensor<?x6x8x8xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<?x6x8x8xf32>, tensor<0xf32>, tensor<0xf32>)
  // expected-remark@+1 {{[. j . .], [j] -> [. j . .], [j], [j], 2688*batch flops}}
  %9:3 = braid.native_batch_norm(input = %x, weight = %c, training = true) : (tensor<?x6x8x8xf32>, tensor<6xf32>) -> (tensor<?x6x8x8xf32>, tensor<6xf32>, tensor<6xf32>)
  // expected-remark@+1 {{[i . . .], [.] -> [i . . .], 2688*batch flops}}
  %10 = braid.group_norm(input = %x, num_groups = 2, weight = %c) : (tensor<?x6x8x8xf32>, tensor<6xf32>) -> tensor<?x6x8x8xf32>
  return
}

func.func @indices(%table: tensor<128x32xf32>, %ids: tensor<?x?xi64> {braid.dims = ["batch", "seq"]},
                   %x: tensor<?x?x32xf32> {braid.dims = ["batch", "seq", "32"]}, %i: tensor<?xi64> {braid.dims = ["rows"]},
                   %mask: tensor<?x?x1xi1> {braid.dims = ["batch", "seq", "1"]}, %source: tensor<?x32xf32> {braid.dims = ["rows", "32"]}) {
  // expected-remark@+1 {{[. k], [i j] -> [i j k], 0 flops}}
  %0 = braid.embedding(weight = %table, indices = %ids) : (tensor<128x32xf32>, tensor<?x?xi64>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{[i j k], [i j] -> [. k], 0 flops}}
  %1 = braid.embedding_dense_backward(grad_output = %x, indices = %ids, num_weights = 128, padding_idx = -1) : (tensor<?x?x32xf32>, tensor<?x?xi64>) -> tensor<128x32xf32>
  // expected-remark@+1 {{[i . k], [l] -> [i l k], 0 flops}}
  %2 = braid.index(self = %x, indices = [none, %i]) : (tensor<?x?x32xf32>, tensor<?xi64>) -> tensor<?x?x32xf32>
  // expected-remark@+1 {{no factors, 0 flops}}
  %3 = braid.merge_rows(self = %x, mask = %mask, source = %source) : (tensor<?x?x32xf32>, tensor<?x?x1xi1>, tensor<?x32xf32>) -> tensor<?x?x32xf32>
  return
}

func.func @losses(%scores: tensor<?x128xf32> {braid.dims = ["rows", "128"]}, %targets: tensor<?xi64> {braid.dims = ["rows"]}) {
  %seq = braid.symbol "seq"
  // expected-remark@+1 {{[i .], [i] -> [], 768*rows flops}}
  %0 = braid.cross_entropy_loss(self = %scores, target = %targets) : (tensor<?x128xf32>, tensor<?xi64>) -> tensor<f32>
  // expected-remark@+1 {{[i j], [i j] -> [], 768*rows flops}}
  %1 = braid.mse_loss(self = %scores, target = %scores) : (tensor<?x128xf32>, tensor<?x128xf32>) -> tensor<f32>
  // expected-remark@+1 {{ -> [i j], 0 flops}}
  %2 = braid.zeros(size = [%seq, 3]) : () -> tensor<?x3xf32>
  // Each element depends on its position.
  // expected-remark@+1 {{ -> [.], 0 flops}}
  %3 = braid.arange(end = %seq) : () -> tensor<?xi64>
  return
}
}
