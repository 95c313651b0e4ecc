//===- Call.cpp - Operator calls of compiled code -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of the C ABI that compiled code calls between its arithmetic on sizes.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"
#include "runtime/aten/Message.h"
#include "runtime/aten/Operator.h"
#include "runtime/core/Text.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <cstring>
#include <stdexcept>

using namespace braid::runtime;

/// Runs `body`, which throws what failed; `describe` words the whole message.
template <typename Body, typename Describe> static braid_status guarded(Body &&body, Describe &&describe) {
  try {
    body();
    return 0;
  } catch (const std::exception &error) {
    return fail(describe(error));
  } catch (...) {
    return fail(describe(std::runtime_error("an unknown C++ exception")));
  }
}

extern "C" {

braid_status braid_rt_call(braid_op op, const braid_value *arguments, int32_t num_arguments, braid_tensor *results,
                           int32_t num_results, const braid_site *site) {
  return guarded(
      [&] {
        if (num_results == 1)
          if (std::optional<at::Tensor> view = callView(*op, arguments, num_arguments)) {
            results[0] = toHandle(*std::move(view));
            return;
          }
        BelowAutograd guard;
        torch::jit::Stack stack = op->makeStack(arguments, num_arguments);
        if (std::optional<at::Tensor> product = computeProduct(op->product, stack))
          stack = {*std::move(product)};
        else if (!op->withoutRows || !op->withoutRows(stack))
          op->handle.callBoxed(stack);
        if (num_results == 1 && stack.size() == 1 && stack[0].isTensor()) {
          results[0] = toHandle(std::move(stack[0]).toTensor());
          return;
        }
        std::vector<at::Tensor> tensors = tensorsOf(stack);
        if (tensors.size() != static_cast<size_t>(num_results))
          throw std::runtime_error(text("it returned ", tensors.size(), " tensors where the program expects ",
                                        num_results,
                                        "; the batch differs from the example in a way that was not "
                                        "foreseen, so compile with this batch as the example"));
        for (int32_t i = 0; i < num_results; ++i)
          results[i] = toHandle(std::move(tensors[i]));
      },
      [&](const std::exception &error) { return op->failure(error, arguments, num_arguments, site); });
}

braid_status braid_rt_constant(int32_t dtype, int32_t rank, const int64_t *sizes, const void *data,
                               braid_tensor *result) {
  return guarded(
      [&] {
        BelowAutograd guard;
        if (dtype < 0 || dtype > BRAID_BOOLEAN)
          throw std::runtime_error(text("there is no element type ", dtype));
        at::Tensor tensor = at::empty(at::IntArrayRef(sizes, rank), toScalarType(static_cast<DType>(dtype)));
        if (tensor.nbytes())
          std::memcpy(tensor.data_ptr(), data, tensor.nbytes());
        *result = toHandle(std::move(tensor));
      },
      [&](const std::exception &error) { return text("cannot make a constant of the program: ", firstLine(error)); });
}

braid_status braid_rt_scalar(int64_t value, braid_tensor *result) {
  return guarded(
      [&] {
        BelowAutograd guard;
        *result = toHandle(at::scalar_tensor(value, at::kLong));
      },
      [&](const std::exception &error) { return text("cannot make the tensor ", value, ": ", firstLine(error)); });
}

braid_status braid_rt_check_rows(braid_tensor mask, int64_t rows, const char *what, const braid_site *site) {
  return guarded(
      [&] {
        BelowAutograd guard;
        int64_t marked = toAten(mask).count_nonzero().item().toLong();
        if (marked != rows)
          throw std::runtime_error(text(what, ": the mask marks ", marked, " places and there are ", rows,
                                        " rows to put there; make the two agree in the batch"));
      },
      [&](const std::exception &error) {
        return text("merging rows", siteText(site), " failed: ", firstLine(error), "; the mask is ",
                    describe(toAten(mask)));
      });
}

void braid_rt_retain(braid_tensor tensor) {
  if (tensor)
    c10::raw::intrusive_ptr::incref(reinterpret_cast<c10::TensorImpl *>(tensor));
}

void braid_rt_release(braid_tensor tensor) {
  if (tensor)
    c10::raw::intrusive_ptr::decref(reinterpret_cast<c10::TensorImpl *>(tensor));
}

void braid_rt_release_all(braid_tensor *tensors, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    braid_rt_release(std::exchange(tensors[i], nullptr));
}

} // extern "C"
