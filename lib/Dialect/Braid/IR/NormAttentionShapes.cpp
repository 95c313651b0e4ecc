//===- NormAttentionShapes.cpp - Shapes of softmax, normalisation and attention ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult softmax(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  if (!in.failed())
    in.dim(getArgument<IntegerAttr>(op, "dim").getInt(), self.rank());
  if (auto dtype = getArgument<TypeAttr>(op, "dtype"))
    self.elementType = dtype.getValue();
  in.floating("self", self);
  if (!in.failed())
    results.push_back(self);
  return failure(in.failed());
}

LogicalResult halfSoftmax(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  in.floating("self", self);
  if (!in.failed())
    in.dim(getArgument<IntegerAttr>(op, "dim").getInt(), self.rank());
  if (in.failed())
    return failure();
  if (getFlag(op, "half_to_float")) {
    if (!self.elementType.isF16())
      return op->emitOpError() << "with half_to_float takes f16, not " << self.elementType;
    self.elementType = defaultFloat(op);
  }
  results.push_back(self);
  return success();
}

LogicalResult softmaxBackward(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op->getOperand(0)), output = in.shape(op->getOperand(1));
  if (!in.failed())
    in.dim(getArgument<IntegerAttr>(op, "dim").getInt(), output.rank());
  in.sameElementType({{"grad_output", gradient}, {"output", output}});
  if (!in.failed() && !in.equal(gradient.dims, output.dims))
    in.error() << "has a gradient of shape " << str(gradient) << " for an output of " << str(output);
  if (auto dtype = getArgument<TypeAttr>(op, "input_dtype"))
    output.elementType = dtype.getValue();
  if (!in.failed())
    results.push_back(output);
  return failure(in.failed());
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

/// Checks that the input's last dims are `normalized`, and that weight and bias have just these.
static void checkNormalized(Reader &in, const TensorShape &input, const Dims &normalized, Value weight, Value bias) {
  in.floating("input", input);
  if (in.failed())
    return;
  int64_t count = normalized.size();
  if (count == 0 || count > input.rank() || !in.equal(ArrayRef(input.dims).take_back(count), normalized)) {
    in.error() << "normalises over " << str({normalized, input.elementType}) << ", but the input is " << str(input)
               << "; its last dims must be these";
    return;
  }
  for (auto [name, value] : {std::pair<StringRef, Value>{"weight", weight}, {"bias", bias}}) {
    if (!value)
      continue;
    TensorShape shape = in.shape(value);
    if (in.failed())
      return;
    if (!in.equal(shape.dims, normalized))
      in.error() << "has a " << name << " of shape " << str(shape) << " to normalise over "
                 << str({normalized, input.elementType});
    else if (shape.elementType != input.elementType &&
             !(shape.elementType.isF32() && input.elementType.getIntOrFloatBitWidth() == 16))
      in.error() << "has a " << name << " of " << shape.elementType << " for an input of " << input.elementType;
  }
}

LogicalResult layerNorm(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  AtenCall call = *getAtenCall(op);
  TensorShape input = in.shape(op->getOperand(0));
  Dims normalized = in.sizes(call.args[1].operands, llvm::cast<DenseI64ArrayAttr>(call.args[1].attr).asArrayRef());
  // rms_norm has no bias.
  Value weight, bias;
  for (const AtenArg &arg : ArrayRef(call.args).drop_front(2))
    if (arg.kind == ArgKind::OptionalTensor && !arg.operands.empty())
      (arg.name == "weight" ? weight : bias) = arg.operands.front();
  checkNormalized(in, input, normalized, weight, bias);
  if (!in.failed())
    results.push_back(input);
  return failure(in.failed());
}

LogicalResult nativeLayerNorm(NativeLayerNormOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape input = in.shape(op.getInput());
  Dims normalized = in.sizes(op.getNormalizedShape(), op.getStaticNormalizedShape());
  checkNormalized(in, input, normalized, op.getWeight(), op.getBias());
  if (in.failed())
    return failure();
  results.push_back(input);
  // Mean and 1/deviation keep the normalised dims as 1, in the parameters' type where that is wider.
  TensorShape moments = input;
  for (Expr &size : MutableArrayRef(moments.dims).take_back(normalized.size()))
    size = Expr(1);
  for (Value parameter : {op.getWeight(), op.getBias()})
    if (parameter)
      moments.elementType = in.shape(parameter).elementType;
  results.append(2, moments);
  return failure(in.failed());
}

/// The gradients of a norm's input, weight and bias, of which the op's output_mask names those that are wanted.
template <typename OpTy>
static LogicalResult normGradients(OpTy op, Reader &in, const TensorShape &gradient, const TensorShape &input,
                                   const TensorShape &parameter, Results &results) {
  std::optional<ArrayRef<bool>> mask = op.getOutputMask();
  if (!mask || mask->size() != 3)
    return op.emitOpError("needs an output_mask of three");
  if (!in.equal(gradient.dims, input.dims))
    return op.emitOpError() << "has a gradient of shape " << str(gradient) << " for an input of " << str(input);
  TensorShape absent{{Expr(0)}, input.elementType};
  results.push_back((*mask)[0] ? input : absent);
  results.push_back((*mask)[1] ? parameter : absent);
  results.push_back((*mask)[2] ? parameter : absent);
  return failure(in.failed());
}

