//===- BatchDivision.cpp - What the rows of each input count -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Collate/BatchDivision.h"
#include "braid/Plan/Expr/Linear.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>

namespace braid::plan {

using Kind = CollateRule::Kind;

std::vector<Expr> BatchDivision::units() const {
  std::vector<Expr> units;
  auto add = [&](const Expr &unit) {
    if (std::find(units.begin(), units.end(), unit) == units.end())
      units.push_back(unit);
  };
  if (!(samples == Expr(0)))
    add(samples);
  for (const InputDivision &input : inputs)
    if (input.dim >= 0)
      add(input.unit);
  return units;
}

namespace {
class Divider {
public:
  Divider(const std::vector<CollatedInput> &inputs, BatchDivision &division) : inputs(inputs), division(division) {}

  std::optional<DivisionError> run() {
    division.samples = countSamples();
    division.sources.clear();
    division.inputs.assign(inputs.size(), {});
    for (size_t i = 0; i < inputs.size(); ++i)
      if (std::string why = findUnit(i); !why.empty())
        return DivisionError{static_cast<int>(i), why};
    for (size_t i = 0; i < inputs.size(); ++i)
      if (std::string why = findBase(i); !why.empty())
        return DivisionError{static_cast<int>(i), why};
    orderSources();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (division.inputs[i].dim >= 0 && !isKnown(division.inputs[i].unit))
        return DivisionError{static_cast<int>(i), "nothing says which rows of input '" + inputs[i].name +
                                                      "' belong to which sample: its dim " +
                                                      std::to_string(division.inputs[i].dim) + " counts " +
                                                      division.inputs[i].unit.str() +
                                                      "; give it an input with collate: offsets(" + inputs[i].name +
                                                      ") that has one entry more than there are samples"};
    return std::nullopt;
  }

private:
  std::optional<size_t> find(const std::string &name) const {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].name == name)
        return i;
    return std::nullopt;
  }

  static Expr entriesOf(const CollatedInput &offsets) { return offsets.dims[0] - Expr(1); }

  /// Dim 0 of what is stacked, else the segments of offsets that no other offsets divide.
  Expr countSamples() const {
    for (const CollatedInput &input : inputs)
      if (input.rule.stacks() && !input.dims.empty())
        return input.dims[0];
    for (const CollatedInput &input : inputs) {
      if (input.rule.kind != Kind::Offsets || input.dims.size() != 1)
        continue;
      bool counted = std::any_of(inputs.begin(), inputs.end(), [&](const CollatedInput &other) {
        return other.rule.kind == Kind::Offsets && other.rule.input == input.name;
      });
      if (!counted)
        return entriesOf(input);
    }
    return Expr(0);
  }

  /// As a multiple of the samples or of one name.
  bool split(const Expr &size, InputDivision &result) const {
    if (!(division.samples == Expr(0)))
      if (std::optional<Expr> quotient = size.exactQuotient(division.samples); quotient && quotient->constant() > 0) {
        result.unit = division.samples;
        result.factor = *quotient->constant();
        return true;
      }
    std::optional<Linear> linear = asLinear(size);
    if (!linear || linear->offset != 0)
      return false;
    result.unit = Expr::symbol(linear->symbol);
    result.factor = linear->coefficient;
    return true;
  }

  std::string findUnit(size_t number) {
    const CollatedInput &input = inputs[number];
    const CollateRule &rule = input.rule;
    InputDivision &result = division.inputs[number];
    if (rule.kind == Kind::Shared)
      return "";
    int dim = rule.kind == Kind::Concat ? rule.dim : 0;
    if (dim >= static_cast<int>(input.dims.size()))
      return "input '" + input.name + "' has " + std::to_string(input.dims.size()) + " dims, and its collate rule " +
             rule.str() + " divides dim " + std::to_string(dim);
    result.dim = dim;
    const Expr &size = input.dims[dim];
    bool list = rule.kind == Kind::Offsets || rule.kind == Kind::IndexInto;
    if (list && input.dims.size() != 1)
      return "input '" + input.name + "' has " + std::to_string(input.dims.size()) + " dims, and its collate rule " +
             rule.str() + " needs a list of integers";
    if (rule.stacks()) {
      result.unit = division.samples;
      return "";
    }
    if (rule.kind == Kind::Offsets) {
      result.unit = entriesOf(input);
      if (size.constant())
        return "input '" + input.name + "' has " + size.str() +
               " entries in every batch, and its collate rule divides them; name their number, as in dims: "
               "[segments + 1]";
      return "";
    }
    if (!split(size, result))
      return "dim " + std::to_string(dim) + " of input '" + input.name + "' is " + size.str() +
             ", which is no multiple of one name; say what it counts, as in dims: [rows, ...] or [4*groups, ...]";
    return "";
  }

