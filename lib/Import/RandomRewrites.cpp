//===- RandomRewrites.cpp - Operators that draw random numbers ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ops draw: dropout, which an evaluation leaves out, and rand. The others are made of these.
//
//===----------------------------------------------------------------------===//

#include "Rewrites.h"
#include "Types.h"

#include <numbers>

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

static Item typeItem(c10::ScalarType type) { return c10::IValue(static_cast<int64_t>(type)); }

/// The element type that a call asks for.
static c10::ScalarType typeOr(const Call &call, c10::ScalarType otherwise) {
  const c10::IValue *type = call.arg("dtype").constant();
  return type && type->isInt() ? static_cast<c10::ScalarType>(type->toInt()) : otherwise;
}

/// What a call updates in place holds `value` from now on.
static Results written(Aten &aten, const Call &call, const Item &value) {
  TensorRef self = call.args[0].tensor();
  TensorRef result = aten.cast(value.tensor(), dtypeOf(aten, call.args[0]));
  aten.emitter.write(*self, aten.emitter.read(*result));
  return Results{call.args[0]};
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

static bool dropsNothing(const Call &call) {
  const c10::IValue *p = call.arg("p").constant(), *train = call.arg("train").constant();
  return (p && p->isDouble() && p->toDouble() == 0) || (train && train->isBool() && !train->toBool());
}

static Answer dropout(Aten &, const Call &call) {
  return dropsNothing(call) ? Answer(Results{call.args[0]}) : std::nullopt;
}

/// 0 or 1 / (1 - p), and 1 in an evaluation.
static Item noise(Aten &aten, const Call &call, const Item &sizes, c10::ScalarType type) {
  Item ones = aten.call("aten::ones", {sizes, typeItem(type)});
  return aten.call("aten::dropout", {ones, call.args[1], c10::IValue(true)});
}

/// One factor for all of a sample's channel.
static Answer featureDropout(Aten &aten, const Call &call) {
  if (dropsNothing(call))
    return Results{call.args[0]};
  Tensor &self = *call.args[0].tensor();
  int64_t rank = aten.emitter.shapeOf(self).rank();
  if (rank < 2)
    return std::nullopt;
  std::vector<Item> sizes(rank, c10::IValue(1));
  for (int64_t dim : {0, 1})
    sizes[dim] = aten.emitter.sizeOf(self, dim);
  Item factors = noise(aten, call, makeList(c10::IntType::get(), sizes), dtypeOf(aten, call.args[0]));
  Item result = aten.call("aten::mul.Tensor", {call.args[0], factors});
  return StringRef(call.name).ends_with("_") ? written(aten, call, result) : Results{result};
}

/// The result and which elements were kept.
static Answer nativeDropout(Aten &aten, const Call &call) {
  Item sizes = sizesOf(aten, *call.args[0].tensor());
  if (const c10::IValue *train = call.arg("train").constant(); train && train->isBool() && !train->toBool())
    return Results{call.args[0], aten.call("aten::ones", {sizes, typeItem(at::kBool)})};
  Item factors = noise(aten, call, sizes, dtypeOf(aten, call.args[0]));
  return Results{aten.call("aten::mul.Tensor", {call.args[0], factors}),
                 aten.call("aten::ne.Scalar", {factors, c10::IValue(0)})};
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

/// Numbers are drawn in float32, or in float64 where that is wanted.
static Item uniform(Aten &aten, const Item &sizes, c10::ScalarType wanted) {
  return aten.call("aten::rand", {sizes, typeItem(wanted == at::kDouble ? at::kDouble : at::kFloat)});
}

static Answer randLike(Aten &aten, const Call &call) {
  c10::ScalarType type = typeOr(call, dtypeOf(aten, call.args[0]));
  return Results{aten.call("aten::rand", {sizesOf(aten, *call.args[0].tensor()), typeItem(type)})};
}

/// from + u (to - from)
static Answer uniformInPlace(Aten &aten, const Call &call) {
  const c10::IValue *from = call.arg("from").constant(), *to = call.arg("to").constant();
  if (!from || !to)
    return std::nullopt;
  Item u = uniform(aten, sizesOf(aten, *call.args[0].tensor()), dtypeOf(aten, call.args[0]));
  Item scaled = aten.call("aten::mul.Scalar", {u, c10::IValue(to->toDouble() - from->toDouble())});
  return written(aten, call, aten.call("aten::add.Scalar", {scaled, *from, c10::IValue(1)}));
}

/// 1 with probability p: a number, a tensor that broadcasts, or the elements of the tensor itself.
static Item bernoulliOf(Aten &aten, const Item &self, const Item &p) {
  c10::ScalarType type = dtypeOf(aten, self);
  Item u = uniform(aten, sizesOf(aten, *self.tensor()), p.isTensor() ? dtypeOf(aten, p) : type);
  Item one = aten.call(p.isTensor() ? "aten::lt.Tensor" : "aten::lt.Scalar", {u, p});
  return aten.cast(one.tensor(), type);
}

static Answer bernoulli(Aten &aten, const Call &call) {
  const Item &p = call.arg("p");
  return Results{bernoulliOf(aten, call.args[0], p.isNone() ? call.args[0] : p)};
}

static Answer bernoulliInPlace(Aten &aten, const Call &call) {
  return written(aten, call, bernoulliOf(aten, call.args[0], call.arg("p")));
}

/// The method of Box and Muller, with one of its two numbers.
static Item normal(Aten &aten, const Item &sizes, c10::ScalarType type) {
  Item radius = uniform(aten, sizes, type), angle = uniform(aten, sizes, type);
  Item logarithm = aten.call("aten::log1p", {aten.call("aten::neg", {radius})});
  Item length = aten.call("aten::sqrt", {aten.call("aten::mul.Scalar", {logarithm, c10::IValue(-2)})});
  Item cosine = aten.call("aten::cos", {aten.call("aten::mul.Scalar", {angle, c10::IValue(2 * std::numbers::pi)})});
  return aten.cast(aten.call("aten::mul.Tensor", {length, cosine}).tensor(), type);
}

static Answer randn(Aten &aten, const Call &call) {
  return Results{normal(aten, call.args[0], typeOr(call, at::typeMetaToScalarType(at::get_default_dtype())))};
}

static Answer randnLike(Aten &aten, const Call &call) {
  c10::ScalarType type = typeOr(call, dtypeOf(aten, call.args[0]));
  return Results{normal(aten, sizesOf(aten, *call.args[0].tensor()), type)};
}

static Answer normalInPlace(Aten &aten, const Call &call) {
  if (!call.arg("mean").constant() || !call.arg("std").constant())
    return std::nullopt;
  Item number = normal(aten, sizesOf(aten, *call.args[0].tensor()), dtypeOf(aten, call.args[0]));
  Item scaled = aten.call("aten::mul.Scalar", {number, call.arg("std")});
  return written(aten, call, aten.call("aten::add.Scalar", {scaled, call.arg("mean"), c10::IValue(1)}));
}

static Answer exponentialInPlace(Aten &aten, const Call &call) {
  const c10::IValue *rate = call.arg("lambd").constant();
  if (!rate)
    return std::nullopt;
  Item u = uniform(aten, sizesOf(aten, *call.args[0].tensor()), dtypeOf(aten, call.args[0]));
  Item logarithm = aten.call("aten::log1p", {aten.call("aten::neg", {u})});
  return written(aten, call, aten.call("aten::div.Scalar", {logarithm, c10::IValue(-rate->toDouble())}));
}

/// Whole numbers from low to high, without high: u (high - low), rounded down, and low.
static Answer randint(Aten &aten, const Call &call) {
  const c10::IValue *low = call.arg("low").constant(), *high = call.arg("high").constant();
  bool fromZero = call.arg("low").isNone();
  if (!high || !high->isInt() || !(fromZero || (low && low->isInt())))
    return std::nullopt;
  int64_t first = fromZero ? 0 : low->toInt();
  Item u = uniform(aten, call.arg("size"), at::kDouble);
  Item scaled = aten.call("aten::mul.Scalar", {u, c10::IValue(static_cast<double>(high->toInt() - first))});
  Item whole = aten.cast(scaled.tensor(), at::kLong);
  Item shifted = aten.call("aten::add.Scalar", {whole, c10::IValue(first), c10::IValue(1)});
  return Results{aten.cast(shifted.tensor(), typeOr(call, at::kLong))};
}

void addRandomRewrites(Rewrites &table) {
  const std::pair<const char *, Answer (*)(Aten &, const Call &)> entries[] = {
      {"aten::dropout", dropout},
      {"aten::dropout_", dropout},
      {"aten::feature_dropout", featureDropout},
      {"aten::feature_dropout_", featureDropout},
      {"aten::native_dropout", nativeDropout},
      {"aten::alpha_dropout", dropout},
      {"aten::alpha_dropout_", dropout},
      {"aten::feature_alpha_dropout", dropout},
      {"aten::feature_alpha_dropout_", dropout},
      {"aten::rand_like", randLike},
      {"aten::uniform_", uniformInPlace},
      {"aten::bernoulli", bernoulli},
      {"aten::bernoulli.p", bernoulli},
      {"aten::bernoulli_.float", bernoulliInPlace},
      {"aten::bernoulli_.Tensor", bernoulliInPlace},
      {"aten::randn", randn},
      {"aten::randn_like", randnLike},
      {"aten::normal_", normalInPlace},
      {"aten::exponential_", exponentialInPlace},
      {"aten::randint", randint},
      {"aten::randint.low", randint},
  };
  for (const auto &[name, rewrite] : entries)
    table[name] = rewrite;
}

} // namespace braid::torchscript
