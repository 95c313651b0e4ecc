//===- MatrixProduct.cpp - The library of a matrix product ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/MatrixProduct.h"
#include "runtime/aten/Tensor.h"
#include "runtime/aten/Views.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>

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

namespace {
/// left * right + bias, where left is a batch of rows.
struct Operands {
  at::Tensor left, right; // [..., inner], [inner, outer]
  std::optional<at::Tensor> bias;

  int64_t inner() const { return right.size(0); }
  int64_t outer() const { return right.size(1); }
};
} // namespace

static bool isDense(const at::Tensor &tensor, at::ScalarType type) {
  return tensor.scalar_type() == type && tensor.layout() == at::kStrided && tensor.device().is_cpu();
}

static at::Tensor transposed(const at::Tensor &matrix) {
  return makeView(*matrix.unsafeGetTensorImpl(), {matrix.size(1), matrix.size(0)}, {matrix.stride(1), matrix.stride(0)},
                  matrix.storage_offset());
}

static bool isOne(const c10::IValue &scalar) { return scalar.isScalar() && scalar.toScalar().equal(1); }

/// Nothing where the product is of another kind, or wrong.
static std::optional<Operands> readOperands(MatrixProduct product, const torch::jit::Stack &arguments) {
  bool isAddmm = product == MatrixProduct::Addmm, isLinear = product == MatrixProduct::Linear;
  if (isAddmm && (!isOne(arguments[3]) || !isOne(arguments[4])))
    return {};
  const at::Tensor &left = arguments[isAddmm ? 1 : 0].toTensor(), &right = arguments[isAddmm ? 2 : 1].toTensor();
  const c10::IValue bias = isAddmm ? arguments[0] : isLinear ? arguments[2] : c10::IValue();
  at::ScalarType type = left.scalar_type();
  if ((type != at::kFloat && type != at::kDouble) || !isDense(left, type) || !isDense(right, type) || left.dim() < 2 ||
      right.dim() != 2 || left.numel() == 0 || right.numel() == 0)
    return {};
  Operands operands{left, isLinear ? transposed(right) : right, {}};
  if (left.size(-1) != operands.inner())
    return {};
  if (!bias.isTensor())
    return operands;
  operands.bias = bias.toTensor();
  if (!isDense(*operands.bias, type) || operands.bias->dim() != 1 || operands.bias->size(0) != operands.outer())
    return {};
  return operands;
}

/// Nothing in a LibTorch without oneDNN.
static std::optional<at::Tensor> computeByOneDnn(const Operands &operands) {
  static const std::optional<c10::OperatorHandle> linear =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!linear)
    return {};
  static const c10::IValue attribute("none"),
      scalars(c10::impl::GenericList(c10::OptionalType::create(c10::NumberType::get())));
  torch::jit::Stack stack = {operands.left, transposed(operands.right), operands.bias, attribute, scalars,
                             c10::IValue()};
  linear->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}

/// Nothing where the rows do not lie one after the other, which ATen treats in several ways.
static std::optional<at::Tensor> computeByBlas(const Operands &operands) {
  const at::Tensor &left = operands.left;
  if (left.dim() > 2 && !left.is_contiguous())
    return {};
  int64_t inner = operands.inner(), outer = operands.outer();
  at::Tensor rows = left;
  if (left.dim() > 2)
    rows = makeView(*left.unsafeGetTensorImpl(), {left.numel() / inner, inner}, {inner, 1}, left.storage_offset());
  at::Tensor result =
      operands.bias ? at::cpu::addmm(*operands.bias, rows, operands.right) : at::cpu::mm(rows, operands.right);
  if (left.dim() == 2)
    return result;
  at::DimVector sizes(left.sizes());
  sizes.back() = outer;
  // Not those of the left operand, times a factor: a dim of size 1 may have any.
  at::DimVector strides(sizes.size(), 1);
  for (size_t dim = sizes.size() - 1; dim > 0; --dim)
    strides[dim - 1] = strides[dim] * sizes[dim];
  return makeView(*result.unsafeGetTensorImpl(), sizes, strides, 0);
}

std::optional<at::Tensor> braid::runtime::computeProduct(MatrixProduct product, const torch::jit::Stack &arguments) {
  if (product == MatrixProduct::None)
    return {};
  std::optional<Operands> operands = readOperands(product, arguments);
  if (!operands)
    return {};
  if (operands->left.scalar_type() == at::kFloat && operands->left.numel() * operands->outer() >= worthwhile &&
      takesOneDnn())
    if (std::optional<at::Tensor> result = computeByOneDnn(*operands))
      return result;
  return computeByBlas(*operands);
}
