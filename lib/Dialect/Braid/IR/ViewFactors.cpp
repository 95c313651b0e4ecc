//===- ViewFactors.cpp - Factor maps of operators that rearrange --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorRules.h"
#include "ShapeRules.h"

using namespace mlir;

namespace braid::factors {

using shapes::getArgument;
constexpr int whole = FactorMap::whole;

//===----------------------------------------------------------------------===//
// The same elements under other dims
//===----------------------------------------------------------------------===//

/// Gives the major dims of two groups with the same elements a common factor, if one of the sizes divides the other.
static void relate(MapBuilder &map, int64_t from, int64_t fromEnd, int64_t to, int64_t toEnd) {
  ArrayRef<Expr> a = map.operandShape(0).dims, b = map.resultShape().dims;
  while (from < fromEnd && ShapeAnalysis::isOne(a[from]))
    ++from;
  while (to < toEnd && ShapeAnalysis::isOne(b[to]))
    ++to;
  if (from == fromEnd || to == toEnd)
    return;
  if (a[from].exactQuotient(b[to]) || b[to].exactQuotient(a[from]))
    map.operand(0)[from] = map.result()[to] = map.fresh();
}

std::optional<FactorMap> view(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  ArrayRef<Expr> a = map.operandShape(0).dims, b = map.resultShape().dims;
  if (map.operandShape(0).numElements().constant() == 0)
    return map.build();
  // The smallest groups of neighbouring dims on both sides that hold the same elements.
  size_t from = 0, to = 0;
  while (from < a.size() && to < b.size()) {
    size_t fromEnd = from + 1, toEnd = to + 1;
    Expr left = a[from], right = b[to];
    while (!(left == right)) {
      bool growLeft = fromEnd < a.size() && (right.exactQuotient(left) || !left.exactQuotient(right));
      if (growLeft)
        left = left * a[fromEnd++];
      else if (toEnd < b.size())
        right = right * b[toEnd++];
      else
        return map.build(); // equal by a guard only
    }
    relate(map, from, fromEnd, to, toEnd);
    from = fromEnd;
    to = toEnd;
  }
  return map.build();
}

std::optional<FactorMap> unsqueeze(UnsqueezeOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  map.operand(0) = factors;
  factors.insert(factors.begin() + wrapDim(op.getDim(), map.resultShape().rank()), whole);
  map.result() = factors;
  return map.build();
}

std::optional<FactorMap> squeeze(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  // What is left are the dims of the operand in their order; those that went are of size 1.
  size_t at = 0, gone = map.operandShape(0).rank() - map.resultShape().rank();
  auto dims = getArgument<DenseI64ArrayAttr>(op, "dim");
  auto dim = getArgument<IntegerAttr>(op, "dim");
  for (auto [number, size] : llvm::enumerate(map.operandShape(0).dims)) {
    auto names = [&](int64_t entry) {
      return wrapDim(entry, map.operandShape(0).rank()) == static_cast<int64_t>(number);
    };
    bool named = dim ? names(dim.getInt()) : !dims || llvm::any_of(dims.asArrayRef(), names);
    if (gone && named && ShapeAnalysis::isOne(size))
      --gone;
    else
      map.operand(0)[number] = map.result()[at++] = map.fresh();
  }
  return map.build();
}

std::optional<FactorMap> permute(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  map.operand(0) = factors;
  for (auto [at, dim] : llvm::enumerate(shapes::getPermutation(op, factors.size())))
    map.result()[at] = factors[dim];
  return map.build();
}

//===----------------------------------------------------------------------===//
// Operators that mix elements along some dims
//===----------------------------------------------------------------------===//

/// Dims correspond one to one, but for those marked.
static std::optional<FactorMap> sameExcept(MapBuilder &map, function_ref<bool(int64_t)> mixed) {
  if (!map.isValid() || map.numOperands() == 0 || map.numResults() == 0)
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  for (auto [dim, factor] : llvm::enumerate(factors))
    if (mixed(dim))
      factor = whole;
  // cat passes over empty tensors of another rank.
  for (unsigned number = 0; number < map.numOperands(); ++number)
    if (map.operand(number).size() == factors.size())
      map.operand(number) = factors;
  for (unsigned number = 0; number < map.numResults(); ++number)
    if (map.result(number).size() == factors.size())
      map.result(number) = factors;
  return map.build();
}

std::optional<FactorMap> alongDim(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  auto attr = getArgument<IntegerAttr>(op, "dim");
  if (!attr && isa<RepeatInterleaveOp>(op))
    return map.build(); // flattened
  // Absent, it is the schema's default.
  int64_t dim = attr ? attr.getInt() : isa<SplitOp, SplitWithSizesOp, ChunkOp>(op) ? 0 : -1;
  dim = wrapDim(dim, map.operandShape(0).rank());
  return sameExcept(map, [&](int64_t at) { return at == dim; });
}

std::optional<FactorMap> alongDims(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  auto dims = getArgument<DenseI64ArrayAttr>(op, "dims");
  // roll without dims rolls the flattened tensor, flip without dims nothing.
  bool all = isa<RollOp>(op) && (!dims || dims.empty());
  return sameExcept(map, [&](int64_t at) {
    return all || (dims && llvm::any_of(dims.asArrayRef(),
                                        [&](int64_t dim) { return wrapDim(dim, map.operandShape(0).rank()) == at; }));
  });
}

std::optional<FactorMap> triangle(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return sameExcept(map, [&](int64_t at) { return at >= map.operandShape(0).rank() - 2; });
}

std::optional<FactorMap> cat(CatOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int64_t dim = wrapDim(op.getDim(), map.resultShape().rank());
  Factors factors = map.freshFor(map.resultShape());
  factors[dim] = whole;
  for (unsigned number = 0; number < map.numOperands(); ++number)
    if (map.operand(number).size() == factors.size())
      map.operand(number) = factors;
  map.result() = factors;
  return map.build();
}

std::optional<FactorMap> stack(StackOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  for (unsigned number = 0; number < map.numOperands(); ++number)
    map.operand(number) = factors;
  factors.insert(factors.begin() + wrapDim(op.getDim(), map.resultShape().rank()), whole);
  map.result() = factors;
  return map.build();
}

//===----------------------------------------------------------------------===//
// Dims that keep their size
//===----------------------------------------------------------------------===//

/// Dims of equal size correspond; the others are whole. `added` dims of the result have no counterpart.
static std::optional<FactorMap> sameWhereEqual(MapBuilder &map, int64_t added = 0) {
  if (!map.isValid())
    return std::nullopt;
  for (int64_t dim = 0; dim < map.operandShape(0).rank(); ++dim)
    if (map.operandShape(0).dims[dim] == map.resultShape().dims[dim + added])
      map.operand(0)[dim] = map.result()[dim + added] = map.fresh();
  return map.build();
}

std::optional<FactorMap> repeat(RepeatOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return sameWhereEqual(map, map.isValid() ? map.resultShape().rank() - map.operandShape(0).rank() : 0);
}

std::optional<FactorMap> pad(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  // Pads that add up to 0 may still move elements.
  auto pads = getArgument<DenseI64ArrayAttr>(op, "static_pad");
  return sameExcept(map, [&](int64_t at) {
    size_t pair = map.operandShape(0).rank() - 1 - at;
    return 2 * pair + 1 < static_cast<size_t>(pads.size()) && (pads[2 * pair] != 0 || pads[2 * pair + 1] != 0);
  });
}

std::optional<FactorMap> slice(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return sameWhereEqual(map);
}

std::optional<FactorMap> sliceScatter(SliceScatterOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  for (int64_t dim = 0; dim < map.resultShape().rank(); ++dim)
    if (map.operandShape(1).dims[dim] == map.resultShape().dims[dim])
      map.operand(0)[dim] = map.operand(1)[dim] = map.result()[dim] = map.fresh();
  return map.build();
}

std::optional<FactorMap> sliceBackward(SliceBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return sameWhereEqual(map);
}

/// A window's elements are a dim of their own; windows overlap.
std::optional<FactorMap> unfold(UnfoldOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  if (!factors.empty())
    factors[wrapDim(op.getDimension(), factors.size())] = whole;
  map.operand(0) = factors;
  factors.push_back(whole);
  map.result() = factors;
  return map.build();
}

std::optional<FactorMap> unfoldBackward(UnfoldBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.resultShape());
  if (!factors.empty())
    factors[wrapDim(op.getDim(), factors.size())] = whole;
  map.result() = factors;
  factors.push_back(whole);
  map.operand(0) = factors;
  return map.build();
}

