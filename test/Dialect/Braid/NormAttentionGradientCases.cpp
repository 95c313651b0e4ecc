//===- NormAttentionGradientCases.cpp - Cases of softmax, norms, attention -===//
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

static void addSoftmax(std::vector<Case> &cases) {
  for (const char *op : {"softmax", "log_softmax"}) {
    cases.push_back({op, {x({2, 3, 4}), i(1)}});
    cases.push_back({op, {x({2, 3, 4}), i(-1)}});
    cases.push_back({op, {x({}), i(0)}});
    cases.push_back({op, {x({0, 3}), i(1)}});
    cases.push_back({op, {single({2, 3}), i(-1), type(c10::ScalarType::Double)}, false});
    cases.push_back({op, {single({2, 3}), i(0)}, false});
  }
  for (const char *op : {"_softmax", "_log_softmax"}) {
    cases.push_back({op, {x({2, 3, 4}), i(1), b(false)}});
    cases.push_back({op, {x({0, 3}), i(-1), b(false)}});
  }
}

static void addNorms(std::vector<Case> &cases) {
  // As modules call them, and the kernels below; of these, mean and deviation are no outputs to differentiate.
  for (const char *op : {"layer_norm", "native_layer_norm"}) {
    auto add = [&](Operand input, std::vector<int64_t> shape, Arg weight, Arg bias) {
      cases.push_back({op, {input, shape, weight, bias, f(1e-5)}, input.value.scalar_type() == at::kDouble});
      cases.back().results = 1;
    };
    add(x({2, 3, 4}), {4}, x({4}), x({4}));
    add(x({2, 3, 4}), {4}, x({4}), none);
    add(x({2, 3, 4}), {4}, none, none);
    add(x({2, 3, 4}), {3, 4}, x({3, 4}), x({3, 4}));
    add(x({2, 3, 4}), {4}, x({4}), fixed(at::ones({4}, at::kDouble)));
    add(x({2, 3, 4}), {4}, fixed(at::ones({4}, at::kDouble)), x({4}));
    add(x({0, 4}), {4}, x({4}), x({4}));
    add(x({4}), {4}, x({4}), x({4}));
    add(single({2, 3, 4}), {4}, single({4}), single({4}));
  }
  cases.push_back({"rms_norm", {x({2, 3, 4}), sizes({4}), x({4}), f(1e-6)}});
  cases.push_back({"rms_norm", {x({2, 3, 4}), sizes({3, 4})}});
  cases.push_back({"rms_norm", {x({0, 4}), sizes({4}), x({4})}});
  cases.push_back({"rms_norm", {single({2, 4}), sizes({4}), single({4})}, false});
  Operand narrow{at::randn({2, 4}).to(at::kBFloat16), true}, weight{at::ones({4}).to(at::kBFloat16), true};
  cases.push_back({"rms_norm", {narrow, sizes({4}), weight}, false});
}

static void addChannelNorms(std::vector<Case> &cases) {
  auto channels = [](int64_t count) { return fixed(at::randn({count}, at::kDouble)); };
  auto add = [&](Operand input, Arg weight, Arg bias, bool training) {
    int64_t count = input.value.size(1);
    Arg mean = none, variance = none;
    if (!training) {
      mean = channels(count);
      variance = fixed(positive({count}).value);
    }
    cases.push_back({"native_batch_norm", {input, weight, bias, mean, variance, b(training), f(0.1), f(1e-5)}});
    cases.back().results = 1;
  };
  for (bool training : {false, true})
    for (const std::vector<int64_t> &shape :
         std::vector<std::vector<int64_t>>{{2, 3, 4, 5}, {4, 3}, {2, 3, 5}, {2, 1, 3, 2}, {2, 2, 2, 3, 2}}) {
      int64_t count = shape[1];
      add(x(shape), x({count}), x({count}), training);
      add(x(shape), x({count}), none, training);
      add(x(shape), none, none, training);
      add(x(shape), x({count}), channels(count), training);
      add(x(shape), channels(count), x({count}), training);
    }
  Operand apart = x({2, 4, 5, 3}); // the channels lie innermost
  apart.value = apart.value.permute({0, 3, 1, 2});
  add(apart, x({3}), x({3}), false);
  add(apart, x({3}), x({3}), true);

  for (const std::vector<int64_t> &shape :
       std::vector<std::vector<int64_t>>{{2, 6, 3, 4}, {2, 6}, {3, 6, 5}, {0, 6, 2}})
    for (int64_t groups : {1, 2, 3, 6}) {
      cases.push_back({"group_norm", {x(shape), i(groups), x({6}), x({6}), f(1e-5)}});
      cases.push_back({"group_norm", {x(shape), i(groups)}});
    }
  cases.push_back({"group_norm", {x({2, 4, 3}), i(2), x({4}), fixed(at::ones({4}, at::kDouble)), f(1e-3)}});
  cases.push_back({"group_norm", {x({2, 4, 3}), i(2), none, x({4})}});
  cases.push_back({"group_norm", {single({2, 4, 3}), i(2), single({4}), single({4})}, false});
  Operand narrow{at::randn({2, 4, 3}).to(at::kBFloat16), true}, weight{at::ones({4}).to(at::kBFloat16), true};
  cases.push_back({"group_norm", {narrow, i(2), weight, weight}, false});
}

