//===- TestModel.h - A compiled program written by hand ----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler makes of a small model, in C++: float64, three stages, one parameter used by two of them, a value
// that two stages read, a buffer, a frozen and an unused parameter, a loss divided by a count.
//
//   stage 0  h = tanh(x Aᵀ + a)
//   stage 1  z = tanh(h Bᵀ)
//   stage 2  e = ((h + z) Aᵀ + c) s - t;   loss = sum(e e) / count;   count = the elements of t
//
// A is the tied parameter "first.weight" (alias "last.weight"), s the buffer "scale".
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_RUNTIME_TESTMODEL_H
#define BRAID_TEST_RUNTIME_TESTMODEL_H

#include "braid_rt.h"

#include <string>
#include <vector>

namespace braid::test {

inline constexpr int width = 4;

/// Parameters in the plan's order.
enum { paramA, param_a, paramB, param_c, param_s, paramFrozen, numParams };
extern const char *const paramNames[numParams];
/// Sizes of parameters; 0 dims never occur.
std::vector<int64_t> paramShape(int number);

/// The functions of the stages, to be named in a braid_program.
extern const braid_function_entry functions[];
extern const int32_t numFunctions;
braid_status initialize();

/// A program over `plan`, which must outlive it.
inline braid_program makeProgram(const std::string &plan) {
  return {BRAID_RT_ABI_VERSION, plan.c_str(), numFunctions, functions, initialize};
}

} // namespace braid::test

#endif // BRAID_TEST_RUNTIME_TESTMODEL_H
