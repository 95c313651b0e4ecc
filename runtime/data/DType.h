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

#include "braid_rt.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace braid::runtime {

using DType = braid_dtype;

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::string_view safetensors;
  size_t bytes;
};

inline constexpr DTypeInfo dtypes[] = {
    {BRAID_F32, "f32", "F32", 4},       {BRAID_F64, "f64", "F64", 8}, {BRAID_BF16, "bf16", "BF16", 2},
    {BRAID_F16, "f16", "F16", 2},       {BRAID_I64, "i64", "I64", 8}, {BRAID_I32, "i32", "I32", 4},
    {BRAID_I16, "i16", "I16", 2},       {BRAID_I8, "i8", "I8", 1},    {BRAID_U8, "u8", "U8", 1},
    {BRAID_BOOLEAN, "bool", "BOOL", 1},
};

inline constexpr const DTypeInfo &info(DType dtype) { return dtypes[dtype]; }
inline constexpr bool isFloating(DType dtype) { return dtype <= BRAID_F16; }

inline std::optional<DType> parseDType(std::string_view name) {
  for (const DTypeInfo &entry : dtypes)
    if (entry.name == name)
      return entry.dtype;
  return std::nullopt;
}

inline std::optional<DType> parseSafetensorsDType(std::string_view name) {
  for (const DTypeInfo &entry : dtypes)
    if (entry.safetensors == name)
      return entry.dtype;
  return std::nullopt;
}

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_DTYPE_H
