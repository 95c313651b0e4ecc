//===- BraidToRt.cpp - Functions over tensors into runtime calls ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Kernels.h"
#include "Lifetimes.h"

#include "braid/Conversion/Passes.h"
#include "braid/Dialect/Braid/IR/Random.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_BRAIDTORT
#include "braid/Conversion/Passes.h.inc"

/// For each function that is called for one module only: that module's path. Functions that layers share have none.
static llvm::DenseMap<StringAttr, StringAttr> findCallers(ModuleOp module) {
  llvm::DenseMap<StringAttr, StringAttr> callers;
  module.walk([&](CallOp call) {
    auto [entry, first] = callers.try_emplace(call.getCalleeAttr().getAttr(), call.getPathAttr());
    if (!first && entry->second != call.getPathAttr())
      entry->second = nullptr;
  });
  return callers;
}

namespace {
/// Lowers one function, op by op and in place.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, StringAttr caller, const llvm::StringMap<int64_t> &symbols,
                   llvm::function_ref<StringAttr(ElementsAttr, Location)> constant,
                   const llvm::DenseMap<StringAttr, StringAttr> &callers, ShapeAnalysis &shapes, KernelBuilder *kernels)
      : function(function), caller(caller), symbols(symbols), constant(constant), callers(callers), shapes(shapes),
        kernels(kernels), builder(function.getContext()), handle(rt::TensorType::get(function.getContext())) {}

  /// Checks the function, drops what is dead, and works out what needs the shapes of untouched functions.
  LogicalResult prepare() {
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError() << "has control flow; a function of the pipe phase is one block";
    Block &block = function.getBody().front();
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (!isa<RankedTensorType>(type))
        return function.emitOpError() << "takes or returns " << type
                                      << "; functions of the pipe phase have tensors only";
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    for (Operation &op : block)
      if (auto merge = dyn_cast<MergeRowsOp>(op); merge && failed(checkRows(merge)))
        return failure();
    if (!function->removeAttr(hasKernelsAttrName) && kernels && hasShapes())
      kernels->formKernels(block, [&](Operation *op) { return makeSite(op); });
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isa<DropoutOp, RandOp>(op) && drawsRandomNumbers(&op) && failed(lowerRandom(&op)))
        return failure();
    return success();
  }

  LogicalResult run() {
    Block &block = function.getBody().front();
    for (BlockArgument argument : block.getArguments())
      argument.setType(handle);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      builder.setInsertionPoint(&op);
      if (failed(lower(&op)))
        return failure();
    }
    function.setType(FunctionType::get(function.getContext(), SmallVector<Type>(function.getNumArguments(), handle),
                                       SmallVector<Type>(function.getNumResults(), handle)));
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
    if (Attribute streams = function->removeAttr(streamsAttrName))
      function->setAttr(rt::streamsAttrName, streams);
    insertLifetimes(block);
    return success();
  }

