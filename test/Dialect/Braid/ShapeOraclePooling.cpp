//===- ShapeOraclePooling.cpp - Random pooling, resampling, windows ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

namespace braid::oracle {

/// With a batch, which may be empty, or without one.
static Tensor image(Random &r, int64_t spatial, bool mayLackBatch = true) {
  Tensor image{{}, r.pick({c10::kFloat, c10::kDouble})};
  if (!mayLackBatch || r.chance(0.7))
    image.sizes.push_back(r.between(0, 3));
  for (int64_t dim = 0; dim <= spatial; ++dim)
    image.sizes.push_back(r.between(r.chance(0.01) ? 0 : 1, 8));
  image.sizes = r.spoiled(image.sizes, 0.02);
  return image;
}

/// One entry for each spatial dim or for all; rarely too many.
static Sizes entries(Random &r, int64_t spatial, int64_t least, int64_t most) {
  Sizes entries(r.chance(0.3) ? 1 : spatial + r.chance(0.02));
  for (int64_t &entry : entries)
    entry = r.between(least, most);
  return entries;
}

/// kernel_size, stride, padding, and a dilation for maxima.
static Args windows(Random &r, int64_t spatial, bool maxima) {
  Args args = {entries(r, spatial, r.chance(0.02) ? 0 : 1, 3),
               maybe(r, entries(r, spatial, r.chance(0.02) ? 0 : 1, 3), 0.7), maybe(r, entries(r, spatial, 0, 1), 0.7)};
  if (maxima)
    args.push_back(maybe(r, entries(r, spatial, 1, 2), 0.3));
  return args;
}

static Args pool(Random &r, int64_t spatial, bool maxima) {
  Args args = {image(r, spatial)};
  for (Arg &arg : windows(r, spatial, maxima))
    args.push_back(std::move(arg));
  args.push_back(r.chance(0.4));
  if (!maxima) {
    args.push_back(r.chance(0.5));
    args.push_back(maybe(r, r.between(r.chance(0.1) ? 0 : 1, 3), 0.3));
  }
  return args;
}

/// A backward call: the gradient has the size of ATen's own output, now and then another.
static Args poolBackward(Random &r, int64_t spatial, bool maxima) {
  for (;;) {
    Args args = pool(r, spatial, maxima);
    Tensor self = std::get<Tensor>(args[0]);
    auto list = [&](size_t at, Sizes absent) {
      return std::holds_alternative<Sizes>(args[at]) ? std::get<Sizes>(args[at]) : absent;
    };
    Sizes kernel = list(1, {}), stride = list(2, {}), padding = list(3, {0}),
          dilation = maxima ? list(4, {1}) : Sizes{1};
    bool ceil = std::get<bool>(args[maxima ? 5 : 4]);
    Tensor output{{}, self.dtype};
    try {
      at::Tensor input = at::zeros(self.sizes, self.dtype);
      at::Tensor result;
      if (spatial == 2)
        result = maxima ? at::max_pool2d(input, kernel, stride, padding, dilation, ceil)
                        : at::avg_pool2d(input, kernel, stride, padding, ceil);
      else
        result = maxima ? at::max_pool3d(input, kernel, stride, padding, dilation, ceil)
                        : at::avg_pool3d(input, kernel, stride, padding, ceil);
      output.sizes = result.sizes().vec();
    } catch (const c10::Error &) {
      continue;
    }
    // Kernels of maxima and of three dims do not compare all sizes.
    Tensor gradient{maxima || spatial == 3 ? output.sizes : r.spoiled(output.sizes), self.dtype};
    args[2] = stride.empty() ? kernel : stride;
    args[3] = padding;
    if (maxima) {
      args[4] = dilation;
      args.push_back(Tensor{output.sizes, c10::kLong, 0});
    } else if (const auto *divisor = std::get_if<int64_t>(&args.back()); divisor && *divisor == 0) {
      continue;
    }
    args.insert(args.begin(), gradient);
    return args;
  }
}

static Args resample(Random &r, int64_t spatial, bool backward, int64_t options, bool corners) {
  Tensor input = image(r, spatial, false);
  Sizes output = entries(r, spatial, 1, 9);
  output.resize(spatial, output.front());
  Args args = {input, output};
  if (backward) {
    for (int64_t dim = 1; dim < input.rank(); ++dim) // the kernels compare little
      input.sizes[dim] = std::max<int64_t>(input.sizes[dim], 1);
    Tensor gradient = input;
    if (gradient.rank() == spatial + 2)
      std::copy(output.begin(), output.end(), gradient.sizes.end() - spatial);
    args = {Tensor{r.spoiled(gradient.sizes), input.dtype}, output, input.sizes};
  }
  if (corners)
    args.push_back(r.chance(0.5));
  for (int64_t option = 0; option < options; ++option)
    args.push_back(absent);
  return args;
}

/// Without empty dims: ATen takes a mean over nothing where the output is 1 x 1, and maxima of no channels.
static Tensor filledImage(Random &r, int64_t spatial = 2) {
  Tensor self = image(r, spatial);
  for (int64_t &size : self.sizes)
    size = std::max<int64_t>(size, 1);
  return self;
}

std::vector<Generator> poolingGenerators() {
  std::vector<Generator> table;
  table.push_back({"max_pool2d_with_indices", [](Random &r) { return pool(r, 2, true); }});
  table.push_back({"max_pool3d_with_indices", [](Random &r) { return pool(r, 3, true); }});
  table.push_back({"avg_pool2d", [](Random &r) { return pool(r, 2, false); }});
  table.push_back({"avg_pool3d", [](Random &r) { return pool(r, 3, false); }});
  table.push_back({"max_pool2d_with_indices_backward", [](Random &r) { return poolBackward(r, 2, true); }});
  table.push_back({"max_pool3d_with_indices_backward", [](Random &r) { return poolBackward(r, 3, true); }});
  table.push_back({"avg_pool2d_backward", [](Random &r) { return poolBackward(r, 2, false); }});
  table.push_back({"avg_pool3d_backward", [](Random &r) { return poolBackward(r, 3, false); }});

  table.push_back({"adaptive_avg_pool2d", [](Random &r) {
                     return Args{filledImage(r), Sizes{r.between(r.chance(0.03) ? -1 : 0, 6), r.between(1, 6)}};
                   }});
  table.push_back(
      {"adaptive_max_pool2d", [](Random &r) { return Args{filledImage(r), Sizes{r.between(1, 6), r.between(1, 6)}}; }});
  for (const char *op : {"adaptive_avg_pool3d", "adaptive_max_pool3d"})
    table.push_back({op, [](Random &r) {
                       return Args{filledImage(r, 3), Sizes{r.between(1, 4), r.between(1, 4), r.between(1, 4)}};
                     }});
  table.push_back({"grid_sampler", [](Random &r) {
                     int64_t spatial = r.between(2, 3);
                     Tensor input = image(r, spatial, false);
                     input.sizes[0] = std::max<int64_t>(input.sizes[0], 1); // of no samples ATen does not ask the mode
                     Tensor grid{{input.sizes[0]}, input.dtype};
                     for (int64_t dim = 0; dim < spatial; ++dim)
                       grid.sizes.push_back(r.between(1, 5));
                     grid.sizes.push_back(spatial);
                     grid.sizes = r.spoiled(grid.sizes);
                     // In three dims there is no bicubic mode, which some of ATen's kernels do not look at.
                     return Args{input, grid, r.between(0, spatial == 2 ? 2 : 1), r.between(0, 2), r.chance(0.5)};
                   }});
  for (const char *op : {"_adaptive_avg_pool2d_backward", "adaptive_max_pool2d_backward"})
    table.push_back({op, [maxima = llvm::StringRef(op).contains("max")](Random &r) {
                       Tensor self = filledImage(r), gradient = self;
                       while (self.rank() != 3 && self.rank() != 4)
                         self = gradient = filledImage(r); // the kernels compare nothing
                       for (int64_t dim = self.rank() - 2; dim < self.rank(); ++dim)
                         gradient.sizes[dim] = r.between(1, 6);
                       Args args = {gradient, self};
                       if (maxima)
                         args.push_back(Tensor{gradient.sizes, c10::kLong, 0});
                       return args;
                     }});

  struct Resampling {
    const char *op, *backward;
    int64_t spatial;
    bool corners;
  };
  for (const Resampling &kind : {Resampling{"upsample_nearest1d", "upsample_nearest1d_backward", 1, false},
                                 {"upsample_nearest2d", "upsample_nearest2d_backward", 2, false},
                                 {"_upsample_nearest_exact2d", "_upsample_nearest_exact2d_backward", 2, false},
                                 {"upsample_nearest3d", "upsample_nearest3d_backward", 3, false},
                                 {"upsample_linear1d", "upsample_linear1d_backward", 1, true},
                                 {"upsample_bilinear2d", "upsample_bilinear2d_backward", 2, true},
                                 {"upsample_bicubic2d", "upsample_bicubic2d_backward", 2, true},
                                 {"upsample_trilinear3d", "upsample_trilinear3d_backward", 3, true}})
    for (bool backward : {false, true})
      table.push_back({backward ? kind.backward : kind.op, [kind, backward](Random &r) {
                         return resample(r, kind.spatial, backward, kind.spatial, kind.corners);
                       }});

  table.push_back({"im2col", [](Random &r) {
                     return Args{image(r, 2), entries(r, 2, 1, 3), entries(r, 2, 1, 2), entries(r, 2, 0, 1),
                                 entries(r, 2, 1, 3)};
                   }});
  table.push_back({"col2im", [](Random &r) {
                     Sizes output = {r.between(3, 7), r.between(3, 7)}, kernel = {r.between(1, 3), r.between(1, 3)};
                     int64_t padding = r.between(0, 1), stride = r.between(1, 2), windows = 1;
                     for (int at = 0; at < 2; ++at)
                       windows *= (output[at] + 2 * padding - kernel[at]) / stride + 1;
                     Sizes columns = {r.between(1, 3) * kernel[0] * kernel[1], windows};
                     if (r.chance(0.7))
                       columns.insert(columns.begin(), r.between(1, 3));
                     return Args{Tensor{r.spoiled(columns), r.pick({c10::kFloat, c10::kDouble})},
                                 output,
                                 kernel,
                                 Sizes{1, 1},
                                 Sizes{padding, padding},
                                 Sizes{stride, stride}};
                   }});
  return table;
}

} // namespace braid::oracle
