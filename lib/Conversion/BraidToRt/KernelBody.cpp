//===- KernelBody.cpp - Elementwise ops as scalar code --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "braid/Dialect/Rt/IR/RtDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

using namespace mlir;

namespace braid {

bool isKernelType(Type elementType) {
  return elementType.isF32() || elementType.isF64() || elementType.isInteger(64) || elementType.isInteger(1);
}

TypedAttr getSplatScalar(Value tensor) {
  auto constant = tensor.getDefiningOp<ConstantOp>();
  auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!value || !value.isSplat() || !isKernelType(value.getElementType()))
    return nullptr;
  return value.getSplatValue<TypedAttr>();
}

static bool reducesLast(std::optional<ArrayRef<int64_t>> dims, int64_t rank) {
  return rank > 0 && dims && dims->size() == 1 && (dims->front() == -1 || dims->front() == rank - 1);
}

bool isRowReduction(Operation *op, int64_t operandRank) {
  auto element = [&](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  if (!isa<SumDimOp, MeanDimOp, AmaxOp>(op) || !isa<FloatType>(element(op->getOperand(0))) ||
      element(op->getOperand(0)) != element(op->getResult(0)))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SumDimOp, MeanDimOp, AmaxOp>([&](auto reduction) { return reducesLast(reduction.getDim(), operandRank); })
      .Default(false);
}

bool dropsRowDim(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SumDimOp, MeanDimOp, AmaxOp>([](auto reduction) { return !reduction.getKeepdim(); })
      .Default(false);
}

bool needsRows(Operation *op) {
  return isa<SumDimOp, MeanDimOp, AmaxOp, SoftmaxOp, NativeSoftmaxOp, LogSoftmaxOp, NativeLogSoftmaxOp,
             SoftmaxBackwardDataOp, LogSoftmaxBackwardDataOp>(op);
}

bool isPerRow(OpOperand &operand) {
  auto loss = dyn_cast<NllLossBackwardOp>(operand.getOwner());
  return loss && operand.get() == loss.getTarget();
}

namespace {
/// Formulas over scalars of one type, as ATen's CPU kernels compute them.
class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Location loc, Type type) : b(loc, builder), type(type) {}

  bool isFloat() const { return isa<FloatType>(type); }
  Value constant(double value) const {
    if (isFloat())
      return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, static_cast<int64_t>(value)));
  }
  /// A Python scalar in this type; null where it would change the type.
  Value constant(TypedAttr value, double absent) const {
    if (!value)
      return constant(absent);
    if (auto real = dyn_cast<FloatAttr>(value))
      return isFloat() ? constant(real.getValueAsDouble()) : Value();
    APInt bits = cast<IntegerAttr>(value).getValue();
    if (type.isInteger(1) && !bits.isZero() && !bits.isOne())
      return nullptr; // ATen compares bools with integers as integers
    if (isFloat())
      return constant(value.getType().isInteger(1) ? bits.getBoolValue() : bits.signedRoundToDouble());
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(type, value.getType().isInteger(1) ? int64_t(bits.getBoolValue()) : bits.getSExtValue()));
  }
  Value convert(Value value) const {
    Type from = value.getType();
    if (from == type)
      return value;
    if (isFloat()) {
      if (isa<FloatType>(from))
        return from.isF32() ? arith::ExtFOp::create(b, type, value).getResult()
                            : arith::TruncFOp::create(b, type, value).getResult();
      return from.isInteger(1) ? arith::UIToFPOp::create(b, type, value).getResult()
                               : arith::SIToFPOp::create(b, type, value).getResult();
    }
    if (type.isInteger(1)) {
      Value zero = ScalarBuilder(b, b.getLoc(), from).constant(0);
      return isa<FloatType>(from) ? arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value, zero).getResult()
                                  : arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero).getResult();
    }
    // What C++ leaves undefined for large numbers is undefined in ATen too.
    return isa<FloatType>(from) ? arith::FPToSIOp::create(b, type, value).getResult()
                                : arith::ExtUIOp::create(b, type, value).getResult();
  }

  Value add(Value x, Value y) const { return binary<arith::AddFOp, arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) const { return binary<arith::SubFOp, arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) const { return binary<arith::MulFOp, arith::MulIOp>(x, y); }
  Value div(Value x, Value y) const { return isFloat() ? arith::DivFOp::create(b, x, y).getResult() : Value(); }
  Value neg(Value x) const {
    return isFloat() ? arith::NegFOp::create(b, x).getResult() : type.isInteger(1) ? Value() : sub(constant(0), x);
  }
  Value compare(arith::CmpFPredicate real, arith::CmpIPredicate integer, Value x, Value y) const {
    if (x.getType() != y.getType())
      return nullptr;
    if (isa<FloatType>(x.getType()))
      return arith::CmpFOp::create(b, real, x, y);
    bool ordered = integer != arith::CmpIPredicate::eq && integer != arith::CmpIPredicate::ne;
    return x.getType().isInteger(1) && ordered ? Value() : arith::CmpIOp::create(b, integer, x, y).getResult();
  }
  Value select(Value condition, Value x, Value y) const { return arith::SelectOp::create(b, condition, x, y); }
  template <typename OpTy> Value function(Value x) const {
    return isFloat() ? OpTy::create(b, x).getResult() : Value();
  }
  Value sqrt(Value x) const { return function<math::SqrtOp>(x); }
  Value exp(Value x) const { return function<math::ExpOp>(x); }
  /// There is a vector form for float32 only.
  Value erf(Value x) const { return type.isF32() ? math::ErfOp::create(b, x).getResult() : Value(); }
  Value sigmoid(Value x) const { return div(constant(1), add(constant(1), exp(neg(x)))); }
  /// sqrt(2 / pi) (x + 0.044715 x^3), of GELU's tanh form.
  Value geluInner(Value x) const {
    Value cube = mul(mul(x, x), x);
    return mul(constant(std::numbers::sqrt2 * std::numbers::inv_sqrtpi), add(x, mul(constant(0.044715), cube)));
  }
  Value normalDistribution(Value x) const {
    Value scaled = erf(mul(x, constant(std::numbers::sqrt2 / 2)));
    return scaled ? mul(constant(0.5), add(constant(1), scaled)) : Value();
  }
  Value power(Value x, double exponent) const {
    if (!isFloat())
      return exponent == 2 && !type.isInteger(1) ? mul(x, x) : Value();
    if (exponent == 1)
      return x;
    if (exponent == 2 || exponent == 3)
      return exponent == 2 ? mul(x, x) : mul(mul(x, x), x);
    if (exponent == 0.5)
      return sqrt(x);
    if (exponent < 0) {
      Value positive = power(x, -exponent);
      return positive ? div(constant(1), positive) : Value();
    }
    return nullptr;
  }

  mutable ImplicitLocOpBuilder b;

