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

LogicalResult BraidDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == symbolsAttrName) {
    auto symbols = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!symbols || !llvm::all_of(symbols, [](NamedAttribute symbol) {
          auto size = dyn_cast<IntegerAttr>(symbol.getValue());
          return size && size.getType().isInteger(64) && size.getInt() >= 0;
        }))
      return op->emitError() << symbolsAttrName
                             << " gives each symbol its size in the example, as in {batch = 2 : i64}";
  }
  if (attribute.getName() != guardsAttrName)
    return success();
  auto guards = dyn_cast<ArrayAttr>(attribute.getValue());
  auto isGuard = [](Attribute entry) {
    auto parts = dyn_cast<ArrayAttr>(entry);
    return parts && parts.size() == 4 && llvm::all_of(parts, llvm::IsaPred<StringAttr>);
  };
  if (!guards || !llvm::all_of(guards, isGuard))
    return op->emitError() << guardsAttrName << R"( lists guards such as ["seq", "<=", "32", "why"])";
  for (Attribute entry : guards) {
    auto text = [&](unsigned at) { return cast<StringAttr>(cast<ArrayAttr>(entry)[at]).getValue(); };
    plan::Result<Expr> left = Expr::parse(text(0)), right = Expr::parse(text(2));
    if (!left || !right)
      return op->emitError() << guardsAttrName << ": " << (left ? right : left).error();
    if (plan::Result<plan::Relation> relation = plan::parseRelation(text(1)); !relation)
      return op->emitError() << guardsAttrName << ": " << relation.error();
  }
  return success();
}

Operation *BraidDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value); elements && isa<RankedTensorType>(type))
    return ConstantOp::create(builder, loc, type, elements);
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
} // namespace braid
