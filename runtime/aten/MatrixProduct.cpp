//===- MatrixProduct.cpp - The library of a matrix product ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/MatrixProduct.h"
#include "runtime/aten/Tensor.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>

#include <atomic>

using namespace braid::runtime;

/// Multiplications from which on oneDNN's call, 9 microseconds dearer than MKL's, pays: 1.7 times faster there, and 2.2
/// times at 2^27 (Zen 5, one thread). A new shape costs it half a millisecond.
static constexpr int64_t worthwhile = 1 << 22;

/// The rule is one of the processor alone, not of timings: a run that is resumed rounds as before.
static bool isFasterHere() {
#if defined(__x86_64__)
  return !__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

static std::atomic<MatrixLibrary> chosen = MatrixLibrary::Auto;

void braid::runtime::setMatrixLibrary(MatrixLibrary library) { chosen = library; }

static bool takesOneDnn() {
  static const bool faster = isFasterHere();
  MatrixLibrary library = chosen;
  return library == MatrixLibrary::OneDnn || (library == MatrixLibrary::Auto && faster);
}

MatrixProduct braid::runtime::matrixProductOf(std::string_view name) {
  return name == "aten::mm"       ? MatrixProduct::Mm
         : name == "aten::matmul" ? MatrixProduct::Matmul
         : name == "aten::linear" ? MatrixProduct::Linear
                                  : MatrixProduct::None;
}

static bool isFloatMatrix(const at::Tensor &tensor) {
  return tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.device().is_cpu() && tensor.dim() >= 2;
}

std::optional<at::Tensor> braid::runtime::computeByOneDnn(MatrixProduct product, const torch::jit::Stack &arguments) {
  if (product == MatrixProduct::None || !takesOneDnn())
    return {};
  const at::Tensor &left = arguments[0].toTensor(), &right = arguments[1].toTensor();
  if (!isFloatMatrix(left) || !isFloatMatrix(right) || right.dim() != 2)
    return {};
  int64_t inner = left.size(-1), outer = right.size(product == MatrixProduct::Linear ? 0 : 1);
  // What does not fit is ATen's to refuse.
  if (right.size(product == MatrixProduct::Linear ? 1 : 0) != inner || left.numel() * outer < worthwhile)
    return {};
  c10::IValue bias;
  if (product == MatrixProduct::Linear && arguments[2].isTensor()) {
    bias = arguments[2];
    const at::Tensor &tensor = bias.toTensor();
    if (tensor.scalar_type() != at::kFloat || tensor.dim() != 1 || tensor.size(0) != outer)
      return {};
  }
  static const std::optional<c10::OperatorHandle> linear =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!linear)
    return {}; // a LibTorch without oneDNN
  static const c10::IValue attribute("none"),
      scalars(c10::impl::GenericList(c10::OptionalType::create(c10::NumberType::get())));
  torch::jit::Stack stack = {left, product == MatrixProduct::Linear ? right : right.t(), bias, attribute, scalars,
                             c10::IValue()};
  linear->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}
