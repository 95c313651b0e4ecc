//===- InputDims.cpp - Which sizes of the inputs are symbols --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputDims.h"
#include "ImportError.h"

#include "braid/Plan/Expr/Linear.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace braid::torchscript {

/// Sizes of one dim in all batches.
static std::vector<int64_t> seenSizes(const InputSpec &input, size_t dim) {
  std::vector<int64_t> sizes = {input.example[dim]};
  for (const std::vector<int64_t> &other : input.others)
    sizes.push_back(dim < other.size() ? other[dim] : -1);
  return sizes;
}

static std::string symbolFor(StringRef input, size_t dim) {
  std::string name = input.str();
  for (char &letter : name)
    if (!llvm::isAlnum(letter) && letter != '_')
      letter = '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name = "input" + name;
  return name + "_" + std::to_string(dim);
}

/// The name if the expression is a single symbol.
static std::optional<std::string> asSymbol(const Expr &expr) {
  std::set<std::string> names;
  expr.collectSymbols(names);
  if (names.size() == 1 && expr == Expr::symbol(*names.begin()))
    return *names.begin();
  return std::nullopt;
}

InputDims::InputDims(ArrayRef<const InputSpec *> inputs, bool symbolic) : inputs(inputs) {
  std::vector<int64_t> batch, sequence;
  for (const InputSpec *input : inputs) {
    std::vector<Expr> &sizes = dims.emplace_back();
    for (size_t dim = 0; dim < input->example.size(); ++dim) {
      int64_t example = input->example[dim];
      std::string name;
      if (!input->dims.empty()) {
        plan::Result<Expr> size = Expr::parse(input->dims[dim]);
        if (!size)
          throw ImportError("input '" + input->name + "': " + size.error());
        std::optional<std::string> symbol = asSymbol(*size);
        if (!symbol) {
          sizes.push_back(*size);
          continue;
        }
        name = *symbol;
      } else {
        std::vector<int64_t> seen = seenSizes(*input, dim);
        bool varies = !llvm::all_equal(seen);
        if (!varies && (!symbolic || example == 1)) {
          sizes.push_back(Expr(example));
          continue;
        }
        if (dim == 0 && batch.empty())
          batch = seen;
        if (dim == 1 && isa<IntegerType>(input->elementType) && sequence.empty())
          sequence = seen;
        name = dim == 0 && seen == batch                                              ? "batch"
               : dim == 1 && isa<IntegerType>(input->elementType) && seen == sequence ? "seq"
                                                                                      : symbolFor(input->name, dim);
        if (!examples.count(name) || chosen.count(name))
          chosen.insert(name);
        if (varies)
          varying.insert(name);
      }
      auto [known, isNew] = examples.emplace(name, example);
      if (!isNew && known->second != example)
        throw ImportError("symbol '" + name + "' is " + std::to_string(known->second) + " and, in dim " +
                          std::to_string(dim) + " of input '" + input->name + "', " + std::to_string(example) +
                          " in the example; give the two different names with --input");
      sizes.push_back(Expr::symbol(name));
    }
  }
  // A name that is no dim alone has its size from a dim such as 4*groups or segments + 1.
  for (auto [number, input] : llvm::enumerate(inputs))
    for (auto [dim, size] : llvm::enumerate(dims[number]))
      if (std::optional<plan::Linear> linear = plan::asLinear(size); linear && !examples.count(linear->symbol))
        if (std::optional<int64_t> value = linear->solve(input->example[dim]); value && *value >= 0)
          examples[linear->symbol] = *value;
  checkExample();
}

/// Sizes and expressions that the user stated must hold in the example.
void InputDims::checkExample() const {
  for (auto [number, input] : llvm::enumerate(inputs))
    for (auto [dim, size] : llvm::enumerate(dims[number])) {
      std::optional<int64_t> value = size.evaluate(examples);
      if (!value)
        throw ImportError("no input has a dim that gives the name in '" + size.str() + "', dim " +
                          std::to_string(dim) + " of input '" + input->name + "', a value: one that is the name alone, a multiple "
                          "of it, or either with a number added");
      if (*value != input->example[dim])
        throw ImportError("input '" + input->name + "' has size " + std::to_string(input->example[dim]) + " in dim " +
                          std::to_string(dim) + " of the example, but --input says " + size.str() +
                          (size.constant() ? "" : " = " + std::to_string(*value)));
    }
}

