//===- LossRewrites.cpp - Losses as elementwise terms and a mean ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loss is what it gives without a reduction, and then a mean or sum of it: the loss splitter knows those, so the
// batch can be divided.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <ATen/core/Reduction.h>

#include <numbers>

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

static Answer reduced(Aten &aten, const Call &call, const Item &elements) {
  switch (aten.toInt(call.arg("reduction"))) {
  case at::Reduction::None:
    return Results{elements};
  case at::Reduction::Mean:
    return Results{aten.call("aten::mean", {elements})};
  case at::Reduction::Sum:
    return Results{aten.call("aten::sum", {elements})};
  }
  return std::nullopt;
}

/// The call without its reduction, an op of its own.
static std::optional<Item> elementsOf(Aten &aten, const Call &call) {
  std::optional<int> reduction = call.schema->argumentIndexWithName("reduction");
  if (!reduction || aten.toInt(call.args[*reduction]) == at::Reduction::None)
    return std::nullopt;
  std::vector<Item> args = call.args;
  args[*reduction] = c10::IValue(static_cast<int64_t>(at::Reduction::None));
  return aten.call(call.name, std::move(args));
}

static Answer unreduced(Aten &aten, const Call &call) {
  std::optional<Item> elements = elementsOf(aten, call);
  return elements ? reduced(aten, call, *elements) : std::nullopt;
}

/// The mean is over samples, each divided by the number of its labels.
static Answer ctcLoss(Aten &aten, const Call &call) {
  std::optional<Item> elements = elementsOf(aten, call);
  if (!elements)
    return std::nullopt;
  Formula f(aten);
  if (aten.toInt(call.arg("reduction")) == at::Reduction::Mean) {
    Item lengths = aten.call("aten::clamp_min", {call.arg("target_lengths"), c10::IValue(1)});
    elements = f.div(*elements, lengths);
  }
  return reduced(aten, call, *elements);
}

//===----------------------------------------------------------------------===//
// Of pairs of elements
//===----------------------------------------------------------------------===//

static Answer l1Loss(Aten &aten, const Call &call) {
  Formula f(aten);
  return reduced(aten, call, f.of("abs", f.sub(call.args[0], call.args[1])));
}

/// With the difference d and c, that is d between -delta and delta: c (d - c / 2), which is d^2 / 2 inside of these
/// bounds and delta |d| - delta^2 / 2 outside.
static Item huber(Formula &f, const Call &call, double delta) {
  Item difference = f.sub(call.args[0], call.args[1]);
  Item bounded = f.aten.call("aten::clamp", {difference, c10::IValue(-delta), c10::IValue(delta)});
  return f.mul(bounded, f.sub(difference, f.mul(bounded, 0.5)));
}

static Answer huberLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  return reduced(aten, call, huber(f, call, toDouble(call.arg("delta"))));
}

static Answer smoothL1Loss(Aten &aten, const Call &call) {
  Formula f(aten);
  double beta = toDouble(call.arg("beta"));
  return beta == 0 ? l1Loss(aten, call) : reduced(aten, call, f.div(huber(f, call, beta), beta));
}

/// target (log target - self); with a log_target the exponential of it, and without one 0 where the target is.
static Answer klDiv(Aten &aten, const Call &call) {
  Formula f(aten);
  Item self = call.args[0], target = call.args[1];
  if (isTrue(call.arg("log_target")))
    return reduced(aten, call, f.mul(f.of("exp", target), f.sub(target, self)));
  Item filled = aten.call("aten::masked_fill.Scalar", {target, f.equals(target, 0), c10::IValue(1)});
  return reduced(aten, call, f.sub(f.mul(target, f.of("log", filled)), f.mul(target, self)));
}

