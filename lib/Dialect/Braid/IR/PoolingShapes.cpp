//===- PoolingShapes.cpp - Shapes of pooling, resampling, windows ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

using namespace mlir;

namespace braid::shapes {

int64_t getSpatialRank(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name.contains("1d") ? 1 : name.contains("3d") ? 3 : 2;
}

/// An image has a dim of channels, in front of it perhaps the batch, and its spatial dims; all but the batch hold
/// something.
static bool checkImage(Reader &in, const TensorShape &image, int64_t spatial, bool mayLackBatch = true) {
  if (in.failed())
    return false;
  bool hasBatch = image.rank() == spatial + 2;
  bool fits = hasBatch || (mayLackBatch && image.rank() == spatial + 1);
  for (int64_t dim = hasBatch ? 1 : 0; fits && dim < image.rank(); ++dim)
    fits = image.dims[dim].constant() != 0;
  if (!fits)
    in.error() << "takes an image [" << (mayLackBatch ? "batch (may be absent)" : "batch") << ", channels, " << spatial
               << " spatial dims], none of them but the batch empty, not " << str(image);
  return fits;
}

/// One entry for each spatial dim; a single entry serves all. `absent` where the list is absent or empty.
static SmallVector<int64_t> spatialEntries(Reader &in, StringRef name, int64_t count, ArrayRef<int64_t> absent) {
  auto list = getArgument<DenseI64ArrayAttr>(in.op, name);
  SmallVector<int64_t> entries(list && !list.empty() ? list.asArrayRef() : absent);
  if (entries.size() == 1)
    entries.resize(count, entries.front());
  if (!in.failed() && static_cast<int64_t>(entries.size()) != count)
    in.error() << "has " << entries.size() << " entries in '" << name << "' for " << count << " spatial dims";
  return entries;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// Windows of `kernel` elements that are `dilation` apart, at every `stride`, over an image with `padding` at both
/// ends.
struct Windows {
  SmallVector<int64_t> kernel, stride, padding, dilation;

  Windows(Reader &in, int64_t spatial) {
    kernel = spatialEntries(in, "kernel_size", spatial, {});
    stride = spatialEntries(in, "stride", spatial, kernel);
    padding = spatialEntries(in, "padding", spatial, {0});
    dilation = spatialEntries(in, "dilation", spatial, {1});
    for (int64_t at = 0; !in.failed() && at < spatial; ++at)
      if (kernel[at] < 1 || stride[at] < 1 || dilation[at] < 1 || padding[at] < 0)
        in.error() << "has a kernel of " << kernel[at] << ", a stride of " << stride[at] << ", a dilation of "
                   << dilation[at] << " and a padding of " << padding[at] << " in spatial dim " << at
                   << "; the first three are positive, the last is not negative";
  }

  int64_t reach(int64_t at) const { return dilation[at] * (kernel[at] - 1); }

  /// How many windows fit along a dim. With `ceil` the last one may reach past the end if it begins before the padding
  /// there.
  FailureOr<Expr> count(Reader &in, int64_t at, const Expr &size, bool ceil) const {
    Expr span = size + Expr(2 * padding[at] - reach(at) - 1);
    Expr count = Expr::floorDiv(span + Expr(ceil ? stride[at] - 1 : 0), Expr(stride[at])) + Expr(1);
    if (ceil) {
      std::optional<bool> begins =
          in.isNonNegative(size + Expr(padding[at] - 1) - (count - Expr(1)) * Expr(stride[at]));
      if (!begins)
        return in.error() << "with ceil_mode has a last window that begins where no example says: the size is "
                          << size.str();
      if (!*begins)
        count = count - Expr(1);
    }
    if (count.constant().value_or(1) < 1)
      return in.error() << "has a window of " << reach(at) + 1 << " that does not fit spatial dim " << at << " of size "
                        << size.str() << " with " << padding[at] << " on each side";
    return count;
  }
};
} // namespace

/// What the pool that `in` reads, or whose backward operator it reads, makes of `self`.
static FailureOr<TensorShape> pooled(Reader &in, const TensorShape &self) {
  int64_t spatial = getSpatialRank(in.op);
  Windows windows(in, spatial);
  if (!checkImage(in, self, spatial))
    return failure();
  if (auto divisor = getArgument<IntegerAttr>(in.op, "divisor_override"); divisor && divisor.getInt() == 0)
    return in.error() << "divides by a divisor_override of 0";
  TensorShape result = self;
  for (int64_t at = 0; at < spatial; ++at) {
    Expr &size = result.dims[self.rank() - spatial + at];
    if (windows.padding[at] > (windows.reach(at) + 1) / 2)
      return in.error() << "has a padding of " << windows.padding[at] << " in spatial dim " << at
                        << ", more than half of its window of " << windows.reach(at) + 1;
    if (isa<AvgPool3dOp, AvgPool3dBackwardOp>(in.op) && (size - Expr(windows.kernel[at])).constant().value_or(0) < 0)
      return in.error() << "has a window of " << windows.kernel[at] << " that is larger than spatial dim " << at
                        << " of " << str(self) << "; its operator does not count the padding";
    FailureOr<Expr> count = windows.count(in, at, size, getFlag(in.op, "ceil_mode"));
    if (failed(count))
      return failure();
    size = *count;
  }
  return result;
}

/// Of a pool of maxima: where they are in the image.
static void addIndices(Operation *op, TensorShape shape, Results &results) {
  shape.elementType = i64(op);
  results.push_back(shape);
}

LogicalResult pool(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  FailureOr<TensorShape> result = pooled(in, in.shape(op->getOperand(0)));
  if (failed(result))
    return failure();
  results.push_back(*result);
  if (isa<MaxPool2dWithIndicesOp, MaxPool3dWithIndicesOp>(op))
    addIndices(op, *result, results);
  return success();
}

/// A gradient and, of maxima, indices have the shape of what the forward operator gave.
static LogicalResult checkGradient(Reader &in, const TensorShape &gradient, ArrayRef<Expr> output) {
  if (!in.failed() && !in.equal(gradient.dims, output))
    in.error() << "has a gradient of shape " << str(gradient) << " for an output of "
               << str({Dims(output), gradient.elementType});
  for (Value operand : in.op->getOperands().drop_front(2)) {
    TensorShape indices = in.shape(operand);
    if (!in.failed() && (!indices.elementType.isInteger(64) || !in.equal(indices.dims, output)))
      in.error() << "has indices " << str(indices) << " of " << indices.elementType << " for an output of "
                 << str({Dims(output), gradient.elementType}) << "; they are i64";
  }
  return failure(in.failed());
}

LogicalResult poolBackward(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op->getOperand(0)), self = in.shape(op->getOperand(1));
  in.sameElementType({{"grad_output", gradient}, {"self", self}});
  FailureOr<TensorShape> output = pooled(in, self);
  if (failed(output) || failed(checkGradient(in, gradient, output->dims)))
    return failure();
  results.push_back(self);
  return success();
}