private:
  template <typename Real, typename Integer> Value binary(Value x, Value y) const {
    if (isFloat())
      return Real::create(b, x, y);
    return type.isInteger(1) ? Value() : Integer::create(b, x, y).getResult(); // ATen adds bools by "or"
  }

  Type type;
};
} // namespace

static Value emitGeluBackward(const ScalarBuilder &s, StringRef approximate, Value dy, Value x) {
  if (approximate != "tanh") {
    Value distribution = s.normalDistribution(x);
    if (!distribution)
      return nullptr;
    Value density = s.mul(s.exp(s.mul(s.constant(-0.5), s.mul(x, x))),
                          s.constant(std::numbers::inv_sqrtpi / std::numbers::sqrt2));
    return s.mul(dy, s.add(distribution, s.mul(x, density)));
  }
  Value tanh = s.function<math::TanhOp>(s.geluInner(x));
  Value inner = s.mul(s.constant(std::numbers::sqrt2 * std::numbers::inv_sqrtpi),
                      s.add(s.constant(1), s.mul(s.constant(3 * 0.044715), s.mul(x, x))));
  Value slope = s.mul(s.mul(s.mul(s.constant(0.5), x), s.sub(s.constant(1), s.mul(tanh, tanh))), inner);
  return s.mul(dy, s.add(s.mul(s.constant(0.5), s.add(s.constant(1), tanh)), slope));
}

template <typename OpTy>
static Value emitCompare(const ScalarBuilder &s, OpTy op, arith::CmpFPredicate real, arith::CmpIPredicate integer,
                         ValueRange x) {
  if constexpr (OpTy::template hasTrait<OpTrait::NOperands<2>::Impl>()) {
    return s.compare(real, integer, x[0], x[1]);
  } else {
    Value other = ScalarBuilder(s.b, s.b.getLoc(), x[0].getType()).constant(op.getOtherAttr(), 0);
    return other ? s.compare(real, integer, x[0], other) : Value();
  }
}

