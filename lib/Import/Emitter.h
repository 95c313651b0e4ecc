//===- Emitter.h - Where import writes its IR ----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops go into one flat function, each marked with the module call that it belongs to (`path`); OutlineModules makes
// functions of the calls afterwards. Tensors are read and written here: views and updates in place become values.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_EMITTER_H
#define BRAID_LIB_IMPORT_EMITTER_H

#include "Item.h"
#include "OutlineModules.h"
#include "Weights.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "llvm/ADT/DenseSet.h"

namespace braid::torchscript {

class Emitter {
public:
  Emitter(mlir::ModuleOp module, mlir::OpBuilder builder, Weights &weights);

  //===-- Position ------------------------------------------------------===//

  mlir::OpBuilder builder;
  ShapeAnalysis shapes;
  Weights &weights;
  std::vector<ModuleCall> calls; // [0] is the model itself
  int call = 0;                  // the one that is running
  std::vector<std::string> remarks;
  bool noGrad = false; // as inside of torch.no_grad(): what is read stands for itself, detached

  mlir::MLIRContext *getContext() const { return builder.getContext(); }
  mlir::Location getLoc() const { return loc; }
  void setLoc(mlir::Location newLoc) { loc = newLoc; }
  const std::string &getPath() const { return calls[call].path; }
  /// "in net.layers.0 at modeling.py:12".
  std::string where() const;
  /// Ends the import; the message gets the module path, the location is the current line.
  [[noreturn]] void fail(const std::string &message) const;

  //===-- Tensors -------------------------------------------------------===//

  /// The current value of a tensor.
  mlir::Value read(Tensor &tensor);
  /// Replaces it, and with it what its base and its views hold.
  void write(Tensor &tensor, mlir::Value value);
  TensorRef makeTensor(mlir::Value value);
  TensorRef makeConstant(const at::Tensor &constant);
  /// A 0-dim tensor with this value: int64, float64 or bool.
  TensorRef makeNumber(Item number);

  TensorShape shapeOf(mlir::Value value);
  /// Shape without reading, so that nothing is emitted.
  TensorShape shapeOf(Tensor &tensor);
  bool needsGradient(mlir::Value value) const { return gradients.contains(value); }

  //===-- Operators -----------------------------------------------------===//

  /// The typed op of an ATen operator, "aten::add.Tensor".
  std::optional<mlir::OperationName> lookup(llvm::StringRef atenName) const;
  mlir::Operation *create(mlir::OperationName name, llvm::ArrayRef<ArgValue> values);
  mlir::Value create(llvm::StringRef atenName, llvm::ArrayRef<ArgValue> values);
  /// Marks an op that was created elsewhere.
  mlir::Operation *finish(mlir::Operation *op);

  //===-- Integers ------------------------------------------------------===//

  Expr valueOf(const Item &integer);
  mlir::OpFoldResult toSize(const Item &integer);
  mlir::Value toIndex(const Item &integer);
  Item sizeOf(Tensor &tensor, int64_t dim);
  Item add(const Item &a, const Item &b);
  Item sub(const Item &a, const Item &b);
  Item mul(const Item &a, const Item &b);
  Item floorDiv(const Item &a, const Item &b);
  Item max(const Item &a, const Item &b);
  /// The value in the example; that all batches agree becomes a guard.
  int64_t fixToExample(const Item &integer);
  /// How two sizes compare: for every batch, or in the example, whose answer becomes a guard.
  bool equal(const Item &a, const Item &b);
  bool less(const Item &a, const Item &b);

private:
  mlir::Value readOwn(Tensor &tensor);
  mlir::Value readCurrent(Tensor &tensor);
  bool assume(const Expr &left, plan::Relation relation, const Expr &right);
  mlir::Value emitSource(Tensor &tensor);
  /// Fails on a size whose formula is out of hand.
  void checkSize(const plan::Expr &size);
  template <typename OpTy> Item arithmetic(const Item &a, const Item &b, const Expr &value);

  mlir::Location loc;
  int64_t numStreams = 0; // of random numbers, in the order of the program
  llvm::StringMap<mlir::OperationName> typedOps;
  llvm::DenseSet<mlir::Value> gradients;
  llvm::DenseMap<std::pair<mlir::Value, int>, mlir::Value> detached; // by value and module call
};

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_EMITTER_H
