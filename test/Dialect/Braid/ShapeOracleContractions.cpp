//===- ShapeOracleContractions.cpp - Random products, norms, attention and losses ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

#include "llvm/ADT/STLExtras.h"

namespace braid::oracle {

static Sizes operator+(Sizes a, const Sizes &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// Mostly `dtype`.
static Tensor like(Random &r, Sizes sizes, c10::ScalarType dtype, double spoil = 0.02) {
  return {r.spoiled(std::move(sizes), spoil), r.chance(0.02) ? r.any() : dtype};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Args convolution(Random &r, bool backward) {
  c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
  int64_t spatial = r.between(1, 3), groups = r.pick<int64_t>({1, 1, 1, 2, 3});
  bool transposed = r.chance(0.25);
  int64_t in = groups * r.between(1, 2), out = groups * r.between(1, 2);
  Tensor input{{r.chance(0.1) ? 0 : r.between(1, 3), in}, dtype};
  Tensor weight{{transposed ? in : out, (transposed ? out : in) / groups}, dtype};
  Sizes stride, padding, dilation, extra, result = {input.sizes[0], out};
  for (int64_t at = 0; at < spatial; ++at) {
    input.sizes.push_back(r.between(3, 7));
    weight.sizes.push_back(r.between(1, 3));
    stride.push_back(r.between(1, 3));
    padding.push_back(r.between(0, 2));
    dilation.push_back(r.pick<int64_t>({1, 1, 2}));
    extra.push_back(transposed && stride.back() > 1 ? r.between(0, 1) : 0);
    int64_t reach = dilation.back() * (weight.sizes.back() - 1), size = input.sizes.back();
    result.push_back(transposed ? (size - 1) * stride.back() - 2 * padding.back() + reach + extra.back() + 1
                                : (size + 2 * padding.back() - reach - 1) / stride.back() + 1);
  }
  // With an empty batch ATen would not notice that a kernel does not fit.
  if (backward && llvm::any_of(llvm::ArrayRef(result).drop_front(2), [](int64_t size) { return size < 1; }))
    return convolution(r, backward);
  if (!backward && r.chance(0.2) && !transposed) { // one entry for all
    stride.resize(1);
    dilation.resize(1);
  }
  if (backward)
    return {Tensor{result, dtype},
            input,
            weight,
            Sizes{out},
            stride,
            padding,
            dilation,
            transposed,
            extra,
            groups,
            std::vector<bool>{r.chance(0.6), true, r.chance(0.6)}};
  input.sizes = r.spoiled(input.sizes);
  return {input, weight, maybe(r, like(r, {out}, dtype)), stride, padding, dilation, transposed, extra, groups};
}

std::vector<Generator> contractionGenerators() {
  std::vector<Generator> table;
  table.push_back({"mm", [](Random &r) {
                     c10::ScalarType dtype = r.floats();
                     int64_t i = r.size(), k = r.size(), j = r.size();
                     return Args{like(r, {i, k}, dtype), like(r, {k, j}, dtype)};
                   }});
  table.push_back({"bmm", [](Random &r) {
                     c10::ScalarType dtype = r.floats();
                     int64_t b = r.size(), i = r.size(), k = r.size(), j = r.size();
                     return Args{like(r, {b, i, k}, dtype), like(r, {b, k, j}, dtype)};
                   }});
  table.push_back({"addmm", [](Random &r) {
                     c10::ScalarType dtype = r.floats();
                     int64_t i = r.size(), k = r.size(), j = r.size();
                     return Args{like(r, r.broadcastable({i, j}), dtype), like(r, {i, k}, dtype),
                                 like(r, {k, j}, dtype), maybe(r, Number(int64_t(1))), maybe(r, Number(2.0))};
                   }});
  table.push_back(
      {"baddbmm", [](Random &r) {
         c10::ScalarType dtype = r.floats();
         int64_t b = r.size(), i = r.size(), k = r.size(), j = r.size();
         return Args{like(r, r.broadcastable({b, i, j}), dtype), like(r, {b, i, k}, dtype), like(r, {b, k, j}, dtype)};
       }});
  table.push_back({"cdist", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     Sizes batch = r.sizes(0, 2);
                     int64_t length = r.between(1, 4);
                     return Args{Tensor{batch + Sizes{r.between(1, 4), length}, dtype},
                                 Tensor{r.broadcastable(batch) + r.spoiled({r.between(1, 4), length}), dtype},
                                 maybe(r, r.pick({1.0, 2.0, 3.0}))};
                   }});
  table.push_back({"matmul", [](Random &r) {
                     c10::ScalarType dtype = r.floats();
                     int64_t i = r.size(), k = r.size(), j = r.size();
                     Sizes batch = r.sizes(0, 2), left = r.broadcastable(batch), right = r.broadcastable(batch);
                     left = r.chance(0.2) ? Sizes{k} : left + Sizes{i, k};
                     right = r.chance(0.2) ? Sizes{k} : right + Sizes{k, j};
                     return Args{like(r, left, dtype), like(r, right, dtype)};
                   }});
  table.push_back({"linear", [](Random &r) {
                     c10::ScalarType dtype = r.floats();
                     int64_t in = r.size(), out = r.size();
                     Arg bias = maybe(r, like(r, {out}, dtype));
                     return Args{like(r, r.sizes(0, 3) + Sizes{in}, dtype), like(r, {out, in}, dtype), bias};
                   }});
  table.push_back({"convolution", [](Random &r) { return convolution(r, false); }});
  table.push_back({"convolution_backward", [](Random &r) { return convolution(r, true); }});
  return table;
}

//===----------------------------------------------------------------------===//
// Softmax, normalisation, attention
//===----------------------------------------------------------------------===//

static Args layerNorm(Random &r, bool bias) {
  c10::ScalarType dtype = r.floats();
  Sizes lead = r.sizes(0, 3), normalized = r.sizes(1, 2);
  bool half = c10::elementSize(dtype) == 2;
  c10::ScalarType parameters = half && bias && r.chance(0.3) ? c10::kFloat : dtype;
  bool hasWeight = r.chance(0.6);
  Args args = {Tensor{r.spoiled(lead + normalized), dtype}, normalized,
               hasWeight ? Arg(Tensor{r.spoiled(normalized, 0.02), parameters}) : Arg(absent)};
  if (bias)
    args.push_back(hasWeight ? maybe(r, Tensor{r.spoiled(normalized, 0.02), parameters}) : Arg(absent));
  return args;
}

/// An input, and a tensor of its channels or none.
static std::pair<Tensor, Tensor> channels(Random &r, c10::ScalarType dtype) {
  Tensor input{{r.size(), r.between(1, 6)}, dtype};
  for (int64_t more = r.between(0, 3); more > 0; --more)
    input.sizes.push_back(r.between(1, 5));
  bool half = c10::elementSize(dtype) == 2;
  return {input, Tensor{{input.sizes[1]}, half && r.chance(0.3) ? c10::kFloat : dtype}};
}

static Args batchNorm(Random &r, bool backward) {
  auto [input, parameter] = channels(r, r.floats());
  if (backward) // the kernel divides by the number of elements of a channel
    input.sizes[0] = std::max<int64_t>(input.sizes[0], 1);
  bool training = r.chance(0.5);
  Arg weight = maybe(r, parameter), bias = maybe(r, parameter), statistics = training ? Arg(absent) : Arg(parameter),
      saved = training ? Arg(parameter) : Arg(absent);
  if (!backward) // the kernels compare no sizes
    return {input, weight, bias, statistics, statistics, training, 0.1, 1e-5};
  bool weighted = std::holds_alternative<Tensor>(weight);
  return {input, input, weight,   statistics, statistics,
          saved, saved, training, 1e-5,       std::vector<bool>{r.chance(0.7), weighted, weighted && r.chance(0.7)}};
}

static Args softmax(Random &r) {
  Tensor self{r.sizes(0, 4), r.chance(0.1) ? r.any() : r.floats()};
  return {self, r.dim(self.rank())};
}

/// Query, key, value, and a mask that fits.
static Args attention(Random &r, bool flash, c10::ScalarType dtype) {
  Sizes batch = flash ? Sizes{r.between(1, 3), r.between(1, 3)} : r.sizes(0, 2);
  int64_t length = r.between(1, 5), keys = r.between(1, 5), size = r.between(1, 6);
  int64_t values = flash || r.chance(0.7) ? size : r.between(1, 6);
  Sizes scores = batch + Sizes{length, keys};
  Tensor mask{flash ? scores : r.broadcastable(scores), !flash && r.chance(0.5) ? c10::kBool : dtype};
  if (mask.rank() < 2)
    mask.sizes = {1, keys};
  double spoil = flash ? 0 : 0.02; // kernels check little themselves
  return {like(r, batch + Sizes{length, size}, dtype, spoil), Tensor{batch + Sizes{keys, size}, dtype},
          Tensor{batch + Sizes{keys, values}, dtype}, maybe(r, mask)};
}

std::vector<Generator> normAttentionGenerators() {
  std::vector<Generator> table;
  for (const char *op : {"softmax", "log_softmax"})
    table.push_back({op, [](Random &r) {
                       Args args = softmax(r);
                       args.push_back(orAbsent(r.maybeDtype()));
                       return args;
                     }});
  for (const char *op : {"_softmax", "_log_softmax"})
    table.push_back({op, [](Random &r) {
                       Args args = softmax(r);
                       args.push_back(false);
                       return args;
                     }});
  for (const char *op : {"_softmax_backward_data", "_log_softmax_backward_data"})
    table.push_back({op, [](Random &r) {
                       Tensor output{r.sizes(0, 4), r.floats()};
                       return Args{output, output, // ATen compares no sizes
                                   r.dim(output.rank()), output.dtype};
                     }});
  table.push_back({"layer_norm", [](Random &r) { return layerNorm(r, true); }});
  table.push_back({"rms_norm", [](Random &r) { return layerNorm(r, false); }});
  table.push_back({"native_layer_norm", [](Random &r) {
                     Args args = layerNorm(r, true);
                     args.push_back(1e-5);
                     return args;
                   }});
  table.push_back({"native_layer_norm_backward", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     Sizes lead = r.sizes(0, 3), normalized = r.sizes(1, 2);
                     Tensor input{lead + normalized, dtype}, moments{lead + Sizes(normalized.size(), 1), dtype};
                     bool weight = r.chance(0.6), bias = weight && r.chance(0.6);
                     Tensor parameter{normalized, dtype};
                     return Args{input,
                                 input,
                                 normalized,
                                 moments,
                                 moments,
                                 weight ? Arg(parameter) : Arg(absent),
                                 bias ? Arg(parameter) : Arg(absent),
                                 std::vector<bool>{r.chance(0.7), weight && r.chance(0.7), bias && r.chance(0.7)}};
                   }});
  table.push_back({"native_batch_norm", [](Random &r) { return batchNorm(r, false); }});
  table.push_back({"native_batch_norm_backward", [](Random &r) { return batchNorm(r, true); }});
  table.push_back({"group_norm", [](Random &r) {
                     auto [input, parameter] = channels(r, r.floats());
                     int64_t count = input.sizes[1], groups = r.between(r.chance(0.05) ? 0 : 1, count);
                     if (groups && r.chance(0.9))
                       while (count % groups)
                         --groups;
                     auto spoiled = [&r, &parameter] { return maybe(r, like(r, parameter.sizes, parameter.dtype)); };
                     return Args{input, groups, spoiled(), spoiled()};
                   }});
  table.push_back({"scaled_dot_product_attention", [](Random &r) {
                     Args args = attention(r, false, r.real());
                     bool masked = std::holds_alternative<Tensor>(args[3]);
                     args.push_back(0.0);
                     args.push_back(!masked && r.chance(0.3));
                     args.push_back(maybe(r, 0.5));
                     if (r.chance(0.3) && std::get<Tensor>(args[0]).rank() > 2) {
                       // Twice as many query heads; the mask would have to follow.
                       Tensor &query = std::get<Tensor>(args[0]);
                       query.sizes[query.rank() - 3] *= 2;
                       args[3] = absent;
                       args.push_back(true);
                     }
                     return args;
                   }});
  table.push_back({"_scaled_dot_product_flash_attention_for_cpu", [](Random &r) {
                     Args args = attention(r, true, r.pick({c10::kFloat, c10::kDouble, c10::kBFloat16}));
                     Arg mask = args[3];
                     args[3] = 0.0;
                     args.push_back(std::holds_alternative<std::monostate>(mask) && r.chance(0.4));
                     args.push_back(mask);
                     return args;
                   }});
  table.push_back({"_scaled_dot_product_flash_attention_for_cpu_backward", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     int64_t b = r.between(1, 3), h = r.between(1, 3), l = r.between(1, 5), s = r.between(1, 5),
                             e = r.between(1, 6);
                     Tensor query{{b, h, l, e}, dtype}, key{{b, h, s, e}, dtype}, sums{{b, h, l}, dtype};
                     return Args{query, query, key, key, query, sums, 0.0, r.chance(0.4)};
                   }});
  return table;
}

