//===- ReductionGradientCases.cpp - Cases of reductions and scans ---------===//
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

#include <cmath>

namespace braid::test {

static void addSums(std::vector<Case> &cases) {
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{2, 3, 4}, {}, {0, 3}, {1, 3}}) {
    cases.push_back({"sum", {x(shape)}});
    cases.push_back({"mean", {x(shape)}});
  }
  for (mlir::Attribute keepdim : {b(false), b(true)}) {
    for (const char *op : {"sum_dim", "mean_dim"}) {
      cases.push_back({op, {x({2, 3, 4}), ints({1}), keepdim}});
      cases.push_back({op, {x({2, 3, 4}), ints({-1, 0}), keepdim}});
      cases.push_back({op, {x({2, 3, 4}), ints({}), keepdim}});
      cases.push_back({op, {x({2, 3, 4}), none, keepdim}});
      cases.push_back({op, {x({2, 0, 4}), ints({0}), keepdim}});
      cases.push_back({op, {x({2, 0, 4}), ints({1}), keepdim}});
      cases.push_back({op, {x({1, 3}), ints({0}), keepdim}});
    }
    cases.push_back({"var_dim", {x({2, 3, 4}), ints({1}), b(true), keepdim}});
    cases.push_back({"var_dim", {x({2, 3, 4}), ints({-1, 0}), b(false), keepdim}});
    cases.push_back({"var_correction", {x({2, 3, 4}), ints({-1}), none, keepdim}});
    cases.push_back({"var_correction", {x({2, 3, 4}), none, i(0), keepdim}});
    cases.push_back({"var_correction", {x({2, 3, 4}), ints({0, 2}), i(2), keepdim}});
    cases.push_back({"var_correction", {x({0, 3}), ints({1}), i(1), keepdim}});
    cases.push_back({"logsumexp", {x({2, 3, 4}), ints({1}), keepdim}});
    cases.push_back({"logsumexp", {x({2, 3, 4}), ints({0, -1}), keepdim}});
    cases.push_back({"logsumexp", {x({0, 3}), ints({1}), keepdim}});
  }
  cases.push_back({"var_correction", {x({2, 3}), ints({1}), f(0.5)}, true, /*symbolic=*/false});
  for (mlir::Attribute keepdim : {b(false), b(true)}) {
    cases.push_back({"std_correction", {x({2, 3, 4}), ints({-1}), none, keepdim}});
    cases.push_back({"std_correction", {x({2, 3, 4}), none, i(0), keepdim}});
    for (mlir::Attribute order : {i(1), i(2), f(2.5), f(INFINITY)}) {
      cases.push_back({"linalg_vector_norm", {x({2, 3, 4}), order, ints({1}), keepdim}});
      cases.push_back({"linalg_vector_norm", {x({2, 3, 4}), order, ints({0, -1}), keepdim}});
    }
    cases.push_back({"linalg_vector_norm", {x({2, 3}), none, none, keepdim}});
    cases.push_back({"prod_dim", {x({2, 3, 4}), i(1), keepdim}});
    cases.push_back({"median_dim", {distinct({2, 3, 4}), i(1), keepdim}});
    cases.push_back({"median_dim", {distinct({2, 5}), i(-1), keepdim}});
  }
  cases.push_back({"prod", {x({2, 3})}});
  cases.push_back({"prod", {x({})}});
  // Norms of nothing but zeros, and products with one.
  Operand zero = fixed(at::zeros({2, 3}, at::kDouble)), one = fixed(at::tensor({0.0, 2.0, 3.0}, at::kDouble));
  zero.grad = one.grad = true;
  cases.push_back({"linalg_vector_norm", {zero, i(2), ints({1})}, false});
  cases.push_back({"std_correction", {zero, ints({1})}, false});
  cases.push_back({"prod", {one}});
  cases.push_back({"cumprod", {one, i(0)}});
  cases.push_back({"sum_dim", {x({}), ints({0})}});
  cases.push_back({"mean_dim", {x({}), ints({-1})}});
  // In another element type.
  cases.push_back({"sum", {single({2, 3}), type(c10::ScalarType::Double)}, false});
  cases.push_back({"sum_dim", {single({2, 3}), ints({0}), b(false), type(c10::ScalarType::Double)}, false});
  cases.push_back({"mean", {single({2, 3}), type(c10::ScalarType::Double)}, false});
  cases.push_back({"mean_dim", {single({2, 3}), ints({-1}), b(true), type(c10::ScalarType::Double)}, false});
}