//===----------------------------------------------------------------------===//
// To a given size
//===----------------------------------------------------------------------===//

LogicalResult adaptivePool(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op->getOperand(0));
  int64_t spatial = getSpatialRank(op);
  Dims sizes;
  AtenCall call = *getAtenCall(op);
  const AtenArg &output = call.args[1];
  if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(output.attr))
    sizes = in.sizes(output.operands, list.asArrayRef());
  if (!checkImage(in, self, spatial))
    return failure();
  bool valid = static_cast<int64_t>(sizes.size()) == spatial;
  for (const Expr &size : sizes)
    valid &= size.constant().value_or(0) >= 0;
  if (!valid)
    return op->emitOpError() << "needs an output_size of " << spatial << " sizes, none negative, not "
                             << str({sizes, self.elementType});
  llvm::copy(sizes, self.dims.end() - spatial);
  results.push_back(self);
  if (isa<AdaptiveMaxPool2dOp, AdaptiveMaxPool3dOp>(op))
    addIndices(op, self, results);
  return success();
}

LogicalResult adaptivePoolBackward(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op->getOperand(0)), self = in.shape(op->getOperand(1));
  in.sameElementType({{"grad_output", gradient}, {"self", self}});
  int64_t spatial = getSpatialRank(op);
  if (!checkImage(in, self, spatial) || !checkImage(in, gradient, spatial))
    return failure();
  Dims output(ArrayRef(self.dims).drop_back(spatial));
  llvm::append_range(output, ArrayRef(gradient.dims).take_back(spatial));
  if (failed(checkGradient(in, gradient, output)))
    return failure();
  results.push_back(self);
  return success();
}

//===----------------------------------------------------------------------===//
// Resampling
//===----------------------------------------------------------------------===//

static Dims sizeArgument(Reader &in, unsigned number) {
  AtenCall call = *getAtenCall(in.op);
  return in.sizes(call.args[number].operands, cast<DenseI64ArrayAttr>(call.args[number].attr).asArrayRef());
}

/// The shape of `input` with other spatial sizes.
static FailureOr<TensorShape> resampled(Reader &in, const TensorShape &input, ArrayRef<Expr> sizes) {
  int64_t spatial = getSpatialRank(in.op);
  if (!checkImage(in, input, spatial, /*mayLackBatch=*/false))
    return failure();
  bool valid = static_cast<int64_t>(sizes.size()) == spatial;
  for (const Expr &size : sizes)
    valid &= size.constant().value_or(1) > 0;
  if (!valid)
    return in.error() << "needs an output_size of " << spatial << " positive sizes, not "
                      << str({Dims(sizes), input.elementType});
  TensorShape result = input;
  llvm::copy(sizes, result.dims.end() - spatial);
  return result;
}

