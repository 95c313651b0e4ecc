//===- ContractionShapes.cpp - Shapes of matrix products and convolutions ===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

static bool expectRank(Reader &in, StringRef name, const TensorShape &shape, int64_t rank) {
  if (!in.failed() && shape.rank() != rank)
    in.error() << "takes '" << name << "' of rank " << rank << ", not " << str(shape);
  return !in.failed();
}

/// The inner sizes of a product.
static void checkInner(Reader &in, const TensorShape &left, const TensorShape &right, const Expr &a, const Expr &b) {
  if (!in.failed() && !in.equal(a, b))
    in.error() << "cannot multiply " << str(left) << " with " << str(right) << ": " << a.str() << " and " << b.str()
               << " differ";
}

static LogicalResult matrixProduct(Reader &in, StringRef leftName, Value left, StringRef rightName, Value right,
                                   bool batched, TensorShape &result) {
  TensorShape a = in.shape(left), b = in.shape(right);
  in.sameElementType({{leftName, a}, {rightName, b}});
  int64_t rank = batched ? 3 : 2;
  if (!expectRank(in, leftName, a, rank) || !expectRank(in, rightName, b, rank))
    return failure();
  if (batched && !in.equal(a.dims[0], b.dims[0])) {
    in.error() << "has batches of different sizes: " << str(a) << " and " << str(b);
    return failure();
  }
  checkInner(in, a, b, a.dims[rank - 1], b.dims[rank - 2]);
  result = {a.dims, a.elementType};
  result.dims[rank - 1] = b.dims[rank - 1];
  return failure(in.failed());
}

LogicalResult mm(MmOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  return matrixProduct(in, "self", op.getSelf(), "mat2", op.getMat2(), false, results.emplace_back());
}

LogicalResult bmm(BmmOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  return matrixProduct(in, "self", op.getSelf(), "mat2", op.getMat2(), true, results.emplace_back());
}

/// A product to which `self` is added.
static LogicalResult addProduct(Reader &in, Value self, StringRef leftName, Value left, StringRef rightName,
                                Value right, bool batched, Results &results) {
  TensorShape product, added = in.shape(self);
  if (failed(matrixProduct(in, leftName, left, rightName, right, batched, product)))
    return failure();
  in.sameElementType({{leftName, product}, {"self", added}});
  if (!in.failed() && !in.fits(added.dims, product.dims))
    in.error() << "cannot expand 'self', " << str(added) << ", to the product's " << str(product);
  results.push_back(product);
  return failure(in.failed());
}

LogicalResult addmm(AddmmOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  return addProduct(in, op.getSelf(), "mat1", op.getMat1(), "mat2", op.getMat2(), false, results);
}

LogicalResult baddbmm(BaddbmmOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  return addProduct(in, op.getSelf(), "batch1", op.getBatch1(), "batch2", op.getBatch2(), true, results);
}

LogicalResult matmul(MatmulOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape a = in.shape(op.getSelf()), b = in.shape(op.getOther());
  in.sameElementType({{"self", a}, {"other", b}});
  if (in.failed())
    return failure();
  if (a.rank() == 0 || b.rank() == 0)
    return op.emitOpError() << "takes tensors of rank 1 or more, not " << str(a) << " and " << str(b);
  // A vector is a row on the left and a column on the right; its added dim goes away again.
  bool row = a.rank() == 1, column = b.rank() == 1;
  checkInner(in, a, b, a.dims.back(), column ? b.dims[0] : b.dims[b.rank() - 2]);
  if (in.failed())
    return failure();
  TensorShape left{Dims(ArrayRef(a.dims).drop_back(row ? 1 : 2)), a.elementType};
  TensorShape right{Dims(ArrayRef(b.dims).drop_back(column ? 1 : 2)), b.elementType};
  TensorShape result{in.broadcast({left, right}), a.elementType};
  if (!row)
    result.dims.push_back(a.dims[a.rank() - 2]);
  if (!column)
    result.dims.push_back(b.dims.back());
  results.push_back(result);
  return failure(in.failed());
}

