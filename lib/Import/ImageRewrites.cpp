//===- ImageRewrites.cpp - Operators of convolutional networks, respelt -----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rewrites.h"

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

//===----------------------------------------------------------------------===//
// Convolutions and resampling
//===----------------------------------------------------------------------===//

static Answer convolutionCore(Aten &aten, const Call &call) {
  return Results{aten.call("aten::convolution", std::vector<Item>(call.args.begin(), call.args.begin() + 9))};
}

/// conv1d, conv2d, conv3d, with numbers or "same" and "valid" as padding.
static Answer convolution(Aten &aten, const Call &call) {
  TensorShape weight = aten.emitter.shapeOf(*call.args[1].tensor());
  int64_t dims = weight.rank() - 2;
  if (rankOf(aten, call.args[0]) != dims + 2)
    return std::nullopt;
  auto spread = [&](const Item &item) {
    std::vector<Item> items(dims, item);
    if (const ListItem *list = item.list())
      items = list->items.size() == 1 ? std::vector<Item>(dims, list->items[0]) : list->items;
    return makeList(c10::IntType::get(), std::move(items));
  };
  Item padding = call.args[4], dilation = spread(call.args[5]);
  if (const c10::IValue *mode = padding.constant(); mode && mode->isString()) {
    std::vector<int64_t> sizes(dims, 0);
    for (int64_t dim = 0; mode->toStringRef() == "same" && dim < dims; ++dim) {
      std::optional<int64_t> kernel = weight.dims[dim + 2].constant();
      int64_t total = kernel ? aten.toInt(dilation.list()->items[dim]) * (*kernel - 1) : 1;
      if (total % 2)
        return std::nullopt;
      sizes[dim] = total / 2;
    }
    padding = makeInts(sizes);
  }
  return Results{aten.call("aten::convolution",
                           {call.args[0], call.args[1], call.args[2], spread(call.args[3]), spread(padding), dilation,
                            c10::IValue(false), makeInts(std::vector<int64_t>(dims, 0)), call.args[6]})};
}

/// upsample_*.vec takes output sizes or scales; the plain form takes both, and scales as single floats.
static Answer upsample(Aten &aten, const Call &call) {
  const ListItem *scales = call.arg("scale_factors").list();
  Item sizes = call.arg("output_size");
  TensorShape shape = aten.emitter.shapeOf(*call.args[0].tensor());
  std::vector<Item> outputs, scaleItems;
  for (int64_t dim = 2; dim < shape.rank(); ++dim) {
    scaleItems.push_back(scales ? scales->items[dim - 2] : Item());
    if (!scales)
      continue;
    double scale = scales->items[dim - 2].constant()->toDouble();
    Item size = aten.emitter.sizeOf(*call.args[0].tensor(), dim);
    bool whole = scale == static_cast<double>(static_cast<int64_t>(scale));
    outputs.push_back(whole ? aten.emitter.mul(size, c10::IValue(static_cast<int64_t>(scale)))
                            : Item(c10::IValue(static_cast<int64_t>(aten.toInt(size) * scale))));
  }
  std::vector<Item> args = {call.args[0], scales ? Item(makeList(c10::IntType::get(), outputs)) : sizes};
  if (const Item &corners = call.arg("align_corners"); !corners.isNone())
    args.push_back(corners);
  args.insert(args.end(), scaleItems.begin(), scaleItems.end());
  return Results{aten.call(call.schema->name(), std::move(args))};
}

//===----------------------------------------------------------------------===//
// Norms over channels
//===----------------------------------------------------------------------===//

/// With statistics that are given, or none: nothing is updated.
static Results nativeBatchNorm(Aten &aten, const Call &call) {
  return {aten.call("aten::native_batch_norm", std::vector<Item>(call.args.begin(), call.args.begin() + 8))};
}

