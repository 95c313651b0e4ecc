//===- RecurrentShapes.cpp - Shapes and factor maps of recurrent layers ---- -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorRules.h"
#include "ShapeRules.h"

using namespace mlir;

namespace braid {

/// The dim of the samples in the input and the output; in states it is 1.
static int64_t batchDim(Operation *op) { return shapes::getFlag(op, "batch_first") ? 0 : 1; }

namespace shapes {

LogicalResult recurrent(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  AtenCall call = *getAtenCall(op);
  bool isLstm = isa<LstmOp>(op);
  TensorShape input = in.shape(call.args[0].operands.front());
  SmallVector<TensorShape> states = in.shapes(call.args[1].operands), params = in.shapes(call.args[2].operands);
  int64_t layers = getArgument<IntegerAttr>(op, "num_layers").getInt();
  int64_t directions = getFlag(op, "bidirectional") ? 2 : 1, cells = layers * directions;
  in.floating("input", input);
  for (const TensorShape &state : states)
    in.sameElementType({{"input", input}, {"hx", state}});
  for (const TensorShape &param : params)
    in.sameElementType({{"input", input}, {"params", param}});
  if (in.failed())
    return failure();
  auto dropout = getArgument<FloatAttr>(op, "dropout");
  if (dropout && dropout.getValueAsDouble() != 0 && getFlag(op, "train") && layers > 1)
    return op->emitOpError("drops values between its layers, with random numbers that braid does not know; take one "
                           "layer after the other with braid.dropout between them");

  if (input.rank() != 3 || input.dims[1 - batchDim(op)].constant() == 0)
    return op->emitOpError() << "takes an input [steps, batch, features], or [batch, steps, features] with "
                             << "batch_first, of one step or more, not " << str(input);
  const Expr &batch = input.dims[batchDim(op)];
  bool fits = layers > 0 && states.size() == (isLstm ? 2 : 1);
  for (const TensorShape &state : states)
    fits = fits && state.rank() == 3 && in.equal(state.dims[0], Expr(cells)) && in.equal(state.dims[1], batch);
  std::string listed;
  for (const TensorShape &state : states)
    listed += (listed.empty() ? "" : ", ") + str(state);
  if (!fits)
    return op->emitOpError() << "takes " << (isLstm ? 2 : 1) << " initial states [" << cells << ", " << batch.str()
                             << ", features] for an input of shape " << str(input) << ", not "
                             << (listed.empty() ? "none" : listed);

  // For each cell: of the input and of the state a weight and, with biases, a bias; then lstm's projection.
  int64_t plain = getFlag(op, "has_biases") ? 4 : 2, given = params.size();
  bool projects = isLstm && given == cells * (plain + 1);
  if (!projects && given != cells * plain)
    return op->emitOpError() << "has " << given << " parameters for " << cells << " cells, which have " << plain
                             << " each";
  const Expr &size = states.back().dims[2], &output = states.front().dims[2];
  if (!projects && !in.equal(size, output))
    return op->emitOpError() << "has states of " << output.str() << " and " << size.str()
                             << " features, which differ only with a projection";
  Expr gates = Expr(isLstm ? 4 : isa<GruOp>(op) ? 3 : 1) * size;
  for (int64_t cell = 0; cell < cells; ++cell) {
    Expr features = cell < directions ? input.dims[2] : Expr(directions) * output;
    SmallVector<Dims> wanted = {{gates, features}, {gates, output}};
    if (plain == 4)
      wanted.append(2, Dims{gates});
    if (projects)
      wanted.push_back({output, size});
    for (auto [number, dims] : llvm::enumerate(wanted)) {
      const TensorShape &param = params[cell * wanted.size() + number];
      if (!in.equal(param.dims, dims))
        return op->emitOpError() << "has a parameter " << cell * wanted.size() + number << " of shape " << str(param)
                                 << " where states of " << size.str() << " features need "
                                 << str({dims, param.elementType});
    }
  }
  TensorShape steps = input;
  steps.dims[2] = Expr(directions) * output;
  results.push_back(steps);
  results.append(states.begin(), states.end());
  return failure(in.failed());
}

} // namespace shapes

namespace factors {

/// Samples are each for themselves; steps follow each other.
std::optional<FactorMap> recurrent(Operation *op, ShapeAnalysis &analysis) {
  MapBuilder map(op, analysis);
  if (!map.isValid())
    return std::nullopt;
  int batch = map.fresh();
  map.operand(0)[batchDim(op)] = map.result()[batchDim(op)] = batch;
  for (unsigned state = 1; state < map.numResults(); ++state)
    map.operand(state)[1] = map.result(state)[1] = batch;
  return map.build();
}

} // namespace factors

} // namespace braid
