//===- Evaluator.h - Runs braid functions through ATen ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a function of the braid dialect means, op by op: the reference that tests compare passes with. Operators are
// called through the dispatcher as the runtime does, below autograd. What cannot be run throws std::runtime_error.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_LIB_EVALUATOR_H
#define BRAID_TEST_LIB_EVALUATOR_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace braid::test {

/// The dtype of an element type, and back.
c10::ScalarType toScalarType(mlir::Type type);
mlir::Type toElementType(mlir::MLIRContext *context, c10::ScalarType type);

/// A constant argument of an operator.
c10::IValue toIValue(mlir::Attribute attr);

/// Calls an operator by name with the arguments that `value` gives for names; others take the schema's default.
std::vector<at::Tensor> callAten(llvm::StringRef name,
                                 llvm::function_ref<std::optional<c10::IValue>(llvm::StringRef)> value);

class Evaluator {
public:
  std::map<std::string, int64_t> symbols;       // of braid.symbol
  std::map<std::string, at::Tensor> parameters; // of braid.get_param

  /// Results of one call. The arguments are not written to.
  std::vector<at::Tensor> run(mlir::func::FuncOp function, const std::vector<at::Tensor> &arguments);

private:
  using Values = llvm::DenseMap<mlir::Value, c10::IValue>;
  void runOp(mlir::Operation *op, Values &values);
  std::vector<at::Tensor> runGradient(AtenGradientOp op, const Values &values);
};

} // namespace braid::test

#endif // BRAID_TEST_LIB_EVALUATOR_H
