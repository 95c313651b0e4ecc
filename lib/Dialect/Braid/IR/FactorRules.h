//===- FactorRules.h - What factor rules are written with -*- C++ -*- ---===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_IR_FACTORRULES_H
#define BRAID_LIB_DIALECT_BRAID_IR_FACTORRULES_H

#include "braid/Dialect/Braid/IR/OpRules.h"

namespace braid::factors {

using Factors = llvm::SmallVector<int, 4>;

/// A factor map in the making: all dims are whole until a rule says otherwise.
class MapBuilder {
public:
  MapBuilder(mlir::Operation *op, ShapeAnalysis &analysis);

  /// False if a shape is not known; its error has been reported.
  bool isValid() const { return valid; }
  int fresh() { return next++; }

  unsigned numOperands() const { return operandShapes.size(); }
  unsigned numResults() const { return resultShapes.size(); }
  const TensorShape &operandShape(unsigned number) const { return operandShapes[number]; }
  const TensorShape &resultShape(unsigned number = 0) const { return resultShapes[number]; }
  Factors &operand(unsigned number) { return map.operands[number]; }
  Factors &result(unsigned number = 0) { return map.results[number]; }
  /// The number of an argument's first tensor operand; nothing if it has none.
  std::optional<unsigned> find(llvm::StringRef name) const;

  /// Each dim of `shape` gets a factor of its own.
  Factors freshFor(const TensorShape &shape);
  /// The factors of a tensor that broadcasts to `shape` with `factors`: dims of size 1 that it repeats are whole.
  static Factors broadcast(const TensorShape &from, const TensorShape &shape, llvm::ArrayRef<int> factors);

  std::optional<FactorMap> build() { return valid ? std::optional<FactorMap>(std::move(map)) : std::nullopt; }

  mlir::Operation *op;

private:
  FactorMap map;
  llvm::SmallVector<TensorShape> operandShapes, resultShapes;
  llvm::StringMap<unsigned> firstOperand;
  int next = 0;
  bool valid = true;
};

/// A dim as Python counts it, from the front.
inline int64_t wrapDim(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

} // namespace braid::factors

#endif // BRAID_LIB_DIALECT_BRAID_IR_FACTORRULES_H