static Answer poissonNllLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  Item input = call.args[0], target = call.args[1], loss;
  if (isTrue(call.arg("log_input")))
    loss = f.sub(f.of("exp", input), f.mul(target, input));
  else
    loss = f.sub(input, f.mul(target, f.of("log", f.add(input, toDouble(call.arg("eps"))))));
  if (isTrue(call.arg("full"))) {
    // Stirling's formula, for targets above 1.
    Item logarithm = f.mul(f.of("log", f.mul(target, 2 * std::numbers::pi)), 0.5);
    Item stirling = f.add(f.sub(f.mul(target, f.of("log", target)), target), logarithm);
    loss = f.add(loss, f.without(stirling, aten.call("aten::le.Scalar", {target, c10::IValue(1)})));
  }
  return reduced(aten, call, loss);
}

static Answer softMarginLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  return reduced(aten, call, f.of("log1p", f.of("exp", f.of("neg", f.mul(call.args[1], call.args[0])))));
}

static Answer hingeEmbeddingLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  Item self = call.args[0], target = call.args[1];
  Item apart = f.atLeast(f.sub(toDouble(call.arg("margin")), self), 0);
  return reduced(aten, call, f.add(f.without(apart, f.equals(target, 1)), f.without(self, f.equals(target, -1))));
}

static Answer marginRankingLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  Item ranked = f.mul(f.of("neg", call.args[2]), f.sub(call.args[0], call.args[1]));
  return reduced(aten, call, f.atLeast(f.add(ranked, toDouble(call.arg("margin"))), 0));
}

//===----------------------------------------------------------------------===//
// Of classes
//===----------------------------------------------------------------------===//

/// Of log-probabilities that log_softmax gives, cross_entropy_loss of its operand. Else they are picked by the target;
/// the mean is over the weights of the targets that are not ignored.
static Answer nllLoss(Aten &aten, const Call &call) {
  Item self = call.args[0], target = call.args[1], weight = call.args[2];
  int64_t rank = rankOf(aten, self), dim = rank == 1 ? 0 : 1;
  const c10::IValue *ignore = call.arg("ignore_index").constant();
  if (!ignore || !ignore->isInt() || rank == 0 || dtypeOf(aten, target) != at::kLong)
    return std::nullopt;
  if (auto softmax = aten.emitter.read(*self.tensor()).getDefiningOp<LogSoftmaxOp>();
      softmax && !softmax.getDtype() && (softmax.getDim() + rank) % rank == dim)
    return Results{aten.call("aten::cross_entropy_loss", {aten.emitter.makeTensor(softmax.getSelf()), target, weight,
                                                          call.arg("reduction"), *ignore, c10::IValue(0.0)})};
  Formula f(aten);
  Item ignored = f.equals(target, ignore->toInt()), classes = f.without(target, ignored), place = c10::IValue(dim);
  Item picked = aten.call("aten::gather", {self, place, aten.call("aten::unsqueeze", {classes, place})});
  Item elements = f.of("neg", aten.call("aten::squeeze.dim", {picked, place})), count;
  if (weight.isTensor()) {
    Item list = makeList(c10::OptionalType::ofTensor(), {classes});
    Item weights = f.without(aten.call("aten::index.Tensor", {weight, list}), ignored);
    elements = f.mul(elements, weights);
    count = weights;
  } else {
    elements = f.without(elements, ignored);
    count = f.of("logical_not", ignored);
  }
  if (aten.toInt(call.arg("reduction")) == at::Reduction::Mean)
    return Results{f.div(f.sum(elements), f.sum(count))};
  return reduced(aten, call, elements);
}

//===----------------------------------------------------------------------===//
// Of vectors
//===----------------------------------------------------------------------===//

static Item distance(Formula &f, const Item &a, const Item &b, const Item &order, double eps, bool keepdim) {
  return f.norm(f.add(f.sub(a, b), eps), order, makeInts({-1}), keepdim);
}

static Answer pairwiseDistance(Aten &aten, const Call &call) {
  Formula f(aten);
  return Results{
      distance(f, call.args[0], call.args[1], call.arg("p"), toDouble(call.arg("eps")), isTrue(call.arg("keepdim")))};
}

