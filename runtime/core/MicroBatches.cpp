//===- MicroBatches.cpp - Dividing a batch --------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/MicroBatches.h"
#include "runtime/core/Text.h"

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

/// Gives the symbols their values from the dims that are bare symbols, then checks every other dim and the guards.
static plan::Status bindSymbols(const Program &program, const std::vector<std::vector<int64_t>> &shapes,
                                std::vector<int64_t> &symbols) {
  std::vector<std::string> origin(program.symbols.size());
  symbols.assign(program.symbols.size(), 0);
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t d = 0; d < shapes[i].size(); ++d)
      for (size_t s = 0; s < symbols.size(); ++s) {
        if (!(program.inputs[i].dims[d] == plan::Expr::symbol(program.symbols[s])))
          continue;
        std::string here = text("dim ", d, " of input '", program.inputs[i].name, "'");
        if (!origin[s].empty() && symbols[s] != shapes[i][d])
          return plan::Error{text(program.symbols[s], " is ", symbols[s], " in ", origin[s], " and ", shapes[i][d],
                                  " in ", here,
                                  "; make the two agree in the batch, or compile with --input and different names for "
                                  "them, if they were equal in the example by chance")};
        symbols[s] = shapes[i][d];
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

plan::Result<std::vector<MicroBatch>> runtime::divide(const Program &program,
                                                      const std::vector<std::vector<int64_t>> &shapes) {
  int64_t samples = -1;
  std::string first;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Input &input = program.inputs[i];
    if (shapes[i].size() != input.dims.size()) {
      std::vector<std::string> dims;
      for (const plan::Expr &dim : input.dims)
        dims.push_back(dim.str());
      return plan::Error{text("input '", input.name, "' has ", shapes[i].size(), " dims, ", shapeText(shapes[i]),
                              ", and the program takes ", dims.size(), ", [", joined(dims),
                              "]; change the batch, or compile with it as the example")};
    }
    if (!input.stack)
      continue;
    if (samples >= 0 && shapes[i][0] != samples)
      return plan::Error{text("input '", first, "' has ", samples, " samples and input '", input.name, "' has ",
                              shapes[i][0], "; make the two agree in the batch")};
    samples = shapes[i][0];
    first = input.name;
  }

  int count = program.microbatches;
  if (samples < 0 && count > 1)
    return plan::Error{
        text("no input holds samples to divide among ", count, " micro-batches; compile with --microbatches 1")};
  if (samples >= 0 && samples < count)
    return plan::Error{text("the batch has ", samples, " samples and the program divides it into ", count,
                            " micro-batches; give at least as many samples, or compile with fewer micro-batches")};
  std::vector<MicroBatch> result(count);
  int64_t begin = 0;
  for (int m = 0; m < count; ++m) {
    MicroBatch &microbatch = result[m];
    if (samples >= 0) {
      microbatch.begin = begin;
      microbatch.samples = samples / count + (m < samples % count);
      begin += microbatch.samples;
    }
    std::vector<std::vector<int64_t>> own = shapes;
    for (size_t i = 0; i < own.size(); ++i)
      if (program.inputs[i].stack)
        own[i][0] = microbatch.samples;
    if (plan::Status status = bindSymbols(program, own, microbatch.symbols); !status)
      return plan::Error{count == 1 ? status.error() : text("in micro-batch ", m, " of ", count, ": ", status.error())};
  }
  return result;
}
