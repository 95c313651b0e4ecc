//===- ShapeOracleViews.cpp - Random views and tensors made from sizes --===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

namespace braid::oracle {

static Tensor tensor(Random &r, int64_t leastRank = 0, int64_t mostRank = 4) {
  return {r.sizes(leastRank, mostRank), r.any()};
}
/// Ops that pick from a dim: rarely there is none.
static Tensor withDims(Random &r, int64_t leastRank = 1, int64_t mostRank = 4) {
  return tensor(r, r.chance(0.04) ? 0 : leastRank, mostRank);
}
static int64_t sizeOf(const Tensor &tensor, int64_t dim) {
  int64_t at = dim < 0 ? dim + tensor.rank() : dim;
  return at >= 0 && at < tensor.rank() ? tensor.sizes[at] : 1;
}

/// A random way to write `count` as a product, with a -1 now and then.
static Sizes factored(Random &r, int64_t count) {
  Sizes sizes;
  int64_t rest = count;
  for (int64_t at = r.between(0, 3); at > 0; --at) {
    int64_t factor = 1;
    for (int64_t candidate : {r.between(1, 6), r.between(1, 4), r.between(1, 2)})
      if (rest && rest % candidate == 0)
        factor = candidate;
    if (rest == 0)
      factor = r.between(0, 3);
    sizes.push_back(factor);
    rest = rest ? rest / factor : 0;
  }
  if (rest != 1 || r.chance(0.3))
    sizes.push_back(rest);
  std::shuffle(sizes.begin(), sizes.end(), std::mt19937_64(r.below(1000)));
  if (!sizes.empty() && r.chance(0.4))
    sizes[r.below(sizes.size())] = -1;
  if (!sizes.empty() && r.chance(0.03))
    sizes[r.below(sizes.size())] = r.pick<int64_t>({-1, -2, 7});
  return sizes;
}

static Args reshaped(Random &r) {
  Tensor self = tensor(r);
  int64_t count = 1;
  for (int64_t size : self.sizes)
    count *= size;
  return {self, factored(r, count)};
}

/// A tensor, and the part of it that dim, start, end and step pick.
struct Slice {
  explicit Slice(Random &r) : whole{r.sizes(1, 3), r.floats()}, dim(r.dim(whole.rank())) {
    int64_t at = std::clamp<int64_t>(dim < 0 ? dim + whole.rank() : dim, 0, whole.rank() - 1), size = whole.sizes[at];
    start = r.between(0, size);
    end = r.between(start, size);
    step = r.pick<int64_t>({1, 1, 2});
    part = whole;
    part.sizes[at] = (end - start + step - 1) / step;
    part.sizes = r.spoiled(part.sizes);
  }

