//===- ElementwiseGradientCases.cpp - Cases of elementwise operators ------===//
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

/// Pairs of shapes that broadcast in every way.
static const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> pairs = {
    {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{3}, {2, 3}},    {{}, {2, 3}},
    {{2, 3}, {}},     {{}, {}},      {{0, 3}, {3}},    {{0, 1}, {1, 3}}, {{2, 1, 3}, {4, 1}}};

/// Shapes for functions of one tensor.
static const std::vector<std::vector<int64_t>> shapes = {{2, 3}, {}, {0, 3}};

static void addArithmetic(std::vector<Case> &cases) {
  for (const auto &[a, b] : pairs) {
    cases.push_back({"add", {x(a), x(b)}});
    cases.push_back({"sub", {x(a), x(b)}});
    cases.push_back({"mul", {x(a), x(b)}});
    cases.push_back({"div", {x(a), positive(b)}});
    cases.push_back({"remainder", {x(a), positive(b)}});
    cases.push_back({"fmod", {x(a), positive(b)}});
    cases.push_back({"atan2", {x(a), positive(b)}});
    cases.push_back({"hypot", {x(a), positive(b)}});
    cases.push_back({"logaddexp", {x(a), x(b)}});
  }
  for (mlir::Attribute alpha : {i(2), f(-0.5), i(1)}) {
    cases.push_back({"add", {x({2, 3}), x({3}), alpha}});
    cases.push_back({"sub", {x({2, 3}), x({3}), alpha}});
    cases.push_back({"rsub_scalar", {x({2, 3}), f(1.5), alpha}});
    cases.push_back({"add_scalar", {x({2, 3}), f(1.5), alpha}});
    cases.push_back({"sub_scalar", {x({2, 3}), f(1.5), alpha}});
  }
  for (const std::vector<int64_t> &shape : shapes) {
    cases.push_back({"add_scalar", {x(shape), i(3)}});
    cases.push_back({"sub_scalar", {x(shape), i(3)}});
    cases.push_back({"rsub_scalar", {x(shape), i(3)}});
    cases.push_back({"mul_scalar", {x(shape), f(-2.5)}});
    cases.push_back({"div_scalar", {x(shape), f(-2.5)}});
    cases.push_back({"remainder_scalar", {x(shape), f(0.7)}});
  }
  cases.push_back({"mul_scalar", {x({2, 3}), i(1)}});
  cases.push_back({"mul_scalar", {x({2, 3}), b(true)}});
  cases.push_back({"mul_scalar", {x({2, 3}), i(-1)}});
  cases.push_back({"div_scalar", {x({2, 3}), i(4)}});
  // An integer operand, and operands of two element types.
  cases.push_back({"mul", {x({2, 3}), indices({1, 0, 2}, {3})}});
  cases.push_back({"div", {x({2, 3}), indices({1, 5, 2}, {3})}});
  cases.push_back({"mul", {x({2, 3}), single({3})}, false});
  cases.push_back({"add", {single({2, 3}), x({2, 1})}, false});
  cases.push_back({"sub", {single({2, 3}), x({})}, false});
  cases.push_back({"mul", {x({}), single({2, 3})}, false});
  cases.push_back({"div_mode", {x({2, 3}), positive({3}), s("floor")}, false});
  cases.push_back({"div_mode", {x({2, 3}), positive({3}), s("trunc")}, false});
  cases.push_back({"div_mode", {x({2, 3}), positive({3})}});
}

static void addPowers(std::vector<Case> &cases) {
  for (const auto &[a, b] : pairs)
    cases.push_back({"pow", {positive(a), x(b)}});
  // At 0: x^0 is constant, and 0^y falls to 0.
  Operand zeros = fixed(at::zeros({3}, at::kDouble)), base = zeros, exponent = zeros;
  base.grad = exponent.grad = true;
  cases.push_back({"pow", {base, fixed(at::tensor({0.0, 1.0, 2.0}, at::kDouble))}, false});
  cases.push_back({"pow", {zeros, positive({3})}});
  cases.push_back({"pow", {x({2, 3}), indices({2, 3, 1}, {3})}});
  cases.push_back({"pow", {positive({2, 3}), exponent}});
  for (mlir::Attribute power : {i(2), i(3), f(2), f(3), i(1), i(0), f(0)})
    cases.push_back({"pow_scalar", {x({2, 3}), power}});
  for (mlir::Attribute power : {f(0.5), f(-0.5), f(1.7), i(-1), f(-2)})
    cases.push_back({"pow_scalar", {positive({2, 3}), power}});
  cases.push_back({"pow_scalar", {x({0, 3}), i(2)}});
  for (mlir::Attribute number : {f(2.5), i(3), i(1)})
    cases.push_back({"pow_base", {number, x({2, 3})}});
  cases.push_back({"pow_base", {i(0), positive({2, 3})}});
}

