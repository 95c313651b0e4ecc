//===- Expr.cpp - Integer expressions over named dims ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Expr/Expr.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace braid::plan {

/// Nothing for a divisor of 0 and where 64 bits overflow.
static std::optional<int64_t> floorDivide(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return std::nullopt;
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static bool checkedPower(int64_t base, int power, int64_t &out) {
  out = 1;
  for (int i = 0; i < power; ++i)
    if (__builtin_mul_overflow(out, base, &out))
      return false;
  return true;
}

bool Expr::Monomial::operator<(const Monomial &other) const {
  return std::lexicographical_compare(powers.begin(), powers.end(), other.powers.begin(), other.powers.end(),
                                      [](const auto &a, const auto &b) {
                                        if (a.first->text != b.first->text)
                                          return a.first->text < b.first->text;
                                        return a.second < b.second;
                                      });
}

bool Expr::Monomial::operator==(const Monomial &other) const { return !(*this < other) && !(other < *this); }

bool Expr::add(const Monomial &monomial, int64_t coefficient) {
  if (coefficient == 0)
    return true;
  auto [at, inserted] = terms.try_emplace(monomial, coefficient);
  if (inserted)
    return true;
  if (__builtin_add_overflow(at->second, coefficient, &at->second))
    return false;
  if (at->second == 0)
    terms.erase(at);
  return true;
}

/// An operation whose coefficients need more than 64 bits: a symbol that nobody gives a value.
static Expr beyond(const Expr &a, const char *operation, const Expr &b) {
  return Expr::symbol("[" + a.str() + operation + b.str() + " in more than 64 bits]");
}

Expr::Expr(int64_t constant) {
  if (constant)
    terms.emplace(Monomial{}, constant);
}

Expr Expr::fromAtom(std::shared_ptr<const Atom> atom) {
  Expr result;
  Monomial monomial;
  monomial.powers.emplace(std::move(atom), 1);
  result.terms.emplace(std::move(monomial), 1);
  return result;
}

Expr Expr::symbol(std::string name) {
  return fromAtom(std::make_shared<Atom>(Atom{Atom::Kind::Symbol, std::move(name), {}, 0}));
}

Expr operator+(const Expr &a, const Expr &b) {
  Expr result = a;
  for (const auto &[monomial, coefficient] : b.terms)
    if (!result.add(monomial, coefficient))
      return beyond(a, " + ", b);
  return result;
}

Expr operator-(const Expr &a, const Expr &b) {
  Expr result = a;
  for (const auto &[monomial, coefficient] : b.terms)
    if (coefficient == INT64_MIN || !result.add(monomial, -coefficient))
      return beyond(a, " - ", b);
  return result;
}

Expr operator*(const Expr &a, const Expr &b) {
  Expr result;
  for (const auto &[left, leftFactor] : a.terms)
    for (const auto &[right, rightFactor] : b.terms) {
      Expr::Monomial product = left;
      for (const auto &[atom, power] : right.powers)
        product.powers[atom] += power;
      int64_t factor;
      if (__builtin_mul_overflow(leftFactor, rightFactor, &factor) || !result.add(product, factor))
        return beyond(a, " * ", b);
    }
  return result;
}

std::optional<int64_t> Expr::constant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.powers.empty())
    return terms.begin()->second;
  return std::nullopt;
}

/// a / b as a monomial, if b's powers are all in a.
static std::optional<Expr::Monomial> divide(const Expr::Monomial &a, const Expr::Monomial &b) {
  Expr::Monomial quotient = a;
  for (const auto &[atom, power] : b.powers) {
    auto at = quotient.powers.find(atom);
    if (at == quotient.powers.end() || at->second < power)
      return std::nullopt;
    if ((at->second -= power) == 0)
      quotient.powers.erase(at);
  }
  return quotient;
}

