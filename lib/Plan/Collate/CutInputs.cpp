//===- CutInputs.cpp - The rows of each micro-batch -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Collate/BatchDivision.h"

#include <algorithm>
#include <map>

namespace braid::plan {

namespace {
using Kind = CollateRule::Kind;
using Bounds = std::vector<int64_t>; // where each micro-batch begins, and the end

class Cutter {
public:
  Cutter(const std::vector<CollatedInput> &inputs, const BatchDivision &division,
         const std::vector<std::vector<int64_t>> &shapes, const Bounds &samples, const ReadValues &read)
      : inputs(inputs), division(division), shapes(shapes), read(read) {
    bounds[division.samples] = samples;
  }

  Result<std::vector<std::vector<InputCut>>> run() {
    for (const BatchDivision::Source &source : division.sources)
      if (Status status = follow(source); !status)
        return Error{status.error()};
    for (size_t i = 0; i < inputs.size(); ++i)
      if (Status status = check(static_cast<int>(i)); !status)
        return Error{status.error()};
    size_t count = bounds[division.samples].size() - 1;
    std::vector<std::vector<InputCut>> cuts(count, std::vector<InputCut>(inputs.size()));
    for (size_t m = 0; m < count; ++m)
      for (size_t i = 0; i < inputs.size(); ++i) {
        const InputDivision &input = division.inputs[i];
        if (input.dim < 0)
          continue;
        const Bounds &own = bounds[input.unit];
        InputCut &cut = cuts[m][i];
        cut.begin = own[m] * input.factor;
        cut.size = own[m + 1] * input.factor - cut.begin;
        if (inputs[i].rule.kind == Kind::Offsets)
          ++cut.size; // the end of its last segment
        if (inputs[i].rule.kind == Kind::Offsets || inputs[i].rule.kind == Kind::IndexInto)
          cut.base = baseOf(static_cast<int>(i), m);
      }
    return cuts;
  }

private:
  size_t targetOf(int input) const {
    size_t target = 0;
    while (inputs[target].name != inputs[input].rule.input)
      ++target;
    return target;
  }

  /// Rows that a value counts, for each of the counted unit.
  int64_t scaleOf(int input) const {
    size_t target = targetOf(input);
    int64_t scale = division.inputs[target].factor;
    for (int dim = 1; dim < inputs[input].rule.flattened; ++dim)
      scale *= shapes[target][dim];
    return scale;
  }

  int64_t baseOf(int input, size_t microbatch) {
    return bounds[division.inputs[targetOf(input)].unit][microbatch] * scaleOf(input);
  }

  Result<const std::vector<int64_t> *> valuesOf(int input) {
    auto [at, added] = known.try_emplace(input);
    if (added) {
      Result<std::vector<int64_t>> result = read(input);
      if (!result) {
        known.erase(at);
        return Error{result.error()};
      }
      at->second = std::move(*result);
    }
    return &at->second;
  }

  std::string name(int input) const { return "input '" + inputs[input].name + "'"; }

  Status follow(const BatchDivision::Source &source) {
    if (inputs[source.input].rule.kind == Kind::Offsets)
      if (Status status = checkOffsets(source.input); !status)
        return status;
    return source.kind == BatchDivision::Source::Counted ? followCounted(source.input) : followCounting(source.input);
  }

  /// The rows of the counted input begin where the segment does with which a micro-batch begins.
  Status followCounted(int input) {
    Result<const std::vector<int64_t> *> values = valuesOf(input);
    if (!values)
      return Error{values.error()};
    const std::vector<int64_t> &offsets = **values;
    const Bounds &own = bounds[division.inputs[input].unit];
    int64_t scale = scaleOf(input);
    Bounds counted;
    for (int64_t begin : own) {
      if (begin < 0 || begin >= static_cast<int64_t>(offsets.size()))
        return Error{name(input) + " has " + std::to_string(offsets.size()) + " entries, and the samples need entry " +
                     std::to_string(begin) + "; give it one more than there are segments"};
      if (offsets[begin] % scale)
        return Error{name(input) + " has a sample begin at row " + std::to_string(offsets[begin]) + " of '" +
                     inputs[input].rule.input + "', whose rows come in groups of " + std::to_string(scale)};
      counted.push_back(offsets[begin] / scale);
    }
    bounds[division.inputs[targetOf(input)].unit] = counted;
    return {};
  }

  /// The segments or entries of an input begin where the first one does that counts rows of the micro-batch.
  Status followCounting(int input) {
    Result<const std::vector<int64_t> *> values = valuesOf(input);
    if (!values)
      return Error{values.error()};
    const std::vector<int64_t> &entries = **values;
    Bounds counted = bounds[division.inputs[targetOf(input)].unit], own;
    int64_t scale = scaleOf(input), factor = division.inputs[input].factor;
    if (inputs[input].rule.kind == Kind::Offsets) {
      for (size_t m = 0; m + 1 < counted.size(); ++m)
        own.push_back(std::lower_bound(entries.begin(), entries.end() - 1, counted[m] * scale) - entries.begin());
      own.push_back(static_cast<int64_t>(entries.size()) - 1);
    } else {
      size_t at = 0;
      for (size_t m = 0; m + 1 < counted.size(); ++m) {
        own.push_back(static_cast<int64_t>(at));
        while (at < entries.size() && entries[at] < counted[m + 1] * scale)
          ++at;
      }
      own.push_back(static_cast<int64_t>(entries.size()));
    }
    for (int64_t &begin : own) {
      if (begin % factor)
        return Error{name(input) + " has a micro-batch begin at entry " + std::to_string(begin) +
                     ", and its entries come in groups of " + std::to_string(factor)};
      begin /= factor;
    }
    bounds[division.inputs[input].unit] = own;
    return {};
  }

