//===- Factors.cpp - Factor maps of operators that compute --------------===//
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
using shapes::getFlag;
constexpr int whole = FactorMap::whole;

MapBuilder::MapBuilder(Operation *op, ShapeAnalysis &analysis) : op(op) {
  auto read = [&](Value tensor, SmallVectorImpl<TensorShape> &shapes, SmallVectorImpl<Factors> &factors) {
    FailureOr<TensorShape> shape = analysis.shapeOf(tensor);
    valid &= succeeded(shape);
    shapes.push_back(succeeded(shape) ? *shape : TensorShape());
    factors.emplace_back(shapes.back().dims.size(), whole);
  };
  AtenCall call = *getAtenCall(op);
  for (const AtenArg &arg : call.args) {
    if (!hasOperands(arg.kind) || arg.kind == ArgKind::SymInt || arg.kind == ArgKind::SymIntList)
      continue;
    if (!arg.operands.empty())
      firstOperand[arg.name] = operandShapes.size();
    for (Value tensor : arg.operands)
      read(tensor, operandShapes, map.operands);
  }
  for (Value tensor : op->getResults())
    read(tensor, resultShapes, map.results);
}

std::optional<unsigned> MapBuilder::find(StringRef name) const {
  auto at = firstOperand.find(name);
  return at == firstOperand.end() ? std::nullopt : std::optional<unsigned>(at->second);
}

Factors MapBuilder::freshFor(const TensorShape &shape) {
  Factors factors;
  for (size_t dim = 0; dim < shape.dims.size(); ++dim)
    factors.push_back(fresh());
  return factors;
}

Factors MapBuilder::broadcast(const TensorShape &from, const TensorShape &shape, ArrayRef<int> factors) {
  Factors result(from.dims.size(), whole);
  int64_t added = shape.rank() - from.rank();
  for (int64_t dim = std::max<int64_t>(-added, 0); dim < from.rank(); ++dim)
    if (!ShapeAnalysis::isOne(from.dims[dim]) || ShapeAnalysis::isOne(shape.dims[dim + added]))
      result[dim] = factors[dim + added];
  return result;
}

//===----------------------------------------------------------------------===//
// Elementwise, reductions
//===----------------------------------------------------------------------===//

std::optional<FactorMap> broadcast(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid() || map.numResults() == 0)
    return std::nullopt;
  Factors factors = map.freshFor(map.resultShape());
  for (unsigned number = 0; number < map.numResults(); ++number)
    map.result(number) = factors;
  for (unsigned number = 0; number < map.numOperands(); ++number)
    map.operand(number) = MapBuilder::broadcast(map.operandShape(number), map.resultShape(), factors);
  return map.build();
}

static std::optional<FactorMap> reduceDims(Operation *op, ShapeAnalysis &analysis, bool sums) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int64_t rank = map.operandShape(0).rank();
  SmallVector<bool> reduced(rank, true);
  auto list = getArgument<DenseI64ArrayAttr>(op, "dim");
  auto dim = getArgument<IntegerAttr>(op, "dim");
  if (dim || (list && !list.empty())) {
    reduced.assign(rank, false);
    for (int64_t at : dim ? SmallVector<int64_t>{dim.getInt()} : llvm::to_vector(list.asArrayRef()))
      if (rank)
        reduced[wrapDim(at, rank)] = true;
  }
  bool keep = getFlag(op, "keepdim");
  Factors kept;
  for (int64_t at = 0; at < rank; ++at) {
    if (!reduced[at])
      kept.push_back(map.operand(0)[at] = map.fresh());
    else if (sums)
      map.operand(0)[at] = map.fresh();
    if (reduced[at] && keep)
      kept.push_back(whole);
  }
  for (unsigned number = 0; number < map.numResults(); ++number)
    map.result(number) = kept;
  return map.build();
}

