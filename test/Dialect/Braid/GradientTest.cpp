//===- GradientTest.cpp - Gradient rules against autograd -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every case in every table: values and gradients equal PyTorch's, gradients agree with central differences, nothing is
// computed for gradients that nobody asked for. Every differentiable op has a case.
//
//===----------------------------------------------------------------------===//

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "GradientHarness.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace braid::test;

namespace {

class GradientTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override { at::manual_seed(7); }
};

double toleranceOf(c10::ScalarType type) {
  switch (type) {
  case c10::ScalarType::Double:
    return 1e-10;
  case c10::ScalarType::Float:
    return 1e-5;
  default:
    return 2e-2;
  }
}

/// Largest difference over the larger of 1 and the largest magnitude; infinite where NaNs or sizes differ.
double difference(const at::Tensor &a, const at::Tensor &b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type())
    return INFINITY;
  if (a.numel() == 0)
    return 0;
  at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  at::Tensor same = (x == y) | (x.isnan() & y.isnan());
  at::Tensor apart = at::where(same, at::zeros_like(x), (x - y).abs());
  if (apart.isnan().any().item<bool>())
    return INFINITY;
  at::Tensor finite = at::where(y.isfinite(), y.abs(), at::zeros_like(y));
  return apart.max().item<double>() / std::max(1.0, finite.max().item<double>());
}

std::vector<at::Tensor> randomCotangents(const Case &test, const std::vector<at::Tensor> &results) {
  std::vector<at::Tensor> cotangents;
  for (const at::Tensor &result : results)
    cotangents.push_back(cotangents.size() < test.results && result.is_floating_point() && result.requires_grad()
                             ? at::randn(result.sizes(), at::kDouble).to(result.scalar_type())
                             : at::Tensor());
  return cotangents;
}

std::vector<at::Tensor> autograd(const Reference &reference, const std::vector<at::Tensor> &cotangents) {
  std::vector<at::Tensor> outputs, seeds;
  for (auto [result, cotangent] : llvm::zip(reference.results, cotangents))
    if (cotangent.defined()) {
      outputs.push_back(result);
      seeds.push_back(cotangent);
    }
  std::vector<at::Tensor> gradients =
      torch::autograd::grad(outputs, reference.leaves, seeds, /*retain_graph=*/true, false, /*allow_unused=*/true);
  for (auto [gradient, leaf] : llvm::zip(gradients, reference.leaves))
    if (!gradient.defined())
      gradient = at::zeros_like(leaf.detach());
  return gradients;
}

/// Runs the differentiated program; gives a gradient for each wanted argument, zeros where the rules gave none.
std::vector<at::Tensor> runGradients(Differentiated &differentiated, const std::vector<unsigned> &wanted) {
  std::vector<at::Tensor> results = differentiated.program.run();
  size_t present = llvm::count(differentiated.present, true);
  size_t next = results.size() - present;
  std::vector<at::Tensor> gradients;
  for (auto [there, argument] : llvm::zip(differentiated.present, wanted))
    gradients.push_back(there ? results[next++] : at::zeros_like(differentiated.program.inputs[argument]));
  return gradients;
}

/// An op whose result nobody uses; size arithmetic is free and does not count.
std::string deadOp(func::FuncOp function) {
  for (Operation &op : function.getBody().front())
    if (op.getNumResults() && op.use_empty() && !isa<IndexType>(op.getResult(0).getType()))
      return op.getName().getStringRef().str();
  return "";
}

TEST_P(GradientTest, EqualsPyTorch) {
  const Case &test = GetParam();
  if (!test.autograd)
    GTEST_SKIP() << "PyTorch's own gradient is wrong";
  Reference reference = runReference(test);
  std::vector<at::Tensor> cotangents = randomCotangents(test, reference.results);
  std::vector<at::Tensor> expected = autograd(reference, cotangents);
  for (bool symbolic : {false, true}) {
    if (symbolic && !test.symbolic)
      continue;
    SCOPED_TRACE(symbolic ? "named sizes" : "constant sizes");
    Program program = buildProgram(test, symbolic);
    Differentiated all = differentiate(program, program.wanted, cotangents);
    SCOPED_TRACE(all.program.str());
    std::vector<at::Tensor> values = all.program.run();
    for (auto [number, result] : llvm::enumerate(reference.results))
      EXPECT_LE(difference(values[number], result.detach()), toleranceOf(result.scalar_type()))
          << "result " << number << "\n"
          << values[number] << "\nPyTorch:\n"
          << result;
    std::vector<at::Tensor> gradients = runGradients(all, program.wanted);
    for (auto [number, gradient] : llvm::enumerate(gradients))
      EXPECT_LE(difference(gradient, expected[number]), toleranceOf(gradient.scalar_type()))
          << "gradient " << number << "\n"
          << gradient << "\nPyTorch:\n"
          << expected[number];
  }
}

