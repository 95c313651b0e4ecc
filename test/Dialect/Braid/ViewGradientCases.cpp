//===- ViewGradientCases.cpp - Cases of views, copies and joins -----------===//
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

static void addShapes(std::vector<Case> &cases) {
  for (const char *op : {"view", "reshape"}) {
    cases.push_back({op, {x({2, 3, 4}), sizes({6, 4})}});
    cases.push_back({op, {x({2, 3, 4}), sizes({2, -1})}});
    cases.push_back({op, {x({1}), sizes({})}});
    cases.push_back({op, {x({0, 3}), sizes({3, 0})}});
  }
  cases.push_back({"flatten", {x({2, 3, 4})}});
  cases.push_back({"flatten", {x({2, 3, 4}), i(1), i(-1)}});
  cases.push_back({"flatten", {x({})}});
  cases.push_back({"flatten", {x({2, 0, 4}), i(0), i(1)}});
  cases.push_back({"unflatten", {x({2, 6}), i(-1), sizes({2, 3})}});
  cases.push_back({"unflatten", {x({6, 2}), i(0), sizes({-1, 2})}});
  cases.push_back({"unflatten", {x({0, 6}), i(1), sizes({2, 3})}});
  for (int64_t dim : {0, 2, -1, -3})
    cases.push_back({"unsqueeze", {x({2, 3}), i(dim)}});
  cases.push_back({"unsqueeze", {x({}), i(0)}});
  cases.push_back({"unsqueeze", {x({0}), i(-1)}});
  cases.push_back({"squeeze", {x({1, 2, 1, 3})}});
  cases.push_back({"squeeze", {x({1, 0})}});
  cases.push_back({"squeeze_dim", {x({1, 2, 1, 3}), i(-2)}});
  cases.push_back({"squeeze_dim", {x({1, 2}), i(1)}});
  cases.push_back({"squeeze_dims", {x({1, 2, 1, 3}), ints({0, -2})}});
}

static void addOrders(std::vector<Case> &cases) {
  cases.push_back({"permute", {x({2, 3, 4}), ints({2, 0, 1})}});
  cases.push_back({"permute", {x({2, 3, 4}), ints({-1, 0, -2})}});
  cases.push_back({"permute", {x({0, 3, 4}), ints({1, 2, 0})}});
  cases.push_back({"permute", {x({}), ints({})}});
  cases.push_back({"transpose", {x({2, 3, 4}), i(0), i(2)}});
  cases.push_back({"transpose", {x({2, 3, 4}), i(-1), i(1)}});
  cases.push_back({"transpose", {x({0, 3}), i(0), i(1)}});
  cases.push_back({"t", {x({2, 3})}});
  cases.push_back({"t", {x({3})}});
  cases.push_back({"flip", {x({2, 3, 4}), ints({0, -1})}});
  cases.push_back({"flip", {x({2, 0}), ints({1})}});
  cases.push_back({"roll", {x({2, 5}), sizes({2}), ints({1})}});
  cases.push_back({"roll", {x({2, 5}), sizes({-1, 3}), ints({0, -1})}});
  cases.push_back({"roll", {x({2, 5}), sizes({3})}});
  for (const char *op : {"triu", "tril"}) {
    cases.push_back({op, {x({3, 4})}});
    cases.push_back({op, {x({2, 3, 4}), i(1)}});
    cases.push_back({op, {x({4, 3}), i(-1)}});
    cases.push_back({op, {x({0, 3})}});
  }
}

static void addRepetitions(std::vector<Case> &cases) {
  cases.push_back({"expand", {x({1, 3}), sizes({2, 3})}});
  cases.push_back({"expand", {x({3}), sizes({4, 2, -1})}});
  cases.push_back({"expand", {x({1, 3}), sizes({0, 3})}});
  cases.push_back({"expand", {x({2, 3}), sizes({2, 3})}});
  cases.push_back({"expand", {x({}), sizes({2})}});
  cases.push_back({"expand_as", {x({1, 3}), fixed(at::zeros({2, 3}))}});
  cases.push_back({"expand_as", {x({1, 3}), x({4, 2, 3})}});
  cases.push_back({"broadcast_tensors", {std::vector<Operand>{x({2, 1}), x({3})}}});
  cases.push_back({"broadcast_tensors", {std::vector<Operand>{x({2, 3}), x({}), x({1, 3})}}});
  cases.push_back({"repeat", {x({2, 3}), sizes({2, 3})}});
  cases.push_back({"repeat", {x({2, 3}), sizes({4, 1, 2})}});
  cases.push_back({"repeat", {x({3}), sizes({1})}});
  cases.push_back({"repeat", {x({2, 3}), sizes({2, 0})}});
  cases.push_back({"repeat", {x({0, 3}), sizes({2, 2})}});
  cases.push_back({"repeat", {x({}), sizes({3})}});
  cases.push_back({"repeat_interleave", {x({2, 3}), i(3), i(1)}});
  cases.push_back({"repeat_interleave", {x({2, 3, 4}), i(2), i(-3)}});
  cases.push_back({"repeat_interleave", {x({2, 3}), i(2)}});
  cases.push_back({"repeat_interleave", {x({0, 3}), i(2), i(1)}});
}

