//===- BraidDialect.cpp - The model graph dialect -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "braid/Dialect/Braid/IR/BraidDialect.cpp.inc"
#include "braid/Dialect/Braid/IR/BraidInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "braid/Dialect/Braid/IR/BraidAttrs.cpp.inc"

namespace braid {

void BraidDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "braid/Dialect/Braid/IR/BraidOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "braid/Dialect/Braid/IR/BraidAttrs.cpp.inc"
      >();
  addAtenOperations();
}

Operation *BraidDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value); elements && isa<RankedTensorType>(type))
    return ConstantOp::create(builder, loc, type, elements);
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
} // namespace braid
