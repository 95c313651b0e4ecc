//===- Guard.h - What a program assumes of its sizes --------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two sizes and a relation between them that the example fulfils and the program relies on: broadcast dims that agree,
// or the branch of the model that the example's sizes took. The runtime refuses batches that break one.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_EXPR_GUARD_H
#define BRAID_PLAN_EXPR_GUARD_H

#include "braid/Plan/Expr/Expr.h"

namespace braid::plan {

enum class Relation { Equal, NotEqual, Less, LessEqual };

/// "==", "!=", "<", "<=".
const char *spelling(Relation relation);
Result<Relation> parseRelation(std::string_view text);
bool holds(int64_t left, Relation relation, int64_t right);

struct Guard {
  Expr left;
  Relation relation = Relation::Equal;
  Expr right;
  std::string why; // what needs it, and where

  /// False also where a side has no value.
  bool holds(const Expr::Lookup &symbols) const;
  bool holds(const std::map<std::string, int64_t> &symbols) const;
  /// "seq <= 32".
  std::string str() const;
};

} // namespace braid::plan

#endif // BRAID_PLAN_EXPR_GUARD_H
