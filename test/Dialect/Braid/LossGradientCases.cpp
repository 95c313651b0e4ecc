//===- LossGradientCases.cpp - Cases of losses ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace braid::test {

static void addCrossEntropy(std::vector<Case> &cases) {
  const std::string op = "cross_entropy_loss";
  Operand weight = positive({3});
  weight.grad = false;
  for (int64_t reduction : {0, 1, 2}) {
    cases.push_back({op, {x({4, 3}), indices({0, 2, 1, 1}, {4}), none, i(reduction)}});
    cases.push_back({op, {x({4, 3}), indices({0, -100, 1, -100}, {4}), none, i(reduction)}});
    cases.push_back({op, {x({4, 3}), indices({0, 2, 1, 1}, {4}), weight, i(reduction), i(1)}});
    cases.push_back({op, {x({4, 3}), indices({0, 2, -100, 1}, {4}), none, i(reduction), i(-100), f(0.1)}});
    cases.push_back({op, {x({4, 3}), indices({0, 2, -100, 1}, {4}), weight, i(reduction), i(-100), f(0.1)}});
    cases.push_back({op, {x({4, 3}), positive({4, 3}), none, i(reduction)}});
    cases.push_back({op, {x({4, 3}), positive({4, 3}), weight, i(reduction)}});
    cases.push_back({op,
                     {x({4, 3}), positive({4, 3}), weight, i(reduction), i(-100), f(0.1)},
                     true,
                     /*symbolic=*/false});
    cases.push_back({op, {x({2, 3, 4}), indices({0, 2, 1, 1, -100, 2, 0, 0}, {2, 4}), weight, i(reduction)}});
    cases.push_back(
        {op, {x({2, 3, 2, 2}), indices({0, 2, 1, 1, -100, 2, 0, 0}, {2, 2, 2}), none, i(reduction), i(-100), f(0.2)}});
    cases.push_back({op, {x({2, 3, 4}), positive({2, 3, 4}), none, i(reduction)}});
    cases.push_back({op, {x({3}), indices({1}, {}), none, i(reduction)}});
    cases.push_back({op, {x({3}), indices({1}, {}), none, i(reduction), i(-100), f(0.1)}});
    cases.push_back({op, {x({3}), positive({3}), none, i(reduction)}});
  }
  cases.push_back({op, {x({4, 3}), indices({0, 2, 1, 1}, {4})}});
  cases.push_back({op, {x({0, 3}), indices({}, {0}), none, i(2)}});
  cases.push_back({op, {x({0, 3}), indices({}, {0}), none, i(0)}});
  // All are ignored: a sum is 0, a mean no number.
  cases.push_back({op, {x({2, 3}), indices({-100, -100}, {2}), none, i(2)}});
  cases.push_back({op, {x({2, 3}), indices({-100, -100}, {2}), none, i(1)}, false});
  for (int64_t reduction : {0, 1, 2}) {
    cases.push_back({"nll_loss_forward", {x({4, 3}), indices({0, 2, 1, 1}, {4}), none, i(reduction), i(-100)}});
    cases.back().results = 1;
    cases.push_back({"nll_loss_forward", {x({4, 3}), indices({0, 2, 1, 1}, {4}), weight, i(reduction), i(2)}});
    cases.back().results = 1;
  }
}