static void addChoices(std::vector<Case> &cases) {
  for (const auto &[a, b] : pairs) {
    cases.push_back({"maximum", {x(a), x(b)}});
    cases.push_back({"minimum", {x(a), x(b)}});
  }
  // Both equal: each takes half.
  Operand left = x({2, 3}), right = left;
  cases.push_back({"maximum", {left, right}, false});
  cases.push_back({"minimum", {left, right}, false});
  cases.push_back({"clamp", {x({2, 3}), f(-0.3), f(0.4)}});
  cases.push_back({"clamp", {x({2, 3}), none, f(0.4)}});
  cases.push_back({"clamp", {x({2, 3}), f(-0.3)}});
  cases.push_back({"clamp", {x({0, 3}), i(-1), i(1)}});
  Operand onBounds = fixed(at::tensor({-1.0, 0.0, 1.0, 2.0}, at::kDouble));
  onBounds.grad = true;
  cases.push_back({"clamp", {onBounds, i(-1), i(1)}, false});
  cases.push_back({"clamp_min", {onBounds, i(0)}, false});
  cases.push_back({"clamp_min", {x({2, 3}), f(0.1)}});
  cases.push_back({"where", {mask({1, 0, 0, 1, 1, 0}, {2, 3}), x({2, 3}), x({2, 3})}});
  cases.push_back({"where", {mask({1, 0}, {2, 1}), x({3}), x({})}});
  cases.push_back({"where", {mask({1, 0, 1}, {3}), x({2, 1}), fixed(at::zeros({}, at::kDouble))}});
  cases.push_back({"where", {mask({}, {0, 3}), x({0, 3}), x({3})}});
}

/// Between -0.75 and 0.75, and above 1.5: of `positive` values.
static Operand within(std::vector<int64_t> sizes) {
  Operand operand = positive(std::move(sizes));
  return {operand.value.sub(1.25), true};
}
static Operand above(std::vector<int64_t> sizes) {
  Operand operand = positive(std::move(sizes));
  return {operand.value.add(1), true};
}

static void addFunctions(std::vector<Case> &cases) {
  for (const std::vector<int64_t> &shape : shapes) {
    for (const char *op : {"neg", "abs", "exp", "sin", "cos", "erf", "tanh", "sigmoid", "relu", "silu", "hardswish",
                           "hardsigmoid", "hardtanh", "leaky_relu", "elu", "softplus", "mish"})
      cases.push_back({op, {x(shape)}});
    for (const char *op : {"log", "log1p", "sqrt", "rsqrt", "reciprocal"})
      cases.push_back({op, {positive(shape)}});
    for (const char *op :
         {"asinh", "atan", "cosh", "erfc", "exp2", "expm1", "frac", "hardshrink", "sinh", "softshrink"})
      cases.push_back({op, {x(shape)}});
    for (const char *op : {"digamma", "lgamma", "log10", "log2"})
      cases.push_back({op, {positive(shape)}});
    for (const char *op : {"acos", "asin", "atanh", "erfinv", "tan"})
      cases.push_back({op, {within(shape)}});
    cases.push_back({"acosh", {above(shape)}});
    cases.push_back({"softshrink", {x(shape), f(0.2)}});
    cases.push_back({"hardshrink", {x(shape), f(0.2)}});
    cases.push_back({"threshold", {x(shape), f(0.1), f(-0.7)}});
    cases.push_back({"fmod_scalar", {x(shape), f(0.7)}});
    cases.push_back({"gelu", {x(shape)}});
    cases.push_back({"gelu", {x(shape), s("tanh")}});
    cases.push_back({"gelu", {x(shape), s("none")}});
    cases.push_back({"dropout", {x(shape), f(0), b(true)}});
    cases.push_back({"dropout", {x(shape), f(0.5), b(false)}});
  }
  Operand zeros = fixed(at::zeros({2}, at::kDouble));
  zeros.grad = true;
  cases.push_back({"abs", {zeros}, false});
  cases.push_back({"relu", {zeros}, false});
  // On the bounds nothing passes, unlike through clamp.
  Operand bounds = fixed(at::tensor({-3.0, -1.0, 0.0, 1.0, 3.0, 6.0}, at::kDouble));
  bounds.grad = true;
  for (const char *op : {"hardswish", "hardsigmoid", "hardtanh", "leaky_relu", "elu"})
    cases.push_back({op, {bounds}, false});
  cases.push_back({"hardtanh", {bounds, i(0), i(6)}, false});
  cases.push_back({"hardtanh", {x({2, 3}), f(-0.2), f(0.5)}});
  cases.push_back({"leaky_relu", {x({2, 3}), f(0.2)}});
  cases.push_back({"elu", {x({2, 3}), f(1.3), f(0.7), f(1.1)}});
  cases.push_back({"softplus", {x({2, 3}), f(3), f(2)}, false});
  for (c10::ScalarType to : {c10::ScalarType::Float, c10::ScalarType::BFloat16, c10::ScalarType::Double})
    cases.push_back({"to", {x({2, 3}), type(to)}, to == c10::ScalarType::Double});
  cases.push_back({"to", {single({0, 3}), type(c10::ScalarType::Double)}, false});
  cases.push_back({"gelu", {single({2, 3}), s("tanh")}, false});
  cases.push_back({"silu", {single({2, 3})}, false});
}

std::vector<Case> elementwiseCases() {
  std::vector<Case> cases;
  addArithmetic(cases);
  addPowers(cases);
  addChoices(cases);
  addFunctions(cases);
  return cases;
}

} // namespace braid::test
