//===- MatrixProductTest.cpp - The library of a matrix product ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/MatrixProduct.h"
#include "runtime/aten/Convert.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

using namespace braid::runtime;

namespace {
class MatrixProductTest : public testing::Test {
protected:
  void SetUp() override { at::manual_seed(1); }
  void TearDown() override { setMatrixLibrary(MatrixLibrary::Auto); }

  static std::optional<at::Tensor> compute(const char *name, torch::jit::Stack stack) {
    BelowAutograd guard;
    return computeProduct(matrixProductOf(name), stack);
  }

  /// By ATen's own operator.
  static at::Tensor byAten(const char *name, const at::Tensor &left, const at::Tensor &right,
                           const std::optional<at::Tensor> &bias, at::ScalarType type) {
    BelowAutograd guard;
    std::optional<at::Tensor> added = bias ? std::optional(bias->to(type)) : std::nullopt;
    switch (matrixProductOf(name)) {
    case MatrixProduct::Addmm:
      return at::addmm(*added, left.to(type), right.to(type));
    case MatrixProduct::Linear:
      return at::linear(left.to(type), right.to(type), added);
    default:
      return at::matmul(left.to(type), right.to(type));
    }
  }

  /// oneDNN gives what ATen gives in float64, and the other way the bits of ATen.
  static void expectProduct(const char *name, const at::Tensor &left, const at::Tensor &right,
                            const std::optional<at::Tensor> &bias = {}, bool hasBlas = true) {
    SCOPED_TRACE(testing::Message() << name << " of " << describe(left) << " and " << describe(right));
    torch::jit::Stack stack = {left, right};
    if (matrixProductOf(name) == MatrixProduct::Addmm)
      stack = {*bias, left, right, 1, 1};
    else if (matrixProductOf(name) == MatrixProduct::Linear)
      stack.emplace_back(bias);
    at::Tensor expected = byAten(name, left, right, bias, at::kDouble);
    setMatrixLibrary(MatrixLibrary::OneDnn);
    std::optional<at::Tensor> result = compute(name, stack);
    ASSERT_TRUE(result);
    EXPECT_EQ(describe(*result), describe(expected.to(at::kFloat)));
    EXPECT_TRUE(result->is_contiguous());
    double error = (result->to(at::kDouble) - expected).abs().max().item().toDouble();
    EXPECT_LT(error, 1e-5 * expected.abs().max().item().toDouble());
    setMatrixLibrary(MatrixLibrary::Blas);
    result = compute(name, stack);
    ASSERT_EQ(result.has_value(), hasBlas);
    if (!hasBlas)
      return;
    EXPECT_TRUE(result->equal(byAten(name, left, right, bias, at::kFloat)));
    EXPECT_TRUE(result->is_contiguous());
  }
};

TEST_F(MatrixProductTest, GivesWhatAtenGives) {
  at::Tensor x = at::randn({256, 128}), w = at::randn({160, 128}), dy = at::randn({256, 160});
  expectProduct("aten::linear", x, w);
  expectProduct("aten::linear", x, w, at::randn({160}));
  expectProduct("aten::linear", x.view({4, 64, 128}), w, at::randn({160}));
  expectProduct("aten::addmm", dy, w, at::randn({128}));
  expectProduct("aten::mm", dy, w);
  expectProduct("aten::mm", dy.t(), x);
  expectProduct("aten::mm", w, x.t());
  expectProduct("aten::matmul", dy.view({4, 64, 160}), w);
  expectProduct("aten::matmul", dy.view({4, 1, 64, 160}), w);
  expectProduct("aten::matmul", dy.view({4, 64, 160}).transpose(0, 1), w, {}, false);
  expectProduct("aten::matmul", at::randn({2, 64, 3, 160}).slice(1, 1), at::randn({160, 256}).slice(1, 0, 250), {},
                false);
  expectProduct("aten::linear", at::randn({1, 256}).expand({256, 256}), at::randn({96, 256}));
  // Contiguous, although the last stride is 8192.
  expectProduct("aten::linear", at::randn({1, 64, 128}).permute({1, 2, 0}), at::randn({512, 1}), at::randn({512}));
  expectProduct("aten::matmul", at::randn({1, 2, 3}).permute({1, 2, 0}), at::randn({1, 5}));
}

TEST_F(MatrixProductTest, TakesOneDnnForLargeFloat32Only) {
  at::Tensor x = at::randn({512, 512});
  auto isBlas = [&](const at::Tensor &left, const at::Tensor &right) {
    return compute("aten::mm", {left, right})->equal(byAten("aten::mm", left, right, {}, left.scalar_type()));
  };
  auto linear = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!linear)
    GTEST_SKIP() << "this LibTorch has no oneDNN";
  setMatrixLibrary(MatrixLibrary::OneDnn);
  torch::jit::Stack stack = {x,
                             x.t(),
                             c10::IValue(),
                             "none",
                             c10::impl::GenericList(c10::OptionalType::create(c10::NumberType::get())),
                             c10::IValue()};
  BelowAutograd guard;
  linear->callBoxed(stack);
  EXPECT_TRUE(compute("aten::mm", {x, x})->equal(stack[0].toTensor()));
  EXPECT_TRUE(isBlas(x.to(at::kDouble), x.to(at::kDouble)));
  EXPECT_TRUE(isBlas(x.slice(0, 0, 4), x)) << "a small product, where MKL's call is cheaper";
  setMatrixLibrary(MatrixLibrary::Blas);
  EXPECT_TRUE(isBlas(x, x));
}

