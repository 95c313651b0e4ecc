// RUN: braid-opt %s --braid-decompose --split-input-file --verify-diagnostics

func.func @dropout(%q: tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32> {
  // expected-error @below {{drops attention weights (dropout_p = 1.000000e-01): random dropout is not supported; export the model with dropout_p = 0}}
  %0 = braid.scaled_dot_product_attention(query = %q, key = %q, value = %q, dropout_p = 0.1)
    : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
  return %0 : tensor<2x2x5x4xf32>
}

// -----

// A rule is not asked where a shape is wrong: it would look at dims that are not there.
func.func @shape(%x: tensor<2x3x7xf32>, %y: tensor<6xi64>) -> tensor<f32> {
  // expected-error @below {{flattens from dim 2 to dim 1, which comes before}}
  %0 = braid.flatten(self = %x, start_dim = 2, end_dim = 1) : (tensor<2x3x7xf32>) -> tensor<?x7xf32>
  %1 = braid.cross_entropy_loss(self = %0, target = %y) : (tensor<?x7xf32>, tensor<6xi64>) -> tensor<f32>
  return %1 : tensor<f32>
}
