//===- ViewRewrites.cpp - Views and joins, respelt --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

/// The parts of `unsafe_` operators are no views: they may be updated in place.
template <const char *Name> static Answer apart(Aten &aten, const Call &call) {
  Item parts = aten.call(Name, call.args);
  std::vector<Item> copies;
  for (const Item &part : parts.list()->items)
    copies.push_back(aten.copyOf(part.tensor()));
  return Results{tensorList(copies)};
}
static constexpr char chunkName[] = "aten::chunk", splitName[] = "aten::split.Tensor",
                      splitSizesName[] = "aten::split_with_sizes";

/// repeat, with as many entries as dims.
static Answer tile(Aten &aten, const Call &call) {
  std::vector<Item> counts = call.args[1].list()->items;
  while (static_cast<int64_t>(counts.size()) < rankOf(aten, call.args[0]))
    counts.insert(counts.begin(), c10::IValue(1));
  return Results{aten.call("aten::repeat", {call.args[0], makeList(c10::IntType::get(), std::move(counts))})};
}

static Answer moveDims(Aten &aten, const Call &call) {
  int64_t rank = rankOf(aten, call.args[0]);
  auto dimsOf = [&](const Item &item) {
    std::vector<int64_t> dims;
    for (const Item &entry : item.list() ? item.list()->items : std::vector<Item>{item})
      dims.push_back(aten.toInt(entry));
    for (int64_t &dim : dims)
      dim += dim < 0 ? rank : 0;
    return dims;
  };
  std::vector<int64_t> from = dimsOf(call.args[1]), to = dimsOf(call.args[2]), order(rank, -1);
  for (auto [source, place] : llvm::zip(from, to))
    order[place] = source;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(from, dim))
      *llvm::find(order, -1) = dim;
  return Results{aten.call("aten::permute", {call.args[0], makeInts(order)})};
}

/// vstack: along dim 0, of tensors that are rows or more.
static Answer stackRows(Aten &aten, const Call &call) {
  std::vector<Item> parts;
  for (Item part : call.args[0].list()->items) {
    while (rankOf(aten, part) < 2)
      part = aten.call("aten::unsqueeze", {part, c10::IValue(0)});
    parts.push_back(part);
  }
  return Results{aten.call("aten::cat", {tensorList(parts), c10::IValue(0)})};
}

/// hstack: along dim 1, of vectors along their only dim.
static Answer stackColumns(Aten &aten, const Call &call) {
  std::vector<Item> parts;
  for (Item part : call.args[0].list()->items)
    parts.push_back(rankOf(aten, part) ? part : aten.call("aten::unsqueeze", {part, c10::IValue(0)}));
  int64_t dim = parts.empty() || rankOf(aten, parts.front()) == 1 ? 0 : 1;
  return Results{aten.call("aten::cat", {tensorList(parts), c10::IValue(dim)})};
}

/// At given places, or in parts of which the first are one longer where the size does not divide.
static Answer tensorSplit(Aten &aten, const Call &call) {
  Tensor &self = *call.args[0].tensor();
  int64_t dim = aten.toInt(call.args[2]);
  Item size = aten.emitter.sizeOf(self, dim < 0 ? dim + rankOf(aten, call.args[0]) : dim);
  std::vector<int64_t> ends;
  if (const ListItem *places = call.args[1].list()) {
    for (const Item &place : places->items)
      ends.push_back(aten.toInt(place));
  } else {
    int64_t all = aten.toInt(size), parts = aten.toInt(call.args[1]);
    if (parts < 1)
      return std::nullopt;
    for (int64_t part = 1, end = 0; part < parts; ++part)
      ends.push_back(end += all / parts + (part <= all % parts ? 1 : 0));
  }
  std::vector<Item> parts;
  int64_t start = 0;
  auto slice = [&](int64_t from, Item to) {
    parts.push_back(
        aten.call("aten::slice.Tensor", {call.args[0], c10::IValue(dim), c10::IValue(from), to, c10::IValue(1)}));
  };
  for (int64_t end : ends) {
    slice(start, c10::IValue(end));
    start = end;
  }
  slice(start, Item());
  return Results{tensorList(parts)};
}

/// Each expanded by itself: a gradient for one of them is none for the others.
static Answer broadcastTensors(Aten &aten, const Call &call) {
  const std::vector<Item> &tensors = call.args[0].list()->items;
  int64_t rank = 0;
  for (const Item &tensor : tensors)
    rank = std::max(rank, rankOf(aten, tensor));
  std::vector<Item> sizes(rank, c10::IValue(1));
  auto isOne = [](const Item &size) { return size.constant() && size.constant()->toInt() == 1; };
  for (const Item &tensor : tensors)
    for (int64_t dim = 0, own = rankOf(aten, tensor); dim < own; ++dim)
      if (Item &size = sizes[rank - own + dim]; isOne(size))
        size = aten.emitter.sizeOf(*tensor.tensor(), dim);
  std::vector<Item> results;
  for (const Item &tensor : tensors) {
    bool same = rankOf(aten, tensor) == rank;
    for (int64_t dim = 0; same && dim < rank; ++dim)
      same = aten.emitter.valueOf(aten.emitter.sizeOf(*tensor.tensor(), dim)) == aten.emitter.valueOf(sizes[dim]);
    results.push_back(same ? tensor : aten.call("aten::expand", {tensor, makeList(c10::IntType::get(), sizes)}));
  }
  return Results{tensorList(results)};
}

/// gather, where the other dims broadcast.
static Answer takeAlong(Aten &aten, const Call &call) {
  if (!call.args[2].isInt() || rankOf(aten, call.args[0]) != rankOf(aten, call.args[1]))
    return std::nullopt;
  int64_t rank = rankOf(aten, call.args[0]), dim = aten.toInt(call.args[2]);
  dim += dim < 0 ? rank : 0;
  auto spread = [&](const Item &tensor, const Item &other) {
    std::vector<Item> sizes;
    for (int64_t at = 0; at < rank; ++at) {
      Item own = aten.emitter.sizeOf(*tensor.tensor(), at), its = aten.emitter.sizeOf(*other.tensor(), at);
      bool one = own.constant() && own.constant()->toInt() == 1;
      sizes.push_back(at != dim && one ? its : own);
    }
    return aten.call("aten::expand", {tensor, makeList(c10::IntType::get(), sizes)});
  };
  return Results{aten.call("aten::gather",
                           {spread(call.args[0], call.args[1]), c10::IValue(dim), spread(call.args[1], call.args[0])})};
}

void addViewRewrites(Rewrites &table) {
  const std::pair<const char *, Answer (*)(Aten &, const Call &)> entries[] = {
      {"aten::unsafe_chunk", apart<chunkName>},
      {"aten::unsafe_split.Tensor", apart<splitName>},
      {"aten::unsafe_split_with_sizes", apart<splitSizesName>},
      {"aten::tile", tile},
      {"aten::movedim.int", moveDims},
      {"aten::movedim.intlist", moveDims},
      {"aten::moveaxis.int", moveDims},
      {"aten::moveaxis.intlist", moveDims},
      {"aten::vstack", stackRows},
      {"aten::hstack", stackColumns},
      {"aten::tensor_split.sections", tensorSplit},
      {"aten::tensor_split.indices", tensorSplit},
      {"aten::broadcast_tensors", broadcastTensors},
      {"aten::take_along_dim", takeAlong},
  };
  for (const auto &[name, rewrite] : entries)
    table[name] = rewrite;
}

} // namespace braid::torchscript