/// The graded lexicographic order, with atoms in the order of their texts. It is a monomial order, so the long division
/// ends.
static bool graded(const Expr::Monomial &a, const Expr::Monomial &b) {
  int degreeA = 0, degreeB = 0;
  for (const auto &[atom, power] : a.powers)
    degreeA += power;
  for (const auto &[atom, power] : b.powers)
    degreeB += power;
  if (degreeA != degreeB)
    return degreeA < degreeB;
  // Of equal degree: the smaller power of the first atom that differs is the smaller monomial.
  auto left = a.powers.begin(), right = b.powers.begin();
  for (; left != a.powers.end() && right != b.powers.end(); ++left, ++right) {
    if (left->first->text != right->first->text)
      return left->first->text > right->first->text;
    if (left->second != right->second)
      return left->second < right->second;
  }
  return left == a.powers.end() && right != b.powers.end();
}

std::optional<Expr> Expr::exactQuotient(const Expr &divisor) const {
  if (divisor.terms.empty())
    return std::nullopt;
  auto leading = [](const Expr &e) {
    return *std::max_element(e.terms.begin(), e.terms.end(),
                             [](const auto &a, const auto &b) { return graded(a.first, b.first); });
  };
  const auto [divisorMonomial, divisorFactor] = leading(divisor);
  Expr quotient, rest = *this;
  while (!rest.terms.empty()) {
    const auto [monomial, factor] = leading(rest);
    std::optional<Monomial> part = divide(monomial, divisorMonomial);
    if (!part || (factor == INT64_MIN && divisorFactor == -1) || factor % divisorFactor != 0)
      return std::nullopt;
    Expr term;
    term.add(*part, factor / divisorFactor);
    quotient = quotient + term;
    rest = rest - term * divisor;
  }
  return quotient;
}

Expr Expr::floorDiv(const Expr &a, const Expr &b) {
  std::optional<int64_t> left = a.constant(), right = b.constant();
  if (left && right && *right != 0) {
    std::optional<int64_t> quotient = floorDivide(*left, *right);
    return quotient ? Expr(*quotient) : beyond(a, " floordiv ", b);
  }
  if (std::optional<Expr> exact = a.exactQuotient(b))
    return *exact;
  if (right && *right > 0) {
    // Terms that the divisor divides come out: (4*x + 3) floordiv 2 = 2*x + 1.
    Expr whole, part;
    for (const auto &[monomial, coefficient] : a.terms) {
      int64_t quotient = *floorDivide(coefficient, *right);
      bool divides = coefficient % *right == 0;
      if (divides || monomial.powers.empty())
        whole.add(monomial, quotient);
      if (!divides)
        part.add(monomial, monomial.powers.empty() ? coefficient - quotient * *right : coefficient);
    }
    if (!whole.terms.empty())
      return whole + floorDiv(part, b);
  }
  auto atom = std::make_shared<Atom>(Atom{Atom::Kind::FloorDiv, "", {a, b}, 1 + std::max(a.depth(), b.depth())});
  auto wrap = [](const Expr &e) {
    bool single = e.terms.size() <= 1 &&
                  (e.constant() || (e.terms.begin()->second == 1 && e.terms.begin()->first.powers.size() == 1 &&
                                    e.terms.begin()->first.powers.begin()->second == 1 &&
                                    e.terms.begin()->first.powers.begin()->first->kind != Atom::Kind::FloorDiv));
    return single ? e.str() : "(" + e.str() + ")";
  };
  atom->text = wrap(a) + " floordiv " + wrap(b);
  return fromAtom(std::move(atom));
}

bool Expr::atLeast(int64_t bound) const {
  // With symbols at least 1 a monomial with a positive coefficient is at least that coefficient.
  int64_t least = 0;
  for (const auto &[monomial, coefficient] : terms) {
    if (coefficient < 0 && !monomial.powers.empty())
      return false;
    bool onlySymbols = std::all_of(monomial.powers.begin(), monomial.powers.end(),
                                   [](const auto &entry) { return entry.first->kind == Atom::Kind::Symbol; });
    if (onlySymbols && __builtin_add_overflow(least, coefficient, &least))
      return false;
    if (!onlySymbols)
      for (const auto &[atom, power] : monomial.powers) {
        // A quotient or maximum of non-negative values is non-negative; anything else is not known.
        bool known =
            std::all_of(atom->operands.begin(), atom->operands.end(), [](const Expr &e) { return e.atLeast(0); });
        if (atom->kind != Atom::Kind::Symbol && !known)
          return false;
      }
  }
  return least >= bound;
}