//===----------------------------------------------------------------------===//
// Recurrent layers
//===----------------------------------------------------------------------===//

/// `gates` weights a feature. Sizes of batches are not spoiled, since ATen lets those of 1 broadcast, nor weights in
/// float32, since oneDNN compares nothing.
static Args recurrent(Random &r, int64_t gates) {
  bool isLstm = gates == 4, biases = r.chance(0.7), both = r.chance(0.4), batchFirst = r.chance(0.5);
  c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
  int64_t layers = r.between(1, 3), directions = both ? 2 : 1, features = r.between(1, 5), size = r.between(2, 5),
          output = isLstm && r.chance(0.3) ? r.between(1, size - 1) : size;
  int64_t batch = r.between(1, 4), steps = r.between(r.chance(0.03) ? 0 : 1, 5);
  Tensor input{batchFirst ? Sizes{batch, steps, features} : Sizes{steps, batch, features}, dtype};
  Tensor hidden{{layers * directions, batch, output}, dtype}, cell{{layers * directions, batch, size}, dtype};
  std::vector<std::optional<Tensor>> params;
  for (int64_t number = 0; number < layers * directions; ++number) {
    int64_t taken = number < directions ? features : directions * output;
    params.push_back(Tensor{{gates * size, dtype == c10::kDouble && r.chance(0.02) ? taken + 1 : taken}, dtype});
    params.push_back(Tensor{{gates * size, output}, dtype});
    for (int64_t bias = 0; biases && bias < 2; ++bias)
      params.push_back(Tensor{{gates * size}, dtype});
    if (output != size)
      params.push_back(Tensor{{output, size}, dtype});
  }
  if (r.chance(0.03))
    params.pop_back();
  Arg states = isLstm ? Arg(std::vector<std::optional<Tensor>>{hidden, cell}) : Arg(hidden);
  int64_t told = r.chance(0.03) ? layers + 1 : layers;
  return {input, states, params, biases, told, 0.0, r.chance(0.5), both, batchFirst};
}

