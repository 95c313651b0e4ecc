//===- MicroBatches.cpp - Dividing a batch --------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/MicroBatches.h"
#include "braid/Plan/Expr/Linear.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <map>
#include <set>

using namespace braid;
using namespace braid::runtime;

static plan::Expr::Lookup lookup(const Program &program, const std::vector<int64_t> &symbols) {
  return [&](std::string_view name) -> std::optional<int64_t> {
    for (size_t i = 0; i < program.symbols.size(); ++i)
      if (program.symbols[i] == name)
        return symbols[i];
    return std::nullopt;
  };
}

static std::optional<int64_t> valueOf(const Program &program, const plan::Expr &expr,
                                      const std::vector<int64_t> &symbols) {
  return expr.evaluate(lookup(program, symbols));
}

/// "seq + 1, which is 33 with seq = 32"
static std::string explain(const Program &program, const plan::Expr &expr, const std::vector<int64_t> &symbols) {
  std::optional<int64_t> value = valueOf(program, expr, symbols);
  std::string result = expr.str();
  if (expr.constant())
    return result;
  result += value ? text(", which is ", *value) : ", which has no value";
  std::set<std::string> used;
  expr.collectSymbols(used);
  const char *separator = " with ";
  for (size_t i = 0; i < program.symbols.size(); ++i)
    if (used.count(program.symbols[i])) {
      result += text(separator, program.symbols[i], " = ", symbols[i]);
      separator = " and ";
    }
  return result;
}

plan::Result<std::vector<int64_t>> runtime::evaluate(const Program &program, const std::vector<plan::Expr> &dims,
                                                     const MicroBatch &microbatch) {
  std::vector<int64_t> sizes;
  for (const plan::Expr &dim : dims) {
    std::optional<int64_t> size = valueOf(program, dim, microbatch.symbols);
    if (!size || *size < 0)
      return plan::Error{text("the size ", explain(program, dim, microbatch.symbols),
                              " cannot be that of a tensor; compile with this batch as the example")};
    sizes.push_back(*size);
  }
  return sizes;
}

/// Gives the symbols their values, from the dims that are bare symbols before others such as 4*groups and segments + 1,
/// then checks every other dim and the guards.
static plan::Status bindSymbols(const Program &program, const std::vector<std::vector<int64_t>> &shapes,
                                std::vector<int64_t> &symbols) {
  std::vector<std::string> origin(program.symbols.size());
  symbols.assign(program.symbols.size(), 0);
  for (bool bare : {true, false})
    for (size_t i = 0; i < shapes.size(); ++i)
      for (size_t d = 0; d < shapes[i].size(); ++d) {
        std::optional<plan::Linear> linear = plan::asLinear(program.inputs[i].dims[d]);
        if (!linear || bare != (linear->coefficient == 1 && linear->offset == 0))
          continue;
        size_t s = std::find(program.symbols.begin(), program.symbols.end(), linear->symbol) - program.symbols.begin();
        std::optional<int64_t> value = linear->solve(shapes[i][d]);
        if (s == symbols.size() || !value || *value < 0 || (!bare && !origin[s].empty()))
          continue; // a size that does not fit is refused below
        std::string here = text("dim ", d, " of input '", program.inputs[i].name, "'");
        if (!origin[s].empty() && symbols[s] != *value)
          return plan::Error{text(program.symbols[s], " is ", symbols[s], " in ", origin[s], " and ", *value, " in ",
                                  here,
                                  "; make the two agree in the batch, or compile with --input and different names for "
                                  "them, if they were equal in the example by chance")};
        symbols[s] = *value;
        origin[s] = here;
      }
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      const plan::Expr &dim = program.inputs[i].dims[d];
      if (valueOf(program, dim, symbols) != shapes[i][d])
        return plan::Error{text("dim ", d, " of input '", program.inputs[i].name, "' is ", shapes[i][d],
                                " and must be ", explain(program, dim, symbols),
                                "; change the batch, or compile with it as the example")};
    }
  for (const plan::Guard &guard : program.guards)
    if (!guard.holds(lookup(program, symbols)))
      return plan::Error{text("the program relies on ", guard.str(), " for ", guard.why,
                              ", and in this batch the left is ", explain(program, guard.left, symbols), ", the right ",
                              explain(program, guard.right, symbols),
                              "; change the batch, or compile with it as the example")};
  return {};
}

