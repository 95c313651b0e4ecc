//===- Optimizer.cpp - SGD and AdamW --------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Optimizer.h"
#include "runtime/aten/Convert.h"
#include "runtime/core/Text.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

using namespace braid;
using namespace braid::runtime;

plan::Result<OptimizerSettings> OptimizerSettings::named(const std::string &name) {
  OptimizerSettings settings;
  if (name == "adamw")
    return settings;
  if (name != "sgd")
    return plan::Error{text("there is no optimizer '", name, "'; choose sgd or adamw")};
  settings.kind = Kind::Sgd;
  settings.lr = 0.1;
  settings.weightDecay = 0;
  return settings;
}

plan::Status OptimizerSettings::check() const {
  auto refuse = [](const char *what, double value, const char *range) {
    return plan::Error{text("the ", what, " is ", value, "; give one ", range)};
  };
  if (!(lr >= 0) || !std::isfinite(lr))
    return refuse("learning rate", lr, "of at least 0, and finite");
  if (!(weightDecay >= 0) || !std::isfinite(weightDecay))
    return refuse("weight decay", weightDecay, "of at least 0, and finite");
  if (!(beta1 >= 0 && beta1 < 1))
    return refuse("first beta", beta1, "from 0 to below 1");
  if (!(beta2 >= 0 && beta2 < 1))
    return refuse("second beta", beta2, "from 0 to below 1");
  if (!(eps >= 0) || !std::isfinite(eps))
    return refuse("eps", eps, "of at least 0, and finite");
  if (!(momentum >= 0) || !std::isfinite(momentum))
    return refuse("momentum", momentum, "of at least 0, and finite");
  if (nesterov && momentum == 0)
    return plan::Error{"Nesterov's method needs a momentum above 0; pass --momentum"};
  return {};
}

void Optimizer::step(const std::vector<Item> &items) {
  if (items.empty())
    return;
  if (settings.kind == OptimizerSettings::Kind::Sgd)
    stepSgd(items);
  else
    stepAdamW(items);
}

void Optimizer::stepSgd(const std::vector<Item> &items) {
  BelowAutograd guard;
  for (const Item &item : items) {
    at::Tensor parameter = toAten(item.parameter), gradient = toAten(item.gradient);
    if (settings.weightDecay != 0)
      gradient = gradient.add(parameter, settings.weightDecay);
    if (settings.momentum != 0) {
      State &state = states[item.key];
      if (!state.first)
        state.first = fromAten(gradient.clone());
      else
        toAten(state.first).mul_(settings.momentum).add_(gradient);
      at::Tensor buffer = toAten(state.first);
      gradient = settings.nesterov ? gradient.add(buffer, settings.momentum) : buffer;
    }
    parameter.add_(gradient, -settings.lr);
  }
}

void Optimizer::stepAdamW(const std::vector<Item> &items) {
  BelowAutograd guard;
  // The fused kernel takes one element type at a time.
  std::map<at::ScalarType, std::vector<const Item *>> groups;
  for (const Item &item : items)
    groups[toAten(item.parameter).scalar_type()].push_back(&item);
  for (const auto &[type, group] : groups) {
    std::vector<at::Tensor> parameters, gradients, firsts, seconds, steps;
    for (const Item *item : group) {
      State &state = states[item->key];
      at::Tensor parameter = toAten(item->parameter);
      if (!state.first) {
        state.first = fromAten(at::zeros_like(parameter));
        state.second = fromAten(at::zeros_like(parameter));
        state.steps = fromAten(at::zeros({}, at::kFloat));
      }
      toAten(state.steps).add_(1);
      parameters.push_back(parameter);
      gradients.push_back(toAten(item->gradient));
      firsts.push_back(toAten(state.first));
      seconds.push_back(toAten(state.second));
      steps.push_back(toAten(state.steps));
    }
    at::_fused_adamw_(parameters, gradients, firsts, seconds, /*max_exp_avg_sqs=*/{}, steps, settings.lr,
                      settings.beta1, settings.beta2, settings.weightDecay, settings.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}