std::vector<Generator> recurrentGenerators() {
  return {{"lstm", [](Random &r) { return recurrent(r, 4); }},
          {"gru", [](Random &r) { return recurrent(r, 3); }},
          {"rnn_tanh", [](Random &r) { return recurrent(r, 1); }},
          {"rnn_relu", [](Random &r) { return recurrent(r, 1); }}};
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static Arg classWeight(Random &r, int64_t classes, c10::ScalarType dtype, double spoil = 0.02) {
  return maybe(r, like(r, {classes}, dtype, spoil), 0.3);
}

static Args nll(Random &r, c10::ScalarType dtype, int64_t reduction, double spoil = 0.03) {
  int64_t classes = r.between(1, 5);
  Sizes batch = r.chance(0.3) ? Sizes() : Sizes{r.size()};
  return {like(r, batch + Sizes{classes}, dtype, 0),
          Tensor{batch.empty() ? batch : r.spoiled(batch, spoil), c10::kLong, 0}, classWeight(r, classes, dtype),
          reduction, int64_t(-100)};
}

std::vector<Generator> lossGenerators() {
  std::vector<Generator> table;
  table.push_back({"binary_cross_entropy", [](Random &r) {
                     Tensor self{r.sizes(0, 3), r.pick({c10::kFloat, c10::kDouble})};
                     return Args{self, like(r, self.sizes, self.dtype), maybe(r, self, 0.3), maybe(r, r.between(0, 2))};
                   }});
  table.push_back({"multi_margin_loss", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     int64_t classes = r.between(1, 5), batch = r.between(1, 5);
                     return Args{Tensor{{batch, classes}, dtype}, Tensor{r.spoiled({batch}), c10::kLong, 0},
                                 maybe(r, Number(int64_t(1))),    maybe(r, Number(0.5)),
                                 classWeight(r, classes, dtype),  maybe(r, r.between(0, 2))};
                   }});
  table.push_back({"multilabel_margin_loss", [](Random &r) {
                     Tensor self{{r.between(1, 5), r.between(1, 5)}, r.pick({c10::kFloat, c10::kDouble})};
                     return Args{self, Tensor{r.spoiled(self.sizes), c10::kLong, 0}, maybe(r, r.between(0, 2))};
                   }});
  table.push_back({"ctc_loss", [](Random &r) {
                     int64_t steps = r.between(2, 6), batch = r.between(1, 4), classes = r.between(2, 5);
                     Tensor scores{{steps, batch, classes}, r.pick({c10::kFloat, c10::kDouble}), -1};
                     Tensor inputs{{batch}, c10::kLong, static_cast<double>(steps)}, lengths{{batch}, c10::kLong, 1};
                     Tensor targets{r.chance(0.7) ? Sizes{batch, r.between(1, 3)} : Sizes{batch}, c10::kLong, 1};
                     return Args{scores,       targets, inputs, lengths, int64_t(0), maybe(r, r.between(0, 2)),
                                 r.chance(0.5)};
                   }});
  table.push_back({"linear_cross_entropy", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     int64_t rows = r.size(), hidden = r.size(), classes = r.between(1, 5);
                     return Args{Tensor{{rows, hidden}, dtype}, Tensor{{classes, hidden}, dtype},
                                 maybe(r, Tensor{{classes}, dtype}), Tensor{{rows}, c10::kLong, 0}};
                   }});
  auto gradient = [](bool ofInput) {
    return [ofInput](Random &r) {
      c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
      int64_t rows = r.size(), hidden = r.size(), classes = r.between(1, 5);
      return Args{Tensor{{}, dtype}, Tensor{{rows, classes}, dtype}, Tensor{{ofInput ? classes : rows, hidden}, dtype},
                  Tensor{{rows}, c10::kLong, 0}};
    };
  };
  table.push_back({"linear_cross_entropy_backward_input", gradient(true)});
  table.push_back({"linear_cross_entropy_backward_weight", gradient(false)});
  table.push_back({"linear_cross_entropy_backward_bias", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     return Args{Tensor{{}, dtype}, Tensor{{r.size(), r.between(1, 5)}, dtype}};
                   }});
  table.push_back({"cross_entropy_loss", [](Random &r) {
                     c10::ScalarType dtype = r.real();
                     int64_t classes = r.between(1, 5), reduction = r.between(0, 2);
                     Sizes batch = r.chance(0.3) ? Sizes() : Sizes{r.size()}, more;
                     if (!batch.empty() && r.chance(0.3))
                       more = r.sizes(1, 2);
                     Tensor scores = like(r, batch + Sizes{classes} + more, dtype);
                     Tensor target = r.chance(0.25)
                                         ? Tensor{scores.sizes, dtype}
                                         : Tensor{r.spoiled(batch + more, batch.empty() ? 0 : 0.03), c10::kLong, 0};
                     return Args{scores, target, classWeight(r, classes, dtype), maybe(r, reduction)};
                   }});
  table.push_back({"nll_loss_forward", [](Random &r) { return nll(r, r.real(), r.between(0, 2)); }});
  table.push_back({"nll_loss_backward", [](Random &r) {
                     c10::ScalarType dtype = r.pick({c10::kFloat, c10::kDouble});
                     int64_t reduction = r.between(0, 2);
                     Args args = nll(r, dtype, reduction, 0); // the backward kernel checks little
                     Sizes target = std::get<Tensor>(args[1]).sizes;
                     args.insert(args.begin(), Tensor{reduction == 0 ? target : Sizes(), dtype});
                     args.push_back(Tensor{{}, dtype});
                     return args;
                   }});
  table.push_back({"mse_loss", [](Random &r) {
                     Tensor self{r.sizes(0, 3), r.real()};
                     return Args{self, like(r, r.chance(0.8) ? self.sizes : r.broadcastable(self.sizes), self.dtype),
                                 maybe(r, r.between(0, 2))};
                   }});
  table.push_back({"mse_loss_backward", [](Random &r) {
                     Tensor self{r.sizes(0, 3), r.pick({c10::kFloat, c10::kDouble})};
                     int64_t reduction = r.between(0, 2);
                     return Args{Tensor{reduction == 0 ? self.sizes : Sizes(), self.dtype}, self, self, reduction};
                   }});
  table.push_back({"binary_cross_entropy_with_logits", [](Random &r) {
                     Tensor self{r.sizes(0, 3), r.real()};
                     return Args{self, like(r, self.sizes, self.dtype),
                                 maybe(r, Tensor{r.broadcastable(self.sizes), self.dtype}, 0.3),
                                 maybe(r, Tensor{r.broadcastable(self.sizes), self.dtype}, 0.3),
                                 maybe(r, r.between(0, 2))};
                   }});
  return table;
}

} // namespace braid::oracle
