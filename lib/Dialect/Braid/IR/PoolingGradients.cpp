//===- PoolingGradients.cpp - Gradients of pooling, resampling, windows ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operator has a backward operator, which takes its arguments after the cotangent. Of the image these ask for the
// shape alone: zeros stand for it, and the image itself need not be kept.
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"

using namespace mlir;

namespace braid::gradients {

LogicalResult pool(Operation *op, GradientBuilder &g) {
  Value self = op->getOperand(0);
  SmallVector<ArgValue> args = {g.cotangent(), zeros(g, g.shapeOf(self)), argument(op, "kernel_size"),
                                argumentOr(op, "stride", argument(op, "kernel_size")),
                                argumentOr(op, "padding", g.ints({0}))};
  if (op->getNumResults() == 2)
    args.append(
        {argumentOr(op, "dilation", g.ints({1})), argumentOr(op, "ceil_mode", g.boolean(false)), op->getResult(1)});
  else
    args.append({argumentOr(op, "ceil_mode", g.boolean(false)), argumentOr(op, "count_include_pad", g.boolean(true)),
                 argument(op, "divisor_override")});
  g.add(self, g.createNamed((op->getName().getStringRef() + "_backward").str(), args).front());
  return success();
}

LogicalResult adaptiveAvgPool(AdaptiveAvgPool2dOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<AdaptiveAvgPool2dBackwardOp>({g.cotangent(), zeros(g, g.shapeOf(op.getSelf()))}));
  return success();
}

LogicalResult adaptiveMaxPool(AdaptiveMaxPool2dOp op, GradientBuilder &g) {
  g.add(op.getSelf(),
        g.create<AdaptiveMaxPool2dBackwardOp>({g.cotangent(), zeros(g, g.shapeOf(op.getSelf())), op.getIndices()}));
  return success();
}

LogicalResult upsample(Operation *op, GradientBuilder &g) {
  Value self = op->getOperand(0);
  SmallVector<ArgValue> args = {g.cotangent(), argument(op, "output_size"), g.sizes(self)};
  AtenCall call = *getAtenCall(op);
  for (const AtenArg &option : ArrayRef(call.args).drop_front(2))
    args.push_back(argument(op, option.name));
  g.add(self, g.createNamed((op->getName().getStringRef() + "_backward").str(), args).front());
  return success();
}

// The sum of columns and the columns of an image are each other's transpose.
LogicalResult im2col(Im2colOp op, GradientBuilder &g) {
  Sizes image(ArrayRef(g.shapeOf(op.getSelf()).dims).take_back(2));
  g.add(op.getSelf(), g.create<Col2imOp>({g.cotangent(), g.sizes(image), argument(op, "kernel_size"),
                                          argument(op, "dilation"), argument(op, "padding"), argument(op, "stride")}));
  return success();
}

LogicalResult col2im(Col2imOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<Im2colOp>({g.cotangent(), argument(op, "kernel_size"), argument(op, "dilation"),
                                          argument(op, "padding"), argument(op, "stride")}));
  return success();
}

} // namespace braid::gradients
