//===- ExprTest.cpp - Size expressions ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Expr/Expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace braid::plan;

static Expr read(const std::string &text) {
  Result<Expr> expr = Expr::parse(text);
  EXPECT_TRUE(expr) << (expr ? "" : expr.error());
  return expr ? *expr : Expr(-1);
}

TEST(Expr, EqualPolynomialsHaveOneForm) {
  EXPECT_EQ(read("(a + b)*(a - b)"), read("a*a - b*b"));
  EXPECT_EQ(read("2*(seq + 1) - 2"), read("seq*2"));
  EXPECT_EQ(read("a - a"), Expr(0));
  EXPECT_EQ(read("max(seq, seq)"), read("seq"));
  EXPECT_EQ(read("max(seq + 1, seq)"), read("seq + 1"));
  EXPECT_EQ(read("max(a, b)"), read("max(b, a)"));
}

TEST(Expr, DividesExactly) {
  EXPECT_EQ(read("(batch*seq*32) floordiv (seq*32)"), read("batch"));
  EXPECT_EQ(read("(batch*seq*32) floordiv (batch*seq)"), Expr(32));
  EXPECT_EQ(read("(a*a + 2*a*b + b*b) floordiv (a + b)"), read("a + b"));
  EXPECT_EQ(read("(6*a + 4) floordiv 2"), read("3*a + 2"));
  EXPECT_FALSE(read("a*a + b").exactQuotient(read("a")));
  EXPECT_FALSE(read("3*a").exactQuotient(read("2*a")));
}

TEST(Expr, FloorDivRoundsDown) {
  EXPECT_EQ(read("7 floordiv 2"), Expr(3));
  EXPECT_EQ(read("(0 - 7) floordiv 2"), Expr(-4));
  EXPECT_EQ(read("(4*x + 3) floordiv 2"), read("2*x + 1"));
  Expr half = read("seq floordiv 2");
  EXPECT_EQ(half.evaluate({{"seq", 7}}), 3);
  EXPECT_EQ(half.evaluate({{"seq", -7}}), -4);
  EXPECT_EQ(half.evaluate(std::map<std::string, int64_t>{}), std::nullopt);
}

TEST(Expr, EvaluationReportsOverflowAndZeroDivisors) {
  EXPECT_EQ(read("a*a").evaluate({{"a", int64_t(1) << 40}}), std::nullopt);
  EXPECT_EQ(read("b floordiv a").evaluate({{"a", 0}, {"b", 1}}), std::nullopt);
}

TEST(Expr, RefusesWhatItCannotRead) {
  for (const char *text : {"", "a +", "a b", "a floordiv 0", "max(a)", "(a", "99999999999999999999"})
    EXPECT_FALSE(Expr::parse(text)) << text;
}

namespace {
/// A random expression built twice: as an Expr, and as its value by plain arithmetic.
struct Twin {
  Expr expr;
  std::optional<int64_t> value; // nothing: a division by zero on the way
};
} // namespace

static Twin randomTwin(std::mt19937 &random, const std::map<std::string, int64_t> &symbols, int depth) {
  int choice = static_cast<int>(random() % (depth > 0 ? 7 : 2));
  if (choice == 0) {
    int64_t constant = int64_t(random() % 9) - 4;
    return {Expr(constant), constant};
  }
  if (choice == 1) {
    auto at = std::next(symbols.begin(), random() % symbols.size());
    return {Expr::symbol(at->first), at->second};
  }
  Twin a = randomTwin(random, symbols, depth - 1), b = randomTwin(random, symbols, depth - 1);
  bool known = a.value && b.value;
  switch (choice) {
  case 2:
    return {a.expr + b.expr, known ? std::optional(*a.value + *b.value) : std::nullopt};
  case 3:
    return {a.expr - b.expr, known ? std::optional(*a.value - *b.value) : std::nullopt};
  case 4:
    return {a.expr * b.expr, known ? std::optional(*a.value * *b.value) : std::nullopt};
  case 5: {
    if (b.expr.constant() == 0)
      return a;
    std::optional<int64_t> value;
    if (known && *b.value != 0)
      value = static_cast<int64_t>(std::floor(static_cast<long double>(*a.value) / *b.value));
    return {Expr::floorDiv(a.expr, b.expr), value};
  }
  default:
    return {Expr::max(a.expr, b.expr), known ? std::optional(std::max(*a.value, *b.value)) : std::nullopt};
  }
}

