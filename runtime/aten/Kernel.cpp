//===- Kernel.cpp - Running the compiler's loops --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"
#include "runtime/aten/Message.h"
#include "runtime/core/Text.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <array>
#include <stdexcept>

using namespace braid::runtime;

namespace {
constexpr int maxRank = 8, maxOperands = 32;

/// A kernel's space with its operands' strides, in bytes.
struct Space {
  int rank = 0;
  std::array<int64_t, maxRank> sizes;
  int operands = 0;
  std::array<char *, maxOperands> pointers;
  std::array<std::array<int64_t, maxRank>, maxOperands> strides;

  void dropDim(int dim) {
    for (int d = dim; d + 1 < rank; ++d) {
      sizes[d] = sizes[d + 1];
      for (int i = 0; i < operands; ++i)
        strides[i][d] = strides[i][d + 1];
    }
    --rank;
  }
  /// Whether dims `dim` and `dim + 1` are one run for all operands.
  bool merges(int dim) const {
    for (int i = 0; i < operands; ++i)
      if (strides[i][dim] != strides[i][dim + 1] * sizes[dim + 1])
        return false;
    return true;
  }
  /// Makes the space of as few dims as its operands allow, the last one untouched where rows have to be whole.
  void simplify(bool wholeRows) {
    for (int dim = rank - 2; dim >= 0; --dim)
      if (sizes[dim] == 1)
        dropDim(dim);
    for (int dim = rank - (wholeRows ? 3 : 2); dim >= 0; --dim)
      if (merges(dim)) {
        sizes[dim + 1] *= sizes[dim];
        dropDim(dim);
      }
  }
};
} // namespace

/// ATen's own variable, ATEN_CPU_CAPABILITY=default, asks for the general version.
static braid_kernel_code codeOf(const braid_kernel &kernel) {
#if defined(__x86_64__)
  static const bool hasSpecial = __builtin_cpu_supports("x86-64-v3") && at::get_cpu_capability() != "DEFAULT";
  if (kernel.special && hasSpecial)
    return kernel.special;
#endif
  return kernel.code;
}

/// Runs rows `begin` to `end`, counted over all dims but the last.
static void runRows(const Space &space, braid_kernel_code code, int64_t begin, int64_t end) {
  int64_t columns = space.sizes[space.rank - 1];
  if (space.rank == 1) {
    std::array<int64_t, maxOperands> none{};
    code(space.pointers.data(), none.data(), end - begin, columns);
    return;
  }
  int inner = space.rank - 2;
  int64_t run = space.sizes[inner];
  std::array<int64_t, maxOperands> strides;
  for (int i = 0; i < space.operands; ++i)
    strides[i] = space.strides[i][inner];
  while (begin < end) {
    int64_t first = begin % run, rows = std::min(end - begin, run - first), rest = begin / run;
    std::array<char *, maxOperands> pointers = space.pointers;
    for (int i = 0; i < space.operands; ++i)
      pointers[i] += first * strides[i];
    for (int dim = inner - 1; dim >= 0; --dim) {
      int64_t at = rest % space.sizes[dim];
      rest /= space.sizes[dim];
      if (at)
        for (int i = 0; i < space.operands; ++i)
          pointers[i] += at * space.strides[i][dim];
    }
    code(pointers.data(), strides.data(), rows, columns);
    begin += rows;
  }
}

static void runAll(const Space &space, const braid_kernel &kernel) {
  braid_kernel_code code = codeOf(kernel);
  int64_t columns = space.sizes[space.rank - 1], rows = 1;
  for (int dim = 0; dim + 1 < space.rank; ++dim)
    rows *= space.sizes[dim];
  constexpr int64_t grain = 32768; // elements that pay for another thread, as in ATen
  if (at::get_num_threads() == 1 || rows * columns <= grain)
    return runRows(space, code, 0, rows);
  if (rows > 1 || kernel.whole_rows) {
    at::parallel_for(0, rows, std::max<int64_t>(1, grain / std::max<int64_t>(columns, 1)),
                     [&](int64_t begin, int64_t end) { runRows(space, code, begin, end); });
    return;
  }
  at::parallel_for(0, columns, grain, [&](int64_t begin, int64_t end) {
    Space part = space;
    part.sizes[part.rank - 1] = end - begin;
    for (int i = 0; i < part.operands; ++i)
      part.pointers[i] += begin * part.strides[i][part.rank - 1];
    runRows(part, code, 0, 1);
  });
}

