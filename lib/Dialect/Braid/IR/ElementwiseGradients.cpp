//===- ElementwiseGradients.cpp - Gradients of elementwise operators ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/GradientRules.h"
#include "braid/Dialect/Braid/IR/Random.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace braid::gradients {

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

LogicalResult add(AddOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(dy, op.getSelf()));
  if (g.needs(op.getOther()))
    g.add(op.getOther(), scaled(g, g.sumTo(dy, op.getOther()), op.getAlphaAttr()));
  return success();
}

LogicalResult addScalar(AddScalarOp op, GradientBuilder &g) {
  g.add(op.getSelf(), castTo(g, g.cotangent(), g.shapeOf(op.getSelf()).elementType));
  return success();
}

LogicalResult sub(SubOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(dy, op.getSelf()));
  if (g.needs(op.getOther()))
    g.add(op.getOther(), scaled(g, g.sumTo(dy, op.getOther()), -toDouble(op.getAlphaAttr(), 1)));
  return success();
}

LogicalResult subScalar(SubScalarOp op, GradientBuilder &g) {
  g.add(op.getSelf(), castTo(g, g.cotangent(), g.shapeOf(op.getSelf()).elementType));
  return success();
}

LogicalResult rsubScalar(RsubScalarOp op, GradientBuilder &g) {
  Value dy = castTo(g, g.cotangent(), g.shapeOf(op.getSelf()).elementType);
  g.add(op.getSelf(), scaled(g, dy, -toDouble(op.getAlphaAttr(), 1)));
  return success();
}

LogicalResult mul(MulOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(g.create<MulOp>({dy, op.getOther()}), op.getSelf()));
  if (g.needs(op.getOther()))
    g.add(op.getOther(), g.sumTo(g.create<MulOp>({dy, op.getSelf()}), op.getOther()));
  return success();
}

LogicalResult mulScalar(MulScalarOp op, GradientBuilder &g) {
  Value dx = scaled(g, g.cotangent(), op.getOtherAttr());
  g.add(op.getSelf(), castTo(g, dx, g.shapeOf(op.getSelf()).elementType));
  return success();
}

LogicalResult div(DivOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  if (!g.needs(op.getSelf()) && !g.needs(op.getOther()))
    return success();
  Value quotient = g.create<DivOp>({dy, op.getOther()});
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(quotient, op.getSelf()));
  if (g.needs(op.getOther())) {
    Value product = g.create<MulOp>({quotient, op.getResult()});
    g.add(op.getOther(), scaled(g, g.sumTo(product, op.getOther()), -1.0));
  }
  return success();
}

LogicalResult divScalar(DivScalarOp op, GradientBuilder &g) {
  Value dx = g.create<DivScalarOp>({g.cotangent(), argument(op, "other")});
  g.add(op.getSelf(), castTo(g, dx, g.shapeOf(op.getSelf()).elementType));
  return success();
}

LogicalResult divMode(DivModeOp op, GradientBuilder &g) {
  // Rounding makes it piecewise constant.
  if (op.getRoundingMode())
    return success();
  return byAutograd(op, g);
}

LogicalResult remainder(RemainderOp op, GradientBuilder &g) {
  Value dy = g.cotangent();
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(dy, op.getSelf()));
  if (g.needs(op.getOther())) {
    Value whole = g.create<DivModeOp>({op.getSelf(), op.getOther(), g.str("floor")});
    g.add(op.getOther(), scaled(g, g.sumTo(g.create<MulOp>({dy, whole}), op.getOther()), -1.0));
  }
  return success();
}

