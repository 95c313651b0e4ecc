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
#include "runtime/core/ParameterGroups.h"

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
  /// `rates` are those of parameters by key; where it is empty all have the settings'.
  explicit Optimizer(const OptimizerSettings &settings, std::vector<ParameterRates> rates = {})
      : settings(settings), rates(std::move(rates)) {}

  /// "sgd" or "adamw".
  const char *name() const { return settings.kind == OptimizerSettings::Kind::Sgd ? "sgd" : "adamw"; }
  /// What every learning rate is multiplied by from the next step on.
  void setRateFactor(double factor) { rateFactor = factor; }

  struct Item {
    int key; // names the state; the parameter's number
    Tensor parameter;
    Tensor gradient; // same shape and strides
  };
  /// One update in place. Gradients may be overwritten.
  void step(const std::vector<Item> &items);

  /// What the optimizer keeps of a parameter, under torch.optim's names, in the order of state().
  std::vector<const char *> stateNames() const;
  /// Whether that part is a count of steps, a float32 scalar, rather than of the parameter's type and shape.
  bool isCounter(size_t part) const { return part == 2; }
  /// The state of a parameter; zeros, which it starts with, before its first step.
  std::vector<Tensor> state(int key, const Tensor &parameter) const;
  void setState(int key, std::vector<Tensor> state) { states[key] = std::move(state); }

private:
  void stepSgd(const std::vector<Item> &items);
  void stepAdamW(const std::vector<Item> &items);
  ParameterRates ratesOf(int key) const;

  OptimizerSettings settings;
  std::vector<ParameterRates> rates;
  double rateFactor = 1;
  std::map<int, std::vector<Tensor>> states; // by key, then as stateNames() says
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_OPTIMIZER_H