/// In training the running statistics are only written: their new values, which carry no gradient, become the buffers'.
static Answer batchNorm(Aten &aten, const Call &call) {
  const c10::IValue *training = call.arg("training").constant();
  if (!training)
    return std::nullopt;
  if (!training->toBool() || !call.args[3].isTensor())
    return nativeBatchNorm(aten, call);
  c10::ScalarType type = dtypeOf(aten, call.args[3]);
  double momentum = call.arg("momentum").constant()->toDouble();
  Item x = aten.call("aten::detach", {aten.cast(call.args[0].tensor(), type)}), none;
  std::vector<int64_t> others;
  for (int64_t dim = 0, rank = rankOf(aten, x); dim < rank; ++dim)
    if (dim != 1)
      others.push_back(dim);
  Item mean = aten.call("aten::mean.dim", {x, makeInts(others), c10::IValue(false), none});
  Item variance = aten.call("aten::var.correction", {x, makeInts(others), c10::IValue(1), c10::IValue(false)});
  for (auto &[running, current] : {std::pair(call.args[3], mean), {call.args[4], variance}}) {
    Item kept = aten.call("aten::mul.Scalar", {running, c10::IValue(1 - momentum)});
    Item moved = aten.call("aten::add.Tensor", {kept, current, c10::IValue(momentum)});
    aten.emitter.write(*running.tensor(), aten.emitter.read(*moved.tensor()));
  }
  Call withoutStatistics = call;
  withoutStatistics.args[3] = withoutStatistics.args[4] = none;
  return nativeBatchNorm(aten, withoutStatistics);
}

[[noreturn]] static void failOnStatistics(Aten &aten, const Call &call) {
  aten.emitter.fail(call.name + " updates running statistics, which braid keeps for batch_norm only; create the module "
                                "with track_running_stats=False");
}

/// Of each sample and channel by itself: groups of one channel. With given statistics as batch_norm.
static Answer instanceNorm(Aten &aten, const Call &call) {
  const c10::IValue *own = call.arg("use_input_stats").constant();
  if (!own || !own->isBool())
    return std::nullopt;
  if (own->toBool() && !call.arg("running_mean").isNone())
    failOnStatistics(aten, call);
  if (!own->toBool())
    return Results{
        aten.call("aten::native_batch_norm", {call.args[0], call.args[1], call.args[2], call.args[3], call.args[4],
                                              c10::IValue(false), call.arg("momentum"), call.arg("eps")})};
  Item channels = c10::IValue(aten.toInt(aten.emitter.sizeOf(*call.args[0].tensor(), 1)));
  return Results{aten.call("aten::group_norm", {call.args[0], channels, call.args[1], call.args[2], call.arg("eps")})};
}

