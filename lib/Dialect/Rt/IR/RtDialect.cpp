//===- RtDialect.cpp - Runtime calls with explicit ownership --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Rt/IR/RtDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "braid/Dialect/Rt/IR/RtDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "braid/Dialect/Rt/IR/RtTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "braid/Dialect/Rt/IR/RtAttrs.cpp.inc"

namespace braid::rt {

void RtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "braid/Dialect/Rt/IR/RtOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "braid/Dialect/Rt/IR/RtTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "braid/Dialect/Rt/IR/RtAttrs.cpp.inc"
      >();
}

std::optional<int32_t> getDtype(Type elementType) {
  // The order of braid_dtype.
  if (elementType.isF32())
    return 0;
  if (elementType.isF64())
    return 1;
  if (elementType.isBF16())
    return 2;
  if (elementType.isF16())
    return 3;
  if (elementType.isUnsignedInteger(8))
    return 8;
  if (elementType.isUnsignedInteger())
    return std::nullopt;
  for (auto [bits, dtype] : {std::pair(64, 4), {32, 5}, {16, 6}, {8, 7}, {1, 9}})
    if (elementType.isInteger(bits))
      return dtype;
  return std::nullopt;
}

bool isOwned(Value tensor) {
  return isa<TensorType>(tensor.getType()) && tensor.getDefiningOp() && !tensor.getDefiningOp<GetConstantOp>();
}

} // namespace braid::rt
