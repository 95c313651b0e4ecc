//===- GatherScatterGradientCases.cpp - Cases of reads and writes by index -===//
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

static void addByIndex(std::vector<Case> &cases) {
  cases.push_back({"embedding", {x({5, 3}), indices({1, 4, 1, 0}, {2, 2})}});
  // The padding row is read as any other, but learns nothing.
  cases.push_back({"embedding", {x({5, 3}), indices({1, 4, 1, 0}, {4}), i(1)}, false});
  cases.push_back({"embedding", {x({5, 3}), indices({1, 4, 1, 0}, {4}), i(-1), b(true)}, false});
  cases.push_back({"embedding", {x({5, 3}), indices({}, {0, 2})}});
  cases.push_back({"embedding", {x({5, 3}), indices({2}, {})}});

  using List = std::vector<Operand>;
  Operand absent;
  cases.push_back({"index", {x({4, 3}), List{indices({1, 1, 3}, {3})}}});
  cases.push_back({"index", {x({4, 3}), List{absent, indices({2, 0}, {2})}}});
  cases.push_back({"index", {x({4, 3, 2}), List{indices({1, 3}, {2, 1}), absent, indices({0, 1, 1}, {3})}}});
  cases.push_back({"index", {x({4, 3}), List{indices({1, 0, 2}, {3, 1}), indices({2, 0}, {1, 2})}}});
  cases.push_back({"index", {x({4, 3}), List{indices({}, {0})}}});
  cases.push_back({"index", {x({0, 3}), List{absent, indices({2, 0}, {2})}}});
  cases.push_back({"index_select", {x({4, 3}), i(0), indices({1, 1, 3}, {3})}});
  cases.push_back({"index_select", {x({4, 3}), i(-1), indices({2, 0}, {2})}});
  cases.push_back({"index_select", {x({4, 3}), i(0), indices({}, {0})}});
  cases.push_back({"index_add", {x({4, 3}), i(0), indices({1, 1, 3}, {3}), x({3, 3})}});
  cases.push_back({"index_add", {x({4, 3}), i(-1), indices({2, 0}, {2}), x({4, 2}), f(-0.5)}});
  cases.push_back({"index_add", {x({4, 3}), i(0), indices({}, {0}), x({0, 3})}});
  cases.push_back({"index_put", {x({4, 3}), List{indices({1, 3}, {2})}, x({2, 3})}});
  cases.push_back({"index_put", {x({4, 3}), List{indices({1, 1, 3}, {3})}, x({3, 3}), b(true)}});
  cases.push_back({"index_put", {x({4, 3}), List{indices({1, 3}, {2})}, x({}), b(false)}});
  cases.push_back({"index_put", {x({4, 3}), List{indices({1, 3}, {2}), indices({0, 2}, {2})}, x({1}), b(true)}});
  cases.push_back({"index_put", {x({4, 3}), List{indices({}, {0})}, x({0, 3}), b(true)}});
  cases.push_back({"gather", {x({4, 3}), i(0), indices({1, 0, 3, 3, 3, 2}, {2, 3})}});
  cases.push_back({"gather", {x({4, 3}), i(-1), indices({1, 0, 2, 2}, {2, 2})}});
  cases.push_back({"gather", {x({4, 3}), i(0), indices({}, {0, 3})}});
  cases.push_back({"scatter_add", {x({4, 3}), i(0), indices({1, 0, 3, 3, 1, 2}, {2, 3}), x({2, 3})}});
  cases.push_back({"scatter_add", {x({4, 3}), i(1), indices({1, 1, 2, 0}, {4, 1}), x({4, 1})}});
  cases.push_back({"scatter_add", {x({4, 3}), i(0), indices({}, {0, 3}), x({0, 3})}});
  cases.push_back({"scatter", {x({4, 3}), i(0), indices({1, 0, 3, 3, 1, 2}, {2, 3}), x({2, 3})}});
  cases.push_back({"scatter", {x({4, 3}), i(0), indices({}, {0, 3}), x({0, 3})}});
  cases.push_back({"scatter_value", {x({4, 3}), i(-1), indices({1, 0, 2, 2}, {4, 1}), f(2.5)}});
}

static void addByMask(std::vector<Case> &cases) {
  cases.push_back({"masked_fill_scalar", {x({2, 3}), mask({1, 0, 0, 1, 1, 0}, {2, 3}), f(-1.5)}});
  cases.push_back({"masked_fill_scalar", {x({2, 3}), mask({1, 0, 1}, {3}), i(0)}});
  cases.push_back({"masked_fill_scalar", {x({3}), mask({1, 0}, {2, 1}), i(0)}});
  cases.push_back({"masked_fill_scalar", {x({2, 3}), mask({1, 0, 1}, {3}), f(-INFINITY)}, false});
  cases.push_back({"masked_fill_scalar", {x({0, 3}), mask({1, 0, 1}, {3}), i(0)}});
  cases.push_back({"masked_fill_tensor", {x({2, 3}), mask({1, 0, 0, 1, 1, 0}, {2, 3}), x({})}});
  cases.push_back({"masked_fill_tensor", {x({2, 3}), mask({1, 0}, {2, 1}), x({})}});
  for (const char *op : {"masked_scatter", "merge_rows"}) {
    cases.push_back({op, {x({4, 2}), mask({0, 0, 1, 1, 0, 0, 1, 1}, {4, 2}), x({2, 2})}});
    cases.push_back({op, {x({4, 2}), mask({0, 1, 0, 1}, {4, 1}), x({2, 2})}});
    cases.push_back({op, {x({2, 2, 3}), mask({0, 1, 0, 1}, {2, 2, 1}), x({2, 3})}});
    cases.push_back({op, {x({4, 2}), mask({0, 0, 0, 0}, {4, 1}), x({0, 2})}});
  }
  // Rows of the source that are left over have gradient zero.
  cases.push_back({"masked_scatter", {x({4, 2}), mask({0, 1, 0, 1}, {4, 1}), x({3, 2})}});
}

std::vector<Case> gatherScatterCases() {
  std::vector<Case> cases;
  addByIndex(cases);
  addByMask(cases);
  return cases;
}

} // namespace braid::test