/// Adds an input that broadcasts to the space; returns what keeps its memory alive.
static at::Tensor addInput(Space &space, at::Tensor tensor, const braid_kernel_operand &operand, int number) {
  auto mismatch = [&] {
    std::vector<int64_t> sizes(space.sizes.begin(), space.sizes.begin() + space.rank);
    throw std::runtime_error(text("input ", number, " is ", describe(tensor), ", which does not fit a space of ",
                                  at::IntArrayRef(sizes), "; compile with this batch as the example"));
  };
  if (!tensor.defined() || tensor.scalar_type() != toScalarType(static_cast<DType>(operand.dtype)) ||
      tensor.dim() > space.rank)
    mismatch();
  int last = space.rank - 1;
  if (operand.kind == 0 && tensor.dim() > 0 && tensor.stride(-1) != 1 && tensor.size(-1) != 1)
    tensor = tensor.contiguous();
  int64_t bytes = static_cast<int64_t>(tensor.itemsize());
  auto &strides = space.strides[space.operands];
  if (operand.kind == 2)
    tensor = tensor.unsqueeze(-1);
  int64_t missing = space.rank - tensor.dim();
  if (missing < 0)
    mismatch();
  for (int dim = 0; dim < space.rank; ++dim) {
    int64_t size = dim < missing ? 1 : tensor.size(dim - missing);
    bool broadcast = size == 1 && (space.sizes[dim] != 1 || dim < last);
    bool mayBroadcast = dim < last || operand.kind != 0, fits = size == space.sizes[dim] || (mayBroadcast && size == 1);
    if (!fits || (dim == last && operand.kind != 0 && size != 1))
      mismatch();
    strides[dim] = broadcast || dim < missing ? 0 : tensor.stride(dim - missing) * bytes;
  }
  strides[last] = operand.kind == 0 ? bytes : 0;
  space.pointers[space.operands++] = static_cast<char *>(tensor.data_ptr());
  return tensor;
}

static at::Tensor addOutput(Space &space, const braid_kernel_operand &operand) {
  std::array<int64_t, maxRank> sizes = space.sizes;
  int last = space.rank - 1;
  if (operand.kind != 0)
    sizes[last] = 1;
  at::IntArrayRef shape(sizes.data(), operand.kind == 2 ? last : space.rank);
  at::Tensor tensor = at::detail::empty_cpu(shape, toScalarType(static_cast<DType>(operand.dtype)));
  auto &strides = space.strides[space.operands];
  int64_t stride = static_cast<int64_t>(tensor.itemsize());
  for (int dim = last; dim >= 0; --dim) {
    strides[dim] = dim == last && operand.kind != 0 ? 0 : stride;
    stride *= sizes[dim];
  }
  space.pointers[space.operands++] = static_cast<char *>(tensor.data_ptr());
  return tensor;
}

extern "C" braid_status braid_rt_launch(const braid_kernel *kernel, const int64_t *sizes, const braid_tensor *inputs,
                                        braid_tensor *results, const braid_site *site) {
  try {
    if (kernel->rank < 1 || kernel->rank > maxRank || kernel->num_inputs + kernel->num_outputs > maxOperands)
      throw std::runtime_error("it is larger than this runtime allows; compile again with this version of braid");
    BelowAutograd guard;
    Space space;
    space.rank = kernel->rank;
    bool empty = false;
    for (int dim = 0; dim < space.rank; ++dim) {
      space.sizes[dim] = sizes[dim];
      empty |= sizes[dim] == 0 && (dim + 1 < space.rank || !kernel->whole_rows);
    }
    std::array<at::Tensor, maxOperands> tensors;
    for (int i = 0; i < kernel->num_inputs; ++i)
      tensors[i] = addInput(space, toAten(inputs[i]), kernel->operands[i], i);
    for (int i = 0; i < kernel->num_outputs; ++i)
      tensors[kernel->num_inputs + i] = addOutput(space, kernel->operands[kernel->num_inputs + i]);
    if (!empty) {
      space.simplify(kernel->whole_rows);
      runAll(space, *kernel);
    }
    for (int i = 0; i < kernel->num_outputs; ++i)
      results[i] = toHandle(std::move(tensors[kernel->num_inputs + i]));
    return 0;
  } catch (const std::exception &error) {
    return fail(text(kernel->name, siteText(site), " failed: ", firstLine(error)));
  } catch (...) {
    return fail(text(kernel->name, siteText(site), " failed: an unknown C++ exception"));
  }
}
