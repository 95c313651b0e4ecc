//===- Expr.h - Integer expressions over named dims ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dim of a tensor is an expression over symbols such as batch and seq. Expressions are polynomials with integer
// coefficients whose variables are symbols, floor divisions and maxima; they are kept in one canonical form, so equal
// polynomials compare equal. The compiler infers them, the plan section of a binary stores their text, and the runtime
// evaluates it for each micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_EXPR_EXPR_H
#define BRAID_PLAN_EXPR_EXPR_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

class Expr;

/// What an expression multiplies: a symbol, or an operation on two expressions.
struct Atom {
  enum class Kind { Symbol, FloorDiv, Max };
  Kind kind;
  std::string text; // canonical, and what atoms are compared by
  std::vector<Expr> operands;
  int depth = 0; // of quotients and maxima inside of each other
};

class Expr {
public:
  Expr(int64_t constant = 0);
  static Expr symbol(std::string name);

  friend Expr operator+(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, const Expr &b);
  /// Rounds towards minus infinity; exact polynomial division where it divides. b must not be the constant 0.
  static Expr floorDiv(const Expr &a, const Expr &b);
  static Expr max(const Expr &a, const Expr &b);

  std::optional<int64_t> constant() const;
  bool operator==(const Expr &other) const { return terms == other.terms; }
  bool operator<(const Expr &other) const { return terms < other.terms; }

  /// The quotient if `divisor` divides this polynomial exactly.
  std::optional<Expr> exactQuotient(const Expr &divisor) const;

  /// True if the value is known to be at least `bound` when every symbol is at least 1.
  bool atLeast(int64_t bound) const;

  /// Quotients and maxima inside of each other. Who builds expressions keeps to the most that is read back.
  int depth() const;
  static constexpr int maxDepth = 48;
  /// The characters of its atoms. Beyond the maximum an expression takes longer to handle than it is worth: what clamps
  /// the bounds of slices of slices grows without end.
  size_t length() const;
  static constexpr size_t maxLength = 2000;

  using Lookup = std::function<std::optional<int64_t>(std::string_view)>;
  /// The value, or nothing where a symbol is unknown, a divisor is 0 or 64 bits overflow.
  std::optional<int64_t> evaluate(const Lookup &symbols) const;
  std::optional<int64_t> evaluate(const std::map<std::string, int64_t> &symbols) const;

  Expr substitute(const std::map<std::string, Expr> &symbols) const;
  void collectSymbols(std::set<std::string> &names) const;

  /// For example "2*batch*seq + 17", "(seq + 1) floordiv 2", "max(seq, 4)"; parse() reads it back.
  std::string str() const;
  static Result<Expr> parse(std::string_view text);

  struct AtomLess {
    bool operator()(const std::shared_ptr<const Atom> &a, const std::shared_ptr<const Atom> &b) const {
      return a->text < b->text;
    }
  };
  /// A product of atoms: each with its power.
  struct Monomial {
    std::map<std::shared_ptr<const Atom>, int, AtomLess> powers;
    bool operator<(const Monomial &other) const;
    bool operator==(const Monomial &other) const;
  };
  /// Each monomial with its coefficient, never 0.
  const std::map<Monomial, int64_t> &getTerms() const { return terms; }

private:
  static Expr fromAtom(std::shared_ptr<const Atom> atom);
  /// False where the sum of coefficients overflows.
  bool add(const Monomial &monomial, int64_t coefficient);

  std::map<Monomial, int64_t> terms;
};

} // namespace braid::plan

#endif // BRAID_PLAN_EXPR_EXPR_H
