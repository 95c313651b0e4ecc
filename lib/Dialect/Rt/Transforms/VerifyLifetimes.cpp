//===- VerifyLifetimes.cpp - Every owned handle is given up once ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Rt/IR/RtDialect.h"
#include "braid/Dialect/Rt/Transforms/Passes.h"

using namespace mlir;

namespace braid::rt {
#define GEN_PASS_DEF_VERIFYLIFETIMES
#include "braid/Dialect/Rt/Transforms/Passes.h.inc"

/// Walks the block once; `givenUp` holds, for each owned handle that is gone, the op that took it.
static LogicalResult verifyFunction(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError() << "has control flow; functions of the rt phase are one block";
  bool valid = true;
  auto report = [&](Operation *op) {
    valid = false;
    return op->emitOpError();
  };
  llvm::MapVector<Value, Operation *> givenUp; // null while the handle is owned
  for (Operation &op : function.getBody().front()) {
    bool consumes = isa<ReleaseOp, func::ReturnOp>(op);
    for (Value operand : op.getOperands()) {
      if (!isa<TensorType>(operand.getType()))
        continue;
      if (!isOwned(operand)) {
        if (consumes)
          report(&op) << "gives up a handle that is only borrowed; rt.retain makes an owned one";
        continue;
      }
      Operation *&taker = givenUp[operand];
      if (taker) {
        if (taker == &op)
          report(&op) << "gives up the same handle twice";
        else
          (report(&op) << "uses a handle after it was given up").attachNote(taker->getLoc()) << "given up here";
      } else if (consumes) {
        taker = &op;
      }
    }
    for (Value result : op.getResults())
      if (isOwned(result))
        givenUp.insert({result, nullptr});
  }
  for (auto [handle, taker] : givenUp)
    if (!taker)
      report(handle.getDefiningOp()) << "makes a handle that is never given up (result "
                                     << cast<OpResult>(handle).getResultNumber() << ")";
  return success(valid);
}

namespace {
struct VerifyLifetimes : impl::VerifyLifetimesBase<VerifyLifetimes> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyFunction(function)))
        signalPassFailure();
  }
};
} // namespace
} // namespace braid::rt