static void addJoins(std::vector<Case> &cases) {
  using List = std::vector<Operand>;
  cases.push_back({"cat", {List{x({2, 3}), x({4, 3})}}});
  cases.push_back({"cat", {List{x({2, 3}), x({2, 1}), x({2, 0})}, i(-1)}});
  cases.push_back({"cat", {List{x({2, 3}), fixed(at::ones({2, 3}, at::kDouble)), x({2, 2})}, i(1)}});
  cases.push_back({"cat", {List{x({2, 3})}, i(0)}});
  // An empty tensor of rank 1 may join any others.
  cases.push_back({"cat", {List{fixed(at::ones({0}, at::kDouble)), x({2, 3})}, i(1)}, true, /*symbolic=*/false});
  cases.push_back({"cat", {List{single({2, 3}), x({2, 3})}, i(0)}, false});
  cases.push_back({"stack", {List{x({2, 3}), x({2, 3})}}});
  cases.push_back({"stack", {List{x({2, 3}), x({2, 3}), fixed(at::ones({2, 3}, at::kDouble))}, i(-1)}});
  cases.push_back({"stack", {List{x({}), x({})}, i(0)}});
  cases.push_back({"stack", {List{x({0}), x({0})}, i(1)}});
  for (const auto &[size, step] : {std::pair(2, 1), {3, 2}, {1, 3}, {4, 4}})
    cases.push_back({"unfold", {x({3, 7, 2}), i(1), i(size), i(step)}});
  cases.push_back({"unfold", {x({5}), i(-1), i(5), i(1)}});
  cases.push_back({"pad", {x({2, 3}), sizes({1, 2})}});
  cases.push_back({"pad", {x({2, 3}), sizes({0, 1, 2, 0}), s("constant"), f(1.5)}});
  cases.push_back({"pad", {x({2, 5}), sizes({-1, -2})}});
  cases.push_back({"pad", {x({0, 3}), sizes({1, 0})}});
  cases.push_back({"pad", {x({2, 3, 4}), sizes({1, 2}), s("reflect")}});
  cases.push_back({"pad", {x({2, 3, 4}), sizes({1, 2}), s("replicate")}});
  cases.push_back({"constant_pad_nd", {x({2, 3}), sizes({1, -1, 2, 0}), f(2)}});
  cases.push_back({"constant_pad_nd", {x({3}), sizes({0, 0})}});
}

static void addParts(std::vector<Case> &cases) {
  cases.push_back({"select", {x({2, 3, 4}), i(1), i(2)}});
  cases.push_back({"select", {x({2, 3, 4}), i(-1), i(-2)}});
  cases.push_back({"select", {x({0, 3}), i(1), i(0)}});
  cases.push_back({"slice", {x({2, 5}), i(1), i(1), i(4), i(1)}});
  cases.push_back({"slice", {x({2, 5}), i(-1), i(0), i(5), i(2)}});
  cases.push_back({"slice", {x({5, 2}), i(0), i(-3), i(9223372036854775807), i(1)}});
  cases.push_back({"slice", {x({5, 2}), i(0), i(0), i(-1), i(1)}});
  cases.push_back({"slice", {x({5, 2})}});
  cases.push_back({"slice", {x({5, 2}), i(0), i(7), i(9), i(1)}, true, /*symbolic=*/false});
  cases.push_back({"slice", {x({0, 2}), i(1), i(1), i(2), i(1)}});
  cases.push_back({"narrow", {x({2, 5}), i(1), i(1), i(3)}});
  cases.push_back({"narrow", {x({5, 2}), i(-2), i(-2), i(2)}});
  cases.push_back({"narrow", {x({5, 2}), i(0), i(2), i(0)}});
  cases.push_back({"split", {x({2, 6}), i(2), i(-1)}, true, /*symbolic=*/false});
  cases.push_back({"split", {x({5, 2}), i(2)}, true, /*symbolic=*/false});
  cases.push_back({"split", {x({2, 3}), i(2), i(0)}, true, /*symbolic=*/false});
  cases.push_back({"split", {x({0, 4}), i(3), i(1)}, true, /*symbolic=*/false});
  cases.push_back({"split_with_sizes", {x({2, 6}), sizes({1, 3, 2}), i(1)}});
  cases.push_back({"split_with_sizes", {x({6, 2}), sizes({6, 0})}});
  cases.push_back({"chunk", {x({2, 6}), i(3), i(-1)}, true, /*symbolic=*/false});
  cases.push_back({"chunk", {x({5, 2}), i(2)}, true, /*symbolic=*/false});
  cases.push_back({"unbind", {x({3, 2}), i(0)}, true, /*symbolic=*/false});
  cases.push_back({"unbind", {x({2, 3, 4}), i(-2)}, true, /*symbolic=*/false});
  cases.push_back({"unbind", {x({1, 2})}});
  cases.push_back({"slice_scatter", {x({2, 5}), x({2, 3}), i(1), i(1), i(4), i(1)}});
  cases.push_back({"slice_scatter", {x({2, 5}), x({2, 3}), i(-1), i(0), i(5), i(2)}});
  cases.push_back({"slice_scatter", {x({5, 2}), x({3, 2}), i(0), i(-3), i(9223372036854775807), i(1)}});
  cases.push_back({"slice_scatter", {x({5, 2}), x({5, 2})}});
  cases.push_back({"slice_scatter", {x({2, 5}), single({2, 3}), i(1), i(1), i(4), i(1)}, false});
  cases.push_back({"slice_scatter", {x({5, 2}), x({0, 2}), i(0), i(3), i(1), i(1)}});
  cases.push_back({"slice_backward", {x({2, 3}), sizes({2, 5}), i(1), i(1), i(4), i(1)}});
  cases.push_back({"slice_backward", {x({2, 3}), sizes({2, 5}), i(1), i(0), i(5), i(2)}});
  cases.push_back({"select_backward", {x({2, 4}), sizes({2, 3, 4}), i(1), i(2)}});
}

std::vector<Case> viewCases() {
  std::vector<Case> cases;
  addShapes(cases);
  addOrders(cases);
  addRepetitions(cases);
  addJoins(cases);
  addParts(cases);
  return cases;
}

} // namespace braid::test
