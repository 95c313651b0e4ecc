//===- EmptyRows.h - Operators of tensors without rows -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A micro-batch may have no rows of an input, and every operator has a result for that. Most of ATen's kernels give it;
// the fused attention of the CPU divides by the number of rows. Includes ATen: for .cpp files only.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_EMPTYROWS_H
#define BRAID_RUNTIME_ATEN_EMPTYROWS_H

#include <ATen/core/stack.h>

#include <string_view>

namespace braid::runtime {

/// Replaces a call's arguments by its results, and returns true, where there are no rows to compute with.
using WithoutRows = bool (*)(torch::jit::Stack &);

/// Of an operator whose kernel does not take such tensors; null for others.
WithoutRows withoutRowsOf(std::string_view name);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_EMPTYROWS_H
