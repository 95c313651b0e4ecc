//===- ElementType.h - Element types of tensors -------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_FILE_ELEMENTTYPE_H
#define BRAID_PLAN_FILE_ELEMENTTYPE_H

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace braid::plan {

/// In the order of braid_dtype (braid_rt.h).
enum class ElementType { F32, F64, BF16, F16, I64, I32, I16, I8, U8, Bool };

struct ElementTypeInfo {
  std::string_view name;        // in plans, options and messages
  std::string_view safetensors; // in safetensors files
  size_t bytes;
};

inline constexpr ElementTypeInfo elementTypes[] = {
    {"f32", "F32", 4}, {"f64", "F64", 8}, {"bf16", "BF16", 2}, {"f16", "F16", 2}, {"i64", "I64", 8},
    {"i32", "I32", 4}, {"i16", "I16", 2}, {"i8", "I8", 1},     {"u8", "U8", 1},   {"bool", "BOOL", 1},
};

inline constexpr const ElementTypeInfo &info(ElementType type) { return elementTypes[static_cast<size_t>(type)]; }

inline std::optional<ElementType> findElementType(std::string_view ElementTypeInfo::*spelling, std::string_view text) {
  for (size_t i = 0; i < std::size(elementTypes); ++i)
    if (elementTypes[i].*spelling == text)
      return static_cast<ElementType>(i);
  return std::nullopt;
}
inline std::optional<ElementType> parseElementType(std::string_view name) {
  return findElementType(&ElementTypeInfo::name, name);
}

} // namespace braid::plan

#endif // BRAID_PLAN_FILE_ELEMENTTYPE_H