  Status checkOffsets(int input) {
    Result<const std::vector<int64_t> *> values = valuesOf(input);
    if (!values)
      return Error{values.error()};
    const std::vector<int64_t> &offsets = **values;
    size_t target = targetOf(input);
    const InputDivision &counted = division.inputs[target];
    int64_t rows = shapes[target][counted.dim] - (inputs[target].rule.kind == Kind::Offsets);
    if (offsets.empty() || offsets.front() != 0)
      return Error{name(input) + " begins with " + (offsets.empty() ? "nothing" : std::to_string(offsets.front())) +
                   ", and cumulative lengths begin with 0"};
    for (size_t i = 1; i < offsets.size(); ++i)
      if (offsets[i] < offsets[i - 1])
        return Error{name(input) + " falls from " + std::to_string(offsets[i - 1]) + " to " +
                     std::to_string(offsets[i]) + " at entry " + std::to_string(i) +
                     ", and cumulative lengths never fall"};
    if (offsets.back() != rows)
      return Error{name(input) + " ends with " + std::to_string(offsets.back()) + ", and '" + inputs[target].name +
                   "' has " + std::to_string(rows) +
                   (inputs[target].rule.kind == Kind::Offsets ? " segments" : " rows")};
    return {};
  }

  /// What was not asked for a unit must agree with it.
  Status check(int input) {
    const CollateRule &rule = inputs[input].rule;
    if (rule.kind == Kind::Concat || rule.stacks()) {
      const InputDivision &division = this->division.inputs[input];
      int64_t rows = bounds[division.unit].back() * division.factor;
      if (shapes[input][division.dim] != rows)
        return Error{name(input) + " has " + std::to_string(shapes[input][division.dim]) + " rows in dim " +
                     std::to_string(division.dim) + ", and the samples have " + std::to_string(rows)};
      return {};
    }
    if (rule.kind != Kind::Offsets && rule.kind != Kind::IndexInto)
      return {};
    if (rule.kind == Kind::Offsets)
      if (Status status = checkOffsets(input); !status)
        return status;
    Result<const std::vector<int64_t> *> values = valuesOf(input);
    if (!values)
      return Error{values.error()};
    const std::vector<int64_t> &entries = **values;
    const Bounds &own = bounds[division.inputs[input].unit], &counted = bounds[division.inputs[targetOf(input)].unit];
    int64_t scale = scaleOf(input), factor = division.inputs[input].factor;
    int64_t extra = rule.kind == Kind::Offsets;
    if (own.back() * factor + extra != static_cast<int64_t>(entries.size()))
      return Error{name(input) + " has " + std::to_string(entries.size()) + " entries, and the samples have " +
                   std::to_string(own.back() * factor + extra)};
    for (size_t m = 0; m + 1 < own.size(); ++m) {
      int64_t low = counted[m] * scale, high = counted[m + 1] * scale;
      if (rule.kind == Kind::Offsets) {
        int64_t first = entries[own[m]], last = entries[own[m + 1]];
        if (first != low || last != high)
          return Error{name(input) + " has segments of micro-batch " + std::to_string(m) + " from row " +
                       std::to_string(first) + " to " + std::to_string(last) + ", and its rows of '" + rule.input +
                       "' are " + std::to_string(low) + " to " + std::to_string(high) +
                       "; a segment may not belong to two samples"};
        continue;
      }
      for (int64_t at = own[m] * factor; at < own[m + 1] * factor; ++at)
        if (entries[at] < low || entries[at] >= high)
          return Error{name(input) + " has " + std::to_string(entries[at]) + " at entry " + std::to_string(at) +
                       " in micro-batch " + std::to_string(m) + ", whose rows of '" + rule.input + "' are " +
                       std::to_string(low) + " to " + std::to_string(high) +
                       "; entries stand in the order of the samples, and name rows of their own sample"};
    }
    return {};
  }

  const std::vector<CollatedInput> &inputs;
  const BatchDivision &division;
  const std::vector<std::vector<int64_t>> &shapes;
  const ReadValues &read;
  std::map<Expr, Bounds> bounds;             // by unit
  std::map<int, std::vector<int64_t>> known; // values, by input
};
} // namespace

Result<std::vector<std::vector<InputCut>>> cutInputs(const std::vector<CollatedInput> &inputs,
                                                     const BatchDivision &division,
                                                     const std::vector<std::vector<int64_t>> &shapes,
                                                     const std::vector<int64_t> &bounds, const ReadValues &read) {
  return Cutter(inputs, division, shapes, bounds, read).run();
}

} // namespace braid::plan