std::optional<FactorMap> select(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  // unbind takes dim 0 where it names none.
  auto attr = getArgument<IntegerAttr>(op, "dim");
  int64_t dim = wrapDim(attr ? attr.getInt() : 0, map.operandShape(0).rank());
  Factors factors = map.freshFor(map.operandShape(0));
  factors[dim] = whole;
  map.operand(0) = factors;
  factors.erase(factors.begin() + dim);
  for (unsigned number = 0; number < map.numResults(); ++number)
    map.result(number) = factors;
  return map.build();
}

std::optional<FactorMap> selectBackward(SelectBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int64_t dim = wrapDim(op.getDim(), map.resultShape().rank());
  Factors factors = map.freshFor(map.resultShape());
  factors[dim] = whole;
  map.result() = factors;
  factors.erase(factors.begin() + dim);
  map.operand(0) = factors;
  return map.build();
}

//===----------------------------------------------------------------------===//
// Tensors from sizes
//===----------------------------------------------------------------------===//

std::optional<FactorMap> filled(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  map.result() = map.freshFor(map.resultShape());
  return map.build();
}

/// Each element depends on its position.
std::optional<FactorMap> position(Operation *op, ShapeAnalysis &analysis) { return MapBuilder(op, analysis).build(); }

//===----------------------------------------------------------------------===//
// Reading and writing by index
//===----------------------------------------------------------------------===//

