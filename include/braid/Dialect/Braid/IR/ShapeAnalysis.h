//===- ShapeAnalysis.h - Symbolic shapes of values ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor has dims that are expressions over the named dims of the inputs, every index value is such an
// expression. The analysis is lazy: it asks ops for their shape rule, functions for the `braid.dims` of their
// arguments, callees for those of their results, and remembers the answers.
//
// Equalities that an op needs and that do not follow from the expressions (two broadcast dims, say) are accepted if the
// example sizes of the symbols fulfil them, and recorded as guards that the runtime checks for each batch.
//
// Values are known by their address, so an op whose values the analysis may have seen goes by its erase().
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_SHAPEANALYSIS_H
#define BRAID_DIALECT_BRAID_IR_SHAPEANALYSIS_H

#include "braid/Plan/Expr/Guard.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

namespace braid {

using plan::Expr;
using plan::Guard;

struct TensorShape {
  llvm::SmallVector<Expr, 4> dims;
  mlir::Type elementType;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  Expr numElements() const;
  /// Static where an expression is constant, dynamic elsewhere.
  mlir::RankedTensorType toType() const;
};

/// "[batch, seq, 32]", for messages.
std::string str(const TensorShape &shape);

class ShapeAnalysis {
public:
  /// Reads `braid.symbols` (example sizes) from the module; guards that are there already are kept.
  explicit ShapeAnalysis(mlir::ModuleOp module);

  /// Shape of a tensor value. Fails after an error at the op that has none.
  mlir::FailureOr<TensorShape> shapeOf(mlir::Value tensor);
  /// Value of an index, built by arith from braid.symbol, braid.size and constants.
  mlir::FailureOr<Expr> valueOf(mlir::Value index);
  mlir::FailureOr<Expr> valueOf(mlir::OpFoldResult size);
  void setShape(mlir::Value tensor, TensorShape shape) { shapes[tensor] = std::move(shape); }
  void setValue(mlir::Value index, Expr value) { values[index] = std::move(value); }

  /// Erases an op, and what is known of its values and of those inside of it.
  void erase(mlir::Operation *op);

  /// Whether two sizes are equal: by their form, or by the example, which records a guard with the op as its reason.
  bool equal(const Expr &a, const Expr &b, mlir::Operation *op);
  /// Whether a relation holds in the example. If it does, it becomes a guard.
  bool assume(Guard guard);
  /// Whether a size is 1 for every batch: the question of broadcasting. A size that is 1 in the example only is not.
  static bool isOne(const Expr &size) { return size.constant() == 1; }
  /// The size in the example, if all its symbols have one.
  std::optional<int64_t> example(const Expr &size) const { return size.evaluate(examples); }

  /// An index value (arith over braid.symbol) for an expression, or an attribute for a constant.
  mlir::OpFoldResult materialize(mlir::OpBuilder &builder, mlir::Location loc, const Expr &size);
  llvm::SmallVector<mlir::OpFoldResult> materialize(mlir::OpBuilder &builder, mlir::Location loc,
                                                    llvm::ArrayRef<Expr> sizes);
  mlir::Value materializeIndex(mlir::OpBuilder &builder, mlir::Location loc, const Expr &size);

  const std::vector<Guard> &getGuards() const { return guards; }
  /// Writes the guards into the module (`braid.guards`).
  void storeGuards();
  mlir::ModuleOp getModule() const { return module; }

private:
  mlir::LogicalResult inferSources(mlir::Value value);
  mlir::FailureOr<TensorShape> inferShape(mlir::Value tensor);
  mlir::FailureOr<Expr> inferValue(mlir::Operation *op);
  bool isKnown(mlir::Value value) const { return shapes.contains(value) || values.contains(value); }

  mlir::ModuleOp module;
  bool isInferring = false;
  std::map<std::string, int64_t> examples;
  llvm::DenseMap<mlir::Value, TensorShape> shapes;
  llvm::DenseMap<mlir::Value, Expr> values;
  std::vector<Guard> guards;
};

/// The discardable attributes on function arguments and results, and on the module.
inline constexpr llvm::StringLiteral dimsAttrName = "braid.dims";       // ["batch", "seq", "32"]
inline constexpr llvm::StringLiteral inputAttrName = "braid.input";     // "input_ids"
inline constexpr llvm::StringLiteral symbolsAttrName = "braid.symbols"; // {batch = 2, seq = 32}: example sizes
inline constexpr llvm::StringLiteral guardsAttrName = "braid.guards";   // [["seq", "==", "32", "why"]]
inline constexpr llvm::StringLiteral moduleAttrName = "braid.module";   // #braid.module<...> on functions
inline constexpr llvm::StringLiteral stateAttrName = "braid.state";     // @norm.running_mean, on results of @main
inline constexpr llvm::StringLiteral pathAttrName = "path";             // the module path of an op or a call

mlir::ArrayAttr getDimsAttr(mlir::MLIRContext *context, const TensorShape &shape);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_SHAPEANALYSIS_H