LogicalResult nativeLayerNormBackward(NativeLayerNormBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOut()), input = in.shape(op.getInput());
  Dims normalized = in.sizes(op.getNormalizedShape(), op.getStaticNormalizedShape());
  checkNormalized(in, input, normalized, op.getWeight(), op.getBias());
  if (in.failed())
    return failure();
  Type parameterType = op.getWeight() ? in.shape(op.getWeight()).elementType : input.elementType;
  return normGradients(op, in, gradient, input, {normalized, parameterType}, results);
}

/// Checks an input [batch, channels, ...] and its tensors of one number a channel, absent ones aside. Gives their
/// element type: the input's, or float32 for an input of 16 bits.
static Type checkChannels(Reader &in, const TensorShape &input, ArrayRef<std::pair<StringRef, Value>> parameters) {
  in.floating("input", input);
  if (!in.failed() && input.rank() < 2)
    in.error() << "takes an input [batch, channels, ...], not " << str(input);
  Type type;
  for (auto [name, value] : parameters) {
    if (in.failed() || !value)
      continue;
    TensorShape shape = in.shape(value);
    if (!in.failed() && (shape.rank() != 1 || !in.equal(shape.dims[0], input.dims[1])))
      in.error() << "has a " << name << " of shape " << str(shape) << " for an input of " << str(input)
                 << "; it has one number for each channel, " << input.dims[1].str();
    else if (!in.failed() &&
             (type ? shape.elementType != type
                   : shape.elementType != input.elementType &&
                         !(shape.elementType.isF32() && input.elementType.getIntOrFloatBitWidth() == 16)))
      in.error() << "has a " << name << " of " << shape.elementType << " for an input of " << input.elementType
                 << (type ? " and other parameters of another type" : "");
    type = shape.elementType;
  }
  return type ? type : input.elementType;
}

LogicalResult nativeBatchNorm(NativeBatchNormOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape input = in.shape(op.getInput());
  Type type = checkChannels(in, input,
                            {{"weight", op.getWeight()},
                             {"bias", op.getBias()},
                             {"running_mean", op.getRunningMean()},
                             {"running_var", op.getRunningVar()}});
  if (in.failed())
    return failure();
  bool training = op.getTraining();
  if (training && (op.getRunningMean() || op.getRunningVar()))
    return op.emitOpError("would update its running statistics: in training it takes none, and their new values are "
                          "states of their own");
  if (!training && !(op.getRunningMean() && op.getRunningVar()))
    return op.emitOpError("needs running_mean and running_var where it does not train");
  if (training && input.numElements().constant() == 0)
    return op.emitOpError() << "takes means of an empty input, " << str(input);
  results.push_back(input);
  results.append(2, {{training ? input.dims[1] : Expr(0)}, type});
  return success();
}

LogicalResult nativeBatchNormBackward(NativeBatchNormBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOut()), input = in.shape(op.getInput());
  Type type = checkChannels(in, input,
                            {{"weight", op.getWeight()},
                             {"running_mean", op.getRunningMean()},
                             {"running_var", op.getRunningVar()},
                             {"save_mean", op.getSaveMean()},
                             {"save_invstd", op.getSaveInvstd()}});
  if (in.failed())
    return failure();
  return normGradients(op, in, gradient, input, {{input.dims[1]}, type}, results);
}