std::optional<FactorMap> reduce(Operation *op, ShapeAnalysis &analysis) { return reduceDims(op, analysis, true); }
std::optional<FactorMap> reduceWhole(Operation *op, ShapeAnalysis &analysis) { return reduceDims(op, analysis, false); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//
//
// Where a bias is added, the contracted dim is whole: each part of a divided sum would add the bias once more.

std::optional<FactorMap> mm(MmOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  int i = map.fresh(), k = map.fresh(), j = map.fresh();
  map.operand(0) = {i, k};
  map.operand(1) = {k, j};
  map.result() = {i, j};
  return map.build();
}

std::optional<FactorMap> bmm(BmmOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  int b = map.fresh(), i = map.fresh(), k = map.fresh(), j = map.fresh();
  map.operand(0) = {b, i, k};
  map.operand(1) = {b, k, j};
  map.result() = {b, i, j};
  return map.build();
}

std::optional<FactorMap> cdist(CdistOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors result = map.freshFor(map.resultShape());
  map.result() = result;
  for (unsigned number : {0u, 1u}) {
    Factors factors = result; // batch dims, then the row of one operand and the row of the other
    factors.erase(factors.end() - 1 - number);
    TensorShape rows = map.operandShape(number), all = map.resultShape();
    rows.dims.pop_back();
    all.dims.erase(all.dims.end() - 1 - number);
    map.operand(number) = MapBuilder::broadcast(rows, all, factors);
    map.operand(number).push_back(whole);
  }
  return map.build();
}

static std::optional<FactorMap> addProduct(MapBuilder &map, bool batched) {
  if (!map.isValid())
    return std::nullopt;
  Factors batch;
  if (batched)
    batch.push_back(map.fresh());
  int i = map.fresh(), j = map.fresh();
  auto with = [&](std::initializer_list<int> matrix) {
    Factors factors = batch;
    factors.append(matrix);
    return factors;
  };
  map.operand(1) = with({i, whole});
  map.operand(2) = with({whole, j});
  map.result() = with({i, j});
  map.operand(0) = MapBuilder::broadcast(map.operandShape(0), map.resultShape(), map.result());
  return map.build();
}

std::optional<FactorMap> addmm(AddmmOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return addProduct(map, false);
}

std::optional<FactorMap> baddbmm(BaddbmmOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return addProduct(map, true);
}

std::optional<FactorMap> matmul(MatmulOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  const TensorShape &a = map.operandShape(0), &b = map.operandShape(1);
  bool row = a.rank() == 1, column = b.rank() == 1;
  int k = map.fresh();
  Factors &result = map.result();
  for (int &factor : result)
    factor = map.fresh();
  size_t batches = result.size() - !row - !column;
  TensorShape batch{SmallVector<Expr, 4>(ArrayRef(map.resultShape().dims).take_front(batches)), a.elementType};
  auto leading = [&](const TensorShape &shape, bool vector) {
    TensorShape front{SmallVector<Expr, 4>(ArrayRef(shape.dims).drop_back(vector ? 1 : 2)), shape.elementType};
    return MapBuilder::broadcast(front, batch, ArrayRef(result).take_front(batches));
  };
  Factors left = leading(a, row), right = leading(b, column);
  if (!row)
    left.push_back(result[batches]);
  left.push_back(k);
  right.push_back(k);
  if (!column)
    right.push_back(result.back());
  map.operand(0) = left;
  map.operand(1) = right;
  return map.build();
}

std::optional<FactorMap> linear(LinearOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int k = op.getBias() ? whole : map.fresh();
  Factors &result = map.result();
  for (int &factor : result)
    factor = map.fresh();
  bool vector = map.operandShape(1).rank() == 1;
  Factors input = result;
  if (!vector)
    input.pop_back();
  input.push_back(k);
  map.operand(0) = input;
  map.operand(1) = vector ? Factors{k} : Factors{result.back(), k};
  if (op.getBias())
    map.operand(2) = MapBuilder::broadcast(map.operandShape(2), map.resultShape(), result);
  return map.build();
}

/// Whether a convolution's channels are a plain contraction.
template <typename OpTy> static bool hasOneGroup(OpTy op) {
  return !op.getGroups() && op.getStaticGroups().value_or(1) == 1;
}

std::optional<FactorMap> convolution(ConvolutionOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  map.operand(0)[0] = map.result()[0] = map.fresh();
  if (!hasOneGroup(op))
    return map.build();
  unsigned taken = op.getTransposed() ? 0 : 1;
  int out = map.fresh();
  map.result()[1] = map.operand(1)[1 - taken] = out;
  if (op.getBias())
    map.operand(2)[0] = out;
  else
    map.operand(0)[1] = map.operand(1)[taken] = map.fresh();
  return map.build();
}

std::optional<FactorMap> convolutionBackward(ConvolutionBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  std::optional<ArrayRef<bool>> mask = op.getOutputMask();
  if (!map.isValid() || !mask || mask->size() != 3)
    return std::nullopt;
  int batch = map.fresh();
  map.operand(0)[0] = map.operand(1)[0] = batch;
  if ((*mask)[0])
    map.result(0)[0] = batch;
  if (!hasOneGroup(op))
    return map.build();
  unsigned taken = op.getTransposed() ? 0 : 1;
  int in = map.fresh(), out = map.fresh();
  map.operand(0)[1] = map.operand(2)[1 - taken] = out;
  map.operand(1)[1] = map.operand(2)[taken] = in;
  if ((*mask)[0])
    map.result(0)[1] = in;
  if ((*mask)[1]) {
    map.result(1)[1 - taken] = out;
    map.result(1)[taken] = in;
  }
  if ((*mask)[2])
    map.result(2)[0] = out;
  return map.build();
}

//===----------------------------------------------------------------------===//
// Normalisation, attention
//===----------------------------------------------------------------------===//

/// Gives `lead` to the first dims of a tensor.
static void setLeading(Factors &factors, ArrayRef<int> lead) { llvm::copy(lead, factors.begin()); }

std::optional<FactorMap> norm(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  size_t normalized = getArgument<DenseI64ArrayAttr>(op, "static_normalized_shape").size();
  Factors lead = map.freshFor(map.operandShape(0));
  lead.pop_back_n(normalized);
  setLeading(map.operand(0), lead);
  for (unsigned number = 0; number < map.numResults(); ++number)
    setLeading(map.result(number), lead);
  return map.build();
}

std::optional<FactorMap> normBackward(NativeLayerNormBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  std::optional<ArrayRef<bool>> mask = op.getOutputMask();
  if (!map.isValid() || !mask || mask->size() != 3)
    return std::nullopt;
  Factors lead = map.freshFor(map.operandShape(1));
  lead.pop_back_n(op.getStaticNormalizedShape().size());
  for (unsigned number : {0, 1, 2, 3}) // grad_out, input, mean, rstd
    setLeading(map.operand(number), lead);
  if ((*mask)[0])
    setLeading(map.result(0), lead);
  return map.build();
}

/// Channels are each for themselves; so are all elements where the statistics are given. The means and deviations of
/// training have a dim of channels.
static void batchNormFactors(MapBuilder &map, bool training) {
  const TensorShape &input = map.operandShape(0);
  Factors factors = map.freshFor(input);
  if (training)
    for (auto [dim, factor] : llvm::enumerate(factors))
      if (dim != 1)
        factor = whole;
  auto assign = [&](const TensorShape &shape, Factors &target) {
    if (shape.rank() == input.rank())
      target = factors;
    else if (shape.dims[0] == input.dims[1])
      target[0] = factors[1];
  };
  for (unsigned number = 0; number < map.numOperands(); ++number)
    assign(map.operandShape(number), map.operand(number));
  for (unsigned number = 0; number < map.numResults(); ++number)
    assign(map.resultShape(number), map.result(number));
}

std::optional<FactorMap> batchNorm(NativeBatchNormOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (map.isValid())
    batchNormFactors(map, op.getTraining());
  return map.build();
}

std::optional<FactorMap> batchNormBackward(NativeBatchNormBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (map.isValid())
    batchNormFactors(map, op.getTrain());
  return map.build();
}

std::optional<FactorMap> groupNorm(GroupNormOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (map.isValid())
    map.operand(0)[0] = map.result()[0] = map.fresh();
  return map.build();
}

/// Batch and head dims are free; rows of scores need all keys, and causal ones their position.
static std::optional<FactorMap> attentionMap(MapBuilder &map, const TensorShape &output) {
  TensorShape batch{SmallVector<Expr, 4>(ArrayRef(output.dims).drop_back(2)), output.elementType};
  Factors lead = map.freshFor(batch);
  bool grouped = getFlag(map.op, "enable_gqa");
  auto assign = [&](const TensorShape &shape, Factors &factors, size_t trailing) {
    TensorShape front{SmallVector<Expr, 4>(ArrayRef(shape.dims).drop_back(std::min(trailing, shape.dims.size()))),
                      shape.elementType};
    setLeading(factors, MapBuilder::broadcast(front, batch, lead));
    // A head of key and value is the major part of a group of query heads.
    if (grouped && !front.dims.empty())
      factors[front.dims.size() - 1] = lead.back();
  };
  std::optional<unsigned> mask = map.find("attn_mask"), sums = map.find("logsumexp");
  for (unsigned number = 0; number < map.numOperands(); ++number)
    assign(map.operandShape(number), map.operand(number), number == sums ? 1 : 2);
  if (mask && grouped)
    map.operand(*mask).assign(map.operandShape(*mask).rank(), whole);
  bool backward = sums.has_value();
  for (unsigned number = 0; number < map.numResults(); ++number)
    assign(map.resultShape(number), map.result(number), !backward && number == 1 ? 1 : 2);
  return map.build();
}

std::optional<FactorMap> attention(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return map.isValid() ? attentionMap(map, map.resultShape()) : std::nullopt;
}

std::optional<FactorMap> attentionBackward(FlashAttentionForCpuBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  return map.isValid() ? attentionMap(map, map.operandShape(*map.find("out"))) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

std::optional<FactorMap> loss(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  // What the operands broadcast to; the result is that or its sum.
  TensorShape all = map.operandShape(0);
  for (unsigned number = 1; number < map.numOperands(); ++number) {
    const TensorShape &shape = map.operandShape(number);
    while (all.rank() < shape.rank())
      all.dims.insert(all.dims.begin(), Expr(1));
    for (int64_t dim = 1; dim <= shape.rank(); ++dim)
      if (Expr &size = all.dims[all.rank() - dim]; ShapeAnalysis::isOne(size))
        size = shape.dims[shape.rank() - dim];
  }
  Factors factors = map.freshFor(all);
  for (unsigned number = 0; number < map.numOperands(); ++number)
    map.operand(number) = MapBuilder::broadcast(map.operandShape(number), all, factors);
  if (map.resultShape().rank() == all.rank())
    map.result() = factors;
  return map.build();
}

/// Gives factors to scores [N, C, ...] and targets [N, ...]; the classes are whole.
static Factors classFactors(MapBuilder &map, unsigned scores, unsigned targets) {
  Factors factors = map.freshFor(map.operandShape(scores));
  unsigned classes = factors.size() == 1 ? 0 : 1;
  factors[classes] = whole;
  map.operand(scores) = factors;
  Factors rows = factors;
  rows.erase(rows.begin() + classes);
  // Targets are classes, or a probability for each class.
  map.operand(targets) = map.operandShape(targets).rank() == map.operandShape(scores).rank() ? factors : rows;
  return rows;
}

std::optional<FactorMap> classLoss(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors rows = classFactors(map, 0, 1);
  if (map.resultShape().rank() == static_cast<int64_t>(rows.size()))
    map.result() = rows;
  return map.build();
}

/// One sample is one column of the scores; labels in one list for all samples are whole.
std::optional<FactorMap> ctcLoss(CtcLossOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid() || map.operandShape(0).rank() != 3)
    return std::nullopt;
  int batch = map.fresh();
  map.operand(0)[1] = batch;
  if (map.operandShape(1).rank() == 2)
    map.operand(1)[0] = batch;
  map.operand(2)[0] = map.operand(3)[0] = batch;
  if (map.resultShape().rank() == 1)
    map.result()[0] = batch;
  return map.build();
}

std::optional<FactorMap> nllLossBackward(NllLossBackwardOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  Factors rows = classFactors(map, 1, 2);
  map.result() = map.operand(1);
  if (map.operandShape(0).rank() == static_cast<int64_t>(rows.size()))
    map.operand(0) = rows;
  return map.build();
}

std::optional<FactorMap> linearCrossEntropy(LinearCrossEntropyOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  // A row is by itself; the classes of one have a softmax in common.
  int rows = map.fresh();
  map.operand(0) = {rows, whole};
  map.operand(*map.find("target")) = {rows};
  map.result(1) = {rows, whole};
  return map.build();
}

} // namespace braid::factors
