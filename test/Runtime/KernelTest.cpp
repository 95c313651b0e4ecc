//===- KernelTest.cpp - Launches of compiled loops ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops here are written by hand; ATen says what they should give.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

using namespace braid::runtime;

namespace {
/// out = a + b * row
void addScaled(char *const *pointers, const int64_t *strides, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    auto at = [&](int i) { return reinterpret_cast<float *>(pointers[i] + r * strides[i]); };
    for (int64_t c = 0; c < columns; ++c)
      at(3)[c] = at(0)[c] + at(1)[c] * at(2)[0];
  }
}
const braid_kernel_operand addScaledOperands[] = {{BRAID_F32, 0}, {BRAID_F32, 0}, {BRAID_F32, 1}, {BRAID_F32, 0}};
const braid_kernel addScaledKernel = {"add_scaled", 3, 1, 3, 0, addScaledOperands, addScaled, nullptr};

/// total (dropped dim) = sum of the row, kept (dim of 1) = total times the row's own integer
void rowSum(char *const *pointers, const int64_t *strides, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    auto *x = reinterpret_cast<double *>(pointers[0] + r * strides[0]);
    double total = 0;
    for (int64_t c = 0; c < columns; ++c)
      total += x[c];
    *reinterpret_cast<double *>(pointers[2] + r * strides[2]) = total;
    *reinterpret_cast<double *>(pointers[3] + r * strides[3]) =
        total * static_cast<double>(*reinterpret_cast<int64_t *>(pointers[1] + r * strides[1]));
  }
}
const braid_kernel_operand rowSumOperands[] = {{BRAID_F64, 0}, {BRAID_I64, 2}, {BRAID_F64, 2}, {BRAID_F64, 1}};
const braid_kernel rowSumKernel = {"row_sum", 2, 2, 3, 1, rowSumOperands, rowSum, nullptr};

/// out = the element's number in its row
void column(char *const *pointers, const int64_t *strides, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      reinterpret_cast<int64_t *>(pointers[1] + r * strides[1])[c] = c;
}
const braid_kernel_operand columnOperands[] = {{BRAID_F32, 1}, {BRAID_I64, 0}};
const braid_kernel columnKernel = {"column", 1, 1, 2, 1, columnOperands, column, nullptr};

const braid_site site = {"net.layers.3", "modeling.py", 42};

braid_status launch(const braid_kernel &kernel, const std::vector<int64_t> &sizes,
                    const std::vector<at::Tensor> &inputs, std::vector<at::Tensor> &results) {
  std::vector<Tensor> keep;
  std::vector<braid_tensor> handles, outputs(kernel.num_outputs);
  for (const at::Tensor &input : inputs) {
    keep.push_back(fromAten(input));
    handles.push_back(keep.back().get());
  }
  braid_status status = braid_rt_launch(&kernel, sizes.data(), handles.data(), outputs.data(), &site);
  results.clear();
  if (status == 0)
    for (braid_tensor output : outputs)
      results.push_back(toAten(Tensor::adopt(output)));
  return status;
}

void expectAddScaled(const std::vector<int64_t> &sizes, const at::Tensor &a, const at::Tensor &b,
                     const at::Tensor &row) {
  std::vector<at::Tensor> results;
  ASSERT_EQ(launch(addScaledKernel, sizes, {a, b, row}, results), 0) << braid_rt_message();
  at::Tensor expected = a + b * row;
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef(sizes));
  EXPECT_TRUE(results[0].is_contiguous());
  EXPECT_TRUE(at::allclose(results[0], expected.expand(sizes)));
}