  Tensor whole, part;
  int64_t dim, start, end, step;
};

static Arg bound(Random &r, int64_t size) {
  return maybe(r, r.chance(0.2) ? r.pick<int64_t>({INT64_MAX, 0, 100, -100}) : r.between(-size - 1, size + 1), 0.85);
}

std::vector<Generator> viewGenerators() {
  std::vector<Generator> table;
  for (const char *op : {"view", "reshape"})
    table.push_back({op, reshaped});
  table.push_back({"flatten", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, maybe(r, r.dim(self.rank())), maybe(r, r.dim(self.rank()))};
                   }});
  table.push_back({"unflatten", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank());
                     return Args{self, dim, factored(r, sizeOf(self, dim))};
                   }});
  table.push_back({"unsqueeze", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, r.dim(self.rank() + 1)};
                   }});
  table.push_back({"squeeze", [](Random &r) { return Args{tensor(r)}; }});
  table.push_back({"squeeze_dim", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, r.dim(self.rank())};
                   }});
  table.push_back({"squeeze_dims", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, r.dims(self.rank())};
                   }});
  table.push_back({"permute", [](Random &r) {
                     Tensor self = tensor(r);
                     Sizes order(self.rank());
                     std::iota(order.begin(), order.end(), 0);
                     std::shuffle(order.begin(), order.end(), std::mt19937_64(r.below(1000)));
                     for (int64_t &dim : order)
                       dim -= r.chance(0.3) ? self.rank() : 0;
                     return Args{self, r.spoiled(order)};
                   }});
  table.push_back({"transpose", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, r.dim(self.rank()), r.dim(self.rank())};
                   }});
  table.push_back({"t", [](Random &r) { return Args{tensor(r, 0, r.chance(0.1) ? 3 : 2)}; }});
  table.push_back({"flip", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, r.dims(self.rank())};
                   }});
  table.push_back({"roll", [](Random &r) {
                     Tensor self = withDims(r);
                     Sizes dims = r.dims(self.rank()), shifts(dims.empty() ? 1 : dims.size(), 2);
                     return Args{self, shifts, dims};
                   }});
  table.push_back({"expand", [](Random &r) {
                     Tensor self = tensor(r, 0, 3);
                     Sizes sizes;
                     for (int64_t size : self.sizes)
                       sizes.push_back(r.chance(0.2) ? -1 : size == 1 ? r.size() : size);
                     for (int64_t added = r.between(0, 2); added > 0; --added)
                       sizes.insert(sizes.begin(), r.size());
                     return Args{self, r.spoiled(sizes)};
                   }});
  table.push_back({"expand_as", [](Random &r) {
                     Tensor other = tensor(r);
                     return Args{Tensor{r.broadcastable(other.sizes), r.any()}, other};
                   }});
  table.push_back({"broadcast_tensors", [](Random &r) {
                     Tensor first = tensor(r);
                     std::vector<std::optional<Tensor>> tensors = {first};
                     for (int64_t more = r.between(0, 2); more > 0; --more)
                       tensors.push_back(Tensor{r.broadcastable(first.sizes), r.any()});
                     return Args{tensors};
                   }});
  table.push_back({"repeat", [](Random &r) {
                     Tensor self = tensor(r, 0, 3);
                     Sizes repeats(self.rank() + (r.chance(0.05) ? -1 : r.between(0, 2)) + (self.rank() == 0));
                     for (int64_t &count : repeats)
                       count = r.pick<int64_t>({0, 1, 1, 2, 3});
                     return Args{self, r.spoiled(repeats, 0.02)};
                   }});
  table.push_back({"repeat_interleave", [](Random &r) {
                     Tensor self = tensor(r);
                     return Args{self, r.pick<int64_t>({0, 1, 2, 3}), maybe(r, r.dim(self.rank()), 0.7)};
                   }});
  for (const char *op : {"pad", "constant_pad_nd"})
    table.push_back({op, [](Random &r) {
                       Tensor self{r.sizes(0, 3), r.any()};
                       Sizes pads(2 * r.between(0, self.rank()) + r.chance(0.03));
                       for (int64_t &pad : pads)
                         pad = r.pick<int64_t>({0, 0, 1, 2, -1});
                       return Args{self, pads};
                     }});
  table.push_back({"cat", [](Random &r) {
                     Tensor first = withDims(r);
                     int64_t dim = r.dim(first.rank());
                     std::vector<std::optional<Tensor>> tensors;
                     for (int64_t count = r.between(1, 3); count > 0; --count) {
                       Tensor next = first;
                       int64_t at = dim < 0 ? dim + first.rank() : dim;
                       if (at >= 0 && at < first.rank())
                         next.sizes[at] = r.size();
                       next.sizes = r.spoiled(next.sizes);
                       if (r.chance(0.1))
                         next.sizes = {0}; // passed over
                       if (r.chance(0.4))
                         next.dtype = r.any();
                       tensors.push_back(next);
                     }
                     return Args{tensors, dim};
                   }});
  table.push_back({"stack", [](Random &r) {
                     Tensor first = tensor(r, 0, 3);
                     std::vector<std::optional<Tensor>> tensors;
                     for (int64_t count = r.between(1, 3); count > 0; --count)
                       tensors.push_back(Tensor{r.spoiled(first.sizes), r.chance(0.7) ? first.dtype : r.any()});
                     return Args{tensors, r.dim(first.rank() + 1)};
                   }});
  table.push_back({"select", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank()), size = sizeOf(self, dim);
                     return Args{self, dim, r.between(-size - r.chance(0.05), std::max<int64_t>(size - 1, 0))};
                   }});
  table.push_back({"slice", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank()), size = sizeOf(self, dim);
                     int64_t step = r.chance(0.02) ? 0 : r.pick<int64_t>({1, 1, 2, 3});
                     return Args{self, dim, bound(r, size), bound(r, size), maybe(r, step)};
                   }});
  table.push_back({"narrow", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank()), size = sizeOf(self, dim);
                     int64_t start = r.between(-size, size), first = start < 0 ? start + size : start;
                     return Args{self, dim, start, r.between(0, std::max<int64_t>(size - first, 0) + r.chance(0.05))};
                   }});
  table.push_back({"split", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank());
                     return Args{self, r.chance(0.03) ? r.pick<int64_t>({0, -1}) : r.between(1, 7), dim};
                   }});
  table.push_back({"split_with_sizes", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank()), rest = sizeOf(self, dim);
                     Sizes parts;
                     for (int64_t count = r.between(0, 2); count > 0; --count) {
                       parts.push_back(r.between(0, rest));
                       rest -= parts.back();
                     }
                     parts.push_back(rest);
                     return Args{self, r.spoiled(parts), dim};
                   }});
  table.push_back({"chunk", [](Random &r) {
                     Tensor self = withDims(r);
                     return Args{self, r.chance(0.03) ? 0 : r.between(1, 6), r.dim(self.rank())};
                   }});
  table.push_back({"unbind", [](Random &r) {
                     Tensor self = withDims(r);
                     // No results can be told from none: dims of size 0 are left out.
                     int64_t dim = r.dim(self.rank());
                     int64_t at = dim < 0 ? dim + self.rank() : dim;
                     if (at >= 0 && at < self.rank() && self.sizes[at] == 0)
                       self.sizes[at] = 2;
                     return Args{self, dim};
                   }});
  for (const char *op : {"triu", "tril"})
    table.push_back({op, [](Random &r) { return Args{withDims(r, 2), maybe(r, r.between(-2, 2))}; }});
  table.push_back({"slice_scatter", [](Random &r) {
                     Slice s(r);
                     return Args{s.whole, s.part, s.dim, s.start, s.end, s.step};
                   }});
  table.push_back({"unfold", [](Random &r) {
                     Tensor self = withDims(r);
                     int64_t dim = r.dim(self.rank()), size = sizeOf(self, dim);
                     return Args{self, dim, r.between(r.chance(0.03) ? -1 : 0, size + r.chance(0.05)),
                                 r.between(r.chance(0.03) ? 0 : 1, 3)};
                   }});
  table.push_back({"unfold_backward", [](Random &r) {
                     Tensor whole{r.sizes(1, 3), r.floats()};
                     int64_t dim = r.below(whole.rank()), size = r.between(0, whole.sizes[dim]), step = r.between(1, 3);
                     Tensor windows = whole;
                     windows.sizes[dim] = (whole.sizes[dim] - size) / step + 1;
                     windows.sizes.push_back(size);
                     return Args{windows, whole.sizes, dim, size, step}; // the kernel compares no sizes
                   }});
  table.push_back({"slice_backward", [](Random &r) {
                     Slice s(r);
                     return Args{s.part, s.whole.sizes, s.dim, s.start, s.end, s.step};
                   }});
  table.push_back({"select_backward", [](Random &r) {
                     Tensor whole{r.sizes(1, 3), r.floats()};
                     int64_t dim = r.dim(whole.rank()), at = dim < 0 ? dim + whole.rank() : dim;
                     at = std::clamp<int64_t>(at, 0, whole.rank() - 1);
                     int64_t size = whole.sizes[at];
                     Tensor part = whole;
                     part.sizes.erase(part.sizes.begin() + at);
                     return Args{Tensor{r.spoiled(part.sizes), part.dtype}, whole.sizes, dim,
                                 r.between(-size, std::max<int64_t>(size - 1, 0))};
                   }});
  return table;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

