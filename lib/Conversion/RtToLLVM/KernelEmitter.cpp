//===- KernelEmitter.cpp - Loops of a kernel ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "braid/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace braid {

KernelEmitter::KernelEmitter(rt::KernelOp kernel, ProgramBuilder &program)
    : kernel(kernel), program(program), builder(kernel->getContext()), loc(kernel.getLoc()),
      body(kernel.getBody().front()), end(cast<rt::YieldOp>(body.getTerminator())) {}

void KernelEmitter::classify() {
  for (auto [argument, kind] : llvm::zip(body.getArguments(), kernel.getInputs()))
    kinds[argument] = {kind == 0, 0};
  for (Operation &op : body.without_terminator()) {
    Kind kind;
    for (Value operand : op.getOperands()) {
      kind.perElement |= kindOf(operand).perElement;
      kind.phase = std::max(kind.phase, kindOf(operand).phase);
    }
    if (isa<rt::RowSumOp, rt::RowMaxOp>(op))
      kind = {false, kind.phase + 1};
    kind.perElement |= isa<rt::ColumnOp>(op);
    numPhases = std::max(numPhases, kind.phase + 1);
    kinds[op.getResult(0)] = kind;
  }
}

FailureOr<StringAttr> KernelEmitter::run(StringRef cpu) {
  classify();
  std::string name = ("." + kernel.getSymName()).str();
  LLVM::LLVMFuncOp general = emitFunction(name);
  general.setPassthroughAttr(builder.getStrArrayAttr({kernelFunctionAttr}));
  StringAttr special;
  if (!cpu.empty()) {
    builder.setInsertionPointAfter(general);
    auto version = cast<LLVM::LLVMFuncOp>(builder.clone(*general));
    version.setSymName((name + "." + cpu).str());
    version.setTargetCpu(cpu);
    special = version.getSymNameAttr();
    if (failed(lower(version)))
      return failure();
  }
  if (failed(lower(general)))
    return failure();

  std::string operands;
  auto word = [&](int32_t value) { operands.append(reinterpret_cast<const char *>(&value), sizeof value); };
  auto describe = [&](TypeRange types, ArrayRef<int32_t> entries) {
    for (auto [type, kind] : llvm::zip(types, entries)) {
      word(*rt::getDtype(type));
      word(kind);
    }
  };
  describe(body.getArgumentTypes(), kernel.getInputs());
  describe(end.getOperandTypes(), kernel.getOutputs());
  // Rows are whole where anything depends on more than the element: then neither threads nor the merging of dims may
  // cut them.
  bool wholeRows = numPhases > 1 || llvm::any_of(kernel.getOutputs(), [](int32_t kind) { return kind != 0; }) ||
                   llvm::any_of(body, [](Operation &op) { return isa<rt::ColumnOp, rt::RowSizeOp>(op); });
  StringAttr result = program.structure(
      (name + ".kernel"),
      {program.string(kernel.getSymName()), static_cast<int32_t>(kernel.getInputs().size()),
       static_cast<int32_t>(kernel.getOutputs().size()), static_cast<int32_t>(kernel.getRank()),
       static_cast<int32_t>(wholeRows), program.bytes(operands, 4), general.getSymNameAttr(), special});
  kernel.erase();
  return result;
}

Value KernelEmitter::integer(int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, program.i64, builder.getI64IntegerAttr(value));
}

SmallVector<Value> KernelEmitter::loop(Value count, ValueRange carried,
                                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> emit) {
  Block *head = function.addBlock(), *exit = function.addBlock();
  Value number = head->addArgument(program.i64, loc);
  for (Value value : carried) {
    head->addArgument(value.getType(), loc);
    exit->addArgument(value.getType(), loc);
  }
  Value none = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sle, count, integer(0));
  SmallVector<Value> start = {integer(0)};
  llvm::append_range(start, carried);
  LLVM::CondBrOp::create(builder, loc, none, exit, carried, head, start);
  builder.setInsertionPointToStart(head);
  SmallVector<Value> results = emit(number, ValueRange(head->getArguments().drop_front()));
  Value next = LLVM::AddOp::create(builder, loc, number, integer(1));
  Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, next, count);
  SmallVector<Value> again = {next};
  llvm::append_range(again, results);
  LLVM::CondBrOp::create(builder, loc, more, head, again, exit, results);
  builder.setInsertionPointToStart(exit);
  return llvm::to_vector_of<Value>(exit->getArguments());
}

