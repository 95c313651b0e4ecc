//===- SampleAnalysis.h - Whether samples stay apart ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_SAMPLEANALYSIS_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_SAMPLEANALYSIS_H

#include "SampleState.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Collate.h"

namespace braid {

/// Follows the divided dims of the inputs through the flat @main to the loss. Factor maps say where a dim goes; what
/// needs it whole mixes samples, but for what is known of ops that read and write by index (SampleIndices.cpp) and of
/// tensors over pairs of rows (SamplePairs.cpp).
class SampleAnalysis {
public:
  /// Nothing, or why an op cannot be divided.
  using Reason = std::optional<std::string>;

  SampleAnalysis(mlir::func::FuncOp main, ShapeAnalysis &shapes) : main(main), shapes(shapes) {}

  Reason run();
  /// The same of @prologue: why a count of the whole batch is not the sum of what its parts give.
  Reason runCounts();
  SampleState stateOf(mlir::Value value) const { return states.lookup(value); }
  /// The number of samples.
  const Expr &getSamples() const { return division.samples; }

private:
  /// Inputs, then all ops but some.
  Reason visitAll(llvm::function_ref<bool(mlir::Operation *)> skips);
  Reason readInputs();
  Reason visit(mlir::Operation *op);
  Reason checkSizes(mlir::Operation *op);
  Reason checkDims(mlir::Operation *op);
  Reason checkDraws(mlir::Operation *op);
  Reason visitValues(mlir::Operation *op);
  Reason visitCreation(mlir::Operation *op);
  bool isShare(mlir::Operation *op);
  Reason visitSum(mlir::Operation *op, llvm::ArrayRef<mlir::Value> tensors);
  Reason visitView(mlir::Operation *op);
  Reason visitMerge(mlir::Operation *op);
  Reason visitMapped(mlir::Operation *op, llvm::ArrayRef<mlir::Value> tensors);

  // SampleIndices.cpp
  Reason visitOffsets(mlir::Operation *op);
  /// Whether an op that reads or writes by index keeps to the rows of each micro-batch; if so its results are known.
  bool visitIndexed(mlir::Operation *op);
  /// What is known of the values of a result whose place is.
  Reason setValues(mlir::Operation *op, llvm::ArrayRef<mlir::Value> tensors, SampleState &result);

  // SampleOrders.cpp
  /// Whether an op sorts rows, works on sorted ones by their keys, or undoes a sort; if so its results are known.
  bool visitOrdered(mlir::Operation *op);
  bool sort(SortOp op);

  // SamplePairs.cpp
  /// Whether an op over pairs of rows has a rule of its own that holds.
  bool visitPairs(mlir::Operation *op);
  void setApart(mlir::Operation *op, llvm::ArrayRef<mlir::Value> tensors, SampleState &result);
  void compare(mlir::Operation *op, llvm::ArrayRef<mlir::Value> tensors, SampleState &result);
  bool isZeroApart(llvm::ArrayRef<mlir::Value> tensors) const;

  std::string mixes(mlir::Operation *op, llvm::ArrayRef<mlir::Value> tensors) const;
  std::string countsRows(mlir::Operation *op, const SampleState &state) const;
  bool dependsOnUnits(const Expr &size) const;
  /// The unit whose multiple a size is.
  const Expr *unitOf(const Expr &size) const;
  static bool isTensor(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }

  mlir::func::FuncOp main;
  ShapeAnalysis &shapes;
  plan::BatchDivision division;
  std::vector<Expr> units;
  std::set<std::string> unitNames;
  llvm::DenseMap<mlir::Value, SampleState> states; // free where absent
};

} // namespace braid

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_SAMPLEANALYSIS_H
