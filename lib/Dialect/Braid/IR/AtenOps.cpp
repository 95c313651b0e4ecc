//===- AtenOps.cpp - ATen operators ---------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/OpRules.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "braid/Dialect/Braid/IR/AtenOps.cpp.inc"

namespace braid {

void BraidDialect::addAtenOperations() {
  addOperations<
#define GET_OP_LIST
#include "braid/Dialect/Braid/IR/AtenOps.cpp.inc"
      >();
}

} // namespace braid
