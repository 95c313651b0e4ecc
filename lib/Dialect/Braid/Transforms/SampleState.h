//===- SampleState.h - How a value follows the samples -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What braid-analyze-samples knows of a value: what a micro-batch computes for it, beside what the whole batch does.
// docs/Samples.md has the argument.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_DIALECT_BRAID_TRANSFORMS_SAMPLESTATE_H
#define BRAID_LIB_DIALECT_BRAID_TRANSFORMS_SAMPLESTATE_H

#include "braid/Plan/Expr/Expr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <limits>

namespace braid {

/// A dim that counts outer x unit x inner entries, as after a view that merged it with its neighbours. The unit is what
/// is divided: the samples, or rows that some samples have more of than others.
struct Along {
  int64_t dim = 0;
  plan::Expr unit;
  plan::Expr outer = plan::Expr(1), inner = plan::Expr(1);
  mlir::Operation *order = nullptr; // the sort that moved the rows, each micro-batch's among themselves

  plan::Expr size() const { return outer * unit * inner; }
  bool isPlain() const { return outer.constant() == 1; }
  /// Whether two dims hold the same rows in the same order.
  bool matches(const Along &other) const {
    return unit == other.unit && outer == other.outer && inner == other.inner && order == other.order;
  }
};

/// What a tensor with two divided dims holds where the two belong to different micro-batches.
enum class Apart {
  Unknown,
  Zero,       // 0 or false
  One,        // 1 or true
  Lowest,     // so low that its exponential is 0
  FirstLater, // true where the first dim's micro-batch is the later one, else false
  SecondLater
};

struct SampleState {
  enum Kind {
    Free,    // the same for every division of the batch: parameters, constants
    Samples, // one dim holds the samples' rows in order
    Offsets, // cumulative lengths: an entry for each of the unit, and one more
    Pairs,   // two dims do; a micro-batch has its own block on the diagonal
    Groups,  // how many sorted rows have each key, or where each key's rows end
    Sum      // a sum over all samples, on its way to the loss
  };
  Kind kind = Free;
  Along first, second; // Samples and Offsets have the first only

  /// Values of Samples and Offsets may count rows: those of a micro-batch are smaller by the number of such rows in
  /// the micro-batches before it. They lie between that number plus `low` and the number of rows with its own plus
  /// `high`. Those of Pairs, summed over the earlier dim, do.
  plan::Expr shift;
  static constexpr int64_t unbounded = int64_t(1) << 40;
  int64_t low = -unbounded, high = unbounded;
  /// Whether the first of a micro-batch's values is where its rows begin, or the last where they end.
  enum Edge { None, Begins, Ends } edge = None;

  Apart apart = Apart::Unknown;
  mlir::Operation *origin = nullptr; // of Pairs: where two rows met

  mlir::Operation *inverseOf = nullptr; // values that say where a sort has put each row

  bool counts() const { return inverseOf || !(shift == plan::Expr(0)); }
  /// Whether the values name the micro-batch's own rows.
  bool isWithin() const { return low >= 0 && high < 0; }
  void forgetValues() {
    shift = plan::Expr(0);
    low = -unbounded;
    high = unbounded;
    edge = None;
    inverseOf = nullptr;
  }
};

/// The number of a Scalar argument, if it is there.
std::optional<double> scalarOf(mlir::Operation *op, llvm::StringRef name);
/// The value of all elements of a constant.
std::optional<double> constantOf(mlir::Value value);
/// Whether add and sub take their second operand as it is.
inline bool isUnscaled(mlir::Operation *op) { return scalarOf(op, "alpha").value_or(1) == 1; }

inline Apart flip(Apart apart) {
  return apart == Apart::FirstLater ? Apart::SecondLater : apart == Apart::SecondLater ? Apart::FirstLater : apart;
}

} // namespace braid

#endif // BRAID_LIB_DIALECT_BRAID_TRANSFORMS_SAMPLESTATE_H