std::vector<std::vector<int64_t>> runtime::padShapes(const Program &program, std::vector<std::vector<int64_t>> shapes) {
  auto forEachDim = [&](auto each) {
    for (size_t i = 0; i < shapes.size(); ++i)
      if (const Input &input = program.inputs[i];
          input.collate.kind == plan::CollateRule::Kind::Pad && shapes[i].size() == input.dims.size())
        for (size_t d = 1; d < shapes[i].size(); ++d)
          each(input.dims[d], shapes[i][d]);
  };
  std::map<std::string, int64_t> longest; // by the text of the dim
  forEachDim([&](const plan::Expr &dim, int64_t size) {
    int64_t &known = longest[dim.str()];
    known = std::max(known, dim.constant().value_or(size));
  });
  forEachDim([&](const plan::Expr &dim, int64_t &size) { size = std::max(size, longest[dim.str()]); });
  return shapes;
}

/// The samples of a batch: the rows of what is stacked, or the segments of the offsets that count them.
static plan::Result<int64_t> countSamples(const Program &program, const plan::BatchDivision &division,
                                          const std::vector<std::vector<int64_t>> &shapes) {
  int64_t samples = -1;
  std::string first;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!program.inputs[i].collate.stacks())
      continue;
    if (samples >= 0 && shapes[i][0] != samples)
      return plan::Error{text("input '", first, "' has ", samples, " samples and input '", program.inputs[i].name,
                              "' has ", shapes[i][0], "; make the two agree in the batch")};
    samples = shapes[i][0];
    first = program.inputs[i].name;
  }
  for (size_t i = 0; i < shapes.size() && samples < 0; ++i)
    if (program.inputs[i].collate.kind == plan::CollateRule::Kind::Offsets &&
        division.inputs[i].unit == division.samples)
      samples = std::max<int64_t>(shapes[i][0] - 1, 0);
  return samples;
}

plan::Result<std::vector<MicroBatch>>
runtime::divide(const Program &program, const std::vector<std::vector<int64_t>> &shapes, const plan::ReadValues &read) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Input &input = program.inputs[i];
    if (shapes[i].size() == input.dims.size())
      continue;
    std::vector<std::string> dims;
    for (const plan::Expr &dim : input.dims)
      dims.push_back(dim.str());
    return plan::Error{text("input '", input.name, "' has ", shapes[i].size(), " dims, ", shapeText(shapes[i]),
                            ", and the program takes ", dims.size(), ", [", joined(dims),
                            "]; change the batch, or compile with it as the example")};
  }
  std::vector<plan::CollatedInput> inputs = program.collatedInputs();
  plan::BatchDivision division;
  if (std::optional<plan::DivisionError> error = plan::divide(inputs, division))
    return plan::Error{error->message};
  plan::Result<int64_t> counted = countSamples(program, division, shapes);
  if (!counted)
    return plan::Error{counted.error()};
  int64_t samples = *counted;
  int count = program.microbatches;
  if (samples < 0 && count > 1)
    return plan::Error{
        text("no input holds samples to divide among ", count, " micro-batches; compile with --microbatches 1")};
  if (samples >= 0 && samples < count)
    return plan::Error{text("the batch has ", samples, " samples and the program divides it into ", count,
                            " micro-batches; give at least as many samples, or compile with fewer micro-batches")};
  std::vector<int64_t> bounds = {0};
  for (int m = 0; m < count; ++m)
    bounds.push_back(samples < 0 ? 0 : bounds.back() + samples / count + (m < samples % count));
  plan::Result<std::vector<std::vector<plan::InputCut>>> cuts = plan::cutInputs(inputs, division, shapes, bounds, read);
  if (!cuts)
    return plan::Error{cuts.error()};
  std::vector<MicroBatch> result(count);
  for (int m = 0; m < count; ++m) {
    MicroBatch &microbatch = result[m];
    microbatch.begin = bounds[m];
    microbatch.samples = bounds[m + 1] - bounds[m];
    microbatch.cuts = std::move((*cuts)[m]);
    std::vector<std::vector<int64_t>> own = shapes;
    for (size_t i = 0; i < own.size(); ++i)
      if (division.inputs[i].dim >= 0)
        own[i][division.inputs[i].dim] = microbatch.cuts[i].size;
    if (plan::Status status = bindSymbols(program, own, microbatch.symbols); !status)
      return plan::Error{count == 1 ? status.error() : text("in micro-batch ", m, " of ", count, ": ", status.error())};
  }
  return result;
}
