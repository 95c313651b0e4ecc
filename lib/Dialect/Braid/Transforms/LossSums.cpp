//===- LossSums.cpp - What keeps a sum a sum ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossSums.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace braid {

/// Whether each value of `from` is a value of `to`; integers are taken to be counts, which floats hold.
static bool holdsAll(Type from, Type to) {
  auto toFloat = dyn_cast<FloatType>(to);
  if (auto fromFloat = dyn_cast<FloatType>(from))
    return toFloat && toFloat.getFPMantissaWidth() >= fromFloat.getFPMantissaWidth() &&
           llvm::APFloat::semanticsMaxExponent(toFloat.getFloatSemantics()) >=
               llvm::APFloat::semanticsMaxExponent(fromFloat.getFloatSemantics());
  if (toFloat)
    return toFloat.getWidth() >= 32;
  return from.isInteger(1) || (!to.isInteger(1) && to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth());
}

bool keepsSum(Value sum, Value result) {
  auto from = dyn_cast<RankedTensorType>(sum.getType()), to = dyn_cast<RankedTensorType>(result.getType());
  return from && to && holdsAll(from.getElementType(), to.getElementType());
}

} // namespace braid
