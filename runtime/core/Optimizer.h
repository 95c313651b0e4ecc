//===- Optimizer.h - SGD and AdamW -------------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The update rules of torch.optim.SGD and torch.optim.AdamW with PyTorch's defaults, over any set of parameters. State
// is made when a parameter first gets a gradient; a parameter without one is left alone, even by weight decay.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_OPTIMIZER_H
#define BRAID_RUNTIME_CORE_OPTIMIZER_H

#include "braid/Plan/Support/Result.h"
#include "runtime/aten/Tensor.h"

#include <map>
#include <memory>
#include <string>

namespace braid::runtime {

struct OptimizerSettings {
  enum class Kind { Sgd, AdamW };
  Kind kind = Kind::AdamW;
  double lr = 1e-3;
  double weightDecay = 0.01;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8; // AdamW
  double momentum = 0;                           // SGD
  bool nesterov = false;

  /// The defaults of an optimizer by name, "sgd" or "adamw".
  static plan::Result<OptimizerSettings> named(const std::string &name);
  /// Ranges as PyTorch checks them.
  plan::Status check() const;
};

class Optimizer {
public:
  explicit Optimizer(const OptimizerSettings &settings) : settings(settings) {}

  struct Item {
    int key; // names the state; the parameter's number
    Tensor parameter;
    Tensor gradient; // same shape and strides
  };
  /// One update in place. Gradients may be overwritten.
  void step(const std::vector<Item> &items);

private:
  void stepSgd(const std::vector<Item> &items);
  void stepAdamW(const std::vector<Item> &items);

  struct State {
    Tensor first, second; // momentum; or the two averages of AdamW
    Tensor steps;         // AdamW's count, a tensor as ATen's fused kernel takes it
  };
  OptimizerSettings settings;
  std::map<int, State> states;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_OPTIMIZER_H
