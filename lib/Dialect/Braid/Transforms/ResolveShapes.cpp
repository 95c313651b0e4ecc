//===- ResolveShapes.cpp - Sizes as expressions over symbols --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_RESOLVESHAPES
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
class Resolver {
public:
  Resolver(ShapeAnalysis &shapes, Block &entry) : shapes(shapes), builder(&entry, entry.begin()) {}

  LogicalResult run(Operation *op) { return failed(setResultTypes(op, shapes)) ? failure() : replaceSizes(op); }

private:
  /// The canonical index value for an expression: one of each in the function, at its start.
  Value indexFor(Location loc, const Expr &size) {
    auto [at, inserted] = known.try_emplace(size.str());
    if (inserted)
      at->second = shapes.materializeIndex(builder, loc, size);
    return at->second;
  }

  LogicalResult replaceSizes(Operation *op) {
    bool given = isa<ViewOp, ReshapeOp, ExpandOp>(op);
    if (llvm::none_of(op->getOperandTypes(), llvm::IsaPred<IndexType>) && !given)
      return success();
    if (isa<AtenOpInterface>(op)) {
      AtenCall call = *getAtenCall(op);
      SmallVector<Value> operands;
      SmallVector<int32_t> segments;
      for (const AtenArg &arg : call.args) {
        size_t before = operands.size();
        if (arg.kind == ArgKind::SymInt && !arg.operands.empty()) {
          FailureOr<Expr> size = shapes.valueOf(arg.operands.front());
          if (failed(size))
            return failure();
          if (std::optional<int64_t> constant = size->constant())
            op->setAttr(getAttrName(arg.kind, arg.name), builder.getI64IntegerAttr(*constant));
          else
            operands.push_back(indexFor(op->getLoc(), *size));
        } else if (arg.kind == ArgKind::SymIntList) {
          SmallVector<Expr> sizes;
          if (given) {
            // These ops' sizes are their result's: so -1 is resolved too.
            FailureOr<TensorShape> shape = shapes.shapeOf(op->getResult(0));
            if (failed(shape))
              return failure();
            sizes.assign(shape->dims.begin(), shape->dims.end());
          } else {
            auto operand = arg.operands.begin();
            for (int64_t constant : cast<DenseI64ArrayAttr>(arg.attr).asArrayRef()) {
              FailureOr<Expr> size =
                  ShapedType::isDynamic(constant) ? shapes.valueOf(*operand++) : FailureOr<Expr>(Expr(constant));
              if (failed(size))
                return failure();
              sizes.push_back(*size);
            }
          }
          SmallVector<int64_t> constants;
          for (const Expr &size : sizes) {
            constants.push_back(size.constant().value_or(ShapedType::kDynamic));
            if (!size.constant())
              operands.push_back(indexFor(op->getLoc(), size));
          }
          op->setAttr(getAttrName(arg.kind, arg.name), builder.getDenseI64ArrayAttr(constants));
        } else {
          llvm::append_range(operands, arg.operands);
        }
        if (hasOperands(arg.kind))
          segments.push_back(operands.size() - before);
      }
      op->setOperands(operands);
      if (op->getInherentAttr("operandSegmentSizes"))
        op->setAttr("operandSegmentSizes", builder.getDenseI32ArrayAttr(segments));
      return success();
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isa<IndexType>(operand.get().getType())) {
        FailureOr<Expr> size = shapes.valueOf(operand.get());
        if (failed(size))
          return failure();
        operand.set(indexFor(op->getLoc(), *size));
      }
    return success();
  }

  ShapeAnalysis &shapes;
  OpBuilder builder;
  std::map<std::string, Value> known;
};

struct ResolveShapes : impl::ResolveShapesBase<ResolveShapes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !llvm::hasSingleElement(main.getBody())) {
      module.emitError("has no flat @main: run braid-inline-modules first");
      return signalPassFailure();
    }
    ShapeAnalysis shapes(module);
    Block &body = main.getBody().front();
    // Unused results first: their shapes are nobody's business, and dead modules would bring guards.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        shapes.erase(&op);
    // What a trace wrote around a list of one tensor.
    for (auto cat : llvm::make_early_inc_range(body.getOps<CatOp>()))
      if (cat.getTensors().size() == 1) {
        cat.replaceAllUsesWith(cat.getTensors().front());
        shapes.erase(cat);
      }
    SmallVector<Operation *> ops;
    for (Operation &op : body)
      if (!isa<arith::ArithDialect>(op.getDialect()) && !isa<SizeOp, SymbolOp>(op) &&
          !op.hasTrait<OpTrait::IsTerminator>())
        ops.push_back(&op);
    Resolver resolver(shapes, body);
    for (Operation *op : ops)
      if (failed(resolver.run(op)))
        return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        shapes.erase(&op);

    Operation *terminator = body.getTerminator();
    main.setFunctionType(
        FunctionType::get(&getContext(), main.getArgumentTypes(), llvm::to_vector(terminator->getOperandTypes())));
    shapes.storeGuards();
    numGuards = shapes.getGuards().size();
    // The contract: sizes are arith over symbols.
    for (Operation &op : body)
      if (isa<SizeOp>(op)) {
        op.emitOpError("is left after shapes are resolved");
        return signalPassFailure();
      }
  }
};
} // namespace
} // namespace braid
