//===- Types.cpp - Element types of LibTorch and MLIR ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "braid/Dialect/Braid/IR/ElementTypes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace braid::torchscript {

/// In the order of plan::ElementType.
static constexpr c10::ScalarType scalarTypes[] = {
    c10::ScalarType::Float, c10::ScalarType::Double, c10::ScalarType::BFloat16, c10::ScalarType::Half,
    c10::ScalarType::Long,  c10::ScalarType::Int,    c10::ScalarType::Short,    c10::ScalarType::Char,
    c10::ScalarType::Byte,  c10::ScalarType::Bool};
static_assert(std::size(scalarTypes) == std::size(plan::elementTypes));

Type toMlirType(MLIRContext *context, c10::ScalarType type) {
  const c10::ScalarType *entry = llvm::find(scalarTypes, type);
  if (entry == std::end(scalarTypes))
    return {};
  return toType(context, static_cast<plan::ElementType>(entry - scalarTypes));
}

c10::ScalarType toScalarType(Type type) {
  std::optional<plan::ElementType> known = toElementType(type);
  return known ? scalarTypes[static_cast<size_t>(*known)] : c10::ScalarType::Undefined;
}

std::string typeName(Type type) {
  std::optional<plan::ElementType> known = toElementType(type);
  return known ? std::string(plan::info(*known).name) : "?";
}

Type parseTypeName(MLIRContext *context, StringRef name) {
  std::optional<plan::ElementType> known = plan::parseElementType(name.lower());
  return known ? toType(context, *known) : Type();
}

} // namespace braid::torchscript