LogicalResult linear(LinearOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape input = in.shape(op.getInput()), weight = in.shape(op.getWeight());
  in.sameElementType({{"input", input}, {"weight", weight}});
  if (in.failed())
    return failure();
  if (input.rank() == 0 || weight.rank() == 0 || weight.rank() > 2)
    return op.emitOpError() << "takes a weight of rank 1 or 2 and an input of rank 1 or more, not " << str(weight)
                            << " and " << str(input);
  if (!in.equal(input.dims.back(), weight.dims.back()))
    return op.emitOpError() << "cannot apply a weight of shape " << str(weight) << " to an input of shape "
                            << str(input) << ": the last dims, " << weight.dims.back().str() << " and "
                            << input.dims.back().str() << ", differ";
  TensorShape result = input;
  result.dims.pop_back();
  if (weight.rank() == 2)
    result.dims.push_back(weight.dims[0]);
  if (op.getBias()) {
    TensorShape bias = in.shape(op.getBias());
    in.sameElementType({{"input", input}, {"bias", bias}});
    if (!in.failed() && !in.fits(bias.dims, result.dims))
      in.error() << "cannot add a bias of shape " << str(bias) << " to " << str(result);
  }
  results.push_back(result);
  return failure(in.failed());
}

LogicalResult cdist(CdistOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape x1 = in.shape(op.getX1()), x2 = in.shape(op.getX2());
  in.floating("x1", x1);
  in.sameElementType({{"x1", x1}, {"x2", x2}});
  if (in.failed())
    return failure();
  if (x1.rank() < 2 || x2.rank() < 2 || !in.equal(x1.dims.back(), x2.dims.back()))
    return op.emitOpError() << "takes distances between rows of equal length, not of " << str(x1) << " and " << str(x2);
  if (op.getP().convertToDouble() < 0)
    return op.emitOpError() << "takes distances by the norm of order " << op.getP().convertToDouble()
                            << "; it is not negative";
  TensorShape lead1{Dims(ArrayRef(x1.dims).drop_back(2)), x1.elementType},
      lead2{Dims(ArrayRef(x2.dims).drop_back(2)), x2.elementType};
  TensorShape result{in.broadcast({lead1, lead2}), x1.elementType};
  result.dims.append({x1.dims[x1.rank() - 2], x2.dims[x2.rank() - 2]});
  results.push_back(result);
  return failure(in.failed());
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// One entry for each spatial dim; a single entry stands for all.
static bool spread(Reader &in, StringRef name, Dims &list, int64_t count) {
  if (static_cast<int64_t>(list.size()) == 1)
    list.resize(count, list.front());
  if (!in.failed() && static_cast<int64_t>(list.size()) != count)
    in.error() << "has " << list.size() << " entries in '" << name << "' for " << count << " spatial dims";
  return !in.failed();
}

/// The result of the convolution that the op is or differentiates.
template <typename OpTy>
static FailureOr<TensorShape> convolve(Reader &in, OpTy op, const TensorShape &input, const TensorShape &weight) {
  Dims stride = in.sizes(op.getStride(), op.getStaticStride()), pad = in.sizes(op.getPadding(), op.getStaticPadding()),
       dilation = in.sizes(op.getDilation(), op.getStaticDilation()),
       extra = in.sizes(op.getOutputPadding(), op.getStaticOutputPadding());
  Expr groups = in.size(op.getGroups(), op.getStaticGroups()).value_or(Expr(1));
  in.sameElementType({{"input", input}, {"weight", weight}});
  int64_t spatial = weight.rank() - 2;
  if (in.failed())
    return failure();
  if (spatial < 1 || input.rank() != weight.rank())
    return in.error() << "takes an input [batch, channels, ...] and a weight of the same rank, not " << str(input)
                      << " and " << str(weight);
  if (!spread(in, "stride", stride, spatial) || !spread(in, "padding", pad, spatial) ||
      !spread(in, "dilation", dilation, spatial) || !spread(in, "output_padding", extra, spatial))
    return failure();

  Expr taken = op.getTransposed() ? weight.dims[0] : weight.dims[1] * groups;
  Expr given = op.getTransposed() ? weight.dims[1] * groups : weight.dims[0];
  if (!in.equal(input.dims[1], taken))
    return in.error() << "has a weight of shape " << str(weight) << " and " << groups.str() << " groups, for inputs of "
                      << taken.str() << " channels, but the input is " << str(input);
  if (groups.constant().value_or(1) < 1 ||
      (weight.dims[0].constant() && groups.constant() && *weight.dims[0].constant() % *groups.constant() != 0))
    return in.error() << "cannot divide a weight of shape " << str(weight) << " into " << groups.str() << " groups";

  TensorShape result{{input.dims[0], given}, input.elementType};
  for (int64_t at = 0; at < spatial; ++at) {
    if (stride[at].constant().value_or(1) < 1 || dilation[at].constant().value_or(1) < 1)
      return in.error() << "has a stride of " << stride[at].str() << " and a dilation of " << dilation[at].str()
                        << " in spatial dim " << at << "; both are positive";
    if (pad[at].constant().value_or(0) < 0)
      return in.error() << "has a padding of " << pad[at].str() << " in spatial dim " << at;
    const Expr &size = input.dims[at + 2];
    Expr reach = dilation[at] * (weight.dims[at + 2] - Expr(1)), both = pad[at] + pad[at];
    Expr out = op.getTransposed() ? (size - Expr(1)) * stride[at] - both + reach + extra[at] + Expr(1)
                                  : Expr::floorDiv(size + both - reach - Expr(1), stride[at]) + Expr(1);
    if (out.constant().value_or(1) < (op.getTransposed() ? 0 : 1))
      return in.error() << "has a weight of shape " << str(weight) << " that does not fit the padded input, "
                        << str(input) << " with " << pad[at].str() << " on each side of spatial dim " << at;
    result.dims.push_back(out);
  }
  return result;
}

LogicalResult convolution(ConvolutionOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  FailureOr<TensorShape> result = convolve(in, op, in.shape(op.getInput()), in.shape(op.getWeight()));
  if (failed(result))
    return failure();
  if (op.getBias()) {
    TensorShape bias = in.shape(op.getBias());
    in.sameElementType({{"input", *result}, {"bias", bias}});
    if (!in.failed() && (bias.rank() != 1 || !in.equal(bias.dims[0], result->dims[1])))
      in.error() << "has a bias of shape " << str(bias) << " for " << result->dims[1].str() << " channels";
  }
  results.push_back(*result);
  return failure(in.failed());
}

LogicalResult convolutionBackward(ConvolutionBackwardOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op.getGradOutput()), input = in.shape(op.getInput()),
              weight = in.shape(op.getWeight());
  Dims bias = in.sizes(op.getBiasSizes(), op.getStaticBiasSizes());
  FailureOr<TensorShape> output = convolve(in, op, input, weight);
  if (failed(output))
    return failure();
  std::optional<ArrayRef<bool>> mask = op.getOutputMask();
  if (!mask || mask->size() != 3)
    return op.emitOpError("needs an output_mask of three");
  if (!in.equal(gradient.dims, output->dims))
    return op.emitOpError() << "has a gradient of shape " << str(gradient) << " for an output of " << str(*output);
  TensorShape biasShape{bias, weight.elementType}, absent{{Expr(0)}, input.elementType};
  results.push_back((*mask)[0] ? input : absent);
  results.push_back((*mask)[1] ? weight : absent);
  results.push_back((*mask)[2] ? biasShape : absent);
  return success();
}

} // namespace braid::shapes