TEST_F(MatrixProductTest, LeavesToAtenWhatIsNotItsOwn) {
  at::Tensor x = at::randn({512, 512}), bias = at::randn({512});
  auto leaves = [](const char *name, torch::jit::Stack stack) { return !compute(name, std::move(stack)); };
  for (MatrixLibrary library : {MatrixLibrary::OneDnn, MatrixLibrary::Blas}) {
    setMatrixLibrary(library);
    EXPECT_FALSE(leaves("aten::mm", {x, x}));
    EXPECT_TRUE(leaves("aten::bmm", {x, x})) << "another operator";
    EXPECT_TRUE(leaves("aten::mm", {x.to(at::kBFloat16), x.to(at::kBFloat16)})) << "another type";
    EXPECT_TRUE(leaves("aten::mm", {x, x.to(at::kDouble)})) << "ATen's to refuse";
    EXPECT_TRUE(leaves("aten::linear", {x, x, bias.to(at::kDouble)})) << "ATen's to refuse";
    EXPECT_TRUE(leaves("aten::mm", {x, x.slice(0, 1)})) << "ATen's to refuse";
    EXPECT_TRUE(leaves("aten::matmul", {x.view({2, 256, 512}), x.view({2, 512, 256})})) << "a batch of products";
    EXPECT_TRUE(leaves("aten::addmm", {bias, x, x, 2, 1})) << "a scaled sum";
    EXPECT_TRUE(leaves("aten::addmm", {x, x, x, 1, 1})) << "a sum of matrices";
    EXPECT_TRUE(leaves("aten::mm", {x.slice(0, 0, 0), x})) << "no rows";
  }
}

TEST_F(MatrixProductTest, CallsOfProgramsGoThere) {
  at::Tensor x = at::randn({512, 512});
  braid_op op = nullptr;
  ASSERT_EQ(braid_rt_op("aten::mm", "self,mat2", &op), 0) << braid_rt_message();
  auto call = [&](MatrixLibrary library) {
    setMatrixLibrary(library);
    Tensor operand = fromAten(x);
    braid_value value{BRAID_TENSOR, 0, {}};
    value.as.tensor = operand.get();
    braid_value arguments[] = {value, value};
    braid_tensor result = nullptr;
    const braid_site site = {"net", "model.py", 1};
    EXPECT_EQ(braid_rt_call(op, arguments, 2, &result, 1, &site), 0) << braid_rt_message();
    return toAten(Tensor::adopt(result));
  };
  setMatrixLibrary(MatrixLibrary::OneDnn);
  at::Tensor byOneDnn = *compute("aten::mm", {x, x});
  EXPECT_TRUE(call(MatrixLibrary::OneDnn).equal(byOneDnn)) << "the same library rounds in the same way";
  EXPECT_TRUE(call(MatrixLibrary::Blas).equal(byAten("aten::mm", x, x, {}, at::kFloat)));
}
} // namespace
