//===- ShapeOracleElementwise.cpp - Random elementwise operators and reductions ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

#include <limits>

namespace braid::oracle {

static Tensor tensor(Random &r, int64_t mostRank = 4) { return {r.sizes(0, mostRank), r.any()}; }
static Tensor partner(Random &r, const Tensor &tensor) {
  return {r.broadcastable(tensor.sizes), r.chance(0.5) ? tensor.dtype : r.any()};
}

static Args unary(Random &r) { return {tensor(r)}; }
static Args binary(Random &r) {
  Tensor self = tensor(r);
  return {self, partner(r, self)};
}
static Args binaryWithAlpha(Random &r) {
  Args args = binary(r);
  args.push_back(maybe(r, r.number(), 0.3));
  return args;
}
static Args withNumber(Random &r) { return {tensor(r), r.number()}; }
static Args withNumberAndAlpha(Random &r) { return {tensor(r), r.number(), maybe(r, r.number(), 0.3)}; }
/// Two tensors of one dtype, as backward operators get them.
static Args pair(Random &r) {
  Tensor gradient{r.sizes(0, 4), r.floats()};
  return {gradient, gradient};
}

std::vector<Generator> elementwiseGenerators() {
  std::vector<Generator> table;
  for (const char *op :
       {"neg",        "abs",         "sign",        "exp",      "log",       "log1p",       "sqrt",       "rsqrt",
        "reciprocal", "sin",         "cos",         "erf",      "tanh",      "sigmoid",     "relu",       "silu",
        "detach",     "bitwise_not", "logical_not", "hardtanh", "hardswish", "hardsigmoid", "leaky_relu", "elu",
        "softplus",   "mish",        "acos",        "acosh",    "asin",      "asinh",       "atan",       "atanh",
        "cosh",       "digamma",     "erfc",        "erfinv",   "exp2",      "expm1",       "lgamma",     "log10",
        "log2",       "sinh",        "tan",         "floor",    "ceil",      "round",       "trunc",      "frac"})
    table.push_back({op, unary});
  for (const char *op : {"mul",        "div",         "floor_divide", "remainder",  "pow",         "maximum",
                         "minimum",    "and",         "bitwise_and",  "bitwise_or", "bitwise_xor", "logical_and",
                         "logical_or", "logical_xor", "eq",           "ne",         "lt",          "le",
                         "gt",         "ge",          "fmod",         "atan2",      "hypot",       "logaddexp"})
    table.push_back({op, binary});
  for (const char *op : {"add", "sub"})
    table.push_back({op, binaryWithAlpha});
  for (const char *op : {"add_scalar", "sub_scalar", "rsub_scalar"})
    table.push_back({op, withNumberAndAlpha});
  for (const char *op :
       {"mul_scalar", "div_scalar", "floor_divide_scalar", "remainder_scalar", "fmod_scalar", "pow_scalar", "clamp_min",
        "eq_scalar", "ne_scalar", "lt_scalar", "le_scalar", "gt_scalar", "ge_scalar"})
    table.push_back({op, withNumber});
  for (const char *op : {"silu_backward", "sigmoid_backward", "tanh_backward", "gelu_backward", "hardswish_backward",
                         "hardsigmoid_backward", "mish_backward"})
    table.push_back({op, pair});
  for (const char *op : {"hardtanh_backward", "softplus_backward"})
    table.push_back({op, [](Random &r) {
                       Args args = pair(r);
                       args.insert(args.end(), {Number(int64_t(1)), Number(2.0)});
                       return args;
                     }});
  table.push_back({"leaky_relu_backward", [](Random &r) {
                     Args args = pair(r);
                     args.insert(args.end(), {Number(0.1), false});
                     return args;
                   }});
  table.push_back({"elu_backward", [](Random &r) {
                     Args args = pair(r);
                     args.insert(args.begin() + 1, {Number(1.0), Number(1.0), Number(1.0), false});
                     return args;
                   }});
  for (const char *op : {"softshrink", "hardshrink"})
    table.push_back({op, [](Random &r) {
                       return Args{tensor(r), maybe(r, r.chance(0.5) ? Number(int64_t(1)) : Number(0.25))};
                     }});
  table.push_back({"threshold", [](Random &r) { return Args{tensor(r), r.number(), r.number()}; }});
  table.push_back({"pow_base", [](Random &r) { return Args{r.number(), tensor(r)}; }});
  table.push_back({"clamp", [](Random &r) {
                     return Args{tensor(r), maybe(r, r.number(), 0.7), maybe(r, r.number(), 0.7)};
                   }});
  table.push_back({"div_mode", [](Random &r) {
                     Args args = binary(r);
                     args.push_back(maybe(r, r.chance(0.05) ? "up" : r.chance(0.5) ? "floor" : "trunc", 0.8));
                     return args;
                   }});
  table.push_back({"where", [](Random &r) {
                     Tensor self = tensor(r);
                     Tensor condition{r.broadcastable(self.sizes), r.chance(0.05) ? r.any() : c10::kBool};
                     return Args{condition, self, partner(r, self)};
                   }});
  table.push_back({"gelu", [](Random &r) { return Args{tensor(r), maybe(r, std::string("tanh"))}; }});
  table.push_back({"dropout", [](Random &r) { return Args{Tensor{r.sizes(0, 3), r.floats()}, 0.5, r.chance(0.5)}; }});
  table.push_back({"to", [](Random &r) { return Args{tensor(r), r.any()}; }});
  table.push_back({"threshold_backward", [](Random &r) {
                     Args args = pair(r);
                     args.push_back(Number(int64_t(0)));
                     return args;
                   }});
  return table;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Args overDim(Random &r) {
  Tensor self = tensor(r);
  return {self, r.dim(self.rank()), maybe(r, r.chance(0.5))};
}
static Arg dimList(Random &r, const Tensor &self) {
  Sizes dims = r.dims(self.rank());
  if (r.chance(0.03) && !dims.empty())
    dims.push_back(dims.front()); // twice the same
  return maybe(r, dims, 0.85);
}
static Args overDims(Random &r) {
  Tensor self = tensor(r);
  return {self, dimList(r, self), maybe(r, r.chance(0.5))};
}
static Args overDimsWithDtype(Random &r) {
  Args args = overDims(r);
  args.push_back(orAbsent(r.maybeDtype()));
  return args;
}

std::vector<Generator> reductionGenerators() {
  std::vector<Generator> table;
  for (const char *op : {"max", "min", "all", "any"})
    table.push_back({op, unary});
  for (const char *op : {"max_dim", "min_dim", "median_dim", "all_dim", "any_dim"})
    table.push_back({op, overDim});
  for (const char *op : {"sum", "mean"})
    table.push_back({op, [](Random &r) { return Args{tensor(r), orAbsent(r.maybeDtype())}; }});
  for (const char *op : {"sum_dim", "mean_dim"})
    table.push_back({op, overDimsWithDtype});
  // Their schemas ask for a list of dims.
  for (const char *op : {"amax", "amin", "logsumexp"})
    table.push_back({op, [](Random &r) {
                       Args args = overDims(r);
                       if (std::holds_alternative<std::monostate>(args[1]))
                         args[1] = Sizes();
                       return args;
                     }});
  for (const char *op : {"argmax", "argmin"})
    table.push_back({op, [](Random &r) {
                       Args args = overDim(r);
                       args[1] = maybe(r, args[1], 0.8);
                       return args;
                     }});
  table.push_back({"var_correction", [](Random &r) {
                     Tensor self{r.sizes(0, 4), r.real()};
                     return Args{self, dimList(r, self), maybe(r, Number(int64_t(0))), maybe(r, r.chance(0.5))};
                   }});
  table.push_back({"std_correction", [](Random &r) {
                     Tensor self{r.sizes(0, 4), r.real()};
                     return Args{self, dimList(r, self), maybe(r, Number(int64_t(0))), maybe(r, r.chance(0.5))};
                   }});
  table.push_back({"linalg_vector_norm", [](Random &r) {
                     Tensor self{r.sizes(0, 4), r.real()};
                     Number order = r.pick({Number(int64_t(1)), Number(2.0), Number(3.5), Number(-1.0),
                                            Number(std::numeric_limits<double>::infinity())});
                     return Args{self, maybe(r, order), dimList(r, self), maybe(r, r.chance(0.5)),
                                 maybe(r, r.pick({c10::kFloat, c10::kDouble}), 0.2)};
                   }});
  table.push_back({"prod", [](Random &r) { return Args{tensor(r), orAbsent(r.maybeDtype())}; }});
  table.push_back({"prod_dim", [](Random &r) {
                     Args args = overDim(r);
                     args.push_back(orAbsent(r.maybeDtype()));
                     return args;
                   }});
  table.push_back({"var_dim", [](Random &r) {
                     Tensor self{r.sizes(0, 4), r.real()};
                     return Args{self, dimList(r, self), maybe(r, r.chance(0.5)), maybe(r, r.chance(0.5))};
                   }});
  for (const char *op : {"cumsum", "cumprod"})
    table.push_back({op, [](Random &r) {
                       Tensor self = tensor(r);
                       return Args{self, r.dim(self.rank()), orAbsent(r.maybeDtype())};
                     }});
  table.push_back({"diff", [](Random &r) {
                     Tensor self{r.sizes(r.chance(0.05) ? 0 : 1, 3), r.any()};
                     int64_t dim = r.dim(self.rank());
                     auto extra = [&] {
                       Tensor more{self.sizes, r.chance(0.5) ? self.dtype : r.any()};
                       if (self.rank() && dim < self.rank())
                         more.sizes[dim < 0 ? std::max<int64_t>(dim + self.rank(), 0) : dim] = r.size();
                       more.sizes = r.spoiled(more.sizes);
                       return maybe(r, more, 0.3);
                     };
                     return Args{self, maybe(r, r.between(0, 3)), dim, extra(), extra()};
                   }});
  table.push_back({"sort", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, maybe(r, r.dim(self.rank())), maybe(r, r.chance(0.5))};
                   }});
  table.push_back({"topk", [](Random &r) {
                     Tensor self{r.sizes(0, 3), r.numbers()};
                     int64_t dim = r.dim(self.rank());
                     int64_t at = dim < 0 ? dim + self.rank() : dim;
                     int64_t size = at >= 0 && at < self.rank() ? self.sizes[at] : 1;
                     return Args{self, r.below(size + (r.chance(0.1) ? 2 : 1)), dim};
                   }});
  return table;
}

} // namespace braid::oracle
