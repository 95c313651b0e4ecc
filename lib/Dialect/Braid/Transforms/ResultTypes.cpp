//===- ResultTypes.cpp - Types of results by their shapes -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

using namespace mlir;

namespace braid {

LogicalResult setResultTypes(Operation *op, ShapeAnalysis &shapes) {
  for (Value result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    FailureOr<TensorShape> shape = shapes.shapeOf(result);
    if (failed(shape))
      return failure();
    result.setType(shape->toType());
  }
  return success();
}

} // namespace braid
