//===- RecurrentGradientCases.cpp - Cases of recurrent layers ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

namespace braid::test {

struct Layers {
  int64_t count;
  bool biases, both, batchFirst;
  int64_t output = 4; // of cells with 4 features: smaller with a projection
};

/// `gates` weights for each feature of a state.
static Case recurrent(const std::string &op, int64_t gates, const Layers &layers) {
  const int64_t batch = 2, steps = 3, features = 5, size = 4, directions = layers.both ? 2 : 1;
  std::vector<int64_t> sequence =
      layers.batchFirst ? std::vector<int64_t>{batch, steps, features} : std::vector<int64_t>{steps, batch, features};
  std::vector<Operand> params;
  for (int64_t cell = 0; cell < layers.count * directions; ++cell) {
    params.push_back(x({gates * size, cell < directions ? features : directions * layers.output}));
    params.push_back(x({gates * size, layers.output}));
    for (int64_t bias = 0; layers.biases && bias < 2; ++bias)
      params.push_back(x({gates * size}));
    if (layers.output != size)
      params.push_back(x({layers.output, size}));
  }
  Operand hidden = x({layers.count * directions, batch, layers.output}),
          cell = x({layers.count * directions, batch, size});
  Arg states = op == "lstm" ? Arg(std::vector<Operand>{hidden, cell}) : Arg(hidden);
  return {op,
          {x(sequence), states, params, b(layers.biases), i(layers.count), f(0), b(true), b(layers.both),
           b(layers.batchFirst)},
          /*differences=*/op != "rnn_relu"};
}

std::vector<Case> recurrentCases() {
  std::vector<Case> cases;
  const std::pair<const char *, int64_t> ops[] = {{"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}};
  for (const auto &[op, gates] : ops)
    for (const Layers &layers : {Layers{1, true, false, false}, {1, false, false, true}, {2, true, true, true}})
      cases.push_back(recurrent(op, gates, layers));
  cases.push_back(recurrent("lstm", 4, {2, true, true, false, 3}));
  return cases;
}

} // namespace braid::test
