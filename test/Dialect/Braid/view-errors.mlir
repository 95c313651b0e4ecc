// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{gives [2, 3], of 6 elements, the shape [4, 2] of 8}}
  %0 = braid.view(self = %x, size = [4, 2]) : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{gives [2, 3], of 6 elements, the shape [4, -1], but they are no multiple of 4}}
  %0 = braid.view(self = %x, size = [4, -1]) : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{leaves more than one size open: [-1, -1]}}
  %0 = braid.view(self = %x, size = [-1, -1]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{has a negative size: [-2, 3]}}
  %0 = braid.view(self = %x, size = [-2, 3]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<0x3xf32>) {
  // expected-error@+1 {{leaves a size open that any number fits, since the others have product 0: [0, -1]}}
  %0 = braid.view(self = %x, size = [0, -1]) : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{flattens from dim 1 to dim 0, which comes before}}
  %0 = braid.flatten(self = %x, start_dim = 1, end_dim = 0) : (tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{needs each dim of [2, 3] exactly once}}
  %0 = braid.permute(self = %x, dims = [0, 0]) : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{transposes matrices, not tensors of shape [2, 3, 4]; transpose.int takes any two dims}}
  %0 = braid.t(self = %x) : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{cannot expand [2, 3] to [4, 3]: dim 0 is 2, neither 1 nor 4}}
  %0 = braid.expand(self = %x, size = [4, 3]) : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{cannot expand [2, 3] to [3]: it has more dims}}
  %0 = braid.expand(self = %x, size = [3]) : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{has 1 repeats for [2, 3], which has more dims}}
  %0 = braid.repeat(self = %x, repeats = [2]) : (tensor<2x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{pads dim 1 of [2, 3] to a size of -1}}
  %0 = braid.pad(self = %x, pad = [-2, -2]) : (tensor<2x3xf32>) -> tensor<2x0xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{cannot join [2, 3] and [2, 4] along dim 0; all other dims must be equal}}
  %0 = braid.cat(tensors = [%x, %y], dim = 0) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{cannot stack [2, 3] and [2, 4]; all must be equal}}
  %0 = braid.stack(tensors = [%x, %y]) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{picks 3 of dim 1 of [2, 3]}}
  %0 = braid.select(self = %x, dim = 1, index = 3) : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error@+1 {{takes a part of a dim, but 'self' has rank 0}}
  %0 = braid.slice(self = %x) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{has step 0; steps are positive}}
  %0 = braid.slice(self = %x, step = 0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %part: tensor<2x3xf32>) {
  // expected-error@+1 {{puts [2, 3] where a part of shape [2, 1] of [2, 3] is}}
  %0 = braid.slice_scatter(self = %x, src = %part, dim = 1, start = 2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{takes 2 from 2 on of dim 1 of [2, 3]}}
  %0 = braid.narrow(self = %x, dim = 1, start = 2, length = 2) : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{splits dim 1 of [2, 3] into parts of [1, 1], which add up to 2}}
  %0:2 = braid.split_with_sizes(self = %x, split_sizes = [1, 1], dim = 1) : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{has 3 results, but splits into 2}}
  %0:3 = braid.unbind(self = %x) : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error@+1 {{takes matrices, not a tensor of shape [3]}}
  %0 = braid.triu(self = %x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{takes windows of 4 at every 1 of dim 1 of [2, 3]}}
  %0 = braid.unfold(self = %x, dimension = 1, size = 4, step = 1) : (tensor<2x3xf32>) -> tensor<2x0x4xf32>
  return
}
