//===- GradientBuilder.h - What gradient rules are written with ---*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient rule emits, after the op, the cotangents of the op's operands:
//
//   LogicalResult mulGradient(MulOp op, GradientBuilder &g) {
//     Value dy = g.cotangent();
//     if (g.needs(op.getSelf()))
//       g.add(op.getSelf(), g.sumTo(g.create<MulOp>({dy, op.getOther()}), op.getSelf()));
//     ...
//   }
//
// A rule names values of the forward computation freely; differentiation makes residuals of those that the backward
// functions use. Sizes come from the shape analysis, never from a saved tensor.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_GRADIENTBUILDER_H
#define BRAID_DIALECT_BRAID_IR_GRADIENTBUILDER_H

#include "braid/Dialect/Braid/IR/AtenCall.h"
#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace braid {

class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder, ShapeAnalysis &shapes, llvm::function_ref<bool(mlir::Value)> needed)
      : builder(builder), shapes(shapes), needed(needed) {}

  /// Fails, after an error, where a shape of the op is not known: rules rely on all of them.
  [[nodiscard]] llvm::LogicalResult checkShapes(mlir::Operation *op);
  /// Points the builder at one op: its location and the cotangents of its results (null: zero).
  void startOp(mlir::Operation *op, llvm::ArrayRef<mlir::Value> cotangents);

  /// Cotangent of a result of the op; null if nothing depends on that result.
  mlir::Value cotangent(unsigned result = 0) const { return cotangents[result]; }
  /// Whether somebody needs the cotangent of this operand. Rules emit nothing for operands that nobody needs.
  bool needs(mlir::Value operand) const { return operand && needed(operand); }
  /// Adds `gradient` to the cotangent of `operand`; ignored if nobody needs it.
  void add(mlir::Value operand, mlir::Value gradient);

  /// Creates an op from its arguments in the schema's order; missing trailing arguments take the schema's defaults.
  template <typename OpTy> mlir::Value create(llvm::ArrayRef<ArgValue> args) {
    return createMany<OpTy>(args).front();
  }
  template <typename OpTy> llvm::SmallVector<mlir::Value> createMany(llvm::ArrayRef<ArgValue> args) {
    return createNamed(OpTy::getOperationName(), args);
  }
  llvm::SmallVector<mlir::Value> createNamed(llvm::StringRef opName, llvm::ArrayRef<ArgValue> args);

  /// Attribute values for create().
  ArgValue i64(int64_t value) { return mlir::Attribute(builder.getI64IntegerAttr(value)); }
  ArgValue f64(double value) { return mlir::Attribute(builder.getF64FloatAttr(value)); }
  ArgValue boolean(bool value) { return mlir::Attribute(builder.getBoolAttr(value)); }
  ArgValue str(llvm::StringRef value) { return mlir::Attribute(builder.getStringAttr(value)); }
  ArgValue dtype(mlir::Type value) { return mlir::Attribute(mlir::TypeAttr::get(value)); }
  ArgValue ints(llvm::ArrayRef<int64_t> value) { return mlir::Attribute(builder.getDenseI64ArrayAttr(value)); }
  ArgValue bools(llvm::ArrayRef<bool> value) { return mlir::Attribute(builder.getDenseBoolArrayAttr(value)); }

  const TensorShape &shapeOf(mlir::Value tensor);
  /// The sizes of a tensor, for a SymIntList argument.
  ArgValue sizes(mlir::Value tensor);
  ArgValue sizes(llvm::ArrayRef<Expr> dims);
  ArgValue size(const Expr &size);

  /// Undoes broadcasting: sums `gradient` over the dims in which `like` is smaller, and casts to its element type.
  mlir::Value sumTo(mlir::Value gradient, mlir::Value like);

  mlir::OpBuilder &getBuilder() { return builder; }
  ShapeAnalysis &getShapes() { return shapes; }
  mlir::Location getLoc() const { return loc; }
  /// True once a create() has failed; its error has been reported. Results are then null.
  bool hasFailed() const { return failed; }

  /// The cotangents gathered so far.
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;

private:
  mlir::OpBuilder &builder;
  ShapeAnalysis &shapes;
  llvm::function_ref<bool(mlir::Value)> needed;
  mlir::Location loc = mlir::UnknownLoc::get(builder.getContext());
  llvm::SmallVector<mlir::Value> cotangents;
  mlir::Attribute path;
  llvm::DenseMap<mlir::Value, TensorShape> scratch; // what shapeOf() refers to
  bool failed = false;
};

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_GRADIENTBUILDER_H