LogicalResult remainderScalar(RemainderScalarOp op, GradientBuilder &g) {
  g.add(op.getSelf(), castTo(g, g.cotangent(), g.shapeOf(op.getSelf()).elementType));
  return success();
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

LogicalResult pow(PowOp op, GradientBuilder &g) {
  Value dy = g.cotangent(), self = op.getSelf(), exponent = op.getExponent();
  if (g.needs(self)) {
    Value lower = g.create<PowOp>({self, g.create<SubScalarOp>({exponent, g.i64(1)})});
    Value slope = g.create<MulOp>({exponent, lower});
    Value dx = g.create<MulOp>({dy, slope});
    // 0 * 0^-1 is no number, but x^0 is constant.
    g.add(self, g.sumTo(maskedOut(g, dx, g.create<EqScalarOp>({exponent, g.i64(0)})), self));
  }
  if (g.needs(exponent)) {
    Value slope = g.create<MulOp>({op.getResult(), g.create<LogOp>({self})});
    // The limit of 0^y * log 0 for y >= 0.
    Value atZero =
        g.create<LogicalAndOp>({g.create<EqScalarOp>({self, g.i64(0)}), g.create<GeScalarOp>({exponent, g.i64(0)})});
    g.add(exponent, g.sumTo(g.create<MulOp>({dy, maskedOut(g, slope, atZero)}), exponent));
  }
  return success();
}

LogicalResult powScalar(PowScalarOp op, GradientBuilder &g) {
  Value self = op.getSelf();
  TypedAttr exponent = op.getExponentAttr();
  double value = toDouble(exponent, 1);
  if (!g.needs(self) || value == 0)
    return success();
  Value dx = g.cotangent();
  if (value == 2) {
    dx = g.create<MulOp>({dx, self});
  } else if (value != 1) {
    ArgValue lower = isa<FloatAttr>(exponent) ? g.f64(value - 1) : g.i64(static_cast<int64_t>(value) - 1);
    dx = g.create<MulOp>({dx, g.create<PowScalarOp>({self, lower})});
  }
  g.add(self, castTo(g, scaled(g, dx, exponent), g.shapeOf(self).elementType));
  return success();
}

LogicalResult powBase(PowBaseOp op, GradientBuilder &g) {
  Value exponent = op.getExponent();
  if (!g.needs(exponent))
    return success();
  double base = toDouble(op.getSelfAttr(), 1);
  Value slope = scaled(g, op.getResult(), std::log(base));
  if (base == 0)
    slope = maskedOut(g, slope, g.create<GeScalarOp>({exponent, g.i64(0)}));
  Value dx = g.create<MulOp>({g.cotangent(), slope});
  g.add(exponent, castTo(g, dx, g.shapeOf(exponent).elementType));
  return success();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Maximum or minimum: the cotangent goes to the operand that was taken, halved where both are equal.
template <typename SelfLoses, typename OtherLoses> static LogicalResult chooseOne(Operation *op, GradientBuilder &g) {
  Value self = op->getOperand(0), other = op->getOperand(1), dy = g.cotangent();
  if (!g.needs(self) && !g.needs(other))
    return success();
  Value shared = g.create<WhereOp>({g.create<EqOp>({self, other}), scaled(g, dy, 0.5), dy});
  if (g.needs(self))
    g.add(self, g.sumTo(maskedOut(g, shared, g.create<SelfLoses>({self, other})), self));
  if (g.needs(other))
    g.add(other, g.sumTo(maskedOut(g, shared, g.create<OtherLoses>({self, other})), other));
  return success();
}

LogicalResult maximum(MaximumOp op, GradientBuilder &g) { return chooseOne<LtOp, GtOp>(op, g); }
LogicalResult minimum(MinimumOp op, GradientBuilder &g) { return chooseOne<GtOp, LtOp>(op, g); }

/// The cotangent where min < self < max, not on the bounds; nowhere for what is no number.
static LogicalResult withinBounds(Operation *op, Value self, TypedAttr min, TypedAttr max, GradientBuilder &g) {
  if (!g.needs(self))
    return success();
  Value inside;
  if (min)
    inside = g.create<GtScalarOp>({self, Attribute(min)});
  if (max) {
    Value below = g.create<LtScalarOp>({self, Attribute(max)});
    inside = inside ? g.create<LogicalAndOp>({inside, below}) : below;
  }
  Value dx = g.cotangent();
  if (inside)
    dx = maskedOut(g, dx, g.create<LogicalNotOp>({inside}));
  g.add(self, castTo(g, dx, g.shapeOf(self).elementType));
  return success();
}

LogicalResult clamp(ClampOp op, GradientBuilder &g) {
  return withinBounds(op, op.getSelf(), op.getMinAttr(), op.getMaxAttr(), g);
}

LogicalResult clampMin(ClampMinOp op, GradientBuilder &g) {
  return withinBounds(op, op.getSelf(), op.getMinAttr(), {}, g);
}

LogicalResult where(WhereOp op, GradientBuilder &g) {
  Value dy = g.cotangent(), condition = op.getCondition();
  if (g.needs(op.getSelf()))
    g.add(op.getSelf(), g.sumTo(maskedOut(g, dy, g.create<LogicalNotOp>({condition})), op.getSelf()));
  if (g.needs(op.getOther()))
    g.add(op.getOther(), g.sumTo(maskedOut(g, dy, condition), op.getOther()));
  return success();
}

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

LogicalResult neg(NegOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<NegOp>({g.cotangent()}));
  return success();
}

LogicalResult abs(AbsOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<MulOp>({g.cotangent(), g.create<SignOp>({op.getSelf()})}));
  return success();
}

LogicalResult exp(ExpOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<MulOp>({g.cotangent(), op.getResult()}));
  return success();
}

LogicalResult log(LogOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<DivOp>({g.cotangent(), op.getSelf()}));
  return success();
}

