//===- MathRewrites.cpp - Arithmetic, statistics and products, respelt ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <ATen/ops/linspace.h>
#include <ATen/ops/zeros.h>

#include <limits>

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

template <const char *Name> static Answer renamed(Aten &aten, const Call &call) {
  return Results{aten.call(Name, call.args)};
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static constexpr char bitwiseOr[] = "aten::bitwise_or.Tensor", bitwiseXor[] = "aten::bitwise_xor.Tensor",
                      bitwiseAnd[] = "aten::bitwise_and.Tensor";

template <const char *Name> static Answer withScalar(Aten &aten, const Call &call) {
  TensorRef other = aten.scalarFor(call.args[1], aten.emitter.shapeOf(*call.args[0].tensor()));
  return Results{aten.call(Name, {call.args[0], other})};
}

static Answer addProduct(Aten &aten, const Call &call) {
  return Results{
      aten.call("aten::add.Tensor", {call.args[0], Formula(aten).mul(call.args[1], call.args[2]), call.args[3]})};
}
static Answer addQuotient(Aten &aten, const Call &call) {
  return Results{
      aten.call("aten::add.Tensor", {call.args[0], Formula(aten).div(call.args[1], call.args[2]), call.args[3]})};
}

static Answer lerp(Aten &aten, const Call &call) {
  Formula f(aten);
  Item way = f.sub(call.args[1], call.args[0]);
  return Results{
      f.add(call.args[0], call.args[2].isTensor() ? f.mul(call.args[2], way) : f.mul(way, toDouble(call.args[2])))};
}

/// Between two tensors. On a bound the gradient is self's, unlike that of a minimum or maximum.
static Answer clampTensor(Aten &aten, const Call &call) {
  Formula f(aten);
  Item result = call.args[0];
  if (const Item &least = call.arg("min"); least.isTensor())
    result = f.where(aten.call("aten::lt.Tensor", {result, least}), least, result);
  if (const Item &most = call.arg("max"); most.isTensor())
    result = f.where(aten.call("aten::gt.Tensor", {result, most}), most, result);
  return Results{result};
}
static Answer clampMax(Aten &aten, const Call &call) {
  return Results{aten.call("aten::clamp", {call.args[0], Item(), call.args[1]})};
}

static Item nanMask(Aten &aten, const Item &x) { return aten.call("aten::ne.Tensor", {x, x}); }
static constexpr double infinity = std::numeric_limits<double>::infinity();

static Answer isNan(Aten &aten, const Call &call) { return Results{nanMask(aten, call.args[0])}; }
static Answer isFinite(Aten &aten, const Call &call) {
  return Results{aten.call("aten::lt.Scalar", {Formula(aten).of("abs", call.args[0]), c10::IValue(infinity)})};
}
static Answer isInfinite(Aten &aten, const Call &call) {
  return Results{aten.call("aten::eq.Scalar", {Formula(aten).of("abs", call.args[0]), c10::IValue(infinity)})};
}

static Answer nanToNum(Aten &aten, const Call &call) {
  c10::ScalarType type = dtypeOf(aten, call.args[0]);
  if (type != at::kFloat && type != at::kDouble)
    return std::nullopt;
  double most = type == at::kFloat ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  Item result = call.args[0];
  auto replace = [&](const Item &mask, const Item &given, double otherwise) {
    Item value = given.isNone() ? Item(c10::IValue(otherwise)) : given;
    result = aten.call("aten::masked_fill.Scalar", {result, mask, value});
  };
  replace(nanMask(aten, call.args[0]), call.arg("nan"), 0);
  replace(aten.call("aten::eq.Scalar", {call.args[0], c10::IValue(infinity)}), call.arg("posinf"), most);
  replace(aten.call("aten::eq.Scalar", {call.args[0], c10::IValue(-infinity)}), call.arg("neginf"), -most);
  return Results{result};
}

static Answer logit(Aten &aten, const Call &call) {
  Formula f(aten);
  Item x = call.args[0];
  if (const Item &eps = call.arg("eps"); !eps.isNone())
    x = aten.call("aten::clamp", {x, eps, c10::IValue(1 - toDouble(eps))});
  return Results{f.of("log", f.div(x, f.sub(1, x)))};
}

//===----------------------------------------------------------------------===//
// Statistics and norms
//===----------------------------------------------------------------------===//

static constexpr char stdCorrection[] = "aten::std.correction", varCorrection[] = "aten::var.correction";

/// Of all elements or along dims, with or without Bessel's correction.
template <const char *Name> static Answer deviation(Aten &aten, const Call &call) {
  const c10::IValue *unbiased = call.arg("unbiased").constant();
  if (!unbiased || !unbiased->isBool())
    return std::nullopt;
  Item keepdim = call.arg("keepdim").isNone() ? Item(c10::IValue(false)) : call.arg("keepdim");
  return Results{
      aten.call(Name, {call.args[0], call.arg("dim"), c10::IValue(static_cast<int64_t>(unbiased->toBool())), keepdim})};
}
template <const char *Name> static Answer deviationAndMean(Aten &aten, const Call &call) {
  bool corrected = !call.arg("unbiased").isNone();
  std::optional<Results> value = corrected ? deviation<Name>(aten, call) : Results{aten.call(Name, call.args)};
  if (!value)
    return std::nullopt;
  Item mean = aten.call("aten::mean.dim", {call.args[0], call.arg("dim"), call.arg("keepdim")});
  return Results{value->front(), mean};
}

/// The norm of vectors. linalg_norm of two dims, with an order, is one of matrices.
static Answer norm(Aten &aten, const Call &call) {
  const Item &given = call.arg(call.schema->name() == "aten::linalg_norm" ? "ord" : "p"), &dims = call.arg("dim");
  const ListItem *list = dims.list();
  int64_t rank = rankOf(aten, call.args[0]);
  bool matrix =
      call.schema->name() == "aten::linalg_norm" && !given.isNone() && (list ? list->items.size() == 2 : rank == 2);
  if (matrix)
    return std::nullopt;
  Item order = given.isNone() ? Item(c10::IValue(2)) : given;
  Item keepdim = call.arg("keepdim").isNone() ? Item(c10::IValue(false)) : call.arg("keepdim");
  return Results{aten.call("aten::linalg_vector_norm", {call.args[0], order, dims, keepdim, call.arg("dtype")})};
}

static Answer countNonzero(Aten &aten, const Call &call) {
  Formula f(aten);
  Item nonzero = f.differs(call.args[0], 0);
  if (const Item &dim = call.arg("dim"); dim.isInt())
    return Results{f.sum(nonzero, aten.toInt(dim))};
  if (call.arg("dim").list())
    return Results{aten.call("aten::sum.dim_IntList", {nonzero, call.arg("dim")})};
  return Results{f.sum(nonzero)};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static constexpr char matmul[] = "aten::matmul";

/// As einsum, with a letter for each dim.
static std::optional<Item> product(Aten &aten, const std::string &equation, std::vector<Item> operands) {
  static const c10::OperatorHandle handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::einsum", "");
  Answer answer = einsum(aten, Call(handle.schema(), {c10::IValue(equation), tensorList(std::move(operands)), Item()}));
  return answer ? std::optional<Item>(answer->front()) : std::nullopt;
}

static Answer tensordot(Aten &aten, const Call &call) {
  int64_t left = rankOf(aten, call.args[0]), right = rankOf(aten, call.args[1]);
  const ListItem *leftDims = call.args[2].list(), *rightDims = call.args[3].list();
  if (!leftDims || !rightDims || leftDims->items.size() != rightDims->items.size() || left + right > 26)
    return std::nullopt;
  std::string a, b, result;
  for (int64_t dim = 0; dim < left + right; ++dim)
    (dim < left ? a : b) += static_cast<char>('a' + dim);
  for (auto [from, to] : llvm::zip(leftDims->items, rightDims->items)) {
    int64_t first = aten.toInt(from), second = aten.toInt(to);
    b[second < 0 ? second + right : second] = a[first < 0 ? first + left : first];
  }
  for (char label : a + b)
    if ((a + b).find(label) == (a + b).rfind(label))
      result += label;
  std::optional<Item> item = product(aten, a + "," + b + "->" + result, {call.args[0], call.args[1]});
  return item ? Answer(Results{*item}) : std::nullopt;
}

/// Over the last dim of both.
static Answer inner(Aten &aten, const Call &call) {
  int64_t left = rankOf(aten, call.args[0]), right = rankOf(aten, call.args[1]);
  if (left == 0 || right == 0)
    return Results{Formula(aten).mul(call.args[0], call.args[1])};
  static const c10::OperatorHandle handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::tensordot", "");
  return tensordot(aten, Call(handle.schema(), {call.args[0], call.args[1], makeInts({-1}), makeInts({-1})}));
}

static Answer bilinear(Aten &aten, const Call &call) {
  std::optional<Item> item = product(aten, "...i,oij->...oj", {call.args[0], call.args[2]});
  if (!item)
    return std::nullopt;
  Item other = aten.call("aten::unsqueeze", {call.args[1], c10::IValue(-1)});
  Item result = aten.call("aten::squeeze.dim", {aten.call("aten::matmul", {*item, other}), c10::IValue(-1)});
  return Results{call.args[3].isTensor() ? Formula(aten).add(result, call.args[3]) : result};
}

static Answer cross(Aten &aten, const Call &call) {
  const Item &dim = call.arg("dim");
  if (!dim.isInt())
    return std::nullopt;
  Formula f(aten);
  auto turned = [&](int operand, int64_t by) {
    return aten.call("aten::roll", {call.args[operand], makeInts({by}), makeInts({aten.toInt(dim)})});
  };
  return Results{f.sub(f.mul(turned(0, -1), turned(1, -2)), f.mul(turned(0, -2), turned(1, -1)))};
}

/// Coordinates of an image of the given size, from -1 to 1, under a linear map [batch, 2, 3].
static Answer affineGrid(Aten &aten, const Call &call) {
  const ListItem *size = call.args[1].list();
  if (!size || size->items.size() != 4)
    return std::nullopt;
  Formula f(aten);
  bool corners = isTrue(call.arg("align_corners"));
  c10::ScalarType type = dtypeOf(aten, call.args[0]);
  auto row = [&](int64_t dim) {
    int64_t count = aten.toInt(size->items[dim]);
    at::Tensor line = count > 1 ? at::linspace(-1, 1, count, type) : at::zeros({1}, type);
    if (!corners)
      line.mul_(static_cast<double>(count - 1) / static_cast<double>(count));
    return Item(aten.emitter.makeConstant(dim == 2 ? line.view({count, 1, 1}) : line.view({count, 1})));
  };
  auto column = [&](int64_t number) {
    Item entry = aten.call("aten::select.int", {call.args[0], c10::IValue(2), c10::IValue(number)});
    return aten.call("aten::unsqueeze", {aten.call("aten::unsqueeze", {entry, c10::IValue(1)}), c10::IValue(1)});
  };
  return Results{f.add(f.add(f.mul(column(0), row(3)), f.mul(column(1), row(2))), column(2))};
}

void addMathRewrites(Rewrites &table) {
  const std::pair<const char *, Answer (*)(Aten &, const Call &)> entries[] = {
      {"aten::__or__.Tensor", renamed<bitwiseOr>},
      {"aten::__xor__.Tensor", renamed<bitwiseXor>},
      {"aten::__or__.Scalar", withScalar<bitwiseOr>},
      {"aten::__xor__.Scalar", withScalar<bitwiseXor>},
      {"aten::__and__.Scalar", withScalar<bitwiseAnd>},
      {"aten::bitwise_or.Scalar", withScalar<bitwiseOr>},
      {"aten::bitwise_xor.Scalar", withScalar<bitwiseXor>},
      {"aten::bitwise_and.Scalar", withScalar<bitwiseAnd>},
      {"aten::addcmul", addProduct},
      {"aten::addcdiv", addQuotient},
      {"aten::lerp.Scalar", lerp},
      {"aten::lerp.Tensor", lerp},
      {"aten::clamp.Tensor", clampTensor},
      {"aten::clamp_min.Tensor", clampTensor},
      {"aten::clamp_max.Tensor", clampTensor},
      {"aten::clamp_max", clampMax},
      {"aten::isnan", isNan},
      {"aten::isfinite", isFinite},
      {"aten::isinf", isInfinite},
      {"aten::nan_to_num", nanToNum},
      {"aten::logit", logit},
      {"aten::std", deviation<stdCorrection>},
      {"aten::std.dim", deviation<stdCorrection>},
      {"aten::var", deviation<varCorrection>},
      {"aten::std_mean.correction", deviationAndMean<stdCorrection>},
      {"aten::std_mean.dim", deviationAndMean<stdCorrection>},
      {"aten::var_mean.dim", deviationAndMean<varCorrection>},
      {"aten::var_mean.correction", deviationAndMean<varCorrection>},
      {"aten::norm.Scalar", norm},
      {"aten::norm.ScalarOpt_dim", norm},
      {"aten::linalg_norm", norm},
      {"aten::count_nonzero", countNonzero},
      {"aten::count_nonzero.dim_IntList", countNonzero},
      {"aten::mv", renamed<matmul>},
      {"aten::dot", renamed<matmul>},
      {"aten::tensordot", tensordot},
      {"aten::inner", inner},
      {"aten::bilinear", bilinear},
      {"aten::cross", cross},
      {"aten::linalg_cross", cross},
      {"aten::affine_grid_generator", affineGrid},
  };
  for (const auto &[name, rewrite] : entries)
    table[name] = rewrite;
}

} // namespace braid::torchscript