LLVM::LLVMFuncOp KernelEmitter::emitFunction(StringRef name) {
  builder.setInsertionPoint(kernel);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {program.pointer, program.pointer, program.i64, program.i64});
  function = LLVM::LLVMFuncOp::create(builder, loc, name, type, LLVM::Linkage::Internal);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value rows = entry->getArgument(2);
  columns = entry->getArgument(3);
  size_t count = body.getNumArguments() + end.getNumOperands();
  for (size_t i = 0; i < count; ++i) {
    auto entryOf = [&](Value array) -> Value {
      return LLVM::GEPOp::create(builder, loc, program.pointer, program.i8, array,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(8 * i)});
    };
    pointers.push_back(LLVM::LoadOp::create(builder, loc, program.pointer, entryOf(entry->getArgument(0))));
    strides.push_back(LLVM::LoadOp::create(builder, loc, program.i64, entryOf(entry->getArgument(1))));
  }
  // Outputs are new memory, which nothing else points to.
  auto domain = LLVM::AliasScopeDomainAttr::get(builder.getContext());
  for (size_t i = 0; i < end.getNumOperands(); ++i)
    scopes.push_back(LLVM::AliasScopeAttr::get(domain));
  loop(rows, {}, [&](Value row, ValueRange) {
    rowPointers.clear();
    for (auto [pointer, stride] : llvm::zip(pointers, strides))
      rowPointers.push_back(LLVM::GEPOp::create(builder, loc, program.pointer, program.i8, pointer,
                                                ValueRange{LLVM::MulOp::create(builder, loc, row, stride)}));
    emitRow();
    return SmallVector<Value>();
  });
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  return function;
}

void KernelEmitter::emitRow() {
  rowValues.clear();
  for (BlockArgument argument : body.getArguments())
    if (!kindOf(argument).perElement)
      rowValues.map(argument, loadElement(argument.getArgNumber(), Value()));
  for (unsigned phase = 0; phase < numPhases; ++phase)
    emitPhase(phase);
  for (OpOperand &output : end->getOpOperands())
    if (kernel.getOutputs()[output.getOperandNumber()] != 0)
      storeElement(output.getOperandNumber(), rowValues.lookup(output.get()), Value());
}

Operation *KernelEmitter::clone(Operation *op, IRMapping &mapping) {
  Operation *copy = builder.clone(*op, mapping);
  // As C compilers and ATen's vector code do.
  if (auto arithmetic = dyn_cast<arith::ArithFastMathInterface>(copy))
    copy->setAttr(arithmetic.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(copy->getContext(), arith::FastMathFlags::contract));
  return copy;
}