Expr Expr::max(const Expr &a, const Expr &b) {
  Expr difference = a - b;
  if (difference.atLeast(0))
    return a;
  if ((b - a).atLeast(0))
    return b;
  bool ordered = a.str() < b.str();
  const Expr &first = ordered ? a : b, &second = ordered ? b : a;
  return fromAtom(std::make_shared<Atom>(Atom{Atom::Kind::Max,
                                              "max(" + first.str() + ", " + second.str() + ")",
                                              {first, second},
                                              1 + std::max(a.depth(), b.depth())}));
}

int Expr::depth() const {
  int most = 0;
  for (const auto &[monomial, coefficient] : terms)
    for (const auto &[atom, power] : monomial.powers)
      most = std::max(most, atom->depth);
  return most;
}

size_t Expr::length() const {
  size_t sum = 0;
  for (const auto &[monomial, coefficient] : terms)
    for (const auto &[atom, power] : monomial.powers)
      sum += atom->text.size() * power;
  return sum;
}

std::optional<int64_t> Expr::evaluate(const Lookup &symbols) const {
  int64_t sum = 0;
  for (const auto &[monomial, coefficient] : terms) {
    int64_t product = coefficient;
    for (const auto &[atom, power] : monomial.powers) {
      std::optional<int64_t> value;
      if (atom->kind == Atom::Kind::Symbol) {
        value = symbols(atom->text);
      } else {
        std::optional<int64_t> a = atom->operands[0].evaluate(symbols), b = atom->operands[1].evaluate(symbols);
        if (a && b && atom->kind == Atom::Kind::Max)
          value = std::max(*a, *b);
        else if (a && b)
          value = floorDivide(*a, *b);
      }
      int64_t raised;
      if (!value || !checkedPower(*value, power, raised) || __builtin_mul_overflow(product, raised, &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> Expr::evaluate(const std::map<std::string, int64_t> &symbols) const {
  return evaluate([&](std::string_view name) -> std::optional<int64_t> {
    auto at = symbols.find(std::string(name));
    return at == symbols.end() ? std::nullopt : std::optional<int64_t>(at->second);
  });
}

Expr Expr::substitute(const std::map<std::string, Expr> &symbols) const {
  Expr sum;
  for (const auto &[monomial, coefficient] : terms) {
    Expr product(coefficient);
    for (const auto &[atom, power] : monomial.powers) {
      Expr value;
      if (atom->kind == Atom::Kind::Symbol) {
        auto at = symbols.find(atom->text);
        value = at == symbols.end() ? symbol(atom->text) : at->second;
      } else {
        Expr a = atom->operands[0].substitute(symbols), b = atom->operands[1].substitute(symbols);
        value = atom->kind == Atom::Kind::Max ? max(a, b) : floorDiv(a, b);
      }
      for (int i = 0; i < power; ++i)
        product = product * value;
    }
    sum = sum + product;
  }
  return sum;
}

void Expr::collectSymbols(std::set<std::string> &names) const {
  for (const auto &[monomial, coefficient] : terms)
    for (const auto &[atom, power] : monomial.powers) {
      if (atom->kind == Atom::Kind::Symbol)
        names.insert(atom->text);
      for (const Expr &operand : atom->operands)
        operand.collectSymbols(names);
    }
}

std::string Expr::str() const {
  std::string text;
  // Constants last, as people write them.
  std::vector<std::pair<Monomial, int64_t>> ordered(terms.begin(), terms.end());
  std::stable_partition(ordered.begin(), ordered.end(), [](const auto &term) { return !term.first.powers.empty(); });
  for (const auto &[monomial, coefficient] : ordered) {
    std::string term;
    for (const auto &[atom, power] : monomial.powers)
      for (int i = 0; i < power; ++i) {
        bool alone = terms.size() == 1 && coefficient == 1 && monomial.powers.size() == 1 && power == 1;
        bool wrap = atom->kind == Atom::Kind::FloorDiv && !alone;
        term += (term.empty() ? "" : "*") + (wrap ? "(" + atom->text + ")" : atom->text);
      }
    uint64_t size = coefficient < 0 ? 0 - static_cast<uint64_t>(coefficient) : coefficient;
    if (term.empty())
      term = std::to_string(size);
    else if (size != 1)
      term = std::to_string(size) + "*" + term;
    if (text.empty())
      text = (coefficient < 0 ? "-" : "") + term;
    else
      text += (coefficient < 0 ? " - " : " + ") + term;
  }
  return text.empty() ? "0" : text;
}

namespace {
/// sum := ['-'] product (('+'|'-') product)*; product := unary (('*'|'floordiv') unary)*;
/// unary := '-' unary | INTEGER | SYMBOL | 'max' '(' sum ',' sum ')' | '(' sum ')'
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Result<Expr> run() {
    std::optional<Expr> result = sum(0);
    skip();
    if (!result || at != text.size())
      return Error{"'" + std::string(text) + "' is no size expression (near column " + std::to_string(at + 1) +
                   "): write for example 2*seq + 1, seq floordiv 2 or max(seq, 4)"};
    return *result;
  }

private:
  // What Expr::str() writes: a quotient or maximum opens up to two parentheses and a minus. And some by hand.
  static constexpr int maxDepth = 3 * Expr::maxDepth + 16;

  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool eat(std::string_view token) {
    skip();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  static bool isName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

  std::optional<Expr> sum(int depth) {
    std::optional<Expr> left = product(depth);
    while (left) {
      bool plus = eat("+"), minus = !plus && eat("-");
      if (!plus && !minus)
        break;
      std::optional<Expr> right = product(depth);
      if (!right)
        return std::nullopt;
      left = plus ? *left + *right : *left - *right;
    }
    return left;
  }

  std::optional<Expr> product(int depth) {
    std::optional<Expr> left = unary(depth);
    while (left) {
      bool times = eat("*"), divide = !times && eat("floordiv");
      if (!times && !divide)
        break;
      std::optional<Expr> right = unary(depth);
      if (!right || (divide && right->constant() == 0))
        return std::nullopt;
      left = times ? *left * *right : Expr::floorDiv(*left, *right);
      if (left->getTerms().size() > 256)
        return std::nullopt;
    }
    return left;
  }

  std::optional<Expr> unary(int depth) {
    if (depth > maxDepth)
      return std::nullopt;
    if (eat("-")) {
      std::optional<Expr> operand = unary(depth + 1);
      if (!operand)
        return std::nullopt;
      return Expr(0) - *operand;
    }
    if (eat("(")) {
      std::optional<Expr> inner = sum(depth + 1);
      if (!inner || !eat(")"))
        return std::nullopt;
      return inner;
    }
    skip();
    size_t end = at;
    while (end < text.size() && isName(text[end]))
      ++end;
    std::string_view word = text.substr(at, end - at);
    if (word.empty())
      return std::nullopt;
    at = end;
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      int64_t value = 0;
      auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (code != std::errc() || stop != word.data() + word.size())
        return std::nullopt;
      return Expr(value);
    }
    if (word == "max") {
      if (!eat("("))
        return std::nullopt;
      std::optional<Expr> a = sum(depth + 1);
      if (!a || !eat(","))
        return std::nullopt;
      std::optional<Expr> b = sum(depth + 1);
      if (!b || !eat(")"))
        return std::nullopt;
      return Expr::max(*a, *b);
    }
    return Expr::symbol(std::string(word));
  }

  std::string_view text;
  size_t at = 0;
};
} // namespace

Result<Expr> Expr::parse(std::string_view text) { return Parser(text).run(); }

} // namespace braid::plan
