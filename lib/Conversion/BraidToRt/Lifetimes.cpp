//===- Lifetimes.cpp - Releases after last uses ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include "braid/Dialect/Rt/IR/RtDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace braid {

void insertLifetimes(Block &block) {
  OpBuilder builder(block.getParentOp()->getContext());

  // The return takes each owned handle once; what else it names is retained for it.
  Operation *end = block.getTerminator();
  llvm::DenseSet<Value> returned;
  builder.setInsertionPoint(end);
  for (OpOperand &operand : end->getOpOperands())
    if (!rt::isOwned(operand.get()) || !returned.insert(operand.get()).second)
      operand.set(rt::RetainOp::create(builder, end->getLoc(), operand.get().getType(), operand.get()));

  // Each handle by its last user, or its maker if there is none.
  llvm::DenseMap<Operation *, SmallVector<Value>> dying;
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(block)) {
    SmallVector<Value> handles;
    auto visit = [&](Value handle) {
      if (rt::isOwned(handle) && seen.insert(handle).second)
        handles.push_back(handle);
    };
    llvm::for_each(op.getOperands(), visit);
    llvm::for_each(op.getResults(), visit);
    if (&op != end && !handles.empty())
      dying[&op] = std::move(handles);
  }
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto handles = dying.find(&op);
    if (handles == dying.end())
      continue;
    builder.setInsertionPointAfter(&op);
    rt::ReleaseOp::create(builder, op.getLoc(), handles->second);
  }
}

} // namespace braid
