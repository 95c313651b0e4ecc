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
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

using namespace braid::runtime;

namespace {
class MatrixProductTest : public testing::Test {
protected:
  void SetUp() override {
    at::manual_seed(1);
    setMatrixLibrary(MatrixLibrary::OneDnn);
  }
  void TearDown() override { setMatrixLibrary(MatrixLibrary::Auto); }

  /// What oneDNN gives for the call is what ATen gives in float64, row-major.
  static void expectProduct(const char *name, const at::Tensor &left, const at::Tensor &right,
                            const std::optional<at::Tensor> &bias = {}) {
    SCOPED_TRACE(testing::Message() << name << " of " << describe(left) << " and " << describe(right));
    BelowAutograd guard;
    MatrixProduct product = matrixProductOf(name);
    torch::jit::Stack stack = {left, right};
    at::Tensor expected;
    if (product == MatrixProduct::Addmm) {
      stack = {*bias, left, right, 1, 1};
      expected = at::addmm(bias->to(at::kDouble), left.to(at::kDouble), right.to(at::kDouble));
    } else if (product == MatrixProduct::Linear) {
      stack.emplace_back(bias);
      expected = at::linear(left.to(at::kDouble), right.to(at::kDouble),
                            bias ? std::optional(bias->to(at::kDouble)) : std::nullopt);
    } else {
      expected = at::matmul(left.to(at::kDouble), right.to(at::kDouble));
    }
    std::optional<at::Tensor> result = computeByOneDnn(product, stack);
    ASSERT_TRUE(result);
    EXPECT_EQ(describe(*result), describe(expected.to(at::kFloat)));
    EXPECT_TRUE(result->is_contiguous());
    double error = (result->to(at::kDouble) - expected).abs().max().item().toDouble();
    EXPECT_LT(error, 1e-5 * expected.abs().max().item().toDouble());
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
  expectProduct("aten::matmul", dy.view({4, 64, 160}).transpose(0, 1), w);
  expectProduct("aten::matmul", at::randn({2, 64, 3, 160}).slice(1, 1), at::randn({160, 256}).slice(1, 0, 250));
  expectProduct("aten::linear", at::randn({1, 256}).expand({256, 256}), at::randn({96, 256}));
}

TEST_F(MatrixProductTest, LeavesToAtenWhatIsNotItsOwn) {
  at::Tensor x = at::randn({512, 512}), bias = at::randn({512});
  auto leaves = [](const char *name, torch::jit::Stack stack) {
    BelowAutograd guard;
    return !computeByOneDnn(matrixProductOf(name), stack);
  };
  EXPECT_FALSE(leaves("aten::mm", {x, x}));
  EXPECT_TRUE(leaves("aten::bmm", {x, x})) << "another operator";
  EXPECT_TRUE(leaves("aten::mm", {x.to(at::kDouble), x.to(at::kDouble)})) << "another type";
  EXPECT_TRUE(leaves("aten::linear", {x, x, bias.to(at::kDouble)})) << "ATen's to refuse";
  EXPECT_TRUE(leaves("aten::mm", {x, x.slice(0, 1)})) << "ATen's to refuse";
  EXPECT_TRUE(leaves("aten::matmul", {x.view({2, 256, 512}), x.view({2, 512, 256})})) << "a batch of products";
  EXPECT_TRUE(leaves("aten::addmm", {bias, x, x, 2, 1})) << "a scaled sum";
  EXPECT_TRUE(leaves("aten::addmm", {x, x, x, 1, 1})) << "a sum of matrices";
  EXPECT_TRUE(leaves("aten::mm", {x.slice(0, 0, 4), x})) << "a small product, where MKL's call is cheaper";
  EXPECT_TRUE(leaves("aten::mm", {x.slice(0, 0, 0), x})) << "no rows";
  setMatrixLibrary(MatrixLibrary::Blas);
  EXPECT_TRUE(leaves("aten::mm", {x, x}));
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
  at::Tensor byOneDnn;
  {
    BelowAutograd guard;
    byOneDnn = *computeByOneDnn(MatrixProduct::Mm, {x, x});
  }
  EXPECT_TRUE(call(MatrixLibrary::OneDnn).equal(byOneDnn)) << "the same library rounds in the same way";
  EXPECT_LT((call(MatrixLibrary::Blas) - byOneDnn).abs().max().item().toDouble(), 1e-3);
}
} // namespace
