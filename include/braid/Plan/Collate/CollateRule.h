//===- CollateRule.h - How an input divides and joins -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What plan.yaml, the attribute `braid.collate` and the plan of a binary write as text; docs/Samples.md explains it.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COLLATE_COLLATERULE_H
#define BRAID_PLAN_COLLATE_COLLATERULE_H

#include "braid/Plan/Support/Result.h"

#include <string>
#include <string_view>

namespace braid::plan {

struct CollateRule {
  enum class Kind { Stack, Pad, Concat, Offsets, IndexInto, Shared };
  Kind kind = Kind::Stack;
  double value = 0;  // Pad: what fills
  int dim = 0;       // Concat: the dim along which samples stand
  std::string input; // Offsets, IndexInto: the input that it speaks of
  int flattened = 1; // IndexInto: how many leading dims of that input an entry counts through

  /// stack, pad(VALUE), concat, concat(DIM), offsets(INPUT), index_into(INPUT), index_into(INPUT, DIMS), shared.
  static Result<CollateRule> parse(std::string_view text);
  /// What parse() reads.
  std::string str() const;

  /// Whether dim 0 has one row for each sample.
  bool stacks() const { return kind == Kind::Stack || kind == Kind::Pad; }
};

} // namespace braid::plan

#endif // BRAID_PLAN_COLLATE_COLLATERULE_H