TEST(Expr, RandomExpressionsKeepTheirValueAndTheirText) {
  std::mt19937 random(7);
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    std::map<std::string, int64_t> symbols;
    for (const char *name : {"batch", "seq", "x"})
      symbols[name] = 1 + random() % 50; // max() folds on the grounds that sizes are at least 1
    Twin twin = randomTwin(random, symbols, 3);
    std::string text = twin.expr.str();
    Result<Expr> again = Expr::parse(text);
    ASSERT_TRUE(again) << text << ": " << again.error();
    EXPECT_EQ(*again, twin.expr) << text << " became " << again->str();
    if (!twin.value)
      continue;
    std::optional<int64_t> value = twin.expr.evaluate(symbols);
    if (!value)
      continue; // a factor 0/0 may have cancelled or a divisor be 0
    ++compared;
    EXPECT_EQ(*value, *twin.value) << text;
  }
  EXPECT_GT(compared, 2000);
}

TEST(Expr, SubstitutesSymbols) {
  EXPECT_EQ(read("(n*seq) floordiv 4").substitute({{"n", Expr(8)}}), read("2*seq"));
  std::set<std::string> names;
  read("a*b + (c floordiv 2)").collectSymbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c"}));
}

// What 64 bits do not hold is no size: it has no value, whatever the symbols are, and equals nothing else.
TEST(Expr, OverflowHasNoValue) {
  const Expr n = Expr::symbol("n"), large(INT64_MAX), least = Expr(-1) - large;
  for (const Expr &size : {large + Expr(1), least - Expr(1), Expr(0) - least, large * Expr(2), large * n + n,
                           Expr::floorDiv(least, Expr(-1)), (large * n) * (Expr(4) * n)}) {
    EXPECT_FALSE(size.constant()) << size.str();
    EXPECT_FALSE(size.evaluate(std::map<std::string, int64_t>{{"n", 1}})) << size.str();
    EXPECT_FALSE((size - n).constant()) << size.str();
    EXPECT_FALSE(Expr::parse(size.str())) << size.str();
  }
  EXPECT_FALSE(Expr::floorDiv(n, Expr(-1)).evaluate(std::map<std::string, int64_t>{{"n", INT64_MIN}}));
  EXPECT_EQ(large - large, Expr(0));
}

TEST(Expr, DepthIsWhatIsReadBack) {
  using Wrap = Expr (*)(const Expr &size, int depth);
  const Wrap forms[] = {
      [](const Expr &size, int depth) {
        return depth % 3 ? Expr::floorDiv(size + Expr(1), Expr(3)) : Expr::max(size, Expr(7));
      },
      [](const Expr &size, int) { return Expr::floorDiv(size, Expr(2)); },
      [](const Expr &size, int) { return Expr::floorDiv(Expr::symbol("n") * size - Expr(3), Expr(2)); },
      [](const Expr &size, int) { return Expr::floorDiv(Expr(1) - size, Expr::symbol("n") + Expr(1)); },
  };
  for (Wrap wrap : forms) {
    Expr size = Expr::symbol("seq");
    EXPECT_EQ(size.depth(), 0);
    for (int depth = 1; depth <= Expr::maxDepth; ++depth) {
      size = wrap(size, depth);
      ASSERT_EQ(size.depth(), depth);
      Result<Expr> again = Expr::parse(size.str());
      ASSERT_TRUE(again) << again.error();
      EXPECT_EQ(*again, size);
    }
  }
}
