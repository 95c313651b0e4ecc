//===- GradientOpaqueTest.cpp - Gradients of ops that braid does not know -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A braid.aten is differentiated by running it again under ATen's autograd: braid.aten_gradient. Expected values are
// PyTorch's own gradients of the same call.
//
//===----------------------------------------------------------------------===//

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "GradientHarness.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace braid;
using namespace braid::test;

namespace {

Program parse(StringRef text, std::vector<at::Tensor> inputs) {
  Program program;
  program.module = parseSourceString<ModuleOp>(text, &context());
  if (!program.module)
    throw std::runtime_error("the test's IR does not parse");
  program.function = *program.module->getOps<func::FuncOp>().begin();
  program.inputs = std::move(inputs);
  return program;
}

at::Tensor random(at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); }

/// Compares gradients for the wanted arguments with those of `reference`, a function of the same inputs in PyTorch.
void compare(Program program, const std::vector<unsigned> &wanted, const std::vector<at::Tensor> &cotangents,
             llvm::function_ref<std::vector<at::Tensor>(const std::vector<at::Tensor> &)> reference) {
  Differentiated differentiated = differentiate(program, wanted, cotangents);
  SCOPED_TRACE(differentiated.program.str());
  std::vector<at::Tensor> results = differentiated.program.run();
  ASSERT_EQ(llvm::count(differentiated.present, true), static_cast<int64_t>(wanted.size()));

  std::vector<at::Tensor> inputs, leaves, outputs, seeds;
  for (const at::Tensor &input : program.inputs)
    inputs.push_back(input.detach().clone());
  for (unsigned number : wanted)
    leaves.push_back(inputs[number].requires_grad_());
  std::vector<at::Tensor> values = reference(inputs);
  for (auto [value, cotangent] : llvm::zip(values, cotangents))
    if (cotangent.defined() && value.requires_grad()) {
      outputs.push_back(value);
      seeds.push_back(cotangent);
    }
  std::vector<at::Tensor> expected(leaves.size());
  if (!outputs.empty())
    expected = torch::autograd::grad(outputs, leaves, seeds, std::nullopt, false, /*allow_unused=*/true);
  for (auto [number, right] : llvm::enumerate(expected)) {
    at::Tensor gradient = results[results.size() - wanted.size() + number];
    if (!right.defined())
      right = at::zeros_like(leaves[number].detach());
    EXPECT_TRUE(at::allclose(gradient, right, 1e-12, 1e-12)) << gradient << right;
  }
}

constexpr StringLiteral hypot = R"(
  func.func @f(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
    %0 = braid.aten "aten::hypot"(%a, %b) {
      names = ["self", "other"], kinds = array<i64: 0, 0>, counts = array<i64: 1, 1>, constants = [unit, unit],
      dims = [["a.0", "a.1"]]} : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
    return %0 : tensor<2x3xf64>
  })";

TEST(OpaqueGradientTest, Hypot) {
  auto reference = [](const std::vector<at::Tensor> &inputs) -> std::vector<at::Tensor> {
    return {at::hypot(inputs[0], inputs[1])};
  };
  for (const std::vector<unsigned> &wanted : std::vector<std::vector<unsigned>>{{0, 1}, {0}, {1}})
    compare(parse(hypot, {random({2, 3}), random({3})}), wanted, {random({2, 3})}, reference);
}

TEST(OpaqueGradientTest, SomeResultsAndConstants) {
  // kinds: 0 Tensor, 10 Scalar, 12 IntList, 8 Bool, as in AtenCall.h.
  constexpr StringLiteral text = R"(
  func.func @f(%a: tensor<2x3xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
    %0:2 = braid.aten "aten::var_mean.correction"(%a) {
      names = ["self", "dim", "correction", "keepdim"], kinds = array<i64: 0, 12, 10, 8>,
      counts = array<i64: 1, 0, 0, 0>, constants = [unit, array<i64: 1>, 0 : i64, false],
      dims = [["a.0"], ["a.0"]]} : (tensor<2x3xf64>) -> (tensor<2xf64>, tensor<2xf64>)
    return %0#0, %0#1 : tensor<2xf64>, tensor<2xf64>
  })";
  static_assert(static_cast<int>(ArgKind::Scalar) == 10 && static_cast<int>(ArgKind::IntList) == 12 &&
                static_cast<int>(ArgKind::Bool) == 8);
  auto reference = [](const std::vector<at::Tensor> &inputs) -> std::vector<at::Tensor> {
    auto [variance, mean] = at::var_mean(inputs[0], at::OptionalIntArrayRef({1}), at::Scalar(0), false);
    return {variance, mean};
  };
  compare(parse(text, {random({2, 3})}), {0}, {random({2}), random({2})}, reference);
  compare(parse(text, {random({2, 3})}), {0}, {at::Tensor(), random({2})}, reference);
  compare(parse(text, {random({2, 3})}), {0}, {random({2}), at::Tensor()}, reference);
}

TEST(OpaqueGradientTest, SizesAsOperands) {
  constexpr StringLiteral text = R"(
  module attributes {braid.symbols = {n = 2 : i64}} {
    func.func @f(%a: tensor<?x3xf64> {braid.dims = ["n", "3"]}) -> tensor<?x6xf64> {
      %n = braid.symbol "n"
      %0 = braid.aten "aten::tile"(%a) sizes(%n) {
        names = ["self", "dims"], kinds = array<i64: 0, 5>, counts = array<i64: 1, 1>,
        constants = [unit, array<i64: -9223372036854775808, 2>],
        dims = [["a.0 * a.0", "6"]]} : (tensor<?x3xf64>) -> tensor<?x6xf64>
      return %0 : tensor<?x6xf64>
    }
  })";
  auto reference = [](const std::vector<at::Tensor> &inputs) -> std::vector<at::Tensor> {
    return {at::tile(inputs[0], {2, 2})};
  };
  Program program = parse(text, {random({2, 3})});
  program.evaluator.symbols["n"] = 2;
  compare(std::move(program), {0}, {random({4, 6})}, reference);
}

TEST(OpaqueGradientTest, ResultThatDoesNotDepend) {
  constexpr StringLiteral text = R"(
  func.func @f(%a: tensor<1x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
    %0 = braid.aten "aten::expand_as"(%a, %b) {
      names = ["self", "other"], kinds = array<i64: 0, 0>, counts = array<i64: 1, 1>, constants = [unit, unit],
      dims = [["b.0", "b.1"]]} : (tensor<1x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    return %0 : tensor<2x3xf64>
  })";
  auto reference = [](const std::vector<at::Tensor> &inputs) -> std::vector<at::Tensor> {
    return {inputs[0].expand_as(inputs[1])};
  };
  for (const std::vector<unsigned> &wanted : std::vector<std::vector<unsigned>>{{0, 1}, {1}})
    compare(parse(text, {random({1, 3}), random({2, 3})}), wanted, {random({2, 3})}, reference);
}

} // namespace