LogicalResult upsample(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  FailureOr<TensorShape> result = resampled(in, in.shape(op->getOperand(0)), sizeArgument(in, 1));
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

LogicalResult upsampleBackward(Operation *op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape gradient = in.shape(op->getOperand(0)), input{sizeArgument(in, 2), gradient.elementType};
  FailureOr<TensorShape> output = resampled(in, input, sizeArgument(in, 1));
  if (failed(output))
    return failure();
  if (!in.equal(gradient.dims, output->dims))
    return op->emitOpError() << "has a gradient of shape " << str(gradient) << " for an output of " << str(*output);
  results.push_back(input);
  return success();
}

LogicalResult gridSampler(GridSamplerOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape input = in.shape(op.getInput()), grid = in.shape(op.getGrid());
  in.floating("input", input);
  in.sameElementType({{"input", input}, {"grid", grid}});
  if (in.failed())
    return failure();
  int64_t rank = input.rank();
  if (rank < 4 || rank > 5 || grid.rank() != rank || !in.equal(grid.dims.back(), Expr(rank - 2)) ||
      !in.equal(input.dims[0], grid.dims[0]))
    return op.emitOpError() << "takes an image [batch, channels, 2 or 3 spatial dims] and a grid [batch, as many "
                            << "spatial dims, coordinates], not " << str(input) << " and " << str(grid);
  for (const Expr &size : ArrayRef(input.dims).drop_front(2))
    if (size.constant() == 0)
      return op.emitOpError() << "samples an empty image, " << str(input);
  constexpr int64_t bicubic = 2;
  if (rank == 5 && op.getInterpolationMode() == bicubic)
    return op.emitOpError("is bicubic, which there is for two spatial dims only");
  llvm::copy(ArrayRef(grid.dims).drop_front().drop_back(), input.dims.begin() + 2);
  results.push_back(input);
  return success();
}

//===----------------------------------------------------------------------===//
// Windows as columns
//===----------------------------------------------------------------------===//

/// The number of elements of a window, and how many windows an image has.
static FailureOr<std::pair<Expr, Expr>> columns(Reader &in, ArrayRef<Expr> image) {
  for (StringRef name : {"kernel_size", "dilation", "padding", "stride"})
    if (auto list = getArgument<DenseI64ArrayAttr>(in.op, name); !list || list.size() != 2)
      return in.error() << "needs two entries in '" << name << "'";
  Windows windows(in, 2);
  if (in.failed())
    return failure();
  Expr elements(1), count(1);
  for (int64_t at = 0; at < 2; ++at) {
    FailureOr<Expr> along = windows.count(in, at, image[at], /*ceil=*/false);
    if (failed(along))
      return failure();
    elements = elements * Expr(windows.kernel[at]);
    count = count * *along;
  }
  return std::pair(elements, count);
}

LogicalResult im2col(Im2colOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  if (!checkImage(in, self, 2))
    return failure();
  auto sizes = columns(in, ArrayRef(self.dims).take_back(2));
  if (failed(sizes))
    return failure();
  self.dims.pop_back_n(2);
  self.dims.back() = self.dims.back() * sizes->first;
  self.dims.push_back(sizes->second);
  results.push_back(self);
  return success();
}

LogicalResult col2im(Col2imOp op, ShapeAnalysis &analysis, Results &results) {
  Reader in(op, analysis);
  TensorShape self = in.shape(op.getSelf());
  Dims image = in.sizes(op.getOutputSize(), op.getStaticOutputSize());
  if (!checkImage(in, self, 1))
    return failure();
  if (image.size() != 2 || image[0].constant().value_or(1) < 1 || image[1].constant().value_or(1) < 1)
    return op.emitOpError() << "needs an output_size of 2 positive sizes, not " << str({image, self.elementType});
  auto sizes = columns(in, image);
  if (failed(sizes))
    return failure();
  Expr &channels = self.dims[self.rank() - 2];
  Expr whole = Expr::floorDiv(channels, sizes->first);
  if (!in.equal(whole * sizes->first, channels) || !in.equal(self.dims.back(), sizes->second))
    return op.emitOpError() << "has columns of shape " << str(self) << " for windows of " << sizes->first.str()
                            << " elements, of which the image has " << sizes->second.str();
  channels = whole;
  self.dims.pop_back();
  llvm::append_range(self.dims, image);
  results.push_back(self);
  return success();
}

} // namespace braid::shapes
