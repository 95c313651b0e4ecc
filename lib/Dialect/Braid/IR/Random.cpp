//===- Random.cpp - Ops that draw random numbers --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Dialect/Braid/IR/BraidDialect.h"

using namespace mlir;

namespace braid {

bool drawsRandomNumbers(Operation *op) {
  if (auto dropout = dyn_cast<DropoutOp>(op))
    return dropout.getTrain() && dropout.getP() && !dropout.getP()->isZero();
  if (auto attention = dyn_cast<ScaledDotProductAttentionOp>(op))
    return !attention.getDropoutP().isZero();
  return isa<RandOp>(op);
}

void copyDraw(Operation *from, Operation *to) {
  for (StringRef name : {streamAttrName, samplesAttrName})
    if (Attribute attr = from->getAttr(name))
      to->setAttr(name, attr);
}

} // namespace braid
