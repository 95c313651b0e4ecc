//===- GradientCases.h - Tables of ops to differentiate -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case is one call of one op. The tables are in *GradientCases.cpp, one file a family of ops.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_DIALECT_BRAID_GRADIENTCASES_H
#define BRAID_TEST_DIALECT_BRAID_GRADIENTCASES_H

#include <ATen/core/Tensor.h>

#include "mlir/IR/Attributes.h"

#include <variant>
#include <vector>

namespace braid::test {

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
mlir::Attribute type(c10::ScalarType type);
inline std::vector<int64_t> sizes(std::vector<int64_t> values) { return values; }

struct Case {
  std::string op; // without "braid."
  std::vector<Arg> args;
  bool differences = true; // whether finite differences make sense: not in float32, not where the function jumps
  bool symbolic = true;    // whether the op takes sizes that are not constants
  bool autograd = true;    // whether PyTorch's own gradient is right
  unsigned results = ~0u;  // how many results, from the first, are differentiated
};
std::ostream &operator<<(std::ostream &stream, const Case &test);

std::vector<Case> elementwiseCases();
std::vector<Case> reductionCases();
std::vector<Case> viewCases();
std::vector<Case> contractionCases();
std::vector<Case> normAttentionCases();
std::vector<Case> recurrentCases();
std::vector<Case> poolingCases();
std::vector<Case> gatherScatterCases();
std::vector<Case> lossCases();
std::vector<Case> allCases();

} // namespace braid::test

#endif // BRAID_TEST_DIALECT_BRAID_GRADIENTCASES_H
