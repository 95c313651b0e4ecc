// RUN: braid-opt %s --braid-decompose --split-input-file --verify-diagnostics

func.func @dropout(%q: tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32> {
  // expected-error @below {{drops attention weights (dropout_p = 1.000000e-01): random dropout is not supported; export the model with dropout_p = 0}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %q, value = %q, dropout_p = 0.1)
    : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
  return %0 : tensor<2x2x5x4xf32>
}
