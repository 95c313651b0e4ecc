// REQUIRES: braid-opt
// RUN: braid-opt %s --load-pass-plugin=%braid_lib/BraidTestPasses%shlibext \
// RUN:   --pass-pipeline='builtin.module(test-shapes)' -split-input-file -verify-diagnostics -o /dev/null

func.func @f(%x: tensor<3x2x4xf32>, %h: tensor<2x2x4xf32>, %w: tensor<12x4xf32>) {
  // expected-error@+1 {{drops values between its layers, with random numbers that braid does not know; take one layer after the other with braid.dropout between them}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %w, %w, %w], has_biases = false, num_layers = 2, dropout = 0.5, train = true, bidirectional = false, batch_first = false) : (tensor<3x2x4xf32>, tensor<2x2x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %h: tensor<1x2x4xf32>, %w: tensor<12x4xf32>) {
  // expected-error@+1 {{takes an input [steps, batch, features], or [batch, steps, features] with batch_first, of one step or more, not [2, 4]}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %w], has_biases = false, num_layers = 1, dropout = 0.0, train = true, bidirectional = false, batch_first = false) : (tensor<2x4xf32>, tensor<1x2x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) -> (tensor<3x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %h: tensor<1x2x4xf32>, %w: tensor<12x4xf32>) {
  // expected-error@+1 {{takes 1 initial states [2, 2, features] for an input of shape [3, 2, 4], not [1, 2, 4]}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %w, %w, %w], has_biases = false, num_layers = 1, dropout = 0.0, train = true, bidirectional = true, batch_first = false) : (tensor<3x2x4xf32>, tensor<1x2x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) -> (tensor<3x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %h: tensor<1x2x4xf32>, %w: tensor<12x4xf32>) {
  // expected-error@+1 {{has 2 parameters for 1 cells, which have 4 each}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %w], has_biases = true, num_layers = 1, dropout = 0.0, train = true, bidirectional = false, batch_first = false) : (tensor<3x2x4xf32>, tensor<1x2x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) -> (tensor<3x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %h: tensor<1x2x4xf32>, %w: tensor<12x4xf32>, %v: tensor<16x4xf32>) {
  // expected-error@+1 {{has a parameter 1 of shape [16, 4] where states of 4 features need [12, 4]}}
  %0:2 = braid.gru(input = %x, hx = %h, params = [%w, %v], has_biases = false, num_layers = 1, dropout = 0.0, train = true, bidirectional = false, batch_first = false) : (tensor<3x2x4xf32>, tensor<1x2x4xf32>, tensor<12x4xf32>, tensor<16x4xf32>) -> (tensor<3x2x4xf32>, tensor<1x2x4xf32>)
  return
}