/// True but for some elements, with one row that is false throughout.
static Operand holes(std::vector<int64_t> shape) {
  at::Tensor mask = distinct(shape).value.sin().gt(-0.3);
  if (mask.size(-2) > 1)
    mask.select(-2, 1).fill_(false);
  return fixed(mask);
}

static Operand negativeInfinity(std::vector<int64_t> shape) {
  Operand mask = holes(shape);
  mask.value = at::zeros(shape, at::kDouble).masked_fill(mask.value.logical_not(), -INFINITY);
  return mask;
}

static void addAttention(std::vector<Case> &cases) {
  const std::string op = "scaled_dot_product_attention";
  auto add = [&](Operand query, Operand key, Operand value, Arg mask = none, Arg causal = none, Arg scale = none,
                 Arg grouped = none) {
    cases.push_back(
        {op, {query, key, value, mask, f(0), causal, scale, grouped}, query.value.scalar_type() == at::kDouble});
  };
  // Sizes that are no multiples of anything; longer and shorter keys.
  add(x({2, 3, 5, 7}), x({2, 3, 6, 7}), x({2, 3, 6, 7}));
  add(x({1, 2, 3, 1}), x({1, 2, 4, 1}), x({1, 2, 4, 1}));
  add(x({2, 2, 5, 3}), x({2, 2, 5, 3}), x({2, 2, 5, 3}), none, b(true));
  add(x({2, 2, 3, 3}), x({2, 2, 5, 3}), x({2, 2, 5, 3}), none, b(true));
  add(x({2, 2, 5, 3}), x({2, 2, 3, 3}), x({2, 2, 3, 3}), none, b(true));
  add(x({2, 2, 5, 3}), x({2, 2, 5, 3}), x({2, 2, 5, 3}), none, b(false), f(0.3));
  // Masks that broadcast, with rows that attend to nothing.
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{
           {5, 6}, {2, 3, 5, 6}, {2, 1, 5, 6}, {1, 3, 5, 6}, {1, 1, 1, 6}, {2, 1, 5, 1}, {1, 6}, {5, 1}, {3, 5, 6}}) {
    add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), holes(shape));
    add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), negativeInfinity(shape));
    add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), x(shape), none, f(0.4));
  }
  add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), fixed(at::zeros({2, 1, 5, 6}).to(at::kBool)));
  // Groups of query heads.
  add(x({2, 4, 5, 3}), x({2, 2, 6, 3}), x({2, 2, 6, 3}), none, none, none, b(true));
  add(x({2, 4, 5, 3}), x({2, 1, 5, 3}), x({2, 1, 5, 3}), none, b(true), none, b(true));
  add(x({2, 4, 5, 3}), x({2, 2, 6, 3}), x({2, 2, 6, 3}), holes({2, 1, 5, 6}), none, none, b(true));
  // Vectors that do not lie dense in memory: the kernel would read past them.
  Operand apart = x({2, 3, 5, 4});
  apart.value = apart.value.transpose(2, 3).contiguous().transpose(2, 3);
  add(apart, apart, apart);
  Operand apartMask = negativeInfinity({6, 5});
  apartMask.value = apartMask.value.t();
  add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), apartMask);
  // What the kernel does not take: other ranks, sizes, lengths of zero, heads that broadcast.
  add(x({2, 5, 4}), x({2, 6, 4}), x({2, 6, 4}), holes({5, 6}));
  add(x({5, 4}), x({6, 4}), x({6, 4}));
  add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 7}));
  add(x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 7}), negativeInfinity({5, 6}));
  add(x({2, 3, 5, 4}), x({2, 3, 5, 4}), x({2, 3, 5, 7}), none, b(true), f(0.7));
  add(x({2, 3, 5, 4}), x({2, 1, 6, 4}), x({2, 1, 6, 4}));
  add(x({0, 3, 5, 4}), x({0, 3, 6, 4}), x({0, 3, 6, 4}));
  add(x({0, 3, 5, 4}), x({0, 3, 6, 4}), x({0, 3, 6, 4}), holes({1, 1, 5, 6}));
  add(x({2, 3, 0, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}));
  cases.back().symbolic = false;
  add(single({2, 3, 5, 8}), single({2, 3, 6, 8}), single({2, 3, 6, 8}), holes({2, 1, 5, 6}));
  add(single({2, 3, 5, 8}), single({2, 3, 5, 8}), single({2, 3, 5, 8}), none, b(true));
  // The kernel itself.
  const std::string kernel = "_scaled_dot_product_flash_attention_for_cpu";
  cases.push_back({kernel, {x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), f(0), b(false), none, none}});
  cases.back().results = 1;
  cases.push_back(
      {kernel,
       {x({2, 3, 5, 4}), x({2, 3, 6, 4}), x({2, 3, 6, 4}), f(0), b(false), negativeInfinity({2, 1, 5, 6}), f(0.3)}});
  cases.back().results = 1;
}

std::vector<Case> normAttentionCases() {
  std::vector<Case> cases;
  addSoftmax(cases);
  addNorms(cases);
  addChannelNorms(cases);
  addAttention(cases);
  return cases;
}

} // namespace braid::test
