//===- ElementTypes.cpp - Element types in MLIR ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/ElementTypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace braid {

Type toType(MLIRContext *context, plan::ElementType type) {
  Builder builder(context);
  switch (type) {
  case plan::ElementType::F32:
    return builder.getF32Type();
  case plan::ElementType::F64:
    return builder.getF64Type();
  case plan::ElementType::BF16:
    return builder.getBF16Type();
  case plan::ElementType::F16:
    return builder.getF16Type();
  case plan::ElementType::I64:
    return builder.getIntegerType(64);
  case plan::ElementType::I32:
    return builder.getIntegerType(32);
  case plan::ElementType::I16:
    return builder.getIntegerType(16);
  case plan::ElementType::I8:
    return builder.getIntegerType(8);
  case plan::ElementType::U8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case plan::ElementType::Bool:
    return builder.getIntegerType(1);
  }
  return {};
}

std::optional<plan::ElementType> toElementType(Type type) {
  for (size_t i = 0; i < std::size(plan::elementTypes); ++i)
    if (toType(type.getContext(), static_cast<plan::ElementType>(i)) == type)
      return static_cast<plan::ElementType>(i);
  return std::nullopt;
}

} // namespace braid
