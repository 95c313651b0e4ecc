//===- CallGradient.cpp - Gradients by ATen's own autograd ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The opaque path: an operator without a differentiation rule is run again on its saved arguments under autograd.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"
#include "runtime/aten/Message.h"
#include "runtime/aten/Operator.h"
#include "runtime/core/Text.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <stdexcept>

using namespace braid::runtime;

/// The arguments with every tensor replaced by a detached one; `wanted` ones require a gradient where they can.
namespace {
struct DetachedArguments {
  std::vector<braid_value> values;
  std::vector<Tensor> tensors; // in the order that `wanted` counts
  std::vector<std::vector<braid_tensor>> lists;

  DetachedArguments(const braid_value *arguments, int32_t count) : values(arguments, arguments + count) {
    lists.reserve(count);
    for (braid_value &value : values) {
      if (value.tag == BRAID_TENSOR)
        value.as.tensor = detach(value.as.tensor);
      if (value.tag != BRAID_TENSOR_LIST)
        continue;
      std::vector<braid_tensor> &list = lists.emplace_back();
      for (int32_t i = 0; i < value.count; ++i)
        list.push_back(detach(value.as.tensors[i]));
      value.as.tensors = list.data();
    }
  }

private:
  braid_tensor detach(braid_tensor tensor) {
    tensors.push_back(tensor ? fromAten(toAten(tensor).detach()) : Tensor());
    return tensors.back().get();
  }
};
} // namespace

static void pullBack(const braid_op_s &op, const braid_value *arguments, int32_t count, const braid_tensor *cotangents,
                     int32_t numCotangents, const int32_t *wanted, int32_t numWanted, braid_tensor *results) {
  at::AutoGradMode enabled(true);
  DetachedArguments detached(arguments, count);
  std::vector<at::Tensor> inputs(numWanted);
  std::vector<at::Tensor> sources; // those of them that autograd can differentiate
  for (int32_t j = 0; j < numWanted; ++j) {
    if (wanted[j] < 0 || static_cast<size_t>(wanted[j]) >= detached.tensors.size() || !detached.tensors[wanted[j]])
      throw std::runtime_error(text("its gradient is wanted for tensor ", wanted[j], " of ", detached.tensors.size(),
                                    ", which is absent; compile the program again with this version of braid"));
    inputs[j] = toAten(detached.tensors[wanted[j]]);
    if (inputs[j].is_floating_point() && !inputs[j].requires_grad())
      inputs[j].requires_grad_(true);
    if (inputs[j].requires_grad())
      sources.push_back(inputs[j]);
  }

  torch::jit::Stack stack = op.makeStack(detached.values.data(), count);
  op.handle.callBoxed(stack);
  std::vector<at::Tensor> values = tensorsOf(stack);
  if (values.size() != static_cast<size_t>(numCotangents))
    throw std::runtime_error(text("it returned ", values.size(), " tensors where the program has ", numCotangents,
                                  " cotangents; compile with this batch as the example"));
  std::vector<at::Tensor> outputs, seeds;
  for (int32_t i = 0; i < numCotangents; ++i)
    if (cotangents[i] && values[i].defined() && values[i].requires_grad()) {
      outputs.push_back(values[i]);
      seeds.push_back(toAten(cotangents[i]));
    }
  std::vector<at::Tensor> gradients(sources.size());
  if (!outputs.empty() && !sources.empty())
    gradients = torch::autograd::grad(outputs, sources, seeds, false, false, /*allow_unused=*/true);

  BelowAutograd below;
  std::vector<at::Tensor> found(numWanted);
  for (int32_t j = 0, next = 0; j < numWanted; ++j) {
    if (inputs[j].requires_grad())
      found[j] = gradients[next++];
    if (!found[j].defined())
      found[j] = at::zeros_like(inputs[j].detach());
  }
  for (int32_t j = 0; j < numWanted; ++j)
    results[j] = toHandle(std::move(found[j]));
}

extern "C" braid_status braid_rt_call_gradient(braid_op op, const braid_value *arguments, int32_t num_arguments,
                                               const braid_tensor *cotangents, int32_t num_cotangents,
                                               const int32_t *wanted, int32_t num_wanted, braid_tensor *results,
                                               const braid_site *site) {
  try {
    pullBack(*op, arguments, num_arguments, cotangents, num_cotangents, wanted, num_wanted, results);
    return 0;
  } catch (const std::exception &error) {
    return fail("the gradient of " + op->failure(error, arguments, num_arguments, site));
  } catch (...) {
    return fail("the gradient of " +
                op->failure(std::runtime_error("an unknown C++ exception"), arguments, num_arguments, site));
  }
}
