//===- ShapeOracleGatherScatter.cpp - Random reads and writes by index or mask ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

namespace braid::oracle {

/// Index 0 everywhere: valid wherever the dim is not empty.
static Tensor indices(Random &r, Sizes sizes) { return {std::move(sizes), r.indexType(), 0}; }

static int64_t frontDim(const Tensor &tensor, int64_t dim) {
  int64_t at = dim < 0 ? dim + tensor.rank() : dim;
  return std::clamp<int64_t>(at, 0, std::max<int64_t>(tensor.rank() - 1, 0));
}

/// self and indices of self[i, :, j].
static Args indexed(Random &r) {
  Tensor self{r.sizes(1, 4), r.any()};
  Sizes taken = r.sizes(0, 2);
  std::vector<std::optional<Tensor>> list;
  for (int64_t count = r.between(1, self.rank() + r.chance(0.03)); count > 0; --count)
    list.push_back(r.chance(0.4) ? std::nullopt : std::optional(indices(r, r.broadcastable(taken))));
  if (llvm::none_of(list, [](const auto &entry) { return entry.has_value(); }))
    list[r.below(list.size())] = indices(r, taken);
  for (auto [at, entry] : llvm::enumerate(list))
    if (entry && static_cast<int64_t>(at) < self.rank() && self.sizes[at] == 0)
      self.sizes[at] = 2;
  return {self, list};
}

/// What indexed() names, by ATen's own word.
static Sizes namedSizes(const Args &args) {
  const Tensor &self = std::get<Tensor>(args[0]);
  c10::List<std::optional<at::Tensor>> list;
  for (const auto &entry : std::get<std::vector<std::optional<Tensor>>>(args[1]))
    list.push_back(entry ? std::optional(at::zeros(entry->sizes, at::kLong)) : std::nullopt);
  try {
    return at::index(at::zeros(self.sizes), list).sizes().vec();
  } catch (const c10::Error &) {
    return {};
  }
}

/// self, dim and an index of the same rank, smaller than self.
static Args alongDim(Random &r, bool write) {
  Tensor self{r.sizes(0, 3), r.any()};
  int64_t dim = r.dim(self.rank()), at = frontDim(self, dim);
  for (int64_t &size : self.sizes)
    size = std::max<int64_t>(size, 1);
  Tensor index = indices(r, self.sizes);
  for (int64_t other = 0; other < self.rank(); ++other)
    index.sizes[other] = other == at && !write ? r.size() : r.between(0, self.sizes[other] + r.chance(0.02));
  return {self, dim, index};
}

static Args withMask(Random &r) {
  Tensor self{r.sizes(0, 3), r.any()};
  return {self, Tensor{r.broadcastable(self.sizes), r.chance(0.04) ? r.any() : c10::kBool}};
}

std::vector<Generator> gatherScatterGenerators() {
  std::vector<Generator> table;
  table.push_back({"embedding", [](Random &r) {
                     Sizes weight = r.spoiled({r.between(1, 6), r.size()});
                     return Args{Tensor{r.chance(0.03) ? Sizes{3} : weight, r.floats()}, indices(r, r.sizes(0, 3))};
                   }});
  table.push_back({"embedding_dense_backward", [](Random &r) {
                     Sizes index = r.sizes(0, 3), gradient = index;
                     gradient.push_back(r.size());
                     return Args{Tensor{gradient, r.pick({c10::kFloat, c10::kDouble})},
                                 Tensor{index, r.pick({c10::kLong, c10::kInt}), 0}, r.between(1, 6), int64_t(-1),
                                 r.chance(0.2)};
                   }});
  table.push_back({"index", indexed});
  table.push_back({"index_put", [](Random &r) {
                     Args args = indexed(r);
                     const Tensor &self = std::get<Tensor>(args[0]);
                     Tensor values{r.broadcastable(namedSizes(args)), r.chance(0.03) ? r.any() : self.dtype};
                     args.push_back(values);
                     args.push_back(r.chance(0.5));
                     return args;
                   }});
  table.push_back({"index_select", [](Random &r) {
                     Tensor self{r.sizes(0, 3), r.any()};
                     int64_t dim = r.dim(self.rank());
                     if (self.rank() && self.sizes[frontDim(self, dim)] == 0)
                       self.sizes[frontDim(self, dim)] = 2;
                     return Args{self, dim, indices(r, r.chance(0.03) ? Sizes{2, 2} : r.sizes(1, 1))};
                   }});
  table.push_back({"index_add", [](Random &r) {
                     Tensor self{r.sizes(1, 3), r.numbers()};
                     int64_t dim = r.dim(self.rank()), at = frontDim(self, dim);
                     self.sizes[at] = std::max<int64_t>(self.sizes[at], 1);
                     Tensor index = indices(r, r.sizes(1, 1)), source = self;
                     source.sizes[at] = index.sizes[0];
                     source.sizes = r.spoiled(source.sizes);
                     return Args{self, dim, index, source};
                   }});
  table.push_back({"gather", [](Random &r) { return alongDim(r, false); }});
  for (const char *op : {"scatter_add", "scatter"})
    table.push_back({op, [](Random &r) {
                       Args args = alongDim(r, true);
                       const Tensor &self = std::get<Tensor>(args[0]);
                       Tensor src{std::get<Tensor>(args[2]).sizes, r.chance(0.03) ? r.any() : self.dtype};
                       for (int64_t &size : src.sizes)
                         size += r.pick<int64_t>({0, 0, 1});
                       src.sizes = r.spoiled(src.sizes, 0.02);
                       args.push_back(src);
                       return args;
                     }});
  table.push_back({"scatter_value", [](Random &r) {
                     Args args = alongDim(r, true);
                     args.push_back(Number(int64_t(1)));
                     return args;
                   }});
  table.push_back({"one_hot", [](Random &r) {
                     return Args{Tensor{r.sizes(0, 3), r.chance(0.05) ? r.any() : c10::kLong, 0}, r.between(1, 5)};
                   }});
  table.push_back({"masked_fill_scalar", [](Random &r) {
                     Args args = withMask(r);
                     args.push_back(Number(int64_t(1)));
                     return args;
                   }});
  table.push_back({"masked_fill_tensor", [](Random &r) {
                     Args args = withMask(r);
                     const Tensor &self = std::get<Tensor>(args[0]);
                     args.push_back(Tensor{r.chance(0.05) ? Sizes{1} : Sizes(), r.chance(0.2) ? r.any() : self.dtype});
                     return args;
                   }});
  table.push_back({"masked_scatter", [](Random &r) {
                     Args args = withMask(r);
                     const Tensor &self = std::get<Tensor>(args[0]);
                     args.push_back(Tensor{{400}, r.chance(0.03) ? r.any() : self.dtype});
                     return args;
                   }});
  table.push_back({"masked_scatter_backward", [](Random &r) {
                     Tensor gradient{r.sizes(0, 3), r.floats()};
                     int64_t count = 1;
                     for (int64_t size : gradient.sizes)
                       count *= size;
                     return Args{gradient, Tensor{gradient.sizes, c10::kBool}, Sizes{count + r.between(0, 3)}};
                   }});
  return table;
}

} // namespace braid::oracle
