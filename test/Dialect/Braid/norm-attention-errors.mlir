// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2xi64>) {
  // expected-error@+1 {{takes floats, but 'self' is 'i64'}}
  %0 = braid.softmax(self = %x, dim = 0) : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{normalises over [4], but the input is [2, 3]; its last dims must be these}}
  %0 = braid.layer_norm(input = %x, normalized_shape = [4]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error@+1 {{has a weight of shape [4] to normalise over [3]}}
  %0 = braid.layer_norm(input = %x, normalized_shape = [3], weight = %w) : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x6x7xf32>) {
  // expected-error@+1 {{has query [2, 4, 5, 8], key [2, 4, 6, 7] and value [2, 4, 6, 7]; query and key must be equal in the last dim}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %k, value = %k) : (tensor<2x4x5x8xf32>, tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %m: tensor<2x1x5x6xi1>) {
  // expected-error@+1 {{has a mask of shape [2, 1, 5, 6] for scores of [2, 4, 5, 5]}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %q, value = %q, attn_mask = %m) : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x1x5x6xi1>) -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %k: tensor<2x3x5x8xf32>) {
  // expected-error@+1 {{the query's heads must be a multiple of the key's and the value's}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %k, value = %k, enable_gqa = true) : (tensor<2x4x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{takes an input [batch, channels, ...], not [4]}}
  %0 = braid.group_norm(input = %x, num_groups = 2) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x3xf32>) {
  // expected-error@+1 {{cannot divide the 6 channels of [2, 6, 3] into 4 groups}}
  %0 = braid.group_norm(input = %x, num_groups = 4) : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>) {
  // expected-error@+1 {{needs running_mean and running_var where it does not train}}
  %0:3 = braid.native_batch_norm(input = %x) : (tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<0xf32>, tensor<0xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x6xf32>, %c: tensor<6xf32>) {
  // expected-error@+1 {{would update its running statistics: in training it takes none, and their new values are states of their own}}
  %0:3 = braid.native_batch_norm(input = %x, running_mean = %c, running_var = %c, training = true) : (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>, %c: tensor<5xf32>) {
  // expected-error@+1 {{has a weight of shape [5] for an input of [2, 6]; it has one number for each channel, 6}}
  %0:3 = braid.native_batch_norm(input = %x, weight = %c, training = true) : (tensor<2x6xf32>, tensor<5xf32>) -> (tensor<2x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}
