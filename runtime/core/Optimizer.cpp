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
#include <tuple>

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

ParameterRates Optimizer::ratesOf(int key) const {
  ParameterRates own = rates.empty() ? ParameterRates{settings.lr, settings.weightDecay} : rates[key];
  return {own.lr * rateFactor, own.weightDecay};
}

std::vector<const char *> Optimizer::stateNames() const {
  if (settings.kind == OptimizerSettings::Kind::AdamW)
    return {"exp_avg", "exp_avg_sq", "step"}; // the step is a tensor, as ATen's fused kernel takes it
  if (settings.momentum != 0)
    return {"momentum_buffer"};
  return {};
}

std::vector<Tensor> Optimizer::state(int key, const Tensor &parameter) const {
  BelowAutograd guard;
  if (auto found = states.find(key); found != states.end())
    return found->second;
  std::vector<Tensor> state;
  for (size_t part = 0; part < stateNames().size(); ++part)
    state.push_back(fromAten(isCounter(part) ? at::zeros({}, at::kFloat) : at::zeros_like(toAten(parameter))));
  return state;
}

void Optimizer::stepSgd(const std::vector<Item> &items) {
  BelowAutograd guard;
  for (const Item &item : items) {
    at::Tensor parameter = toAten(item.parameter), gradient = toAten(item.gradient);
    ParameterRates own = ratesOf(item.key);
    if (own.weightDecay != 0)
      gradient = gradient.add(parameter, own.weightDecay);
    if (settings.momentum != 0) {
      std::vector<Tensor> &state = states[item.key];
      if (state.empty())
        state = {fromAten(gradient.clone())};
      else
        toAten(state[0]).mul_(settings.momentum).add_(gradient);
      at::Tensor buffer = toAten(state[0]);
      gradient = settings.nesterov ? gradient.add(buffer, settings.momentum) : buffer;
    }
    parameter.add_(gradient, -own.lr);
  }
}

void Optimizer::stepAdamW(const std::vector<Item> &items) {
  BelowAutograd guard;
  // The fused kernel takes one element type, learning rate and weight decay at a time.
  std::map<std::tuple<at::ScalarType, double, double>, std::vector<const Item *>> groups;
  for (const Item &item : items) {
    ParameterRates own = ratesOf(item.key);
    groups[{toAten(item.parameter).scalar_type(), own.lr, own.weightDecay}].push_back(&item);
  }
  for (const auto &[common, group] : groups) {
    std::vector<at::Tensor> parameters, gradients, firsts, seconds, steps;
    for (const Item *item : group) {
      std::vector<Tensor> &own = states.try_emplace(item->key, state(item->key, item->parameter)).first->second;
      toAten(own[2]).add_(1);
      parameters.push_back(toAten(item->parameter));
      gradients.push_back(toAten(item->gradient));
      firsts.push_back(toAten(own[0]));
      seconds.push_back(toAten(own[1]));
      steps.push_back(toAten(own[2]));
    }
    at::_fused_adamw_(parameters, gradients, firsts, seconds, /*max_exp_avg_sqs=*/{}, steps, std::get<1>(common),
                      settings.beta1, settings.beta2, std::get<2>(common), settings.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}