std::optional<FactorMap> embedding(EmbeddingOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.resultShape());
  map.result() = factors;
  map.operand(0) = {whole, factors.back()};
  factors.pop_back();
  // The gradient then divides by how often a row occurs among all indices.
  if (!op.getScaleGradByFreq())
    map.operand(1) = factors;
  return map.build();
}

std::optional<FactorMap> embeddingDenseBackward(EmbeddingDenseBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  map.result() = {whole, factors.back()};
  if (op.getScaleGradByFreq()) {
    // The frequency of a row is taken over all indices.
    map.operand(0).back() = factors.back();
    return map.build();
  }
  map.operand(0) = factors;
  factors.pop_back();
  map.operand(1) = factors;
  return map.build();
}

/// Dims of self[indices] that no index names pass through; `target` are the factors of the indexed tensor, `taken`
/// those of the dims that the indices make.
static void indexFactors(MapBuilder &map, ArrayRef<bool> present, int64_t takenRank, bool dividesTaken, Factors &target,
                         Factors &taken) {
  Factors self = map.freshFor(map.operandShape(0));
  for (auto [dim, there] : llvm::enumerate(present))
    if (there)
      self[dim] = whole;
  map.operand(0) = self;
  for (int64_t dim = 0; dim < takenRank; ++dim)
    taken.push_back(dividesTaken ? map.fresh() : whole);
  // As in the shape rule: in place if all indices are neighbours, in front otherwise.
  auto there = [](bool present) { return present; };
  const bool *first = llvm::find_if(present, there);
  bool adjacent = std::none_of(std::find_if_not(first, present.end(), there), present.end(), there);
  if (!adjacent)
    target = taken;
  for (size_t dim = 0; dim < self.size(); ++dim) {
    if (adjacent && static_cast<int64_t>(dim) == first - present.begin())
      target.append(taken);
    if (dim >= present.size() || !present[dim])
      target.push_back(self[dim]);
  }
}

