//===- ShapeRules.h - What shape rules are written with -*- C++ -*- -----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_IR_SHAPERULES_H
#define BRAID_LIB_DIALECT_BRAID_IR_SHAPERULES_H

#include "braid/Dialect/Braid/IR/OpRules.h"

namespace braid::shapes {

using Results = llvm::SmallVectorImpl<TensorShape>;
using Dims = llvm::SmallVector<Expr, 4>;

/// Reads the arguments of one op. What cannot be read is reported once and leaves a neutral value, so a rule reads all
/// it needs and then asks failed().
class Reader {
public:
  Reader(mlir::Operation *op, ShapeAnalysis &analysis) : op(op), analysis(analysis) {}

  TensorShape shape(mlir::Value tensor);
  llvm::SmallVector<TensorShape> shapes(mlir::ValueRange tensors);
  /// A size argument; nothing if it is absent.
  std::optional<Expr> size(mlir::Value dynamic, std::optional<int64_t> constant);
  Dims sizes(mlir::OperandRange dynamic, llvm::ArrayRef<int64_t> constants);
  /// A dim as Python counts it, -rank to rank - 1; a tensor of rank 0 counts as rank 1.
  int64_t dim(int64_t dim, int64_t rank);
  /// All of them, sorted, each once; every dim where the list is absent or empty.
  llvm::SmallVector<int64_t> dims(std::optional<llvm::ArrayRef<int64_t>> list, int64_t rank);

  bool failed() const { return hasFailed; }
  /// An error at the op; the reader then counts as failed.
  mlir::InFlightDiagnostic error();

  /// Whether two sizes are equal, if need be by a guard.
  bool equal(const Expr &a, const Expr &b) { return analysis.equal(a, b, op); }
  bool equal(llvm::ArrayRef<Expr> a, llvm::ArrayRef<Expr> b);
  /// Whether a size is at least 0, if need be by a guard; nothing where neither is known.
  std::optional<bool> isNonNegative(const Expr &size);
  /// A number that the trace fixed: the constant, or the example's value with a guard.
  std::optional<int64_t> fixed(const Expr &size);
  /// The shape that all broadcast to.
  Dims broadcast(llvm::ArrayRef<TensorShape> shapes);
  /// `from` may be expanded to `to`, which it does not enlarge.
  bool fits(llvm::ArrayRef<Expr> from, llvm::ArrayRef<Expr> to);
  /// Reports any tensor whose element type is not that of the first.
  void sameElementType(llvm::ArrayRef<std::pair<llvm::StringRef, TensorShape>> tensors);
  void floating(llvm::StringRef name, const TensorShape &shape);

  mlir::Operation *op;
  ShapeAnalysis &analysis;

private:
  bool hasFailed = false;
};

/// An attribute argument by its name; null if absent.
template <typename AttrTy> AttrTy getArgument(mlir::Operation *op, llvm::StringRef name) {
  return llvm::dyn_cast_or_null<AttrTy>(op->getInherentAttr(name).value_or(nullptr));
}
inline bool getFlag(mlir::Operation *op, llvm::StringRef name) {
  auto flag = getArgument<mlir::BoolAttr>(op, name);
  return flag && flag.getValue();
}

bool isBool(mlir::Type type);
bool isFloat(mlir::Type type);
mlir::Type i1(mlir::Operation *op);
mlir::Type i64(mlir::Operation *op);
/// What ATen gives tensors that are made of Python floats: torch.get_default_dtype(), float32.
mlir::Type defaultFloat(mlir::Operation *op);
/// The element type of a Python number.
mlir::Type scalarType(mlir::TypedAttr scalar);

/// torch.promote_types; null if one of them is no ATen type.
mlir::Type promote(mlir::Type a, mlir::Type b);
/// torch.result_type: tensors with dims come before tensors without, and those before Python numbers, within bool <
/// integers < floats.
mlir::Type resultType(llvm::ArrayRef<TensorShape> tensors, llvm::ArrayRef<mlir::TypedAttr> scalars = {});

/// For each dim of the result, the dim of the operand: of permute, transpose and t.
llvm::SmallVector<int64_t> getPermutation(mlir::Operation *op, int64_t rank);

/// How many spatial dims the images have that the operator takes: 2 for max_pool2d_with_indices and im2col.
int64_t getSpatialRank(mlir::Operation *op);

} // namespace braid::shapes

#endif // BRAID_LIB_DIALECT_BRAID_IR_SHAPERULES_H
