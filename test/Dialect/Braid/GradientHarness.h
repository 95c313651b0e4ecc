//===- GradientHarness.h - One op, differentiated and run ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case is one call of one op. The harness builds a function around it, with constant sizes or with a named size for
// every dim other than 1, decomposes and differentiates it as the compiler does, and runs it. The tables of cases are
// in *GradientCases.cpp, one file a family of ops.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_DIALECT_BRAID_GRADIENTHARNESS_H
#define BRAID_TEST_DIALECT_BRAID_GRADIENTHARNESS_H

#include "../../lib/Evaluator.h"

namespace braid::test {

/// The context that everything here lives in, with braid's dialects loaded.
mlir::MLIRContext &context();

/// A tensor operand; `grad` asks for its gradient.
struct Operand {
  at::Tensor value;
  bool grad = false;
};
/// A value of one argument: absent, a tensor, tensors, an attribute, or a list of sizes.
using Arg = std::variant<std::monostate, Operand, std::vector<Operand>, mlir::Attribute, std::vector<int64_t>>;

//===----------------------------------------------------------------------===//
// Words that tables of cases are written in
//===----------------------------------------------------------------------===//

inline constexpr std::monostate none;
/// Normally distributed, with gradient.
Operand x(std::vector<int64_t> sizes);
/// Between 0.5 and 2, with gradient.
Operand positive(std::vector<int64_t> sizes);
/// As x, in float32.
Operand single(std::vector<int64_t> sizes);
/// Every value once, in a random order and far apart: for maxima. With gradient.
Operand distinct(std::vector<int64_t> sizes);
/// Without gradient.
Operand fixed(at::Tensor value);
Operand indices(std::vector<int64_t> values, std::vector<int64_t> sizes);
Operand mask(std::vector<int64_t> values, std::vector<int64_t> sizes);

mlir::Attribute i(int64_t value);
mlir::Attribute f(double value);
mlir::Attribute b(bool value);
mlir::Attribute s(llvm::StringRef value);
mlir::Attribute ints(std::vector<int64_t> values);
mlir::Attribute bools(std::vector<bool> values);
mlir::Attribute dtype(c10::ScalarType type);
inline std::vector<int64_t> sizes(std::vector<int64_t> values) { return values; }

struct Case {
  std::string op; // without "braid."
  std::vector<Arg> args;
  bool differences = true; // whether finite differences make sense: not in float32, not where the function jumps
  bool symbolic = true;    // whether the op takes sizes that are not constants
  unsigned results = ~0u;  // how many results, from the first, are differentiated
};
std::ostream &operator<<(std::ostream &stream, const Case &test);

std::vector<Case> elementwiseCases();
std::vector<Case> reductionCases();
std::vector<Case> viewCases();
std::vector<Case> contractionCases();
std::vector<Case> normAttentionCases();
std::vector<Case> gatherScatterCases();
std::vector<Case> lossCases();
std::vector<Case> allCases();

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
