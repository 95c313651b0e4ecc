//===- Guard.cpp - What a program assumes of its sizes --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Expr/Guard.h"

namespace braid::plan {

static constexpr Relation relations[] = {Relation::Equal, Relation::NotEqual, Relation::Less, Relation::LessEqual};

const char *spelling(Relation relation) {
  switch (relation) {
  case Relation::Equal:
    return "==";
  case Relation::NotEqual:
    return "!=";
  case Relation::Less:
    return "<";
  case Relation::LessEqual:
    return "<=";
  }
  return "";
}

Result<Relation> parseRelation(std::string_view text) {
  for (Relation relation : relations)
    if (text == spelling(relation))
      return relation;
  return Error{"'" + std::string(text) + "' is no relation of two sizes; there are ==, !=, < and <="};
}

bool holds(int64_t left, Relation relation, int64_t right) {
  switch (relation) {
  case Relation::Equal:
    return left == right;
  case Relation::NotEqual:
    return left != right;
  case Relation::Less:
    return left < right;
  case Relation::LessEqual:
    return left <= right;
  }
  return false;
}

/// `symbols` is a map or a function.
template <typename Symbols> static bool holdsFor(const Guard &guard, const Symbols &symbols) {
  std::optional<int64_t> a = guard.left.evaluate(symbols), b = guard.right.evaluate(symbols);
  return a && b && holds(*a, guard.relation, *b);
}

bool Guard::holds(const Expr::Lookup &symbols) const { return holdsFor(*this, symbols); }

bool Guard::holds(const std::map<std::string, int64_t> &symbols) const { return holdsFor(*this, symbols); }

std::string Guard::str() const { return left.str() + " " + spelling(relation) + " " + right.str(); }

} // namespace braid::plan