/// An operator that writes running statistics and does not say so in its schema.
static Answer refuseStatistics(Aten &aten, const Call &call) {
  const Item &flag = call.arg("training");
  if (flag.constant() && flag.constant()->isBool() && flag.constant()->toBool() && !call.arg("running_mean").isNone())
    failOnStatistics(aten, call);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// The first result of a pool with indices.
template <const char *Name> static Answer maxPool(Aten &aten, const Call &call) {
  return Results{aten.call(Name, call.args)};
}
static constexpr char maxPool2d[] = "aten::max_pool2d_with_indices", maxPool3d[] = "aten::max_pool3d_with_indices";

/// A pool over [channels, length] as one over [channels, 1, length]: every list of one entry gets one for the new dim
/// before it, which is 1 and for padding 0.
template <const char *Name> static Answer poolOfRow(Aten &aten, const Call &call) {
  std::vector<Item> args = {aten.call("aten::unsqueeze", {call.args[0], c10::IValue(-2)})};
  for (size_t number = 1; number < call.args.size(); ++number) {
    const ListItem *list = call.args[number].list();
    if (!list || list->items.empty()) {
      args.push_back(call.args[number]);
      continue;
    }
    bool isPadding = call.schema->arguments()[number].name() == "padding";
    std::vector<Item> entries = list->items;
    entries.insert(entries.begin(), c10::IValue(isPadding ? 0 : 1));
    args.push_back(makeList(c10::IntType::get(), std::move(entries)));
  }
  std::optional<c10::OperatorHandle> handle = c10::Dispatcher::singleton().findSchema(c10::OperatorName(Name, ""));
  while (args.size() < handle->schema().arguments().size())
    args.emplace_back(handle->schema().arguments()[args.size()].default_value().value_or(c10::IValue()));
  Results results = aten.run(Call(handle->schema(), std::move(args)));
  results.resize(call.schema->returns().size());
  for (Item &result : results)
    result = aten.call("aten::squeeze.dim", {result, c10::IValue(-2)});
  return results;
}
static constexpr char avgPool2d[] = "aten::avg_pool2d", adaptiveAvgPool2d[] = "aten::adaptive_avg_pool2d",
                      adaptiveMaxPool2d[] = "aten::adaptive_max_pool2d";

//===----------------------------------------------------------------------===//
// Activations and channels
//===----------------------------------------------------------------------===//

static Answer relu6(Aten &aten, const Call &call) {
  return Results{aten.call("aten::hardtanh", {call.args[0], c10::IValue(0), c10::IValue(6)})};
}

static Answer selu(Aten &aten, const Call &call) {
  // Self-Normalizing Neural Networks (arXiv 1706.02515), equation 14.
  return Results{aten.call("aten::elu", {call.args[0], c10::IValue(1.6732632423543772848170429916717),
                                         c10::IValue(1.0507009873554804934193349852946), c10::IValue(1)})};
}

static Answer celu(Aten &aten, const Call &call) {
  const c10::IValue *alpha = call.args[1].constant();
  if (!alpha || !alpha->isScalar() || alpha->toScalar().toDouble() == 0)
    return std::nullopt;
  double value = alpha->toScalar().toDouble();
  return Results{aten.call("aten::elu", {call.args[0], c10::IValue(value), c10::IValue(1), c10::IValue(1 / value)})};
}

static Answer logSigmoid(Aten &aten, const Call &call) {
  // Past 40, log(1 + exp(x)) is x in float64.
  Item minus = aten.call("aten::neg", {call.args[0]});
  Item softplus = aten.call("aten::softplus", {minus, c10::IValue(1), c10::IValue(40)});
  return Results{aten.call("aten::neg", {softplus})};
}

static Answer glu(Aten &aten, const Call &call) {
  static const c10::OperatorHandle chunk = c10::Dispatcher::singleton().findSchemaOrThrow("aten::chunk", "");
  Item halves = aten.run(Call(chunk.schema(), {call.args[0], c10::IValue(2), call.args[1]})).at(0);
  const std::vector<Item> &items = halves.list()->items;
  return Results{aten.call("aten::mul.Tensor", {items[0], aten.call("aten::sigmoid", {items[1]})})};
}

static Answer prelu(Aten &aten, const Call &call) {
  // A weight for each channel, or one for all.
  int64_t rank = rankOf(aten, call.args[0]);
  Item weight = call.args[1];
  if (aten.emitter.shapeOf(*weight.tensor()).numElements().constant() == 1)
    weight = aten.call("aten::view", {weight, makeInts({})});
  else
    for (int64_t dim = 2; dim < rank; ++dim)
      weight = aten.call("aten::unsqueeze", {weight, c10::IValue(-1)});
  Item positive = aten.call("aten::gt.Scalar", {call.args[0], c10::IValue(0)});
  Item scaled = aten.call("aten::mul.Tensor", {weight, call.args[0]});
  return Results{aten.call("aten::where.self", {positive, call.args[0], scaled})};
}

/// [..., channels * factor^2, height, width] to [..., channels, height * factor, width * factor], or back.
template <bool Back> static Answer pixelShuffle(Aten &aten, const Call &call) {
  Tensor &self = *call.args[0].tensor();
  int64_t rank = aten.emitter.shapeOf(self).rank(), lead = rank - 3, factor = aten.toInt(call.args[1]);
  if (lead < 0 || factor < 1)
    return std::nullopt;
  std::vector<Item> split, joined;
  std::vector<int64_t> order;
  for (int64_t dim = 0; dim < lead; ++dim) {
    split.push_back(aten.emitter.sizeOf(self, dim));
    joined.push_back(split.back());
    order.push_back(dim);
  }
  Item channels = aten.emitter.sizeOf(self, lead), height = aten.emitter.sizeOf(self, lead + 1),
       width = aten.emitter.sizeOf(self, lead + 2), by = c10::IValue(factor), square = c10::IValue(factor * factor);
  auto quotient = [&](const Item &size, const Item &divisor) -> Item {
    return c10::IValue(aten.toInt(size) / aten.toInt(divisor));
  };
  auto append = [](std::vector<Item> &list, std::initializer_list<Item> items) { list.insert(list.end(), items); };
  if (Back) {
    append(split, {channels, quotient(height, by), by, quotient(width, by), by});
    append(joined, {aten.emitter.mul(channels, square), quotient(height, by), quotient(width, by)});
  } else {
    append(split, {quotient(channels, square), by, by, height, width});
    append(joined, {quotient(channels, square), aten.emitter.mul(height, by), aten.emitter.mul(width, by)});
  }
  static constexpr int64_t apart[] = {0, 3, 1, 4, 2}, together[] = {0, 2, 4, 1, 3};
  for (int64_t dim : Back ? together : apart)
    order.push_back(lead + dim);
  Item view = aten.call("aten::view", {call.args[0], makeList(c10::IntType::get(), split)});
  Item permuted = aten.call("aten::permute", {view, makeInts(order)});
  return Results{aten.call("aten::reshape", {permuted, makeList(c10::IntType::get(), joined)})};
}

static Answer channelShuffle(Aten &aten, const Call &call) {
  Tensor &self = *call.args[0].tensor();
  int64_t rank = aten.emitter.shapeOf(self).rank(), groups = aten.toInt(call.args[1]);
  if (rank < 3 || groups < 1)
    return std::nullopt;
  std::vector<Item> split = {aten.emitter.sizeOf(self, 0), c10::IValue(groups),
                             c10::IValue(aten.toInt(aten.emitter.sizeOf(self, 1)) / groups)};
  for (int64_t dim = 2; dim < rank; ++dim)
    split.push_back(aten.emitter.sizeOf(self, dim));
  Item view = aten.call("aten::view", {call.args[0], makeList(c10::IntType::get(), split)});
  Item swapped = aten.call("aten::transpose.int", {view, c10::IValue(1), c10::IValue(2)});
  return Results{aten.call("aten::reshape", {swapped, sizesOf(aten, self)})};
}

void addImageRewrites(Rewrites &table) {
  const std::pair<const char *, Answer (*)(Aten &, const Call &)> entries[] = {
      {"aten::_convolution", convolutionCore},
      {"aten::conv1d", convolution},
      {"aten::conv2d", convolution},
      {"aten::conv3d", convolution},
      {"aten::_convolution_mode", convolution},
      {"aten::conv1d.padding", convolution},
      {"aten::conv2d.padding", convolution},
      {"aten::conv3d.padding", convolution},
      {"aten::upsample_nearest1d.vec", upsample},
      {"aten::upsample_nearest2d.vec", upsample},
      {"aten::upsample_nearest3d.vec", upsample},
      {"aten::_upsample_nearest_exact1d.vec", upsample},
      {"aten::_upsample_nearest_exact2d.vec", upsample},
      {"aten::_upsample_nearest_exact3d.vec", upsample},
      {"aten::_upsample_bilinear2d_aa.vec", upsample},
      {"aten::_upsample_bicubic2d_aa.vec", upsample},
      {"aten::upsample_linear1d.vec", upsample},
      {"aten::upsample_bilinear2d.vec", upsample},
      {"aten::upsample_bicubic2d.vec", upsample},
      {"aten::upsample_trilinear3d.vec", upsample},
      {"aten::batch_norm", batchNorm},
      {"aten::native_batch_norm", refuseStatistics},
      {"aten::instance_norm", instanceNorm},
      {"aten::max_pool1d", poolOfRow<maxPool2d>},
      {"aten::max_pool1d_with_indices", poolOfRow<maxPool2d>},
      {"aten::max_pool2d", maxPool<maxPool2d>},
      {"aten::max_pool3d", maxPool<maxPool3d>},
      {"aten::avg_pool1d", poolOfRow<avgPool2d>},
      {"aten::adaptive_avg_pool1d", poolOfRow<adaptiveAvgPool2d>},
      {"aten::adaptive_max_pool1d", poolOfRow<adaptiveMaxPool2d>},
      {"aten::relu6", relu6},
      {"aten::selu", selu},
      {"aten::celu", celu},
      {"aten::log_sigmoid", logSigmoid},
      {"aten::glu", glu},
      {"aten::prelu", prelu},
      {"aten::pixel_shuffle", pixelShuffle<false>},
      {"aten::pixel_unshuffle", pixelShuffle<true>},
      {"aten::channel_shuffle", channelShuffle},
      {"aten::native_channel_shuffle", channelShuffle},
  };
  for (const auto &[name, rewrite] : entries)
    table[name] = rewrite;
}

} // namespace braid::torchscript
