//===- FunctionEmitter.h - The code of one function ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_RTTOLLVM_FUNCTIONEMITTER_H
#define BRAID_LIB_CONVERSION_RTTOLLVM_FUNCTIONEMITTER_H

#include "ProgramBuilder.h"
#include "SlotAllocator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid {

/// Emits `i32 f(ptr symbols, ptr operands, ptr results)` for a function of rt ops, with a fourth argument `ptr streams`
/// for one that has `rt.streams`:
///
///   entry:  slots = zeroed array of owned handles; buffers for lists of handles and of sizes
///   ...     status = call; if (status) goto failed
///   end:    results[i] = slots[...]; return 0
///   failed: braid_rt_release_all(slots); return status
class FunctionEmitter {
public:
  FunctionEmitter(mlir::func::FuncOp function, ProgramBuilder &program);
  /// Erases the function and leaves an llvm.func of its name.
  mlir::LogicalResult run();

private:
  /// Where a handle is. ProgramBuilder::gather() knows the numbers of the kinds.
  struct Place {
    enum Kind { Slot, Operand, Constant } kind;
    int32_t number;
  };

  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitArithmetic(mlir::Operation *op);
  void emitCall(rt::CallOp op);
  void emitGradient(rt::CallGradientOp op);
  void emitInvoke(rt::InvokeOp op);
  void emitLaunch(rt::LaunchOp op);
  /// rt.dropout and rt.rand: `callee` takes `own` arguments, and then what says which numbers to draw.
  template <typename OpTy>
  void emitRandom(OpTy op, llvm::StringRef callee, llvm::ArrayRef<mlir::Value> own);
  void emitRelease(rt::ReleaseOp op);
  void emitReturn(mlir::func::ReturnOp op);

  /// The words of a call's arguments, and the values that the caller passes for some of them.
  llvm::SmallVector<ArgumentWords> readArguments(mlir::ArrayAttr values, mlir::OperandRange tensors,
                                                 mlir::OperandRange sizes, llvm::SmallVectorImpl<mlir::Value> &passed);
  /// Stores sizes into their buffer, from `used` on; the dynamic ones from `next`. Returns their address.
  mlir::Value storeSizes(llvm::ArrayRef<int64_t> entries, mlir::OperandRange::iterator &next, int32_t used);
  /// Stores handles into the pointer buffer, from `used` on; null for absent ones. Returns their address.
  mlir::Value storeHandles(mlir::ArrayAttr entries, mlir::OperandRange::iterator &next, int32_t &used);

  /// Stores handles into an array.
  void gatherHandles(mlir::ValueRange handles, mlir::Value array);
  /// Gives the results slots and returns the address of the first.
  mlir::Value makeResults(mlir::Operation *op);
  mlir::Value slotAddress(int32_t slot);
  mlir::Value load(mlir::Value handle);
  /// Branches to the cleanup unless the status is 0. `path`: the module that failed, where the message lacks it.
  void check(mlir::Value status, mlir::StringAttr path = nullptr);

  mlir::Value call(mlir::LLVM::LLVMFuncOp callee, mlir::ValueRange arguments);
  mlir::Value at(mlir::Value base, int32_t offset);
  mlir::Value address(llvm::StringRef global);
  mlir::Value number(mlir::Type type, int64_t value); // in the entry block, once each
  mlir::Value makeArray(mlir::Type element);          // of a size that finish() sets

  mlir::func::FuncOp function;
  ProgramBuilder &program;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::LLVM::LLVMFuncOp result;
  mlir::Value symbols, operands, results, streams;  // arguments
  mlir::Value slots, pointers, sizes;               // arrays of the frame
  int32_t numPointers = 0, numSizes = 0;            // how much of the buffers is needed
  bool namesPath = false;                           // whether an rt.invoke has a path
  mlir::Block *failed;
  llvm::DenseMap<std::pair<mlir::Type, int64_t>, mlir::Value> numbers;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, mlir::Value> indices;
  SlotAllocator allocator;
};

} // namespace braid

#endif // BRAID_LIB_CONVERSION_RTTOLLVM_FUNCTIONEMITTER_H