SmallVector<Expr, 4> InputDims::dimsOf(size_t input) const {
  return SmallVector<Expr, 4>(dims[input].begin(), dims[input].end());
}

std::map<std::string, int64_t> InputDims::getSymbols() const {
  std::set<std::string> used;
  for (const std::vector<Expr> &sizes : dims)
    for (const Expr &size : sizes)
      size.collectSymbols(used);
  std::map<std::string, int64_t> symbols;
  for (const std::string &name : used)
    symbols[name] = examples.at(name);
  return symbols;
}

bool InputDims::fix(const std::string &symbol) {
  if (!chosen.count(symbol) || !getSymbols().count(symbol))
    return false;
  for (std::vector<Expr> &sizes : dims)
    for (Expr &size : sizes)
      size = size.substitute({{symbol, Expr(examples.at(symbol))}});
  return true;
}

/// How likely a dim is a constant of the model: inner dims more than outer ones, features more than tokens.
std::pair<size_t, bool> InputDims::firmness(const std::string &symbol) const {
  std::pair<size_t, bool> result;
  for (auto [number, input] : llvm::enumerate(inputs))
    for (auto [dim, size] : llvm::enumerate(dims[number]))
      if (asSymbol(size) == symbol)
        result = std::max(result, std::pair(dim, isa<FloatType>(input->elementType)));
  return result;
}

/// Whether the guard, which holds in the example, fails for a larger size: min(batch, 2) = 2 does not.
bool InputDims::breaks(const Guard &guard, const std::string &symbol) const {
  return llvm::any_of(std::array<int64_t, 3>{1, 2, 16}, [&](int64_t more) {
    std::map<std::string, int64_t> sizes = examples;
    sizes[symbol] += more;
    return guard.left.evaluate(sizes) != guard.right.evaluate(sizes);
  });
}

bool InputDims::refine(ArrayRef<Guard> guards, std::vector<std::string> &fixings) {
  bool changed = false;
  std::set<std::string> fixed;
  for (const Guard &guard : guards) {
    if (guard.relation != plan::Relation::Equal)
      continue;
    std::optional<std::string> left = asSymbol(guard.left), right = asSymbol(guard.right);
    if (left && right && getSymbols().count(*left) && getSymbols().count(*right)) {
      // The one that somebody named stays, then `batch` and `seq`.
      auto rank = [&](const std::string &name) {
        return !chosen.count(name) ? 0 : name == "batch" || name == "seq" ? 1 : 2;
      };
      if (rank(*left) > rank(*right))
        std::swap(left, right);
      if (!chosen.count(*right) || varying.count(*left) != varying.count(*right))
        continue;
      for (std::vector<Expr> &sizes : dims)
        for (Expr &size : sizes)
          size = size.substitute({{*right, Expr::symbol(*left)}});
      changed = true;
      continue;
    }
    if (!guard.left.constant() && !guard.right.constant())
      continue;
    std::set<std::string> names;
    guard.left.collectSymbols(names);
    guard.right.collectSymbols(names);
    // One at a time, as the others may be free once it is known; a guard over a symbol that was fixed just now waits.
    if (llvm::any_of(names, [&](const std::string &name) { return fixed.count(name) != 0; }))
      continue;
    std::vector<std::string> candidates(names.begin(), names.end());
    llvm::erase_if(candidates, [&](const std::string &name) {
      return !chosen.count(name) || varying.count(name) || !breaks(guard, name);
    });
    if (candidates.empty())
      continue;
    std::string name = *llvm::max_element(
        candidates, [&](const std::string &a, const std::string &b) { return firmness(a) < firmness(b); });
    if (!fix(name))
      continue;
    fixed.insert(name);
    fixings.push_back("'" + name + "' to " + std::to_string(examples.at(name)) + ", as the model needs " +
                      guard.left.str() + " = " + guard.right.str() + " (" + guard.why + ")");
    changed = true;
  }
  return changed;
}

bool InputDims::fixAfterFailure(int level) {
  bool changed = false;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    bool isImage = isa<FloatType>(input->elementType) && dims[number].size() >= 3;
    for (size_t dim = 0; dim < dims[number].size(); ++dim) {
      std::optional<std::string> symbol = asSymbol(dims[number][dim]);
      if (symbol && !varying.count(*symbol) && (level >= 2 || (dim > 0 && (level >= 1 || isImage))))
        changed |= fix(*symbol);
    }
  }
  return changed || (level < 2 && fixAfterFailure(level + 1));
}

} // namespace braid::torchscript