Value emitScalar(OpBuilder &builder, Operation *op, ValueRange raw) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result || !isKernelType(result.getElementType()) ||
      llvm::any_of(raw, [](Value value) { return !isKernelType(value.getType()); }))
    return nullptr;
  ScalarBuilder s(builder, op->getLoc(), result.getElementType());
  SmallVector<Value> x; // in the result's type
  if (isa<AddOp, AddScalarOp, SubOp, SubScalarOp, RsubScalarOp, MulOp, MulScalarOp, DivOp, DivScalarOp, NegOp, AbsOp,
          ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp, TanhOp, ErfOp, SigmoidOp, ReluOp, SiluOp, GeluOp, PowScalarOp,
          MaximumOp, MinimumOp, ToOp, ExpandOp, ExpandAsOp, GeluBackwardOp, SiluBackwardOp, SigmoidBackwardOp,
          TanhBackwardOp, ThresholdBackwardOp, SumDimOp, MeanDimOp, AmaxOp, SoftmaxOp, NativeSoftmaxOp, LogSoftmaxOp,
          NativeLogSoftmaxOp, SoftmaxBackwardDataOp, LogSoftmaxBackwardDataOp>(op))
    for (Value value : raw)
      x.push_back(s.convert(value));
  using Real = arith::CmpFPredicate;
  using Integer = arith::CmpIPredicate;
  /// x + alpha y
  auto scaledSum = [&](Value a, Value b, TypedAttr alpha) -> Value {
    if (!alpha || (isa<IntegerAttr>(alpha) && cast<IntegerAttr>(alpha).getValue() == 1))
      return s.add(a, b);
    Value factor = s.constant(alpha, 1);
    Value product = factor ? s.mul(factor, b) : Value();
    return product ? s.add(a, product) : Value();
  };
  auto difference = [&](Value a, Value b, TypedAttr alpha) -> Value {
    Value factor = s.constant(alpha, 1);
    Value product = factor ? s.mul(factor, b) : Value();
    return product ? s.sub(a, product) : Value();
  };
  auto withScalar = [&](TypedAttr scalar, llvm::function_ref<Value(Value)> body) -> Value {
    Value value = s.constant(scalar, 0);
    return value ? body(value) : Value();
  };
  auto alongRow = [&](int64_t dim) {
    return s.isFloat() && raw[0].getType() == result.getElementType() && result.getRank() > 0 &&
           (dim == -1 || dim == result.getRank() - 1);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](AddOp add) { return scaledSum(x[0], x[1], add.getAlphaAttr()); })
      .Case([&](AddScalarOp add) {
        return withScalar(add.getOtherAttr(), [&](Value y) { return scaledSum(x[0], y, add.getAlphaAttr()); });
      })
      .Case([&](SubOp sub) { return difference(x[0], x[1], sub.getAlphaAttr()); })
      .Case([&](SubScalarOp sub) {
        return withScalar(sub.getOtherAttr(), [&](Value y) { return difference(x[0], y, sub.getAlphaAttr()); });
      })
      .Case([&](RsubScalarOp sub) {
        return withScalar(sub.getOtherAttr(), [&](Value y) { return difference(y, x[0], sub.getAlphaAttr()); });
      })
      .Case([&](MulOp) { return s.mul(x[0], x[1]); })
      .Case([&](MulScalarOp mul) {
        return withScalar(mul.getOtherAttr(), [&](Value y) { return s.mul(x[0], y); });
      })
      .Case([&](DivOp) { return s.div(x[0], x[1]); })
      .Case([&](DivScalarOp div) {
        return withScalar(div.getOtherAttr(), [&](Value y) { return s.div(x[0], y); });
      })
      .Case([&](NegOp) { return s.neg(x[0]); })
      .Case([&](AbsOp) { return s.function<math::AbsFOp>(x[0]); })
      .Case([&](ExpOp) { return s.exp(x[0]); })
      .Case([&](LogOp) { return s.function<math::LogOp>(x[0]); })
      .Case([&](SqrtOp) { return s.sqrt(x[0]); })
      .Case([&](RsqrtOp) { return s.power(x[0], -0.5); })
      .Case([&](ReciprocalOp) { return s.power(x[0], -1); })
      .Case([&](TanhOp) { return s.function<math::TanhOp>(x[0]); })
      .Case([&](ErfOp) { return s.erf(x[0]); })
      .Case([&](SigmoidOp) { return s.isFloat() ? s.sigmoid(x[0]) : Value(); })
      .Case([&](ReluOp) {
        Value zero = s.constant(0), negative = s.compare(Real::OLE, Integer::sle, x[0], zero);
        return negative ? s.select(negative, zero, x[0]) : Value();
      })
      .Case([&](SiluOp) { return s.isFloat() ? s.div(x[0], s.add(s.constant(1), s.exp(s.neg(x[0])))) : Value(); })
      .Case([&](GeluOp gelu) -> Value {
        if (gelu.getApproximate().value_or("none") != "tanh") {
          Value distribution = s.normalDistribution(x[0]);
          return distribution ? s.mul(x[0], distribution) : Value();
        }
        Value tanh = s.function<math::TanhOp>(s.geluInner(x[0]));
        return s.mul(s.mul(s.constant(0.5), x[0]), s.add(s.constant(1), tanh));
      })
      .Case([&](PowScalarOp pow) -> Value {
        TypedAttr exponent = pow.getExponentAttr();
        if (auto real = dyn_cast_or_null<FloatAttr>(exponent))
          return s.isFloat() ? s.power(x[0], real.getValueAsDouble()) : Value();
        auto integer = dyn_cast_or_null<IntegerAttr>(exponent);
        return integer && integer.getType().isInteger(64) ? s.power(x[0], static_cast<double>(integer.getInt()))
                                                          : Value();
      })
      .Case([&](MaximumOp) -> Value {
        return s.isFloat() ? arith::MaximumFOp::create(s.b, x[0], x[1]).getResult() : Value();
      })
      .Case([&](MinimumOp) -> Value {
        return s.isFloat() ? arith::MinimumFOp::create(s.b, x[0], x[1]).getResult() : Value();
      })
      .Case<ToOp, ExpandOp>([&](auto) { return x[0]; })
      .Case([&](ExpandAsOp) { return x[0]; })
      .Case([&](WhereOp) -> Value {
        if (!raw[0].getType().isInteger(1))
          return nullptr;
        return s.select(raw[0], s.convert(raw[1]), s.convert(raw[2]));
      })
      .Case([&](EqOp e) { return emitCompare(s, e, Real::OEQ, Integer::eq, raw); })
      .Case([&](NeOp e) { return emitCompare(s, e, Real::UNE, Integer::ne, raw); })
      .Case([&](LtOp e) { return emitCompare(s, e, Real::OLT, Integer::slt, raw); })
      .Case([&](LeOp e) { return emitCompare(s, e, Real::OLE, Integer::sle, raw); })
      .Case([&](GtOp e) { return emitCompare(s, e, Real::OGT, Integer::sgt, raw); })
      .Case([&](GeOp e) { return emitCompare(s, e, Real::OGE, Integer::sge, raw); })
      .Case([&](EqScalarOp e) { return emitCompare(s, e, Real::OEQ, Integer::eq, raw); })
      .Case([&](NeScalarOp e) { return emitCompare(s, e, Real::UNE, Integer::ne, raw); })
      .Case([&](LtScalarOp e) { return emitCompare(s, e, Real::OLT, Integer::slt, raw); })
      .Case([&](LeScalarOp e) { return emitCompare(s, e, Real::OLE, Integer::sle, raw); })
      .Case([&](GtScalarOp e) { return emitCompare(s, e, Real::OGT, Integer::sgt, raw); })
      .Case([&](GeScalarOp e) { return emitCompare(s, e, Real::OGE, Integer::sge, raw); })
      .Case<AndOp, BitwiseAndOp, LogicalAndOp, BitwiseOrOp, LogicalOrOp>([&](Operation *logic) -> Value {
        if (!raw[0].getType().isInteger(1) || !raw[1].getType().isInteger(1))
          return nullptr;
        return isa<BitwiseOrOp, LogicalOrOp>(logic) ? arith::OrIOp::create(s.b, raw[0], raw[1]).getResult()
                                                    : arith::AndIOp::create(s.b, raw[0], raw[1]).getResult();
      })
      .Case<BitwiseNotOp, LogicalNotOp>([&](Operation *) -> Value {
        if (!raw[0].getType().isInteger(1))
          return nullptr;
        Value one = arith::ConstantOp::create(s.b, s.b.getBoolAttr(true));
        return arith::XOrIOp::create(s.b, raw[0], one);
      })
      .Case([&](GeluBackwardOp gelu) -> Value {
        return s.isFloat() ? emitGeluBackward(s, gelu.getApproximate().value_or("none"), x[0], x[1]) : Value();
      })
      .Case([&](SiluBackwardOp) -> Value {
        Value sigmoid = s.sigmoid(x[1]);
        Value slope = s.add(s.constant(1), s.mul(x[1], s.sub(s.constant(1), sigmoid)));
        return s.mul(x[0], s.mul(sigmoid, slope));
      })
      .Case([&](SigmoidBackwardOp) { return s.mul(x[0], s.mul(s.sub(s.constant(1), x[1]), x[1])); })
      .Case([&](TanhBackwardOp) { return s.mul(x[0], s.sub(s.constant(1), s.mul(x[1], x[1]))); })
      .Case([&](ThresholdBackwardOp backward) {
        return withScalar(backward.getThresholdAttr(), [&](Value threshold) -> Value {
          Value below = s.compare(Real::OLE, Integer::sle, x[1], threshold);
          return below ? s.select(below, s.constant(0), x[0]) : Value();
        });
      })
      .Case([&](SumDimOp) -> Value { return rt::RowSumOp::create(s.b, x[0]).getResult(); })
      .Case([&](MeanDimOp) -> Value {
        Value size = s.convert(rt::RowSizeOp::create(s.b, s.b.getI64Type()));
        return s.div(rt::RowSumOp::create(s.b, x[0]), size);
      })
      .Case([&](AmaxOp) -> Value { return rt::RowMaxOp::create(s.b, x[0]).getResult(); })
      .Case<SoftmaxOp, NativeSoftmaxOp>([&](auto softmax) -> Value {
        if (!alongRow(softmax.getDim()))
          return nullptr;
        Value e = s.exp(s.sub(x[0], rt::RowMaxOp::create(s.b, x[0])));
        return s.div(e, rt::RowSumOp::create(s.b, e));
      })
      .Case<LogSoftmaxOp, NativeLogSoftmaxOp>([&](auto softmax) -> Value {
        if (!alongRow(softmax.getDim()))
          return nullptr;
        Value shifted = s.sub(x[0], rt::RowMaxOp::create(s.b, x[0]));
        return s.sub(shifted, s.function<math::LogOp>(rt::RowSumOp::create(s.b, s.exp(shifted))));
      })
      .Case([&](SoftmaxBackwardDataOp backward) -> Value {
        if (!alongRow(backward.getDim()))
          return nullptr;
        return s.mul(x[1], s.sub(x[0], rt::RowSumOp::create(s.b, s.mul(x[0], x[1]))));
      })
      .Case([&](LogSoftmaxBackwardDataOp backward) -> Value {
        if (!alongRow(backward.getDim()))
          return nullptr;
        return s.sub(x[0], s.mul(s.exp(x[1]), rt::RowSumOp::create(s.b, x[0])));
      })
      .Case([&](NllLossBackwardOp loss) -> Value {
        // Operands: the cotangent, log-probabilities that are not read, targets, no weight, the total weight.
        constexpr int64_t mean = 1, sum = 2;
        bool known = loss.getReduction() == mean || loss.getReduction() == sum;
        if (!s.isFloat() || result.getRank() != 2 || raw.size() != 4 || !raw[2].getType().isInteger(64) || !known ||
            !loss.getStaticIgnoreIndex() || raw[0].getType() != result.getElementType())
          return nullptr;
        Value target = raw[2];
        Value ignored = arith::ConstantOp::create(s.b, s.b.getI64IntegerAttr(*loss.getStaticIgnoreIndex()));
        Value counts = arith::CmpIOp::create(s.b, arith::CmpIPredicate::ne, target, ignored);
        Value slope = loss.getReduction() == mean ? s.div(raw[0], raw[3]) : raw[0];
        Value ofRow = s.select(counts, s.neg(slope), s.constant(0));
        // Classes fit 32 bits, and so compare in as many lanes as float32 computes in.
        Type narrow = s.b.getI32Type();
        Value column = arith::TruncIOp::create(s.b, narrow, rt::ColumnOp::create(s.b, s.b.getI64Type()));
        Value hit = arith::CmpIOp::create(s.b, arith::CmpIPredicate::eq, column,
                                          arith::TruncIOp::create(s.b, narrow, target));
        return s.select(hit, ofRow, s.constant(0));
      })
      .Default([](Operation *) { return Value(); });
}

} // namespace braid
