//===- GradientHarness.h - One op, differentiated and run ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The harness builds a function around the op of a case, with constant sizes or with a named size for every dim other
// than 1, decomposes and differentiates it as the compiler does, and runs it.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_DIALECT_BRAID_GRADIENTHARNESS_H
#define BRAID_TEST_DIALECT_BRAID_GRADIENTHARNESS_H

#include "../../lib/Evaluator.h"
#include "GradientCases.h"

namespace braid::test {

/// The context that everything here lives in, with braid's dialects loaded.
mlir::MLIRContext &context();

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A module with a function @f that runs the op on its arguments, and what it is to be run with.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<at::Tensor> inputs; // of the function's arguments
  std::vector<unsigned> wanted;   // arguments whose gradient the case asks for
  Evaluator evaluator;

  std::vector<at::Tensor> run() { return evaluator.run(function, inputs); }
  std::string str();
};

/// The op alone. Throws where it cannot be built.
Program buildProgram(const Case &test, bool symbolic);

/// Appends gradients to a copy of the program: arguments for the cotangents of the marked results (all floating-point
/// ones if empty) and results for the wanted arguments' gradients, in their order; a gradient that is zero by the
/// rules' word is left out and marked false in `present`.
struct Differentiated {
  Program program;
  std::vector<bool> present;
  llvm::DenseSet<mlir::Operation *> forward; // the ops that were there before the gradients
};
Differentiated differentiate(Program &program, const std::vector<unsigned> &wanted,
                             const std::vector<at::Tensor> &cotangents);

/// What a case is in PyTorch: the operator's results, recorded by autograd, with the leaves that want gradients.
struct Reference {
  std::vector<at::Tensor> results, leaves;
};
Reference runReference(const Case &test);

} // namespace braid::test

#endif // BRAID_TEST_DIALECT_BRAID_GRADIENTHARNESS_H