TEST(Kernel, DenseOperands) {
  expectAddScaled({3, 4, 5}, at::randn({3, 4, 5}), at::randn({3, 4, 5}), at::randn({3, 4, 1}));
}
TEST(Kernel, Broadcasts) {
  expectAddScaled({3, 4, 5}, at::randn({5}), at::randn({4, 5}), at::randn({1}));
  expectAddScaled({3, 4, 5}, at::randn({3, 1, 5}), at::randn({1, 4, 5}), at::randn({}));
  expectAddScaled({3, 4, 1}, at::randn({3, 4, 1}), at::randn({4, 1}), at::randn({3, 1, 1}));
}
TEST(Kernel, TransposedOperands) {
  // The last dim dense; then not dense, which takes a copy.
  expectAddScaled({3, 4, 5}, at::randn({4, 3, 5}).transpose(0, 1), at::randn({3, 4, 5}), at::randn({4, 3, 1}).transpose(0, 1));
  expectAddScaled({3, 4, 5}, at::randn({3, 5, 4}).transpose(1, 2), at::randn({5, 4, 3}).permute({2, 1, 0}), at::randn({1}));
}
TEST(Kernel, ManyElementsOnThreads) {
  int threads = at::get_num_threads();
  at::set_num_threads(3);
  expectAddScaled({7, 129, 257}, at::randn({7, 129, 257}), at::randn({129, 257}), at::randn({7, 1, 1}));
  expectAddScaled({1, 1, 200003}, at::randn({200003}), at::randn({200003}), at::randn({}));
  at::set_num_threads(threads);
}
TEST(Kernel, WholeRowsAreNeitherCutNorJoined) {
  int threads = at::get_num_threads();
  at::set_num_threads(3);
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{1, 200003}, {3, 5}}) {
    std::vector<at::Tensor> results;
    ASSERT_EQ(launch(columnKernel, sizes, {at::randn({})}, results), 0) << braid_rt_message();
    EXPECT_TRUE(at::equal(results[0], at::arange(sizes[1]).expand(sizes)));
  }
  at::set_num_threads(threads);
}
TEST(Kernel, EmptyBatch) {
  expectAddScaled({0, 4, 5}, at::randn({0, 4, 5}), at::randn({5}), at::randn({1}));
  expectAddScaled({3, 4, 0}, at::randn({3, 4, 0}), at::randn({4, 0}), at::randn({1}));
}

TEST(Kernel, RowsKeepOrDropTheirDim) {
  at::Tensor x = at::randn({4, 3, 6}, at::kDouble).transpose(0, 1), n = at::randint(5, {3, 4});
  std::vector<at::Tensor> results;
  ASSERT_EQ(launch(rowSumKernel, {3, 4, 6}, {x, n}, results), 0) << braid_rt_message();
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({3, 4}));
  EXPECT_EQ(results[1].sizes(), at::IntArrayRef({3, 4, 1}));
  EXPECT_TRUE(at::allclose(results[0], x.sum(-1)));
  EXPECT_TRUE(at::allclose(results[1], x.sum(-1, true) * n.unsqueeze(-1)));
}
TEST(Kernel, RowsWithoutElementsSumToZero) {
  std::vector<at::Tensor> results;
  ASSERT_EQ(launch(rowSumKernel, {2, 2, 0}, {at::randn({2, 2, 0}, at::kDouble), at::randint(5, {2, 2})}, results), 0);
  EXPECT_TRUE(at::equal(results[0], at::zeros({2, 2}, at::kDouble)));
}

TEST(Kernel, RefusesOtherShapes) {
  std::vector<at::Tensor> results;
  auto message = [&](const at::Tensor &a, const at::Tensor &row) {
    EXPECT_NE(launch(addScaledKernel, {3, 4, 5}, {a, at::randn({5}), row}, results), 0);
    return std::string(braid_rt_message());
  };
  std::string text = message(at::randn({3, 2, 5}), at::randn({1}));
  EXPECT_NE(text.find("add_scaled in net.layers.3 at modeling.py:42 failed: input 0 is f32[3, 2, 5]"), text.npos) << text;
  text = message(at::randn({5}), at::randn({5})); // a row's value that differs along the row
  EXPECT_NE(text.find("input 2 is f32[5]"), text.npos) << text;
  text = message(at::randn({5}, at::kDouble), at::randn({1}));
  EXPECT_NE(text.find("input 0 is f64[5]"), text.npos) << text;
  text = message(at::randn({2, 3, 4, 5}), at::randn({1}));
  EXPECT_NE(text.find("input 0"), text.npos) << text;
}
} // namespace