static void addExtrema(std::vector<Case> &cases) {
  Operand ties = fixed(at::tensor({1.0, 3.0, 3.0, 2.0, 2.0, 0.0}, at::kDouble).view({2, 3}));
  ties.grad = true;
  for (const char *op : {"amax", "amin"}) {
    for (mlir::Attribute keepdim : {b(false), b(true)}) {
      cases.push_back({op, {distinct({2, 3, 4}), ints({1}), keepdim}});
      cases.push_back({op, {distinct({2, 3, 4}), ints({-1, 0}), keepdim}});
      cases.push_back({op, {distinct({2, 3, 4}), none, keepdim}});
      cases.push_back({op, {distinct({0, 3}), ints({1}), keepdim}});
      cases.push_back({op, {ties, ints({1}), keepdim}, false});
    }
    cases.push_back({op, {distinct({}), none}});
  }
  for (const char *op : {"max", "min"}) {
    cases.push_back({op, {distinct({2, 3, 4})}});
    cases.push_back({op, {ties}, false});
    cases.push_back({op, {distinct({})}});
  }
  for (const char *op : {"max_dim", "min_dim"}) {
    for (mlir::Attribute keepdim : {b(false), b(true)}) {
      cases.push_back({op, {distinct({2, 3, 4}), i(1), keepdim}});
      cases.push_back({op, {distinct({2, 3}), i(-1), keepdim}});
      cases.push_back({op, {distinct({0, 3}), i(1), keepdim}});
    }
    cases.push_back({op, {distinct({}), i(0)}});
  }
  for (mlir::Attribute flag : {b(false), b(true)}) {
    cases.push_back({"sort", {distinct({2, 3, 4}), i(1), flag}});
    cases.push_back({"topk", {distinct({2, 5}), i(3), i(-1), flag}});
    cases.push_back({"topk", {distinct({5, 2}), i(2), i(0), flag, b(true)}});
  }
  cases.push_back({"sort", {distinct({2, 3})}});
  cases.push_back({"sort", {distinct({0, 3})}});
  cases.push_back({"topk", {distinct({0, 3}), i(2)}});
}

static void addScans(std::vector<Case> &cases) {
  cases.push_back({"cumsum", {x({2, 3, 4}), i(1)}});
  cases.push_back({"cumsum", {x({2, 3, 4}), i(-1)}});
  cases.push_back({"cumsum", {x({2, 0}), i(1)}});
  cases.push_back({"cumsum", {x({0, 3}), i(1)}});
  cases.push_back({"cumsum", {x({}), i(0)}});
  cases.push_back({"cumsum", {single({2, 3}), i(0), type(c10::ScalarType::Double)}, false});
  cases.push_back({"cumprod", {x({2, 3, 4}), i(1)}});
  cases.push_back({"cumprod", {x({2, 3}), i(-1)}});
  cases.push_back({"diff", {x({2, 5})}});
  cases.push_back({"diff", {x({5, 2}), i(2), i(0)}});
  cases.push_back({"diff", {x({2, 5}), i(1), i(-1), x({2, 1})}});
  cases.push_back({"diff", {x({2, 5}), i(3), i(-1), x({2, 1}), x({2, 2})}});
  cases.push_back({"diff", {x({2, 5}), i(1), i(1), none, x({2, 3})}});
  cases.push_back({"diff", {x({2, 1})}});
  cases.push_back({"diff", {x({0, 4})}});
}

std::vector<Case> reductionCases() {
  std::vector<Case> cases;
  addSums(cases);
  addExtrema(cases);
  addScans(cases);
  return cases;
}

} // namespace braid::test