std::optional<FactorMap> index(IndexOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  ArrayRef<bool> present = op.getPresentIndices();
  int64_t count = llvm::count(present, true);
  int64_t takenRank = map.resultShape().rank() - (map.operandShape(0).rank() - count);
  Factors target, taken;
  indexFactors(map, present, takenRank, true, target, taken);
  map.result() = target;
  TensorShape takenShape{{}, map.resultShape().elementType};
  for (int factor : taken)
    takenShape.dims.push_back(map.resultShape().dims[llvm::find(target, factor) - target.begin()]);
  for (unsigned number = 1; number < map.numOperands(); ++number)
    map.operand(number) = MapBuilder::broadcast(map.operandShape(number), takenShape, taken);
  return map.build();
}

std::optional<FactorMap> indexPut(IndexPutOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int64_t takenRank = 0;
  for (unsigned number = 1; number + 1 < map.numOperands(); ++number) {
    Type type = map.operandShape(number).elementType;
    if (shapes::isBool(type) || type.isUnsignedInteger(8))
      return map.build();
    takenRank = std::max(takenRank, map.operandShape(number).rank());
  }
  Factors target, taken;
  indexFactors(map, op.getPresentIndices(), takenRank, false, target, taken);
  map.result() = map.operand(0);
  // Values broadcast to what the indices name.
  unsigned values = map.numOperands() - 1;
  const TensorShape &shape = map.operandShape(values);
  for (int64_t dim = 1; dim <= std::min<int64_t>(shape.rank(), target.size()); ++dim)
    if (!ShapeAnalysis::isOne(shape.dims[shape.rank() - dim]))
      map.operand(values)[shape.rank() - dim] = target[target.size() - dim];
  return map.build();
}

std::optional<FactorMap> indexSelect(IndexSelectOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.resultShape());
  map.result() = factors;
  if (factors.empty())
    return map.build();
  int64_t dim = wrapDim(op.getDim(), map.operandShape(0).rank());
  if (map.operandShape(1).rank() == 1)
    map.operand(1)[0] = factors[dim];
  else
    map.result()[dim] = whole;
  factors[dim] = whole;
  map.operand(0) = factors;
  return map.build();
}

std::optional<FactorMap> indexAdd(IndexAddOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  if (!factors.empty())
    factors[wrapDim(op.getDim(), map.operandShape(0).rank())] = whole;
  map.operand(0) = map.result() = factors;
  if (map.operand(2).size() == factors.size())
    map.operand(2) = factors;
  return map.build();
}

/// Dims other than `dim` correspond where index and tensors are equally large.
static std::optional<FactorMap> alongIndex(MapBuilder &map, int64_t dim, bool reads) {
  if (!map.isValid())
    return std::nullopt;
  const TensorShape &self = map.operandShape(0), &index = map.operandShape(1);
  if (self.rank() != index.rank() || self.rank() == 0)
    return map.build();
  dim = wrapDim(dim, self.rank());
  for (int64_t at = 0; at < self.rank(); ++at) {
    if (at == dim) {
      if (reads)
        map.operand(1)[at] = map.result()[at] = map.fresh();
      continue;
    }
    bool equal = self.dims[at] == index.dims[at];
    for (unsigned number = 2; number < map.numOperands(); ++number)
      equal &= map.operandShape(number).rank() == self.rank() && map.operandShape(number).dims[at] == self.dims[at];
    if (!equal)
      continue;
    int factor = map.fresh();
    for (unsigned number = 0; number < map.numOperands(); ++number)
      map.operand(number)[at] = factor;
    map.result()[at] = factor;
  }
  return map.build();
}

std::optional<FactorMap> gather(GatherAlongOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return alongIndex(map, op.getDim(), true);
}

std::optional<FactorMap> scatter(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return alongIndex(map, getArgument<IntegerAttr>(op, "dim").getInt(), false);
}

std::optional<FactorMap> oneHot(OneHotOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors factors = map.freshFor(map.operandShape(0));
  map.operand(0) = factors;
  factors.push_back(whole);
  map.result() = factors;
  return map.build();
}

} // namespace braid::factors