LogicalResult log1p(Log1pOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<DivOp>({g.cotangent(), g.create<AddScalarOp>({op.getSelf(), g.i64(1)})}));
  return success();
}

LogicalResult sqrt(SqrtOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<DivOp>({g.cotangent(), scaled(g, op.getResult(), 2.0)}));
  return success();
}

LogicalResult rsqrt(RsqrtOp op, GradientBuilder &g) {
  g.add(op.getSelf(),
        g.create<MulOp>({scaled(g, g.cotangent(), -0.5), g.create<PowScalarOp>({op.getResult(), g.i64(3)})}));
  return success();
}

LogicalResult reciprocal(ReciprocalOp op, GradientBuilder &g) {
  Value square = g.create<MulOp>({op.getResult(), op.getResult()});
  g.add(op.getSelf(), scaled(g, g.create<MulOp>({g.cotangent(), square}), -1.0));
  return success();
}

LogicalResult sin(SinOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<MulOp>({g.cotangent(), g.create<CosOp>({op.getSelf()})}));
  return success();
}

LogicalResult cos(CosOp op, GradientBuilder &g) {
  g.add(op.getSelf(), scaled(g, g.create<MulOp>({g.cotangent(), g.create<SinOp>({op.getSelf()})}), -1.0));
  return success();
}

LogicalResult erf(ErfOp op, GradientBuilder &g) {
  Value square = g.create<MulOp>({op.getSelf(), op.getSelf()});
  Value bell = g.create<ExpOp>({scaled(g, square, -1.0)});
  g.add(op.getSelf(), scaled(g, g.create<MulOp>({g.cotangent(), bell}), 2 * std::numbers::inv_sqrtpi));
  return success();
}

LogicalResult tanh(TanhOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<TanhBackwardOp>({g.cotangent(), op.getResult()}));
  return success();
}

LogicalResult sigmoid(SigmoidOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<SigmoidBackwardOp>({g.cotangent(), op.getResult()}));
  return success();
}

LogicalResult relu(ReluOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<ThresholdBackwardOp>({g.cotangent(), op.getResult(), g.i64(0)}));
  return success();
}

LogicalResult silu(SiluOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<SiluBackwardOp>({g.cotangent(), op.getSelf()}));
  return success();
}

LogicalResult gelu(GeluOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<GeluBackwardOp>({g.cotangent(), op.getSelf(), argument(op, "approximate")}));
  return success();
}

LogicalResult hardtanh(HardtanhOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<HardtanhBackwardOp>({g.cotangent(), op.getSelf(), argumentOr(op, "min_val", g.f64(-1)),
                                                    argumentOr(op, "max_val", g.f64(1))}));
  return success();
}

LogicalResult hardswish(HardswishOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<HardswishBackwardOp>({g.cotangent(), op.getSelf()}));
  return success();
}

LogicalResult hardsigmoid(HardsigmoidOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<HardsigmoidBackwardOp>({g.cotangent(), op.getSelf()}));
  return success();
}

LogicalResult leakyRelu(LeakyReluOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<LeakyReluBackwardOp>({g.cotangent(), op.getSelf(),
                                                     argumentOr(op, "negative_slope", g.f64(0.01)), g.boolean(false)}));
  return success();
}

LogicalResult elu(EluOp op, GradientBuilder &g) {
  g.add(op.getSelf(),
        g.create<EluBackwardOp>({g.cotangent(), argumentOr(op, "alpha", g.f64(1)), argumentOr(op, "scale", g.f64(1)),
                                 argumentOr(op, "input_scale", g.f64(1)), g.boolean(false), op.getSelf()}));
  return success();
}

LogicalResult softplus(SoftplusOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<SoftplusBackwardOp>({g.cotangent(), op.getSelf(), argumentOr(op, "beta", g.f64(1)),
                                                    argumentOr(op, "threshold", g.f64(20))}));
  return success();
}

LogicalResult mish(MishOp op, GradientBuilder &g) {
  g.add(op.getSelf(), g.create<MishBackwardOp>({g.cotangent(), op.getSelf()}));
  return success();
}

LogicalResult dropout(DropoutOp op, GradientBuilder &g) {
  if (!drawsRandomNumbers(op)) {
    g.add(op.getInput(), g.cotangent());
    return success();
  }
  // The same elements with the same factors.
  Value gradient = g.create<DropoutOp>({g.cotangent(), argument(op, "p"), argument(op, "train")});
  if (gradient)
    copyDraw(op, gradient.getDefiningOp());
  g.add(op.getInput(), gradient);
  return success();
}

LogicalResult cast(ToOp op, GradientBuilder &g) {
  g.add(op.getSelf(), castTo(g, g.cotangent(), g.shapeOf(op.getSelf()).elementType));
  return success();
}

} // namespace braid::gradients
