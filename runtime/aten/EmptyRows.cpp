//===- EmptyRows.cpp - Operators of tensors without rows ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/EmptyRows.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

using namespace braid::runtime;

/// (query, key, value, ...) -> (output, logsumexp). A query without keys gives zeros, as the empty sum.
static bool attention(torch::jit::Stack &stack) {
  at::Tensor query = stack[0].toTensor(), key = stack[1].toTensor(), value = stack[2].toTensor();
  if (query.numel() && key.numel())
    return false;
  std::vector<int64_t> sizes = query.sizes().vec(), rows(sizes.begin(), sizes.end() - 1);
  sizes.back() = value.size(-1);
  stack = {at::zeros(sizes, query.options()), at::full(rows, -std::numeric_limits<double>::infinity(),
                                                       query.options().dtype(at::toOpMathType(query.scalar_type())))};
  return true;
}

/// (grad_out, query, key, value, ...) -> (grad_query, grad_key, grad_value).
static bool attentionBackward(torch::jit::Stack &stack) {
  at::Tensor query = stack[1].toTensor(), key = stack[2].toTensor(), value = stack[3].toTensor();
  if (query.numel() && key.numel())
    return false;
  stack = {at::zeros_like(query), at::zeros_like(key), at::zeros_like(value)};
  return true;
}

WithoutRows braid::runtime::withoutRowsOf(std::string_view name) {
  if (name == "aten::_scaled_dot_product_flash_attention_for_cpu")
    return attention;
  if (name == "aten::_scaled_dot_product_flash_attention_for_cpu_backward")
    return attentionBackward;
  return nullptr;
}
