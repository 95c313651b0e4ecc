//===- PoolingGradientCases.cpp - Cases of pooling, resampling, windows -----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

namespace braid::test {

static void addPools(std::vector<Case> &cases) {
  struct Windows {
    std::vector<int64_t> kernel, stride, padding;
    bool ceil;
  };
  const Windows all[] = {{{2, 2}, {}, {0, 0}, false}, {{3, 2}, {2, 1}, {1, 1}, false}, {{3}, {2}, {1}, true},
                         {{2, 3}, {3, 3}, {0}, true}, {{1}, {2}, {0}, false},          {{3, 3}, {1, 1}, {1, 0}, false},
                         {{2}, {2}, {1}, true}};
  for (const Windows &windows : all)
    for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{2, 3, 5, 6}, {3, 7, 4}, {0, 2, 5, 6}}) {
      std::vector<Arg> args = {distinct(shape), ints(windows.kernel), ints(windows.stride), ints(windows.padding)};
      std::vector<Arg> maxima = args, means = args;
      maxima.insert(maxima.end(), {ints({1}), b(windows.ceil)});
      cases.push_back({"max_pool2d_with_indices", maxima});
      means.insert(means.end(), {b(windows.ceil), b(true)});
      cases.push_back({"avg_pool2d", means});
      means.back() = b(false);
      cases.push_back({"avg_pool2d", means});
    }
  cases.push_back({"max_pool2d_with_indices", {distinct({2, 1, 7, 6}), ints({2}), ints({1}), none, ints({2, 3})}});
  cases.push_back({"max_pool2d_with_indices", {distinct({2, 1, 4, 4}), ints({2, 2})}});
  cases.push_back({"avg_pool2d", {x({2, 1, 4, 4}), ints({2, 2})}});
  cases.push_back({"avg_pool2d", {x({2, 1, 4, 4}), ints({2, 2}), none, none, none, none, i(3)}});
  // Equal values: the first of them is the maximum.
  Operand same = distinct({1, 1, 4, 4});
  same.value = same.value.mul(0);
  cases.push_back({"max_pool2d_with_indices", {same, ints({3}), ints({1})}, false});
  Operand apart = distinct({2, 4, 5, 3}); // the channels lie innermost
  apart.value = apart.value.permute({0, 3, 1, 2});
  cases.push_back({"max_pool2d_with_indices", {apart, ints({2})}});
  cases.push_back({"avg_pool2d", {apart, ints({2})}});

  for (bool ceil : {false, true}) {
    cases.push_back({"max_pool3d_with_indices",
                     {distinct({2, 2, 4, 5, 3}), ints({2, 3, 2}), ints({2}), ints({1, 1, 0}), ints({1}), b(ceil)}});
    cases.push_back({"avg_pool3d", {x({2, 2, 4, 5, 3}), ints({2, 3, 2}), ints({2}), ints({1, 1, 0}), b(ceil)}});
  }
}

static void addAdaptive(std::vector<Case> &cases) {
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{2, 3, 5, 6}, {3, 7, 4}, {0, 2, 5, 6}})
    for (const std::vector<int64_t> &output : std::vector<std::vector<int64_t>>{{1, 1}, {2, 3}, {7, 7}, {5, 1}}) {
      // Named sizes are those of the image: the output's are constants, as most often.
      cases.push_back({"adaptive_avg_pool2d", {x(shape), output}});
      cases.back().symbolic = false;
      cases.push_back({"adaptive_max_pool2d", {distinct(shape), ints(output)}});
    }
  cases.push_back({"adaptive_avg_pool2d", {x({2, 3, 4, 4}), sizes({1, 1})}});
  for (const std::vector<int64_t> &output : std::vector<std::vector<int64_t>>{{1, 1, 1}, {2, 3, 1}}) {
    cases.push_back({"adaptive_avg_pool3d", {x({2, 3, 4, 5, 6}), output}});
    cases.back().symbolic = false;
    cases.push_back({"adaptive_max_pool3d", {distinct({2, 3, 4, 5, 6}), ints(output)}});
  }
}

/// Places inside of the image and beyond it, by each interpolation and padding.
static void addGrids(std::vector<Case> &cases) {
  for (int64_t interpolation : {0, 1, 2})
    for (int64_t padding : {0, 1, 2})
      for (bool corners : {false, true}) {
        cases.push_back(
            {"grid_sampler", {x({2, 3, 4, 5}), x({2, 3, 2, 2}), i(interpolation), i(padding), b(corners)}, false});
        if (interpolation < 2)
          cases.push_back({"grid_sampler",
                           {x({1, 2, 3, 4, 5}), x({1, 2, 3, 2, 3}), i(interpolation), i(padding), b(corners)},
                           false});
      }
}

static void addResampling(std::vector<Case> &cases) {
  const std::vector<int64_t> row = {2, 3, 5}, image = {2, 3, 4, 5}, volume = {2, 2, 3, 4, 2};
  for (int64_t size : {3, 7, 10})
    cases.push_back({"upsample_nearest1d", {x(row), sizes({size})}});
  cases.push_back({"upsample_nearest1d", {x(row), sizes({10}), f(2)}});
  cases.push_back({"upsample_nearest3d", {x(volume), sizes({5, 4, 3})}});
  for (const std::vector<int64_t> &output : std::vector<std::vector<int64_t>>{{8, 10}, {3, 7}, {1, 1}, {4, 5}}) {
    for (const char *op : {"upsample_nearest2d", "_upsample_nearest_exact2d"})
      cases.push_back({op, {x(image), output}});
    for (bool corners : {false, true})
      for (const char *op : {"upsample_bilinear2d", "upsample_bicubic2d"})
        cases.push_back({op, {x(image), output, b(corners)}});
  }
  for (bool corners : {false, true}) {
    cases.push_back({"upsample_linear1d", {x(row), sizes({8}), b(corners)}});
    cases.push_back({"upsample_trilinear3d", {x(volume), sizes({5, 4, 3}), b(corners)}});
  }
  cases.push_back({"upsample_nearest2d", {x(image), sizes({8, 10}), f(2), f(2)}});
  cases.push_back({"upsample_bilinear2d", {x(image), sizes({9, 11}), b(false), f(2.3), f(2.2)}});
  cases.push_back({"upsample_bilinear2d", {x({0, 3, 4, 5}), sizes({8, 10}), b(false)}});
}

static void addColumns(std::vector<Case> &cases) {
  auto add = [&](std::vector<int64_t> kernel, std::vector<int64_t> dilation, std::vector<int64_t> padding,
                 std::vector<int64_t> stride, std::vector<int64_t> columns) {
    cases.push_back({"im2col", {x({2, 3, 5, 6}), ints(kernel), ints(dilation), ints(padding), ints(stride)}});
    cases.push_back({"im2col", {x({3, 5, 6}), ints(kernel), ints(dilation), ints(padding), ints(stride)}});
    cases.push_back({"col2im", {x(columns), sizes({5, 6}), ints(kernel), ints(dilation), ints(padding), ints(stride)}});
    cases.back().symbolic = false;
  };
  add({2, 2}, {1, 1}, {0, 0}, {1, 1}, {2, 12, 20});
  add({3, 2}, {1, 2}, {1, 0}, {2, 1}, {2, 18, 12});
  add({1, 1}, {1, 1}, {0, 0}, {1, 1}, {3, 30});
}

std::vector<Case> poolingCases() {
  std::vector<Case> cases;
  addPools(cases);
  addAdaptive(cases);
  addGrids(cases);
  addResampling(cases);
  addColumns(cases);
  return cases;
}

} // namespace braid::test
