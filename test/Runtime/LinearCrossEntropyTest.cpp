//===- LinearCrossEntropyTest.cpp - The head and the loss in one ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against ATen's linear, cross_entropy_loss and autograd in float64.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

using namespace braid::runtime;

namespace {
template <typename... Arguments> torch::jit::Stack callBraid(const char *name, Arguments... arguments) {
  BelowAutograd guard;
  torch::jit::Stack stack = {c10::IValue(arguments)...};
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
  return stack;
}

/// The loss and what it gives each operand, scaled by `dy`.
std::vector<at::Tensor> byBraid(const at::Tensor &x, const at::Tensor &w, const std::optional<at::Tensor> &b,
                                const at::Tensor &t, int64_t ignored, const at::Tensor &dy) {
  torch::jit::Stack forward = callBraid("braid::linear_cross_entropy", x, w, b, t, ignored);
  at::Tensor logits = forward[1].toTensor();
  std::vector<at::Tensor> results = {
      forward[0].toTensor(),
      callBraid("braid::linear_cross_entropy_backward_input", dy, logits, w, t, ignored)[0].toTensor(),
      callBraid("braid::linear_cross_entropy_backward_weight", dy, logits, x, t, ignored)[0].toTensor()};
  if (b)
    results.push_back(callBraid("braid::linear_cross_entropy_backward_bias", dy, logits)[0].toTensor());
  return results;
}

std::vector<at::Tensor> byAutograd(const at::Tensor &x, const at::Tensor &w, const std::optional<at::Tensor> &b,
                                   const at::Tensor &t, int64_t ignored, const at::Tensor &dy) {
  std::vector<at::Tensor> leaves = {x, w};
  if (b)
    leaves.push_back(*b);
  for (at::Tensor &leaf : leaves)
    leaf = leaf.detach().to(at::kDouble).requires_grad_();
  at::Tensor logits = at::linear(leaves[0], leaves[1], b ? std::optional(leaves[2]) : std::nullopt);
  at::Tensor loss = at::cross_entropy_loss(logits, t, {}, /*sum*/ 2, ignored);
  std::vector<at::Tensor> results = torch::autograd::grad({loss}, leaves, {dy.to(at::kDouble)});
  results.insert(results.begin(), loss.detach());
  return results;
}

void expectSame(const at::Tensor &x, const at::Tensor &w, const std::optional<at::Tensor> &b, const at::Tensor &t,
                int64_t ignored = -100) {
  SCOPED_TRACE(testing::Message() << describe(x) << " and " << describe(w));
  at::Tensor dy = at::full({}, 0.3, x.options());
  std::vector<at::Tensor> ours = byBraid(x, w, b, t, ignored, dy), expected = byAutograd(x, w, b, t, ignored, dy);
  ASSERT_EQ(ours.size(), expected.size());
  double tolerance = x.scalar_type() == at::kDouble ? 1e-12 : 2e-5;
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(describe(ours[i]), describe(expected[i].to(x.scalar_type())));
    if (ours[i].numel() == 0)
      continue;
    double error = (ours[i].to(at::kDouble) - expected[i]).abs().max().item().toDouble();
    EXPECT_LE(error, tolerance * expected[i].abs().max().item().toDouble()) << "result " << i;
  }
}

at::Tensor targets(int64_t rows, int64_t classes, int64_t everyIgnored) {
  at::Tensor t = at::randint(classes, {rows}, at::kLong);
  for (int64_t row = 0; everyIgnored && row < rows; row += everyIgnored)
    t[row] = -100;
  return t;
}

TEST(LinearCrossEntropyTest, GivesWhatAutogradGives) {
  at::manual_seed(1);
  for (at::ScalarType type : {at::kDouble, at::kFloat})
    for (int64_t ignored : {0, 2, 3}) {
      expectSame(at::randn({37, 16}, type), at::randn({50, 16}, type), {}, targets(37, 50, ignored));
      expectSame(at::randn({37, 16}, type), at::randn({50, 16}, type), at::randn({50}, type), targets(37, 50, ignored));
      // More rows than are taken at once, and products that go to oneDNN.
      expectSame(at::randn({300, 64}, type), at::randn({4000, 64}, type), at::randn({4000}, type),
                 targets(300, 4000, ignored));
      expectSame(at::randn({64, 30}, type).t(), at::randn({16, 64}, type).slice(1, 0, 64), {},
                 targets(30, 16, ignored));
    }
}

TEST(LinearCrossEntropyTest, TakesEdges) {
  at::manual_seed(1);
  at::Tensor w = at::randn({7, 5}, at::kDouble), b = at::randn({7}, at::kDouble);
  expectSame(at::randn({3, 5}, at::kDouble), w, b, at::tensor({-100, -100, -100}, at::kLong)); // nothing counts
  expectSame(at::randn({0, 5}, at::kDouble), w, b, at::tensor(std::vector<int64_t>{}, at::kLong));
  expectSame(at::randn({3, 5}, at::kDouble), w, b, at::tensor({6, 0, 3}, at::kLong), 3);
  // A target whose probability is 0 in this type.
  expectSame(at::randn({3, 5}, at::kFloat) * 3000, w.to(at::kFloat), {}, at::tensor({6, 0, 3}, at::kLong));
}

TEST(LinearCrossEntropyTest, SumsAlikeWithAnyNumberOfThreads) {
  at::manual_seed(1);
  // Logits are exact, so only the order of the sum could tell the two apart.
  at::Tensor x = at::randint(-2, 3, {300, 16}, at::kDouble), w = at::randint(-2, 3, {3000, 16}, at::kDouble);
  at::Tensor t = targets(300, 3000, 3);
  int before = at::get_num_threads();
  auto sum = [&](int threads) {
    setThreads(threads);
    return callBraid("braid::linear_cross_entropy", x, w, c10::IValue(), t, int64_t(-100))[0].toTensor();
  };
  at::Tensor one = sum(1), four = sum(4);
  setThreads(before);
  EXPECT_TRUE(one.equal(four)) << one.item().toDouble() << " and " << four.item().toDouble();
}

TEST(LinearCrossEntropyTest, RefusesTargetsThatAreNoClasses) {
  at::Tensor x = at::randn({2, 5}), w = at::randn({7, 5});
  for (int64_t wrong : {7, -1})
    try {
      callBraid("braid::linear_cross_entropy", x, w, c10::IValue(), at::tensor({int64_t(0), wrong}, at::kLong),
                int64_t(-100));
      ADD_FAILURE() << "took target " << wrong;
    } catch (const std::exception &error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("target " + std::to_string(wrong) +
                                                   " of row 1 is out of bounds: there are 7 classes"));
    }
}
} // namespace
