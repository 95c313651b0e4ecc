//===- RecurrentRewrites.cpp - Recurrent layers with dropout, and cells -----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

/// A stack of layers that drops values between them: one layer after the other, and dropouts between.
static Answer recurrent(Aten &aten, const Call &call) {
  double dropout = toDouble(call.arg("dropout"));
  if (dropout == 0 || !isTrue(call.arg("train")) || !call.arg("params").list())
    return std::nullopt;
  int64_t layers = aten.toInt(call.arg("num_layers")), directions = isTrue(call.arg("bidirectional")) ? 2 : 1;
  const std::vector<Item> &params = call.arg("params").list()->items;
  size_t each = params.size() / std::max<int64_t>(layers, 1);
  const ListItem *pair = call.args[1].list(); // lstm has two states
  std::vector<Item> states = pair ? pair->items : std::vector<Item>{call.args[1]};
  std::vector<std::vector<Item>> lastStates(states.size());
  Item output = call.args[0];
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<Item> own;
    for (const Item &state : states)
      own.push_back(
          aten.call("aten::narrow", {state, c10::IValue(0), c10::IValue(layer * directions), c10::IValue(directions)}));
    std::vector<Item> part(params.begin() + layer * each, params.begin() + (layer + 1) * each);
    std::vector<Item> args = call.args;
    args[0] = output;
    args[1] = pair ? tensorList(own) : own[0];
    args[2] = tensorList(part);
    args[4] = c10::IValue(1);
    args[5] = c10::IValue(0.0);
    Results results = aten.run(Call(*call.schema, std::move(args)));
    output = results[0];
    for (size_t state = 0; state < states.size(); ++state)
      lastStates[state].push_back(results[state + 1]);
    if (layer + 1 < layers)
      output = aten.call("aten::dropout", {output, c10::IValue(dropout), c10::IValue(true)});
  }
  Results results = {output};
  for (std::vector<Item> &parts : lastStates)
    results.push_back(aten.call("aten::cat", {tensorList(parts), c10::IValue(0)}));
  return results;
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

static Item linear(Aten &aten, const Item &x, const Call &call, const char *weight, const char *bias) {
  return aten.call("aten::linear", {x, call.arg(weight), call.arg(bias)});
}
static std::vector<Item> chunks(Aten &aten, const Item &x, int64_t count) {
  Item parts = aten.call("aten::chunk", {x, c10::IValue(count), c10::IValue(1)});
  return parts.list()->items;
}

static Answer lstmCell(Aten &aten, const Call &call) {
  Formula f(aten);
  const std::vector<Item> &state = call.arg("hx").list()->items;
  std::vector<Item> gates = chunks(
      aten, f.add(linear(aten, call.args[0], call, "w_ih", "b_ih"), linear(aten, state[0], call, "w_hh", "b_hh")), 4);
  Item kept = f.mul(f.of("sigmoid", gates[1]), state[1]);
  Item cell = f.add(kept, f.mul(f.of("sigmoid", gates[0]), f.of("tanh", gates[2])));
  return Results{f.mul(f.of("sigmoid", gates[3]), f.of("tanh", cell)), cell};
}

static Answer gruCell(Aten &aten, const Call &call) {
  Formula f(aten);
  Item state = call.arg("hx");
  std::vector<Item> input = chunks(aten, linear(aten, call.args[0], call, "w_ih", "b_ih"), 3),
                    hidden = chunks(aten, linear(aten, state, call, "w_hh", "b_hh"), 3);
  Item reset = f.of("sigmoid", f.add(input[0], hidden[0])), update = f.of("sigmoid", f.add(input[1], hidden[1]));
  Item fresh = f.of("tanh", f.add(input[2], f.mul(reset, hidden[2])));
  return Results{f.add(f.mul(f.sub(state, fresh), update), fresh)};
}

template <const char *Function> static Answer rnnCell(Aten &aten, const Call &call) {
  Formula f(aten);
  return Results{f.of(Function, f.add(linear(aten, call.args[0], call, "w_ih", "b_ih"),
                                      linear(aten, call.arg("hx"), call, "w_hh", "b_hh")))};
}
static constexpr char tanhName[] = "tanh", reluName[] = "relu";

void addRecurrentRewrites(Rewrites &table) {
  for (const char *name : {"aten::lstm.input", "aten::gru.input", "aten::rnn_tanh.input", "aten::rnn_relu.input"})
    table[name] = recurrent;
  table["aten::lstm_cell"] = lstmCell;
  table["aten::gru_cell"] = gruCell;
  table["aten::rnn_tanh_cell"] = rnnCell<tanhName>;
  table["aten::rnn_relu_cell"] = rnnCell<reluName>;
}

} // namespace braid::torchscript
