//===- MatrixProduct.h - The library of a matrix product ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen computes products of float32 matrices by its BLAS, MKL in PyTorch's packages, which keeps to AVX2 on processors
// that are not Intel's. oneDNN, which the same packages hold, takes AVX-512 on all of them. Includes ATen: for .cpp
// files only.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_MATRIXPRODUCT_H
#define BRAID_RUNTIME_ATEN_MATRIXPRODUCT_H

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

namespace braid::runtime {

/// Operators that are one product of matrices.
enum class MatrixProduct { None, Mm, Matmul, Linear, Addmm };

/// Of an operator's name, such as "aten::mm".
MatrixProduct matrixProductOf(std::string_view name);

/// What a call with these arguments, in the order of the schema, returns: by oneDNN, or by the kernel that ATen comes
/// to after more calls. Nothing where ATen should decide, which also words what is wrong.
std::optional<at::Tensor> computeProduct(MatrixProduct product, const torch::jit::Stack &arguments);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_MATRIXPRODUCT_H
