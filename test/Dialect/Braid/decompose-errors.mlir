// RUN: braid-opt %s --braid-decompose --split-input-file --verify-diagnostics

module attributes {braid.symbols = {classes = 3 : i64}} {
func.func @smoothing(%x: tensor<2x?xf32> {braid.dims = ["2", "classes"]},
                     %t: tensor<2x?xf32> {braid.dims = ["2", "classes"]}) -> tensor<f32> {
  // expected-error @below {{smooths probabilities over a number of classes that is not constant}}
  %0 = braid.cross_entropy_loss(self = %x, target = %t, label_smoothing = 0.1) : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
}

// -----

// A rule is not asked where a shape is wrong: it would look at dims that are not there.
func.func @shape(%x: tensor<2x3x7xf32>, %y: tensor<6xi64>) -> tensor<f32> {
  // expected-error @below {{flattens from dim 2 to dim 1, which comes before}}
  %0 = braid.flatten(self = %x, start_dim = 2, end_dim = 1) : (tensor<2x3x7xf32>) -> tensor<?x7xf32>
  %1 = braid.cross_entropy_loss(self = %0, target = %y) : (tensor<?x7xf32>, tensor<6xi64>) -> tensor<f32>
  return %1 : tensor<f32>
}
