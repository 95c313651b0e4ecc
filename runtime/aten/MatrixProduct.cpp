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
         : name == "aten::addmm"  ? MatrixProduct::Addmm
                                  : MatrixProduct::None;
}

static bool isFloatMatrix(const at::Tensor &tensor) {
  return tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.device().is_cpu() && tensor.dim() >= 2;
}

namespace {
/// left * right + bias.
struct Operands {
  const at::Tensor *left, *right;
  bool rightIsTransposed = false; // given as [outer, inner]
  c10::IValue bias;
};
} // namespace

static Operands readOperands(MatrixProduct product, const torch::jit::Stack &arguments) {
  auto tensor = [&](size_t at) { return &arguments[at].toTensor(); };
  switch (product) {
  case MatrixProduct::Linear:
    return {tensor(0), tensor(1), true, arguments[2]};
  case MatrixProduct::Addmm:
    return {tensor(1), tensor(2), false, arguments[0]};
  default:
    return {tensor(0), tensor(1), false, {}};
  }
}

static bool isOne(const c10::IValue &scalar) { return scalar.isScalar() && scalar.toScalar().equal(1); }

std::optional<at::Tensor> braid::runtime::computeByOneDnn(MatrixProduct product, const torch::jit::Stack &arguments) {
  if (product == MatrixProduct::None || !takesOneDnn())
    return {};
  if (product == MatrixProduct::Addmm && (!isOne(arguments[3]) || !isOne(arguments[4])))
    return {};
  auto [left, right, rightIsTransposed, bias] = readOperands(product, arguments);
  if (!isFloatMatrix(*left) || !isFloatMatrix(*right) || right->dim() != 2)
    return {};
  int64_t inner = right->size(rightIsTransposed ? 1 : 0), outer = right->size(rightIsTransposed ? 0 : 1);
  // What does not fit is ATen's to refuse.
  if (left->size(-1) != inner || left->numel() * outer < worthwhile)
    return {};
  if (bias.isTensor()) {
    const at::Tensor &added = bias.toTensor();
    if (added.scalar_type() != at::kFloat || added.dim() != 1 || added.size(0) != outer)
      return {};
  }
  static const std::optional<c10::OperatorHandle> linear =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!linear)
    return {}; // a LibTorch without oneDNN
  static const c10::IValue attribute("none"),
      scalars(c10::impl::GenericList(c10::OptionalType::create(c10::NumberType::get())));
  torch::jit::Stack stack = {*left, rightIsTransposed ? *right : right->t(), bias, attribute, scalars, c10::IValue()};
  linear->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}