LogicalResult groupNorm(GroupNormOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape input = in.shape(op.getInput());
  checkChannels(in, input, {{"weight", op.getWeight()}, {"bias", op.getBias()}});
  if (in.failed())
    return failure();
  int64_t groups = op.getNumGroups();
  if (groups < 1 || !in.equal(Expr::floorDiv(input.dims[1], Expr(groups)) * Expr(groups), input.dims[1]))
    return op.emitOpError() << "cannot divide the " << input.dims[1].str() << " channels of " << str(input) << " into "
                            << groups << " groups";
  for (const Expr &size : ArrayRef(input.dims).drop_front())
    if (size.constant() == 0)
      return op.emitOpError() << "normalises over nothing: the input is " << str(input);
  results.push_back(input);
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The kernel for the CPU neither broadcasts batches and heads nor checks them.
static LogicalResult checkFlashShapes(Reader &in, ValueRange tensors) {
  SmallVector<TensorShape> shapes = in.shapes(tensors);
  if (in.failed())
    return failure();
  for (const TensorShape &shape : shapes) {
    if (shape.rank() != 4)
      return in.error() << "takes tensors [batch, heads, length, size], not " << str(shape);
    if (!in.equal(ArrayRef(shape.dims).take_front(2), ArrayRef(shapes.front().dims).take_front(2)))
      return in.error() << "takes tensors of the same batch and heads, not " << str(shapes.front()) << " and "
                        << str(shape);
  }
  return success();
}

/// [..., L, E], [..., S, E], [..., S, V] and a mask that fits [..., L, S] give [..., L, V].
static FailureOr<TensorShape> attention(Reader &in, Value queryValue, Value keyValue, Value valueValue, Value mask,
                                        bool groupedQueries) {
  TensorShape query = in.shape(queryValue), key = in.shape(keyValue), value = in.shape(valueValue);
  in.floating("query", query);
  in.sameElementType({{"query", query}, {"key", key}, {"value", value}});
  if (in.failed())
    return failure();
  auto mismatch = [&]() -> InFlightDiagnostic {
    return in.error() << "has query " << str(query) << ", key " << str(key) << " and value " << str(value);
  };
  for (const TensorShape *shape : {&query, &key, &value})
    if (shape->rank() < 2 || (groupedQueries && shape->rank() < 3))
      return mismatch() << "; each needs at least the dims [length, size]";
  auto length = [](const TensorShape &shape) -> const Expr & { return shape.dims[shape.rank() - 2]; };
  if (!in.equal(query.dims.back(), key.dims.back()))
    return mismatch() << "; query and key must be equal in the last dim";
  if (!in.equal(length(key), length(value)))
    return mismatch() << "; key and value must be equal in the dim before the last";

  SmallVector<TensorShape> batches;
  for (const TensorShape *shape : {&query, &key, &value}) {
    TensorShape batch{Dims(ArrayRef(shape->dims).drop_back(2)), shape->elementType};
    if (groupedQueries && shape != &query) {
      // Each head of key and value serves a group of query heads.
      const Expr &heads = query.dims[query.rank() - 3], &shared = batch.dims.back();
      bool empty = shared.constant() == 0;
      if (empty ? heads.constant() != 0 : !in.equal(Expr::floorDiv(heads, shared) * shared, heads))
        return mismatch() << "; the query's heads must be a multiple of the key's and the value's";
      batch.dims.back() = heads;
    }
    batches.push_back(batch);
  }
  TensorShape result{in.broadcast(batches), query.elementType};
  if (in.failed())
    return failure();
  if (mask) {
    TensorShape maskShape = in.shape(mask);
    if (in.failed())
      return failure();
    Dims scores = result.dims;
    scores.append({length(query), length(key)});
    if (!in.fits(maskShape.dims, scores))
      return in.error() << "has a mask of shape " << str(maskShape) << " for scores of "
                        << str({scores, query.elementType});
    if (!isBool(maskShape.elementType) && maskShape.elementType != query.elementType && !maskShape.elementType.isF32())
      return in.error() << "has a mask of " << maskShape.elementType << "; masks are i1 or " << query.elementType;
  }
  result.dims.append({length(query), value.dims.back()});
  return result;
}

LogicalResult scaledDotProductAttention(ScaledDotProductAttentionOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  FailureOr<TensorShape> result =
      attention(in, op.getQuery(), op.getKey(), op.getValue(), op.getAttnMask(), op.getEnableGqa());
  if (failed(result))
    return failure();
  if (op.getAttnMask() && op.getIsCausal())
    return op.emitOpError("has a mask and is causal; a causal attention takes none");
  results.push_back(*result);
  return success();
}

LogicalResult flashAttentionForCpu(FlashAttentionForCpuOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  if (failed(checkFlashShapes(in, {op.getQuery(), op.getKey(), op.getValue()})))
    return failure();
  TensorShape query = in.shape(op.getQuery());
  FailureOr<TensorShape> result = attention(in, op.getQuery(), op.getKey(), op.getValue(), op.getAttnMask(), false);
  if (failed(result))
    return failure();
  results.push_back(*result);
  // One logarithm for each row of scores, in the type that sums are taken in.
  Type sums = query.elementType.getIntOrFloatBitWidth() == 16 ? defaultFloat(op) : query.elementType;
  results.push_back({Dims(ArrayRef(query.dims).drop_back()), sums});
  return success();
}

LogicalResult flashAttentionForCpuBackward(FlashAttentionForCpuBackwardOp op, ShapeAnalysis &analysis,
                                           Results &results) {
  Reader in(op, analysis);
  if (failed(checkFlashShapes(in, {op.getQuery(), op.getKey(), op.getValue()})))
    return failure();
  FailureOr<TensorShape> output = attention(in, op.getQuery(), op.getKey(), op.getValue(), op.getAttnMask(), false);
  if (failed(output))
    return failure();
  TensorShape gradient = in.shape(op.getGradOut());
  if (!in.failed() && !in.equal(gradient.dims, output->dims))
    in.error() << "has a gradient of shape " << str(gradient) << " for an output of " << str(*output);
  results.append(in.shapes({op.getQuery(), op.getKey(), op.getValue()}));
  return failure(in.failed());
}

} // namespace braid::shapes