  std::string findBase(size_t number) {
    const CollatedInput &input = inputs[number];
    const CollateRule &rule = input.rule;
    if (rule.kind != Kind::Offsets && rule.kind != Kind::IndexInto)
      return "";
    std::optional<size_t> target = find(rule.input);
    if (!target) {
      std::vector<std::string> names;
      for (const CollatedInput &other : inputs)
        names.push_back(other.name);
      return "the collate rule of input '" + input.name + "' names the input '" + rule.input +
             "', which is not among the inputs" + suggest(rule.input, names);
    }
    const CollatedInput &counted = inputs[*target];
    const InputDivision &of = division.inputs[*target];
    if (rule.kind == Kind::Offsets && counted.rule.kind != Kind::Concat && counted.rule.kind != Kind::Offsets)
      return "input '" + input.name + "' is offsets of '" + counted.name + "', whose collate rule is " +
             counted.rule.str() + "; offsets count the rows of a concat, or the segments of other offsets";
    if (of.dim < 0)
      return "input '" + input.name + "' is an index into '" + counted.name +
             "', which is the same for all samples; collate: concat fits such an input";
    Expr base = of.unit * Expr(of.factor);
    if (rule.flattened > 1) {
      if (of.dim != 0 || rule.flattened > static_cast<int>(counted.dims.size()) || counted.rule.kind == Kind::Offsets)
        return "input '" + input.name + "' counts through " + std::to_string(rule.flattened) + " leading dims of '" +
               counted.name + "', which has " + std::to_string(counted.dims.size()) + " and is divided along dim " +
               std::to_string(of.dim);
      for (int dim = 1; dim < rule.flattened; ++dim)
        base = base * counted.dims[dim];
    }
    division.inputs[number].base = base;
    return "";
  }

  bool isKnown(const Expr &unit) const { return std::find(known.begin(), known.end(), unit) != known.end(); }

  bool learn(const Expr &unit, int input, BatchDivision::Source::Kind kind) {
    if (isKnown(unit))
      return false;
    known.push_back(unit);
    division.sources.push_back({input, kind});
    return true;
  }

  /// Offsets whose own segments are known say where the counted rows begin; that comes before what follows backwards.
  void orderSources() {
    if (!(division.samples == Expr(0)))
      known.push_back(division.samples);
    auto pass = [&](BatchDivision::Source::Kind kind) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        Kind rule = inputs[i].rule.kind;
        if (rule != Kind::Offsets && (rule != Kind::IndexInto || kind == BatchDivision::Source::Counted))
          continue;
        const Expr &own = division.inputs[i].unit;
        const Expr &counted = division.inputs[*find(inputs[i].rule.input)].unit;
        bool forward = kind == BatchDivision::Source::Counted;
        if (isKnown(forward ? own : counted) && learn(forward ? counted : own, static_cast<int>(i), kind))
          return true;
      }
      return false;
    };
    while (pass(BatchDivision::Source::Counted) || pass(BatchDivision::Source::Counting))
      ;
  }

  const std::vector<CollatedInput> &inputs;
  BatchDivision &division;
  std::vector<Expr> known;
};
} // namespace

std::optional<DivisionError> divide(const std::vector<CollatedInput> &inputs, BatchDivision &division) {
  return Divider(inputs, division).run();
}

} // namespace braid::plan
