//===- BatchDivision.h - Dividing inputs among micro-batches ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the collate rules of all inputs to what each input's rows count, and from a batch to the rows of each
// micro-batch. The compiler asks the first question to prove that samples do not mix, the runtime both.
//
// A unit is what a divided dim counts: samples, or the rows, segments or entries that some samples have more of than
// others. Where the samples begin is known from their number; where the rows of another unit begin, from the values of
// the inputs that are its offsets.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COLLATE_BATCHDIVISION_H
#define BRAID_PLAN_COLLATE_BATCHDIVISION_H

#include "braid/Plan/Collate/CollateRule.h"
#include "braid/Plan/Expr/Expr.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace braid::plan {

struct CollatedInput {
  std::string name;
  std::vector<Expr> dims;
  CollateRule rule;
};

/// How one input follows the samples.
struct InputDivision {
  int dim = -1;       // the dim that is divided; -1: every micro-batch sees the whole
  Expr unit;          // what the dim counts; an offsets input has one entry more than that
  int64_t factor = 1; // rows of the dim for each of the unit
  Expr base;          // of offsets and indices: the rows that the values count; a micro-batch's values count its own
};

struct BatchDivision {
  Expr samples; // how many there are; 0 where no input says
  std::vector<InputDivision> inputs;

  /// A unit becomes known from the values of an input: where the rows that it counts begin (Counted), or where its own
  /// entries do, since no segment belongs to two micro-batches (Counting).
  struct Source {
    int input;
    enum Kind { Counted, Counting } kind;
  };
  std::vector<Source> sources; // in the order in which they can be asked

  /// The distinct units, samples first.
  std::vector<Expr> units() const;
};

/// What is wrong with the rule of one input.
struct DivisionError {
  int input;
  std::string message;
};

/// Nothing, or why the rules do not say how to divide.
std::optional<DivisionError> divide(const std::vector<CollatedInput> &inputs, BatchDivision &division);

/// Part of one input: `size` rows of its divided dim from `begin`, and what is subtracted from its values.
struct InputCut {
  int64_t begin = 0, size = 0, base = 0;
};

/// The values of an input of integers.
using ReadValues = std::function<Result<std::vector<int64_t>>(int input)>;

/// The parts of every input, by micro-batch. `bounds` says at which sample each micro-batch begins, with the number of
/// samples at its end. Fails where offsets do not count the rows that there are, a segment belongs to two
/// micro-batches, or an index names rows of another one than its neighbours'.
Result<std::vector<std::vector<InputCut>>> cutInputs(const std::vector<CollatedInput> &inputs,
                                                     const BatchDivision &division,
                                                     const std::vector<std::vector<int64_t>> &shapes,
                                                     const std::vector<int64_t> &bounds, const ReadValues &read);

} // namespace braid::plan

#endif // BRAID_PLAN_COLLATE_BATCHDIVISION_H
