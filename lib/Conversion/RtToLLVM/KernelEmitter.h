//===- KernelEmitter.h - Loops of a kernel -------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_RTTOLLVM_KERNELEMITTER_H
#define BRAID_LIB_CONVERSION_RTTOLLVM_KERNELEMITTER_H

#include "ProgramBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace braid {

/// Emits `void f(ptr pointers, ptr strides, i64 rows, i64 columns)` for an rt.kernel: for each row, as many loops over
/// its columns as reductions depend on each other. A loop computes again what an earlier one had, which is cheaper than
/// keeping a row of it. Strides are the bytes from one row of an operand to the next; inside a row elements are dense.
class KernelEmitter {
public:
  KernelEmitter(rt::KernelOp kernel, ProgramBuilder &program);

  /// Erases the kernel. Returns the braid_kernel that describes it. `cpu`: for a second version that the runtime takes
  /// where the processor has its instructions; empty: only the one for all processors.
  mlir::FailureOr<mlir::StringAttr> run(llvm::StringRef cpu);

private:
  /// A value is the same for the whole row, or not; and belongs to a phase, which is the number of reductions that have
  /// to be finished before it.
  struct Kind {
    bool perElement = false;
    unsigned phase = 0;
  };
  Kind kindOf(mlir::Value value) { return kinds.lookup(value); }
  void classify();

  mlir::LLVM::LLVMFuncOp emitFunction(llvm::StringRef name);
  void emitRow();
  void emitPhase(unsigned phase);
  /// The ops that the phase's loop needs, in order.
  llvm::SmallVector<mlir::Operation *> neededBy(llvm::ArrayRef<mlir::Value> roots);
  mlir::Operation *clone(mlir::Operation *op, mlir::IRMapping &mapping);
  mlir::Value loadElement(unsigned input, mlir::Value column);
  void storeElement(unsigned output, mlir::Value value, mlir::Value column);
  mlir::Value elementAddress(unsigned operand, mlir::Type type, mlir::Value column);
  mlir::Value integer(int64_t value);
  /// `for (i = 0; i < count; ++i) carried = body(i, carried)`, at the builder.
  llvm::SmallVector<mlir::Value> loop(mlir::Value count, mlir::ValueRange carried,
                                      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>);
  mlir::LogicalResult lower(mlir::LLVM::LLVMFuncOp function);

  rt::KernelOp kernel;
  ProgramBuilder &program;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Block &body;
  rt::YieldOp end;
  llvm::DenseMap<mlir::Value, Kind> kinds;
  unsigned numPhases = 1;

  // While a function is emitted.
  mlir::LLVM::LLVMFuncOp function;
  llvm::SmallVector<mlir::Value> pointers, strides, rowPointers; // inputs, then outputs
  mlir::Value columns;
  mlir::IRMapping rowValues;
  llvm::SmallVector<mlir::Attribute> scopes; // of aliasing, one for each output
};

} // namespace braid

#endif // BRAID_LIB_CONVERSION_RTTOLLVM_KERNELEMITTER_H