std::vector<Generator> creationGenerators() {
  std::vector<Generator> table;
  table.push_back({"arange", [](Random &r) { return Args{r.between(-1, 8), orAbsent(r.maybeDtype())}; }});
  table.push_back(
      {"arange_start", [](Random &r) { return Args{r.between(-4, 4), r.between(3, 8), orAbsent(r.maybeDtype())}; }});
  table.push_back({"arange_start_step", [](Random &r) {
                     int64_t start = r.between(-4, 4), end = r.between(-4, 8);
                     int64_t step = r.between(1, 3) * (end < start || r.chance(0.03) ? -1 : 1);
                     return Args{start, end, step, orAbsent(r.maybeDtype())};
                   }});
  for (const char *op : {"zeros", "ones"})
    table.push_back({op, [](Random &r) { return Args{r.spoiled(r.sizes(0, 4), 0.02), orAbsent(r.maybeDtype())}; }});
  table.push_back({"rand", [](Random &r) { return Args{r.spoiled(r.sizes(0, 4), 0.02), maybe(r, r.chance(0.1) ? r.any() : r.floats())}; }});
  table.push_back({"full", [](Random &r) { return Args{r.sizes(0, 4), r.number(), orAbsent(r.maybeDtype())}; }});
  for (const char *op : {"new_zeros", "new_ones"})
    table.push_back({op, [](Random &r) { return Args{tensor(r), r.sizes(0, 4), orAbsent(r.maybeDtype())}; }});
  table.push_back(
      {"new_full", [](Random &r) { return Args{tensor(r), r.sizes(0, 4), r.number(), orAbsent(r.maybeDtype())}; }});
  for (const char *op : {"zeros_like", "ones_like"})
    table.push_back({op, [](Random &r) { return Args{tensor(r), orAbsent(r.maybeDtype())}; }});
  table.push_back({"full_like", [](Random &r) { return Args{tensor(r), r.number(), orAbsent(r.maybeDtype())}; }});
  return table;
}

} // namespace braid::oracle
