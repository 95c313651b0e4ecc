//===- PoolingFactors.cpp - Factor maps of pooling, resampling, windows ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorRules.h"
#include "ShapeRules.h"

using namespace mlir;

namespace braid::factors {

/// Batch and channels are each for themselves; spatial dims are whole. The columns of im2col have one spatial dim, and
/// channels are the major part of their rows.
std::optional<FactorMap> image(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int64_t spatial = shapes::getSpatialRank(op);
  int64_t lead = map.operandShape(0).rank() - (isa<Col2imOp>(op) ? 1 : spatial);
  Factors factors;
  while (static_cast<int64_t>(factors.size()) < lead)
    factors.push_back(map.fresh());
  for (unsigned number = 0; number < map.numOperands(); ++number)
    llvm::copy(factors, map.operand(number).begin());
  for (unsigned number = 0; number < map.numResults(); ++number)
    llvm::copy(factors, map.result(number).begin());
  return map.build();
}

std::optional<FactorMap> gridSampler(GridSamplerOp op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  map.operand(0)[0] = map.operand(1)[0] = map.result()[0] = map.fresh();
  map.operand(0)[1] = map.result()[1] = map.fresh();
  for (int64_t dim = 2; dim < map.resultShape().rank(); ++dim)
    map.operand(1)[dim - 1] = map.result()[dim] = map.fresh();
  return map.build();
}

} // namespace braid::factors