private:
  /// Kernels need the sizes of everything; a function that a person wrote may leave them out.
  bool hasShapes() {
    return llvm::all_of(function.getArguments(), [&](BlockArgument argument) {
      return cast<RankedTensorType>(argument.getType()).hasStaticShape() ||
             function.getArgAttr(argument.getArgNumber(), dimsAttrName);
    });
  }

  /// Puts the check of a merge before it. Its mask must have as many true entries as the source has elements, over the
  /// elements of self that share a mask entry.
  LogicalResult checkRows(MergeRowsOp op) {
    FailureOr<TensorShape> self = shapes.shapeOf(op.getSelf()), mask = shapes.shapeOf(op.getMask()),
                           source = shapes.shapeOf(op.getSource());
    if (failed(self) || failed(mask) || failed(source))
      return failure();
    Expr perEntry(1);
    int64_t missing = self->rank() - mask->rank();
    for (int64_t dim = 0; dim < self->rank(); ++dim)
      if (dim < missing || (ShapeAnalysis::isOne(mask->dims[dim - missing]) && !ShapeAnalysis::isOne(self->dims[dim])))
        perEntry = perEntry * self->dims[dim];
    builder.setInsertionPoint(op);
    Value rows = shapes.materializeIndex(builder, op.getLoc(), Expr::floorDiv(source->numElements(), perEntry));
    rt::CheckRowsOp::create(builder, op.getLoc(), op.getMask(), rows, builder.getStringAttr("masked_scatter"),
                            makeSite(op));
    return success();
  }

  /// Like a launch, the new op has tensors until run() makes handles of all.
  LogicalResult lowerRandom(Operation *op) {
    auto stream = op->getAttrOfType<IntegerAttr>(streamAttrName);
    if (!stream)
      return op->emitOpError() << "draws random numbers and has no stream to draw them from";
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    SmallVector<Value> places; // the elements before the samples, and the samples
    if (auto samples = op->getAttrOfType<ArrayAttr>(samplesAttrName)) {
      for (auto text : samples.getAsRange<StringAttr>()) {
        plan::Result<Expr> size = Expr::parse(text.getValue());
        if (!size)
          return op->emitOpError() << samplesAttrName << ": " << size.error();
        places.push_back(shapes.materializeIndex(builder, loc, *size));
      }
      if (places.size() != 2)
        return op->emitOpError() << samplesAttrName << " has " << places.size()
                                 << R"( sizes, not the elements before and the samples, as in ["1", "batch"])";
    }
    places.resize(2);
    Type result = op->getResult(0).getType(), element = cast<RankedTensorType>(result).getElementType();
    if (auto dropout = dyn_cast<DropoutOp>(op)) {
      replace(op, rt::DropoutOp::create(builder, loc, result, dropout.getInput(), *dropout.getP(), stream.getInt(),
                                        places[0], places[1], makeSite(op)));
      return success();
    }
    auto rand = cast<RandOp>(op);
    if (!isa<FloatType>(element) || !rt::getDtype(element))
      return op->emitOpError() << "makes elements of type " << element << "; f64, f32, bf16 and f16 can be drawn";
    replace(op, rt::RandOp::create(builder, loc, result, rand.getSize(), rand.getStaticSize(), element,
                                   stream.getInt(), places[0], places[1], makeSite(op)));
    return success();
  }

  rt::SiteAttr makeSite(Operation *op) { return braid::makeSite(op, caller); }

  void replace(Operation *op, Operation *by) {
    op->replaceAllUsesWith(by->getResults());
    op->erase();
  }

  SmallVector<Type> handles(Operation *op) { return SmallVector<Type>(op->getNumResults(), handle); }

  LogicalResult lower(Operation *op) {
    Location loc = op->getLoc();
    if (auto symbol = dyn_cast<SymbolOp>(op)) {
      auto number = symbols.find(symbol.getName());
      if (number == symbols.end())
        return op->emitError() << "there is no symbol '" << symbol.getName() << "' in the module's "
                               << rt::symbolsAttrName;
      replace(op, rt::SymbolOp::create(builder, loc, builder.getIndexType(), number->second));
      return success();
    }
    if (auto value = dyn_cast<ConstantOp>(op)) {
      StringAttr name = constant(value.getValue(), loc);
      if (!name)
        return failure();
      replace(op, rt::GetConstantOp::create(builder, loc, handle, name));
      return success();
    }
    if (auto scalar = dyn_cast<ScalarTensorOp>(op)) {
      replace(op, rt::ScalarOp::create(builder, loc, handle, scalar.getValue(), makeSite(op)));
      return success();
    }
    if (auto call = dyn_cast<CallOp>(op)) {
      // A callee of one module has the path in its own sites.
      StringAttr path = callers.lookup(call.getCalleeAttr().getAttr()) ? StringAttr() : call.getPathAttr();
      replace(op, rt::InvokeOp::create(builder, loc, handles(op), call.getCalleeAttr(), op->getOperands(), path,
                                       call.getStreamsAttr()));
      return success();
    }
    if (auto launch = dyn_cast<rt::LaunchOp>(op)) // made by prepare(), or by braid-recompute, which knows no callers
      if (rt::SiteAttr site = launch.getSiteAttr())
        launch.setSiteAttr(rt::SiteAttr::get(builder.getContext(), pathBelow(caller, site.getModule()), site.getFile(),
                                             site.getLine()));
    if (isa<rt::LaunchOp, rt::DropoutOp, rt::RandOp>(op)) { // the latter two made by prepare()
      for (Value result : op->getResults())
        result.setType(handle);
      return success();
    }
    if (isa<MergeRowsOp>(op)) { // the check is there already
      AtenCall call = *getAtenCall(op);
      call.name = "aten::masked_scatter";
      return lowerCall(op, call);
    }
    if (std::optional<AtenCall> call = getAtenCall(op)) {
      if (isa<ViewOp>(op)) {
        // Values have no strides here, so `contiguous` is nothing and a view may need the copy that reshape makes.
        call->name = "aten::reshape";
        call->args.back().name = "shape";
      }
      return lowerCall(op, *call);
    }
    if (isa<func::ReturnOp, rt::CheckRowsOp>(op) ||
        (isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::MaxSIOp>(op) &&
         op->getResult(0).getType().isIndex()))
      return success();
    return op->emitError() << "'" << op->getName() << "' has no code: functions of the pipe phase hold ATen ops, "
                           << "constants, calls and arithmetic on sizes";
  }

  LogicalResult lowerCall(Operation *op, const AtenCall &call) {
    FailureOr<RtArguments> arguments = makeRtArguments(op, call);
    if (failed(arguments))
      return failure();
    ArrayAttr names = builder.getArrayAttr(arguments->names), values = builder.getArrayAttr(arguments->values);
    auto gradient = dyn_cast<AtenGradientOp>(op);
    if (!gradient) {
      replace(op, rt::CallOp::create(builder, op->getLoc(), handles(op), builder.getStringAttr(call.name),
                                     arguments->tensors, arguments->sizes, names, values, makeSite(op)));
      return success();
    }
    MLIRContext *context = builder.getContext();
    auto cotangents = llvm::map_to_vector(gradient.getPresentCotangents(), [&](bool present) {
      return present ? Attribute(rt::OperandAttr::get(context)) : rt::NoneAttr::get(context);
    });
    SmallVector<int32_t> wanted = numberWanted(*arguments, gradient.getWanted());
    replace(op, rt::CallGradientOp::create(builder, op->getLoc(), handles(op), builder.getStringAttr(call.name),
                                           arguments->tensors, arguments->sizes, gradient.getCotangents(), names,
                                           values, builder.getArrayAttr(cotangents),
                                           builder.getDenseI32ArrayAttr(wanted), makeSite(op)));
    return success();
  }

  func::FuncOp function;
  StringAttr caller;
  const llvm::StringMap<int64_t> &symbols;
  llvm::function_ref<StringAttr(ElementsAttr, Location)> constant;
  const llvm::DenseMap<StringAttr, StringAttr> &callers;
  ShapeAnalysis &shapes;
  KernelBuilder *kernels; // null: none are wanted
  OpBuilder builder;
  rt::TensorType handle;
};

