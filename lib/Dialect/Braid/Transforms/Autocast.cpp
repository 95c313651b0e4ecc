//===- Autocast.cpp - Products in 16 bits, weights in 32 ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of torch.autocast, by its lists for CUDA, which keep more in float32 than those for CPU: operands of
// products are cast down, those of sums, norms, exponentials and losses up, and all else computes in what its operands
// are. Parameters stay float32, and so do their gradients, as the gradient of a cast is a cast back.
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/GradientRules.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"
#include "braid/Plan/File/PlanFile.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_AUTOCAST
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
// By mnemonic.
constexpr StringLiteral narrowOps[] = {"addmm",  "baddbmm", "bmm", "convolution",
                                       "linear", "matmul",  "mm",  "scaled_dot_product_attention"};
/// braid.aten among them, whose results have the types that it gave in float32.
// clang-format off
constexpr StringLiteral wideOps[] = {
    "aten", "_log_softmax", "_softmax", "_upsample_nearest_exact2d", "acos", "asin", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cdist", "cosh", "cross_entropy_loss", "ctc_loss", "cumprod", "cumsum",
    "erfinv", "exp", "expm1", "group_norm", "gru", "layer_norm", "linalg_vector_norm", "log", "log10", "log1p",
    "log2", "log_softmax", "logsumexp", "lstm", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "native_layer_norm", "nll_loss_forward", "pow", "pow_base", "pow_scalar", "prod", "prod_dim", "reciprocal",
    "rms_norm", "rnn_relu", "rnn_tanh", "rsqrt", "sinh", "softmax", "softplus", "sum", "sum_dim", "tan",
    "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d",
    "upsample_nearest3d", "upsample_trilinear3d"};
// clang-format on
/// Float32 where one of their operands is: these take one type only.
constexpr StringLiteral widestOps[] = {"cat",            "grid_sampler", "index_add",   "index_put",
                                       "masked_scatter", "scatter",      "scatter_add", "stack"};

class Autocaster {
public:
  Autocaster(ModuleOp module, Type narrow)
      : shapes(module), builder(module.getContext()), narrow(narrow), wide(builder.getF32Type()),
        g(builder, shapes, needsNothing) {}

  LogicalResult run(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (Type type = typeOfOperands(&op))
        castOperands(&op, type);
      if (failed(setResultTypes(&op, shapes)))
        return failure();
    }
    return failure(g.hasFailed());
  }

  /// Results keep their types: the loss, and the new values of buffers.
  LogicalResult castResults(Operation *terminator, TypeRange types) {
    for (auto [operand, type] : llvm::zip(terminator->getOpOperands(), types))
      cast(operand, getElementTypeOrSelf(type), operand.get().getDefiningOp());
    return failure(g.hasFailed());
  }

  unsigned numCasts = 0;

private:
  static bool needsNothing(Value) { return false; } // no gradients are made

  /// The element type that an op's floating operands get; null: as they are.
  Type typeOfOperands(Operation *op) const {
    StringRef name = op->getName().stripDialect();
    auto isWide = [&](Type type) { return getElementTypeOrSelf(type) == wide; };
    if (llvm::is_contained(narrowOps, name))
      return narrow;
    if (llvm::is_contained(wideOps, name) ||
        (llvm::is_contained(widestOps, name) && llvm::any_of(op->getOperandTypes(), isWide)))
      return wide;
    return nullptr;
  }

  void castOperands(Operation *op, Type type) {
    for (OpOperand &operand : op->getOpOperands())
      cast(operand, type, op);
  }

  /// `before` names the place and the module path of a new cast. Modules beside each other, as those of query, key and
  /// value, share the cast of an operand that they share.
  void cast(OpOperand &operand, Type type, Operation *before) {
    Value value = operand.get();
    Type from = getElementTypeOrSelf(value.getType());
    if (!isa<RankedTensorType>(value.getType()) || from == type || !(from == wide || from == narrow))
      return;
    auto path = before->getAttrOfType<StringAttr>(pathAttrName);
    StringRef module = path ? path.getValue() : "", parent = module.rsplit('.').first;
    if (parent == module)
      parent = "";
    Value &known = casts[{value.getAsOpaquePointer(), type.getAsOpaquePointer(), parent}];
    if (!known) {
      bool isLast = before == value.getDefiningOp();
      isLast ? builder.setInsertionPointAfter(before) : builder.setInsertionPoint(before);
      g.startOp(before, {});
      known = gradients::castTo(g, value, type);
      ++numCasts;
    } else if (Operation *shared = known.getDefiningOp(); shared->getAttr(pathAttrName) != path) {
      shared->setAttr(pathAttrName, builder.getStringAttr(parent));
    }
    if (known)
      operand.set(known);
  }

  ShapeAnalysis shapes;
  OpBuilder builder;
  Type narrow, wide;
  GradientBuilder g;
  std::map<std::tuple<const void *, const void *, StringRef>, Value> casts; // by value, type, parent's path
};

struct Autocast : impl::AutocastBase<Autocast> {
  using AutocastBase::AutocastBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string compute = type;
    if (!planFile.empty()) {
      plan::Result<plan::PlanFile> file = plan::readPlan(planFile);
      if (!file) {
        emitError(UnknownLoc::get(&getContext())) << file.error();
        return signalPassFailure();
      }
      compute = file->computePrecision;
    }
    if (compute != "bf16" && compute != "fp32") // others are refused with the rest of the plan
      return;
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !llvm::hasSingleElement(main.getBody())) {
      module.emitError("has no flat @main: run braid-inline-modules first");
      return signalPassFailure();
    }
    for (auto param : module.getOps<ParamOp>())
      if (Type element = param.getTensorType().getElementType(); param.getRequiresGrad() && !element.isF32()) {
        param.emitError("parameter '")
            << param.getSymName() << "' is " << element << ", and with a compute precision of " << compute
            << " parameters are float32; trace the model with float32 parameters, or leave the precision out";
        return signalPassFailure();
      }
    if (compute != "bf16")
      return;
    Block &body = main.getBody().front();
    Operation *terminator = body.getTerminator();
    SmallVector<Type> results = llvm::to_vector(terminator->getOperandTypes());
    Autocaster caster(module, BFloat16Type::get(&getContext()));
    if (failed(caster.run(body)) || failed(caster.castResults(terminator, results)))
      return signalPassFailure();
    main.setFunctionType(
        FunctionType::get(&getContext(), main.getArgumentTypes(), llvm::to_vector(terminator->getOperandTypes())));
    numCasts = caster.numCasts;
  }
};
} // namespace
} // namespace braid
