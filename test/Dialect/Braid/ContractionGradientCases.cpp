//===- ContractionGradientCases.cpp - Cases of matrix products ------------===//
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

static void addMatrices(std::vector<Case> &cases) {
  cases.push_back({"mm", {x({2, 3}), x({3, 4})}});
  cases.push_back({"mm", {x({0, 3}), x({3, 4})}});
  cases.push_back({"mm", {x({2, 0}), x({0, 4})}});
  cases.push_back({"bmm", {x({2, 3, 4}), x({2, 4, 5})}});
  cases.push_back({"bmm", {x({0, 3, 4}), x({0, 4, 5})}});
  cases.push_back({"bmm", {x({2, 0, 4}), x({2, 4, 5})}});
  for (mlir::Attribute scale : {f(1), f(-0.5), i(2)}) {
    cases.push_back({"addmm", {x({4}), x({2, 3}), x({3, 4}), scale, i(1)}});
    cases.push_back({"addmm", {x({2, 4}), x({2, 3}), x({3, 4}), f(0.5), scale}});
    cases.push_back({"baddbmm", {x({2, 3, 5}), x({2, 3, 4}), x({2, 4, 5}), scale, f(0.3)}});
  }
  cases.push_back({"addmm", {x({4}), x({2, 3}), x({3, 4})}});
  cases.push_back({"addmm", {x({}), x({2, 3}), x({3, 4})}});
  cases.push_back({"addmm", {x({4}), x({0, 3}), x({3, 4})}});
  cases.push_back({"baddbmm", {x({5}), x({2, 3, 4}), x({2, 4, 5})}});
}

static void addMatmul(std::vector<Case> &cases) {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> pairs = {{{3}, {3}},
                                                                                    {{2, 3}, {3}},
                                                                                    {{3}, {3, 4}},
                                                                                    {{2, 3}, {3, 4}},
                                                                                    {{2, 3, 4}, {4}},
                                                                                    {{4}, {2, 4, 3}},
                                                                                    {{2, 3, 4}, {4, 5}},
                                                                                    {{3, 4}, {2, 4, 5}},
                                                                                    {{2, 3, 4}, {2, 4, 5}},
                                                                                    {{2, 1, 3, 4}, {5, 4, 2}},
                                                                                    {{1, 3, 4}, {2, 4, 5}},
                                                                                    {{2, 2, 3, 4}, {4, 3}},
                                                                                    {{0, 3, 4}, {4, 5}},
                                                                                    {{0, 3, 4}, {0, 4, 5}},
                                                                                    {{2, 3, 0}, {0, 4}},
                                                                                    {{2, 0, 3}, {3, 4}},
                                                                                    {{0}, {0}},
                                                                                    {{2, 0, 4}, {4}},
                                                                                    {{4}, {4}},
                                                                                    {{2, 3, 2, 4}, {3, 4, 5}}};
  for (const auto &[a, b] : pairs)
    cases.push_back({"matmul", {x(a), x(b)}});
}

static void addLinear(std::vector<Case> &cases) {
  for (const std::vector<int64_t> &batch : std::vector<std::vector<int64_t>>{{}, {2}, {2, 3}, {0}, {2, 0}}) {
    std::vector<int64_t> shape = batch;
    shape.push_back(4);
    cases.push_back({"linear", {x(shape), x({5, 4})}});
    cases.push_back({"linear", {x(shape), x({5, 4}), x({5})}});
  }
  cases.push_back({"linear", {single({2, 3, 4}), single({5, 4}), single({5})}, false});
}

static void addConvolution(std::vector<Case> &cases) {
  auto add = [&](Operand input, Operand weight, Arg bias, std::vector<int64_t> stride, std::vector<int64_t> padding,
                 std::vector<int64_t> dilation, bool transposed, std::vector<int64_t> outputPadding, int64_t groups) {
    bool differences = input.value.scalar_type() == c10::ScalarType::Double;
    cases.push_back({"convolution",
                     {input, weight, bias, stride, padding, dilation, b(transposed), outputPadding, i(groups)},
                     differences});
  };
  add(x({2, 3, 5, 4}), x({4, 3, 2, 2}), x({4}), {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1);
  add(x({2, 3, 5, 4}), x({4, 3, 2, 2}), none, {2, 1}, {1, 0}, {1, 2}, false, {0, 0}, 1);
  add(x({2, 3, 4, 4}), x({4, 3, 4, 4}), x({4}), {4, 4}, {0, 0}, {1, 1}, false, {0, 0}, 1);
  add(x({1, 4, 5, 4}), x({4, 2, 2, 2}), x({4}), {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 2);
  add(x({2, 3, 6}), x({4, 3, 2}), x({4}), {2}, {1}, {1}, false, {0}, 1);
  add(x({2, 3, 4, 3}), x({3, 4, 2, 2}), x({4}), {2, 2}, {0, 0}, {1, 1}, true, {1, 0}, 1);
  add(x({0, 3, 5, 4}), x({4, 3, 2, 2}), x({4}), {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1);
  add(single({2, 3, 5, 4}), single({4, 3, 2, 2}), single({4}), {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1);
}

static void addDistances(std::vector<Case> &cases) {
  for (double order : {1.0, 2.0, 3.0}) {
    cases.push_back({"cdist", {x({4, 3}), x({5, 3}), f(order)}});
    cases.push_back({"cdist", {x({2, 4, 3}), x({1, 5, 3}), f(order)}});
  }
}

std::vector<Case> contractionCases() {
  std::vector<Case> cases;
  addDistances(cases);
  addMatrices(cases);
  addMatmul(cases);
  addLinear(cases);
  addConvolution(cases);
  return cases;
}

} // namespace braid::test