struct BraidToRt : impl::BraidToRtBase<BraidToRt> {
  using BraidToRtBase::BraidToRtBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringMap<int64_t> symbols;
    if (auto names = module->getAttrOfType<ArrayAttr>(rt::symbolsAttrName))
      for (auto [number, name] : llvm::enumerate(names.getAsRange<StringAttr>()))
        symbols[name.getValue()] = number;

    SymbolTable table(module);
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    llvm::DenseMap<ElementsAttr, StringAttr> constants;
    auto constant = [&](ElementsAttr value, Location loc) -> StringAttr {
      StringAttr &name = constants[value];
      if (name)
        return name;
      if (!rt::getDtype(value.getElementType())) {
        emitError(loc) << "a constant has elements of type " << value.getElementType() << ", which the runtime lacks";
        return nullptr;
      }
      ++numConstants;
      return name = table.insert(rt::ConstantOp::create(builder, loc, "constant", value));
    };

    llvm::DenseMap<StringAttr, StringAttr> callers = findCallers(module);
    ShapeAnalysis shapes(module);
    KernelBuilder kernelBuilder(module, shapes);
    std::vector<FunctionLowering> lowerings;
    for (auto function : module.getOps<func::FuncOp>())
      lowerings.emplace_back(function, callers.lookup(function.getSymNameAttr()), symbols, constant, callers, shapes,
                             kernels ? &kernelBuilder : nullptr);
    // Every function's errors are told, not only the first one's.
    bool valid = true;
    for (FunctionLowering &lowering : lowerings)
      valid &= succeeded(lowering.prepare());
    for (FunctionLowering &lowering : lowerings)
      valid = valid && succeeded(lowering.run());
    if (!valid)
      return signalPassFailure();
    numKernels += kernelBuilder.getNumKernels();
    // What is left in the module describes the model; the plan has it all.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<WeightsOp, ParamOp, DerivativeOp>(op))
        op.erase();
    module.walk([&](Operation *op) { numCalls += isa<rt::CallOp, rt::CallGradientOp>(op); });
  }
};
} // namespace
} // namespace braid
