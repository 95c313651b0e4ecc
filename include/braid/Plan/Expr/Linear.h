//===- Linear.h - Sizes that give a name its value --------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_EXPR_LINEAR_H
#define BRAID_PLAN_EXPR_LINEAR_H

#include "braid/Plan/Expr/Expr.h"

namespace braid::plan {

/// coefficient * symbol + offset, as in 4*groups or segments + 1.
struct Linear {
  std::string symbol;
  int64_t coefficient = 1, offset = 0;

  /// The symbol's value where the whole is `size`; nothing where that is no whole number.
  std::optional<int64_t> solve(int64_t size) const;
};

/// Nothing where the expression is of another form.
std::optional<Linear> asLinear(const Expr &expr);

} // namespace braid::plan

#endif // BRAID_PLAN_EXPR_LINEAR_H
