//===- DType.h - Element types -----------------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types of the C ABI with their sizes and their names in plans ("f64") and in safetensors files ("F64").
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_DATA_DTYPE_H
#define BRAID_RUNTIME_DATA_DTYPE_H

#include "braid/Plan/File/ElementType.h"
#include "braid_rt.h"

#include <optional>
#include <string_view>

namespace braid::runtime {

using DType = braid_dtype;

static_assert(static_cast<int>(plan::ElementType::F32) == BRAID_F32 &&
              static_cast<int>(plan::ElementType::F16) == BRAID_F16 &&
              static_cast<int>(plan::ElementType::I64) == BRAID_I64 &&
              static_cast<int>(plan::ElementType::Bool) == BRAID_BOOLEAN);

inline constexpr const plan::ElementTypeInfo &info(DType dtype) { return plan::elementTypes[dtype]; }
inline constexpr bool isFloating(DType dtype) { return dtype <= BRAID_F16; }

inline std::optional<DType> parseDType(std::string_view name) {
  std::optional<plan::ElementType> type = plan::parseElementType(name);
  return type ? std::optional(static_cast<DType>(*type)) : std::nullopt;
}

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_DTYPE_H