TEST_P(GradientTest, ComputesOnlyWhatIsNeeded) {
  const Case &test = GetParam();
  Reference reference = runReference(test);
  std::vector<at::Tensor> cotangents = randomCotangents(test, reference.results);
  std::vector<at::Tensor> expected = autograd(reference, cotangents);
  Program program = buildProgram(test, /*symbolic=*/false);
  for (auto [number, argument] : llvm::enumerate(program.wanted)) {
    Differentiated one = differentiate(program, {argument}, cotangents);
    SCOPED_TRACE(one.program.str());
    EXPECT_EQ(deadOp(one.program.function), "") << "with only argument " << argument << " wanted";
    at::Tensor gradient = runGradients(one, {argument}).front();
    if (test.autograd) {
      EXPECT_LE(difference(gradient, expected[number]), toleranceOf(gradient.scalar_type())) << gradient;
    }
  }
  // One result's cotangent at a time.
  if (llvm::count_if(cotangents, [](const at::Tensor &cotangent) { return cotangent.defined(); }) < 2)
    return;
  for (size_t result = 0; result < cotangents.size(); ++result) {
    if (!cotangents[result].defined())
      continue;
    std::vector<at::Tensor> single(cotangents.size());
    single[result] = cotangents[result];
    Differentiated one = differentiate(program, program.wanted, single);
    SCOPED_TRACE(one.program.str());
    std::vector<at::Tensor> gradients = runGradients(one, program.wanted), wanted = autograd(reference, single);
    for (auto [gradient, right] : llvm::zip(gradients, wanted))
      EXPECT_LE(difference(gradient, right), toleranceOf(gradient.scalar_type())) << "cotangent of result " << result;
  }
}

TEST_P(GradientTest, AgreesWithDifferences) {
  const Case &test = GetParam();
  if (!test.differences)
    GTEST_SKIP() << "the case says that differences make no sense";
  constexpr double step = 1e-5;
  Program program = buildProgram(test, /*symbolic=*/false);
  std::vector<at::Tensor> cotangents = randomCotangents(test, runReference(test).results);
  Differentiated all = differentiate(program, program.wanted, cotangents);
  std::vector<at::Tensor> gradients = runGradients(all, program.wanted);
  auto objective = [&] {
    double sum = 0;
    for (auto [result, cotangent] : llvm::zip(program.run(), cotangents))
      if (cotangent.defined())
        sum += (result * cotangent).sum().item<double>();
    return sum;
  };
  for (auto [argument, gradient] : llvm::zip(program.wanted, gradients)) {
    at::Tensor input = program.inputs[argument].clone(at::MemoryFormat::Contiguous);
    program.inputs[argument] = input;
    at::Tensor estimate = at::zeros_like(input);
    for (int64_t at = 0; at < input.numel(); ++at) {
      double *element = input.data_ptr<double>() + at, before = *element;
      *element = before + step;
      double above = objective();
      *element = before - step;
      double below = objective();
      *element = before;
      estimate.data_ptr<double>()[at] = (above - below) / (2 * step);
    }
    EXPECT_LE(difference(gradient, estimate), 1e-6) << "argument " << argument << "\n"
                                                    << gradient << "\ndifferences:\n"
                                                    << estimate << all.program.str();
  }
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return info.param.op + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(Elementwise, GradientTest, testing::ValuesIn(elementwiseCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Reduction, GradientTest, testing::ValuesIn(reductionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(View, GradientTest, testing::ValuesIn(viewCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Contraction, GradientTest, testing::ValuesIn(contractionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(NormAttention, GradientTest, testing::ValuesIn(normAttentionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Recurrent, GradientTest, testing::ValuesIn(recurrentCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Pooling, GradientTest, testing::ValuesIn(poolingCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(GatherScatter, GradientTest, testing::ValuesIn(gatherScatterCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Loss, GradientTest, testing::ValuesIn(lossCases()), nameOf);

TEST(GradientCoverageTest, EveryDifferentiableOpHasACase) {
  std::set<std::string> tested;
  for (const Case &test : allCases())
    tested.insert("braid." + test.op);
  for (RegisteredOperationName name : context().getRegisteredOperations()) {
    auto *rule = name.getInterface<braid::GradientOpInterface>();
    if (!rule || !rule->isDifferentiable() || name.getStringRef() == "braid.aten")
      continue;
    EXPECT_TRUE(tested.count(name.getStringRef().str())) << name.getStringRef().str() << " has no case";
  }
}

} // namespace