static void addPointwise(std::vector<Case> &cases) {
  Operand weight = positive({3}), positives = positive({3});
  weight.grad = positives.grad = false;
  for (int64_t reduction : {0, 1, 2}) {
    cases.push_back({"mse_loss", {x({2, 3}), x({2, 3}), i(reduction)}});
    // PyTorch divides by the number of elements of one operand, which is not that of the mean.
    cases.push_back({"mse_loss", {x({2, 3}), x({3}), i(reduction)}, true, true, /*autograd=*/reduction != 1});
    cases.push_back({"mse_loss", {x({1, 3}), x({2, 1}), i(reduction)}, true, true, /*autograd=*/reduction != 1});
    cases.push_back({"mse_loss", {x({}), x({}), i(reduction)}});
    const std::string op = "binary_cross_entropy_with_logits";
    cases.push_back({op, {x({2, 3}), positive({2, 3}), none, none, i(reduction)}});
    cases.push_back({op, {x({2, 3}), positive({2, 3}), weight, none, i(reduction)}});
    cases.push_back({op, {x({2, 3}), positive({2, 3}), none, positives, i(reduction)}});
    cases.push_back({op, {x({2, 3}), positive({2, 3}), weight, positives, i(reduction)}});
    cases.push_back({op, {x({}), positive({}), none, none, i(reduction)}});
  }
  cases.push_back({"mse_loss", {x({2, 3}), x({2, 3})}});
  cases.push_back({"mse_loss", {x({0, 3}), x({0, 3}), i(2)}});
  cases.push_back({"binary_cross_entropy_with_logits", {x({0, 3}), positive({0, 3}), none, none, i(2)}});
}

/// No operator of ATen's: finite differences are what there is to compare with.
static void addLinearCrossEntropy(std::vector<Case> &cases) {
  auto add = [&](Operand input, Operand weight, Arg bias, Operand target, int64_t ignored) {
    cases.push_back({"linear_cross_entropy",
                     {input, weight, bias, target, i(ignored)},
                     true,
                     true,
                     /*autograd=*/false,
                     /*results=*/1});
  };
  Operand frozen = x({3, 5});
  frozen.grad = false;
  add(x({4, 5}), x({3, 5}), none, indices({0, 2, 1, 1}, {4}), -100);
  add(x({4, 5}), x({3, 5}), x({3}), indices({0, -100, 1, -100}, {4}), -100);
  add(x({4, 5}), x({3, 5}), x({3}), indices({1, 2, 1, 1}, {4}), 1);
  add(x({4, 5}), frozen, none, indices({-100, 2, 1, 1}, {4}), -100);
  add(x({2, 5}), x({3, 5}), x({3}), indices({-100, -100}, {2}), -100);
  add(x({0, 5}), x({3, 5}), x({3}), indices({}, {0}), -100);
}

/// Without an op that ATen differentiates.
static void addOthers(std::vector<Case> &cases) {
  auto probabilities = [](std::vector<int64_t> sizes) {
    Operand operand = positive(std::move(sizes));
    return Operand{operand.value.sub(0.5).mul(0.6).add(0.05), true};
  };
  Operand weight = positive({2, 3}), scores = x({5, 2, 4}), classes = positive({3});
  weight.grad = classes.grad = false;
  scores.value = scores.value.log_softmax(-1);
  for (int64_t reduction : {0, 1, 2}) {
    cases.push_back({"binary_cross_entropy", {probabilities({2, 3}), probabilities({2, 3}), none, i(reduction)}});
    cases.push_back({"binary_cross_entropy", {probabilities({2, 3}), probabilities({2, 3}), weight, i(reduction)}});
    cases.push_back({"multi_margin_loss", {x({4, 3}), indices({0, 2, 1, 1}, {4}), none, none, none, i(reduction)}});
    cases.push_back(
        {"multi_margin_loss", {x({4, 3}), indices({0, 2, 1, 1}, {4}), i(2), f(0.5), classes, i(reduction)}});
    cases.push_back({"multilabel_margin_loss", {x({2, 3}), indices({2, 0, -1, 1, -1, 0}, {2, 3}), i(reduction)}});
    for (bool infinity : {false, true}) {
      cases.push_back({"ctc_loss",
                       {scores, indices({1, 2, 3, 1}, {2, 2}), indices({5, 4}, {2}), indices({2, 1}, {2}), i(0),
                        i(reduction), b(infinity)},
                       false});
      cases.push_back({"ctc_loss",
                       {scores, indices({1, 2, 3}, {3}), indices({5, 4}, {2}), indices({2, 1}, {2}), i(0), i(reduction),
                        b(infinity)},
                       false});
    }
  }
}

std::vector<Case> lossCases() {
  std::vector<Case> cases;
  addOthers(cases);
  addCrossEntropy(cases);
  addPointwise(cases);
  addLinearCrossEntropy(cases);
  return cases;
}

} // namespace braid::test