SmallVector<Operation *> KernelEmitter::neededBy(ArrayRef<Value> roots) {
  llvm::SmallDenseSet<Value> needed(roots.begin(), roots.end());
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    Value result = op.getResult(0);
    if (!needed.contains(result) || !kindOf(result).perElement)
      continue;
    ops.push_back(&op);
    needed.insert(op.operand_begin(), op.operand_end());
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

void KernelEmitter::emitPhase(unsigned phase) {
  // What is the same for the row, and may be known by now.
  for (Operation &op : body.without_terminator()) {
    Kind kind = kindOf(op.getResult(0));
    if (kind.perElement || kind.phase != phase || isa<rt::RowSumOp, rt::RowMaxOp>(op))
      continue;
    if (isa<rt::RowSizeOp>(op))
      rowValues.map(op.getResult(0), columns);
    else
      clone(&op, rowValues);
  }

  SmallVector<Operation *> reductions;
  SmallVector<Value> roots, initial;
  for (Operation &op : body.without_terminator())
    if (isa<rt::RowSumOp, rt::RowMaxOp>(op) && kindOf(op.getOperand(0)).phase == phase) {
      auto type = cast<FloatType>(op.getResult(0).getType());
      reductions.push_back(&op);
      roots.push_back(op.getOperand(0));
      APFloat start = isa<rt::RowMaxOp>(op) ? APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true)
                                            : APFloat::getZero(type.getFloatSemantics());
      initial.push_back(arith::ConstantOp::create(builder, loc, FloatAttr::get(type, start)));
    }
  SmallVector<unsigned> stores;
  for (OpOperand &output : end->getOpOperands()) {
    // An output of elements may be the same for the row, as an expanded value is.
    if (kernel.getOutputs()[output.getOperandNumber()] != 0 || kindOf(output.get()).phase != phase)
      continue;
    stores.push_back(output.getOperandNumber());
    roots.push_back(output.get());
  }
  if (roots.empty())
    return;
  SmallVector<Operation *> ops = neededBy(roots);
  llvm::SmallDenseSet<Value> used(roots.begin(), roots.end());
  for (Operation *op : ops)
    used.insert(op->operand_begin(), op->operand_end());

  SmallVector<Value> totals = loop(columns, initial, [&](Value column, ValueRange carried) {
    IRMapping values = rowValues;
    for (BlockArgument argument : body.getArguments())
      if (kindOf(argument).perElement && used.contains(argument))
        values.map(argument, loadElement(argument.getArgNumber(), column));
    for (Operation *op : ops) {
      if (isa<rt::ColumnOp>(op))
        values.map(op->getResult(0), column);
      else
        clone(op, values);
    }
    SmallVector<Value> next;
    for (auto [reduction, total] : llvm::zip(reductions, carried)) {
      Value element = values.lookup(reduction->getOperand(0));
      if (isa<rt::RowMaxOp>(reduction)) {
        next.push_back(arith::MaximumFOp::create(builder, loc, total, element));
        continue;
      }
      auto flags = arith::FastMathFlags::reassoc | arith::FastMathFlags::contract;
      next.push_back(arith::AddFOp::create(builder, loc, total, element,
                                           arith::FastMathFlagsAttr::get(builder.getContext(), flags)));
    }
    for (unsigned output : stores)
      storeElement(output, values.lookup(end.getOperand(output)), column);
    return next;
  });
  for (auto [reduction, total] : llvm::zip(reductions, totals))
    rowValues.map(reduction->getResult(0), total);
}

Value KernelEmitter::elementAddress(unsigned operand, Type type, Value column) {
  if (!column)
    return rowPointers[operand];
  return LLVM::GEPOp::create(builder, loc, program.pointer, type, rowPointers[operand], ValueRange{column});
}

Value KernelEmitter::loadElement(unsigned input, Value column) {
  Type type = body.getArgument(input).getType();
  Type stored = type.isInteger(1) ? program.i8 : type;
  auto load = LLVM::LoadOp::create(builder, loc, stored, elementAddress(input, stored, column));
  load.setNoaliasScopesAttr(builder.getArrayAttr(scopes));
  if (!type.isInteger(1))
    return load;
  Value zero = LLVM::ConstantOp::create(builder, loc, program.i8, builder.getI8IntegerAttr(0));
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, load, zero);
}

void KernelEmitter::storeElement(unsigned output, Value value, Value column) {
  if (value.getType().isInteger(1))
    value = LLVM::ZExtOp::create(builder, loc, program.i8, value);
  unsigned operand = body.getNumArguments() + output;
  auto store = LLVM::StoreOp::create(builder, loc, value, elementAddress(operand, value.getType(), column));
  SmallVector<Attribute> others;
  for (auto [number, scope] : llvm::enumerate(scopes))
    if (number != output)
      others.push_back(scope);
  store.setAliasScopesAttr(builder.getArrayAttr({scopes[output]}));
  if (!others.empty())
    store.setNoaliasScopesAttr(builder.getArrayAttr(others));
}

LogicalResult KernelEmitter::lower(LLVM::LLVMFuncOp op) {
  MLIRContext *context = op.getContext();
  {
    // Functions of a vector's elements, which libm has not. They hold for float32; float64 goes to libm.
    RewritePatternSet patterns(context);
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"exp", "math.exp", "tanh", "math.tanh", "log", "math.log", "erf", "math.erf"}, name);
    });
    if (failed(applyPatternsGreedily(op, std::move(patterns))))
      return failure();
  }
  LLVMTypeConverter types(context);
  LLVMConversionTarget target(*context);
  target.addIllegalDialect<arith::ArithDialect, math::MathDialect>();
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  return applyPartialConversion(op, target, std::move(patterns));
}

} // namespace braid
