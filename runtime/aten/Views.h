//===- Views.h - Views without the dispatcher --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Half of the calls of a small model only make a view. A view is a few integers; the way through ATen's dispatcher and
// boxed arguments takes several times as long as they do. Includes ATen: for .cpp files only.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_VIEWS_H
#define BRAID_RUNTIME_ATEN_VIEWS_H

#include "braid_rt.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace braid::runtime {

/// Operators that give a view, of those that programs call most.
enum class View { None, Reshape, T, Transpose, Unsqueeze, Slice, Expand };

/// Of an operator's name, such as "aten::slice.Tensor".
View viewOf(std::string_view name);

/// A tensor over the memory of another one, without a look at whether it fits.
at::Tensor makeView(const c10::TensorImpl &tensor, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset);

/// What the call of such an operator returns; nothing where it should go to ATen, which also words what is wrong.
std::optional<at::Tensor> callView(const braid_op_s &op, const braid_value *arguments, int32_t count);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_VIEWS_H
