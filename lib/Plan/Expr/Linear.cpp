//===- Linear.cpp - Sizes that give a name its value ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Expr/Linear.h"

namespace braid::plan {

std::optional<int64_t> Linear::solve(int64_t size) const {
  int64_t product;
  if (__builtin_sub_overflow(size, offset, &product) || product % coefficient)
    return std::nullopt;
  return product / coefficient;
}

std::optional<Linear> asLinear(const Expr &expr) {
  Linear linear;
  for (const auto &[monomial, coefficient] : expr.getTerms()) {
    if (monomial.powers.empty()) {
      linear.offset = coefficient;
      continue;
    }
    const auto &[atom, power] = *monomial.powers.begin();
    if (!linear.symbol.empty() || monomial.powers.size() > 1 || power != 1 || atom->kind != Atom::Kind::Symbol)
      return std::nullopt;
    linear.symbol = atom->text;
    linear.coefficient = coefficient;
  }
  if (linear.symbol.empty() || linear.coefficient < 1)
    return std::nullopt;
  return linear;
}

} // namespace braid::plan