static Answer tripletMarginLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  auto between = [&](int a, int b) {
    return distance(f, call.args[a], call.args[b], call.arg("p"), toDouble(call.arg("eps")), false);
  };
  Item far = between(0, 2);
  if (isTrue(call.arg("swap")))
    far = aten.call("aten::minimum", {far, between(1, 2)});
  Item excess = f.add(f.sub(between(0, 1), far), toDouble(call.arg("margin")));
  return reduced(aten, call, f.atLeast(excess, 0));
}

/// Norms below eps count as eps, and have the gradient of a norm all the same.
static Answer cosineSimilarity(Aten &aten, const Call &call) {
  Formula f(aten);
  TensorShape a = aten.emitter.shapeOf(*call.args[0].tensor()), b = aten.emitter.shapeOf(*call.args[1].tensor());
  int64_t dim = aten.toInt(call.arg("dim"));
  if (dim >= 0)
    dim -= std::max(a.rank(), b.rank()); // the dim counts in what both broadcast to
  if (a.rank() < -dim || b.rank() < -dim)
    return std::nullopt;
  auto normalized = [&](const Item &x) {
    Item norm = f.norm(x, c10::IValue(2), makeInts({dim}), true);
    Item lifted = f.detached(f.sub(f.atLeast(norm, toDouble(call.arg("eps"))), norm));
    return f.div(x, f.add(norm, lifted));
  };
  return Results{f.sum(f.mul(normalized(call.args[0]), normalized(call.args[1])), dim)};
}

static Answer cosineEmbeddingLoss(Aten &aten, const Call &call) {
  Formula f(aten);
  constexpr double epsilon = 1e-12; // ATen's
  Item a = call.args[0], b = call.args[1], target = call.args[2];
  int64_t rank = rankOf(aten, target);
  if (rank > 1)
    return std::nullopt;
  auto square = [&](const Item &x) { return f.add(f.sum(f.mul(x, x), rank), epsilon); };
  Item cosine = f.div(f.sum(f.mul(a, b), rank), f.of("sqrt", f.mul(square(a), square(b))));
  Item alike = f.without(f.sub(1, cosine), f.differs(target, 1));
  Item apart = f.atLeast(f.add(cosine, -toDouble(call.arg("margin"))), 0);
  return reduced(aten, call, f.add(alike, f.without(apart, f.differs(target, -1))));
}

void addLossRewrites(Rewrites &table) {
  const std::pair<const char *, Answer (*)(Aten &, const Call &)> entries[] = {
      {"aten::binary_cross_entropy", unreduced},
      {"aten::multi_margin_loss", unreduced},
      {"aten::multilabel_margin_loss", unreduced},
      {"aten::ctc_loss.Tensor", ctcLoss},
      {"aten::l1_loss", l1Loss},
      {"aten::huber_loss", huberLoss},
      {"aten::smooth_l1_loss", smoothL1Loss},
      {"aten::kl_div", klDiv},
      {"aten::poisson_nll_loss", poissonNllLoss},
      {"aten::soft_margin_loss", softMarginLoss},
      {"aten::hinge_embedding_loss", hingeEmbeddingLoss},
      {"aten::margin_ranking_loss", marginRankingLoss},
      {"aten::nll_loss_nd", nllLoss},
      {"aten::nll_loss", nllLoss},
      {"aten::nll_loss2d", nllLoss},
      {"aten::pairwise_distance", pairwiseDistance},
      {"aten::triplet_margin_loss", tripletMarginLoss},
      {"aten::cosine_similarity", cosineSimilarity},
      {"aten::cosine_embedding_loss", cosineEmbeddingLoss},
  };
  for (const auto &[name, rewrite] : entries)
    table[name] = rewrite;
}

} // namespace braid::torchscript
