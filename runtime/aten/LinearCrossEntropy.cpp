//===- LinearCrossEntropy.cpp - The head and the loss of a language model -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators braid::linear_cross_entropy and its three gradients, which docs/Dialects/Braid.md describes. They are
// registered with ATen's dispatcher, so a program calls them as it calls any other.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"
#include "runtime/aten/MatrixProduct.h"
#include "runtime/core/Text.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

using namespace braid::runtime;

namespace {
/// The rows whose target counts, in their order.
class CountedRows {
public:
  CountedRows(const at::Tensor &target, int64_t ignored) : total(target.numel()) {
    at::Tensor dense = target.contiguous();
    const int64_t *classes = dense.const_data_ptr<int64_t>();
    for (int64_t row = 0; row < total; ++row)
      if (classes[row] != ignored)
        targets.push_back(classes[row]), places.push_back(row);
  }

  void check(int64_t numClasses) const {
    for (int64_t i = 0; i < count(); ++i)
      if (targets[i] < 0 || targets[i] >= numClasses)
        throw std::out_of_range(text("target ", targets[i], " of row ", places[i], " is out of bounds: there are ",
                                     numClasses, " classes"));
  }

  int64_t count() const { return static_cast<int64_t>(targets.size()); }
  int64_t target(int64_t row) const { return targets[row]; }

  /// Theirs among all rows.
  at::Tensor pack(const at::Tensor &rows) const { return count() == total ? rows : rows.index_select(0, index()); }
  /// All rows, where those that do not count are zero.
  at::Tensor unpack(const at::Tensor &rows) const {
    if (count() == total)
      return rows;
    at::Tensor all = at::zeros({total, rows.size(1)}, rows.options());
    return all.index_copy_(0, index(), rows);
  }

private:
  at::Tensor index() const {
    at::Tensor tensor = at::empty({count()}, at::kLong);
    std::copy(places.begin(), places.end(), tensor.mutable_data_ptr<int64_t>());
    return tensor;
  }

  int64_t total;
  std::vector<int64_t> targets, places;
};

at::Tensor multiply(const at::Tensor &left, const at::Tensor &right) {
  std::optional<at::Tensor> product = computeProduct(MatrixProduct::Mm, {left, right});
  return product ? *std::move(product) : at::mm(left, right);
}

at::Tensor applyLinear(const at::Tensor &input, const at::Tensor &weight, const std::optional<at::Tensor> &bias) {
  std::optional<at::Tensor> product = computeProduct(MatrixProduct::Linear, {input, weight, bias});
  return product ? *std::move(product) : at::linear(input, weight, bias);
}

/// Turns the logits of a few rows into the gradient of their losses, in place, and returns the sum of the losses.
template <typename T> double replaceByGradient(at::Tensor logits, const CountedRows &rows, int64_t first) {
  int64_t count = logits.size(0), classes = logits.size(1);
  T *elements = logits.mutable_data_ptr<T>();
  auto ofTarget = [&](int64_t row) -> T & { return elements[row * classes + rows.target(first + row)]; };
  std::vector<T> scores(count);
  for (int64_t row = 0; row < count; ++row)
    scores[row] = ofTarget(row);
  at::Tensor largest = at::amax(logits, 1);
  at::_softmax_out(logits, logits, 1, false);
  // The probability of the largest is 1 / sum, and tells the logarithm of the sum also where that of the target is 0.
  at::Tensor top = at::amax(logits, 1);
  double sum = 0;
  for (int64_t row = 0; row < count; ++row) {
    sum += static_cast<double>(largest.const_data_ptr<T>()[row]) - scores[row] -
           std::log(static_cast<double>(top.const_data_ptr<T>()[row]));
    ofTarget(row) -= 1;
  }
  return sum;
}

/// Rows of which the logits fit a core's cache.
int64_t rowsAtOnce(const at::Tensor &logits) {
  constexpr int64_t cache = 1 << 19; // bytes
  return std::max<int64_t>(1, cache / std::max<int64_t>(1, logits.size(1) * logits.element_size()));
}

std::tuple<at::Tensor, at::Tensor> linearCrossEntropy(const at::Tensor &input, const at::Tensor &weight,
                                                      const std::optional<at::Tensor> &bias, const at::Tensor &target,
                                                      int64_t ignored) {
  CountedRows rows(target, ignored);
  rows.check(weight.size(0));
  at::Tensor logits = applyLinear(rows.pack(input), weight, bias);
  int64_t step = rowsAtOnce(logits), steps = (rows.count() + step - 1) / step;
  std::vector<double> sums(steps);
  AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "linear_cross_entropy", [&] {
    at::parallel_for(0, steps, 1, [&](int64_t begin, int64_t end) {
      BelowAutograd guard;
      for (int64_t i = begin; i < end; ++i)
        sums[i] = replaceByGradient<scalar_t>(logits.narrow(0, i * step, std::min(step, rows.count() - i * step)), rows,
                                              i * step);
    });
  });
  double sum = 0;
  for (double part : sums) // in one order for any number of threads
    sum += part;
  return {at::scalar_tensor(sum, logits.options()), logits};
}

at::Tensor backwardInput(const at::Tensor &gradient, const at::Tensor &logits, const at::Tensor &weight,
                         const at::Tensor &target, int64_t ignored) {
  return CountedRows(target, ignored).unpack(multiply(logits, weight).mul_(gradient));
}

at::Tensor backwardWeight(const at::Tensor &gradient, const at::Tensor &logits, const at::Tensor &input,
                          const at::Tensor &target, int64_t ignored) {
  return multiply(logits.t(), CountedRows(target, ignored).pack(input).mul(gradient));
}

at::Tensor backwardBias(const at::Tensor &gradient, const at::Tensor &logits) { return logits.sum(0).mul_(gradient); }
} // namespace

TORCH_LIBRARY_FRAGMENT(braid, library) {
  library.def(
      "linear_cross_entropy(Tensor input, Tensor weight, Tensor? bias, Tensor target, int ignore_index=-100) -> "
      "(Tensor loss, Tensor grad_logits)");
  library.def(
      "linear_cross_entropy_backward_input(Tensor grad_output, Tensor grad_logits, Tensor weight, Tensor target, "
      "int ignore_index=-100) -> Tensor");
  library.def(
      "linear_cross_entropy_backward_weight(Tensor grad_output, Tensor grad_logits, Tensor input, Tensor target, "
      "int ignore_index=-100) -> Tensor");
  library.def("linear_cross_entropy_backward_bias(Tensor grad_output, Tensor grad_logits) -> Tensor");
}

TORCH_LIBRARY_IMPL(braid, CPU, library) {
  library.impl("linear_cross_entropy", linearCrossEntropy);
  library.impl("linear_cross_entropy_backward_input", backwardInput);
  library.impl("linear_cross_entropy_backward_weight", backwardWeight);
  library.impl("linear_cross_entropy_backward_bias", backwardBias);
}
