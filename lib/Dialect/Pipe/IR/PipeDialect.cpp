//===- PipeDialect.cpp - Stages, edges, schedule --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Pipe/IR/PipeDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

#include "braid/Dialect/Pipe/IR/PipeDialect.cpp.inc"

#define GET_OP_CLASSES
#include "braid/Dialect/Pipe/IR/PipeOps.cpp.inc"

namespace braid::pipe {

void PipeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "braid/Dialect/Pipe/IR/PipeOps.cpp.inc"
      >();
}

LogicalResult StageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getPolicies() && getPolicies()->size() != getUnits().size())
    return emitOpError() << "has " << getPolicies()->size() << " policies for " << getUnits().size() << " units";
  if (getReplay().has_value() != getReplayed().has_value())
    return emitOpError("has one of replay and replayed, which belong together");
  for (FlatSymbolRefAttr name : {getForwardAttr(), getInputAttr(), getWeightAttr(), getFullAttr(), getReplayAttr()})
    if (name && !symbols.lookupNearestSymbolFrom(*this, name))
      return emitOpError() << "names '" << name.getValue() << "', which is no function";
  // Later phases lower the functions; their operands were checked before.
  auto forward = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getForwardAttr());
  if (!forward)
    return success();
  size_t operands = getParams().size() + getInputs().size() + getValuesIn().size() + getCounts().size();
  if (forward.getNumArguments() != operands)
    return emitOpError() << "gives " << operands << " operands to '" << getForward() << "', which takes "
                         << forward.getNumArguments();
  size_t states = getStates() ? getStates()->size() : 0;
  size_t results = getValuesOut().size() + (getLoss() ? 1 : 0) + states + getResiduals();
  if (forward.getNumResults() != results)
    return emitOpError() << "expects " << results << " results of '" << getForward() << "', which gives "
                         << forward.getNumResults();
  return success();
}

} // namespace braid::pipe
