//===- FunctionEmitter.cpp - The code of one function ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include "braid_rt.h"

using namespace mlir;

namespace braid {

FunctionEmitter::FunctionEmitter(func::FuncOp function, ProgramBuilder &program)
    : function(function), program(program), builder(function.getContext()), loc(function.getLoc()) {
  for (rt::InvokeOp invoke : function.getOps<rt::InvokeOp>())
    namesPath |= static_cast<bool>(invoke.getPathAttr());
}

LogicalResult FunctionEmitter::run() {
  bool hasStreams = function->hasAttr(rt::streamsAttrName);
  result = program.function(loc, function.getName(), SmallVector<Type>(hasStreams ? 4 : 3, program.pointer),
                            function->hasAttr(rt::entryAttrName));
  Block *entry = result.addEntryBlock(builder);
  symbols = entry->getArgument(0);
  operands = entry->getArgument(1);
  results = entry->getArgument(2);
  if (hasStreams)
    streams = entry->getArgument(3);
  failed = result.addBlock();
  Value status = failed->addArgument(program.i32, loc);
  Value path = namesPath ? Value(failed->addArgument(program.pointer, loc)) : Value();

  builder.setInsertionPointToStart(entry);
  slots = makeArray(program.pointer);
  pointers = makeArray(program.pointer);
  sizes = makeArray(program.i64);
  Value slotBytes = LLVM::ConstantOp::create(builder, loc, program.i64, builder.getI64IntegerAttr(0));
  Operation *clear = LLVM::MemsetOp::create(
      builder, loc, slots, LLVM::ConstantOp::create(builder, loc, program.i8, builder.getI8IntegerAttr(0)), slotBytes,
      /*isVolatile=*/false);

  Block &body = function.getBody().front();
  for (auto [number, argument] : llvm::enumerate(body.getArguments()))
    places[argument] = {Place::Operand, static_cast<int32_t>(number)};
  for (Operation &op : body) {
    loc = op.getLoc();
    if (mlir::failed(emit(&op)))
      return failure();
  }

  loc = function.getLoc();
  if (failed->hasNoPredecessors()) {
    failed->erase();
  } else {
    builder.setInsertionPointToStart(failed);
    if (path)
      call(program.runtime("braid_rt_within", {program.pointer}), path);
    if (allocator.size())
      call(program.runtime("braid_rt_release_all", {program.pointer, program.i32}),
           {slots, number(program.i32, allocator.size())});
    LLVM::ReturnOp::create(builder, loc, status);
  }

  auto resize = [&](Value array, int32_t size) {
    auto alloca = array.getDefiningOp<LLVM::AllocaOp>();
    auto count = alloca.getArraySize().getDefiningOp<LLVM::ConstantOp>();
    if (size) {
      count.setValueAttr(builder.getI32IntegerAttr(size));
    } else {
      alloca.erase();
      count.erase();
    }
  };
  if (allocator.size())
    slotBytes.getDefiningOp<LLVM::ConstantOp>().setValueAttr(builder.getI64IntegerAttr(8 * allocator.size()));
  else
    clear->erase();
  resize(slots, allocator.size());
  resize(pointers, numPointers);
  resize(sizes, numSizes);
  function.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmitter::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](rt::CallOp call) { return emitCall(call), success(); })
      .Case([&](rt::CallGradientOp call) { return emitGradient(call), success(); })
      .Case([&](rt::InvokeOp invoke) { return emitInvoke(invoke), success(); })
      .Case([&](rt::LaunchOp launch) { return emitLaunch(launch), success(); })
      .Case([&](rt::DropoutOp dropout) {
        Value p = LLVM::ConstantOp::create(builder, loc, builder.getF64Type(), dropout.getPAttr());
        return emitRandom(dropout, "braid_rt_dropout", {load(dropout.getInput()), p}), success();
      })
      .Case([&](rt::RandOp rand) {
        auto size = rand.getSizes().begin();
        Value lengths = rand.getStaticSizes().empty() ? LLVM::ZeroOp::create(builder, loc, program.pointer).getResult()
                                                      : storeSizes(rand.getStaticSizes(), size, 0);
        Value rank = number(program.i32, rand.getStaticSizes().size());
        Value dtype = number(program.i32, *rt::getDtype(rand.getDtype()));
        return emitRandom(rand, "braid_rt_rand", {lengths, rank, dtype}), success();
      })
      .Case([&](rt::ReleaseOp release) { return emitRelease(release), success(); })
      .Case([&](func::ReturnOp end) { return emitReturn(end), success(); })
      .Case([&](rt::SymbolOp symbol) {
        // Calls cannot change the symbols, so equal loads are one.
        indices[symbol] = LLVM::LoadOp::create(builder, loc, program.i64, at(symbols, 8 * symbol.getNumber()), 8,
                                               /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
        return success();
      })
      .Case([&](rt::GetConstantOp constant) {
        places[constant] = {Place::Constant, program.constantNumber(constant.getConstant())};
        return success();
      })
      .Case([&](rt::ScalarOp scalar) {
        Value to = makeResults(scalar);
        check(call(program.runtime("braid_rt_scalar", {program.i64, program.pointer}, program.i32),
                   {indices.lookup(scalar.getValue()), to}));
        return success();
      })
      .Case([&](rt::CheckRowsOp rows) {
        auto callee = program.runtime("braid_rt_check_rows",
                                      {program.pointer, program.i64, program.pointer, program.pointer}, program.i32);
        check(call(callee, {load(rows.getMask()), indices.lookup(rows.getRows()),
                            address(program.string(rows.getWhat())), address(program.site(rows.getSiteAttr()))}));
        return success();
      })
      .Case([&](rt::RetainOp retain) {
        Value handle = load(retain.getTensor());
        call(program.runtime("braid_rt_retain", {program.pointer}), handle);
        LLVM::StoreOp::create(builder, loc, handle, makeResults(retain));
        return success();
      })
      .Default([&](Operation *) { return emitArithmetic(op); });
}

LogicalResult FunctionEmitter::emitArithmetic(Operation *op) {
  auto operand = [&](unsigned number) { return indices.lookup(op->getOperand(number)); };
  auto binary = [&]<typename OpTy>() -> Value {
    return OpTy::create(builder, loc, program.i64, operand(0), operand(1));
  };
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return op->emitError() << "'" << op->getName() << "' has no code: functions of the rt phase hold rt ops and "
                           << "arithmetic on sizes";
  Value value;
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    value = number(program.i64, constant.value());
  else if (isa<arith::AddIOp>(op))
    value = binary.operator()<LLVM::AddOp>();
  else if (isa<arith::SubIOp>(op))
    value = binary.operator()<LLVM::SubOp>();
  else if (isa<arith::MulIOp>(op))
    value = binary.operator()<LLVM::MulOp>();
  else if (isa<arith::MaxSIOp>(op))
    value = binary.operator()<LLVM::SMaxOp>();
  else if (isa<arith::FloorDivSIOp>(op))
    value = call(program.floorDivide(), {operand(0), operand(1)});
  else
    return op->emitError() << "'" << op->getName() << "' has no code: sizes are computed by arith.constant, addi, "
                           << "subi, muli, floordivsi and maxsi";
  indices[op->getResult(0)] = value;
  return success();
}

void FunctionEmitter::emitCall(rt::CallOp op) {
  SmallVector<Value> passed(2);
  SmallVector<ArgumentWords> words = readArguments(op.getValues(), op.getTensors(), op.getSizes(), passed);
  passed[0] = address(program.descriptor(op.getName(), op.getNames(), words, op.getNumResults(), op.getSiteAttr()));
  passed[1] = makeResults(op);
  check(call(program.helper(words, std::nullopt), passed));
}

void FunctionEmitter::emitGradient(rt::CallGradientOp op) {
  SmallVector<Value> passed(3);
  auto numCotangents = static_cast<int32_t>(op.getCotangentValues().size());
  SmallVector<ArgumentWords> words = readArguments(op.getValues(), op.getTensors(), op.getSizes(), passed);
  // Behind the lists of tensors among the arguments.
  int32_t used = 0;
  for (Attribute value : op.getValues())
    if (auto entries = dyn_cast<ArrayAttr>(value))
      used += entries.size();
  auto next = op.getCotangents().begin();
  passed[0] = address(program.descriptor(op.getName(), op.getNames(), words, op.getNumResults(), op.getSiteAttr(),
                                         op.getWanted()));
  passed[1] = makeResults(op);
  passed[2] = storeHandles(op.getCotangentValues(), next, used);
  check(call(program.helper(words, numCotangents), passed));
}

void FunctionEmitter::emitInvoke(rt::InvokeOp op) {
  auto count = static_cast<int32_t>(op->getNumOperands());
  numPointers = std::max(numPointers, count);
  Value passed = count ? pointers : LLVM::ZeroOp::create(builder, loc, program.pointer).getResult();
  gatherHandles(op->getOperands(), passed);
  Value to = makeResults(op);
  SmallVector<Value> arguments = {symbols, passed, to};
  if (auto callees = op.getStreams(); callees && !callees->empty())
    arguments.push_back(address(program.list(*callees)));
  Value status = LLVM::CallOp::create(builder, loc, program.i32, op.getCallee(), arguments).getResult();
  check(status, op.getPathAttr());
}

template <typename OpTy> void FunctionEmitter::emitRandom(OpTy op, StringRef callee, ArrayRef<Value> own) {
  auto given = static_cast<int64_t>(op.getStream());
  Value stream = streams ? LLVM::LoadOp::create(builder, loc, program.i64, at(streams, 8 * given)).getResult()
                         : number(program.i64, given);
  // What the runtime draws for stands behind the symbols.
  SmallVector<Value> arguments(own);
  arguments.append({at(symbols, 8 * program.getNumSymbols()), stream,
                    op.getBefore() ? indices.lookup(op.getBefore()) : number(program.i64, 1),
                    op.getSamples() ? indices.lookup(op.getSamples()) : number(program.i64, -1), makeResults(op),
                    address(program.site(op.getSiteAttr()))});
  SmallVector<Type> types;
  for (Value argument : arguments)
    types.push_back(argument.getType());
  check(call(program.runtime(callee, types, program.i32), arguments));
}

void FunctionEmitter::emitLaunch(rt::LaunchOp op) {
  int32_t used = 0;
  auto next = op.getInputs().begin();
  SmallVector<Attribute> entries(op.getInputs().size(), rt::OperandAttr::get(op.getContext()));
  Value passed = storeHandles(builder.getArrayAttr(entries), next, used);
  auto size = op.getSizes().begin();
  Value lengths = storeSizes(op.getStaticSizes(), size, 0);
  Value to = makeResults(op);
  auto callee = program.runtime(
      "braid_rt_launch", {program.pointer, program.pointer, program.pointer, program.pointer, program.pointer},
      program.i32);
  check(call(callee, {address(program.kernels.lookup(op.getKernel())), lengths, passed, to,
                      address(program.site(op.getSiteAttr()))}));
}

void FunctionEmitter::emitRelease(rt::ReleaseOp op) {
  SmallVector<int32_t> numbers;
  for (Value handle : op.getTensors())
    numbers.push_back(places.lookup(handle).number);
  llvm::sort(numbers);
  auto release = program.runtime("braid_rt_release_all", {program.pointer, program.i32});
  for (size_t first = 0, end = 0; first < numbers.size(); first = end) {
    // Neighbours go together. The runtime leaves null behind, which is what a free slot holds.
    while (end < numbers.size() && numbers[end] == numbers[first] + static_cast<int32_t>(end - first))
      allocator.free(numbers[end++]);
    call(release, {slotAddress(numbers[first]), number(program.i32, end - first)});
  }
}

void FunctionEmitter::emitReturn(func::ReturnOp op) {
  // Nothing can fail from here on, so the results may be given away.
  gatherHandles(op.getOperands(), results);
  LLVM::ReturnOp::create(builder, loc, number(program.i32, 0));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

SmallVector<ArgumentWords> FunctionEmitter::readArguments(ArrayAttr values, OperandRange tensors,
                                                          OperandRange sizeValues, SmallVectorImpl<Value> &passed) {
  SmallVector<ArgumentWords> words;
  auto tensor = tensors.begin();
  auto size = sizeValues.begin();
  int32_t usedPointers = 0, usedSizes = 0;
  auto constant = [&](int32_t tag, std::variant<int64_t, StringAttr> payload, int32_t count = 0) {
    words.push_back({tag, count, payload, ArgumentWords::None});
  };
  auto patched = [&](int32_t tag, ArgumentWords::Patch patch, Value value, int32_t count = 0) {
    words.push_back({tag, count, int64_t(0), patch});
    passed.push_back(value);
  };
  for (Attribute value : values) {
    if (isa<rt::NoneAttr>(value)) {
      constant(BRAID_NONE, 0);
    } else if (isa<rt::OperandAttr>(value)) {
      patched(BRAID_TENSOR, ArgumentWords::Pointer, load(*tensor++));
    } else if (isa<rt::SizeAttr>(value)) {
      patched(BRAID_INT, ArgumentWords::Number, indices.lookup(*size++));
    } else if (auto entries = dyn_cast<ArrayAttr>(value)) {
      patched(BRAID_TENSOR_LIST, ArgumentWords::Pointer, storeHandles(entries, tensor, usedPointers), entries.size());
    } else if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
      if (llvm::none_of(list.asArrayRef(), ShapedType::isDynamic)) {
        constant(BRAID_INT_LIST, program.list(list), list.size());
        continue;
      }
      patched(BRAID_INT_LIST, ArgumentWords::Pointer, storeSizes(list.asArrayRef(), size, usedSizes), list.size());
      usedSizes += static_cast<int32_t>(list.size());
    } else if (auto flags = dyn_cast<DenseBoolArrayAttr>(value)) {
      std::string text(flags.asArrayRef().begin(), flags.asArrayRef().end());
      constant(BRAID_BOOL_LIST, flags.empty() ? StringAttr() : program.bytes(text), flags.size());
    } else if (auto text = dyn_cast<StringAttr>(value)) {
      constant(BRAID_STRING, program.string(text.getValue()));
    } else if (auto type = dyn_cast<TypeAttr>(value)) {
      constant(BRAID_DTYPE, *rt::getDtype(type.getValue()));
    } else if (auto real = dyn_cast<FloatAttr>(value)) {
      constant(BRAID_DOUBLE, real.getValue().bitcastToAPInt().getSExtValue());
    } else {
      auto integer = cast<IntegerAttr>(value);
      if (integer.getType().isInteger(1))
        constant(BRAID_BOOL, static_cast<int64_t>(integer.getValue().getZExtValue()));
      else
        constant(BRAID_INT, integer.getInt());
    }
  }
  return words;
}

Value FunctionEmitter::storeSizes(ArrayRef<int64_t> entries, OperandRange::iterator &next, int32_t used) {
  Value base = at(sizes, 8 * used);
  for (int64_t entry : entries)
    LLVM::StoreOp::create(builder, loc,
                          ShapedType::isDynamic(entry) ? indices.lookup(*next++) : number(program.i64, entry),
                          at(sizes, 8 * used++));
  numSizes = std::max(numSizes, used);
  return base;
}

Value FunctionEmitter::storeHandles(ArrayAttr entries, OperandRange::iterator &next, int32_t &used) {
  if (entries.empty())
    return LLVM::ZeroOp::create(builder, loc, program.pointer);
  Value base = at(pointers, 8 * used);
  for (Attribute entry : entries) {
    Value handle = isa<rt::OperandAttr>(entry) ? load(*next++)
                                               : LLVM::ZeroOp::create(builder, loc, program.pointer).getResult();
    LLVM::StoreOp::create(builder, loc, handle, at(pointers, 8 * used++));
  }
  numPointers = std::max(numPointers, used);
  return base;
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

Value FunctionEmitter::makeResults(Operation *op) {
  auto count = static_cast<int32_t>(op->getNumResults());
  if (!count)
    return LLVM::ZeroOp::create(builder, loc, program.pointer);
  int32_t slot = allocator.allocate(count);
  for (auto [number, handle] : llvm::enumerate(op->getResults()))
    places[handle] = {Place::Slot, slot + static_cast<int32_t>(number)};
  return slotAddress(slot);
}

void FunctionEmitter::gatherHandles(ValueRange handles, Value array) {
  // A stage passes each layer's parameters: where they are fits a table better than code.
  constexpr size_t fewHandles = 3;
  if (handles.size() <= fewHandles) {
    for (auto [number, handle] : llvm::enumerate(handles))
      LLVM::StoreOp::create(builder, loc, load(handle), at(array, 8 * number));
    return;
  }
  std::string table;
  for (Value handle : handles) {
    Place place = places.lookup(handle);
    int32_t word = place.number << 2 | place.kind;
    table.append(reinterpret_cast<const char *>(&word), sizeof word);
  }
  call(program.gather(), {address(program.bytes(table, 4)), number(program.i64, handles.size()), slots, operands, array});
}

Value FunctionEmitter::slotAddress(int32_t slot) { return at(slots, 8 * slot); }

Value FunctionEmitter::load(Value handle) {
  Place place = places.lookup(handle);
  Value base = place.kind == Place::Slot      ? slots
               : place.kind == Place::Operand ? operands
                                              : address(ProgramBuilder::constantsName);
  return LLVM::LoadOp::create(builder, loc, program.pointer, at(base, 8 * place.number));
}

void FunctionEmitter::check(Value status, StringAttr path) {
  Block *next = new Block();
  result.getBody().getBlocks().insert(failed->getIterator(), next);
  Value bad = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, status, number(program.i32, 0));
  SmallVector<Value> passed = {status};
  if (namesPath)
    passed.push_back(path ? address(program.string(path.getValue()))
                          : LLVM::ZeroOp::create(builder, loc, program.pointer).getResult());
  LLVM::CondBrOp::create(builder, loc, bad, failed, passed, next, ValueRange{});
  builder.setInsertionPointToStart(next);
}

Value FunctionEmitter::call(LLVM::LLVMFuncOp callee, ValueRange arguments) {
  auto op = LLVM::CallOp::create(builder, loc, callee, arguments);
  return op.getNumResults() ? op.getResult() : Value();
}

Value FunctionEmitter::at(Value base, int32_t offset) {
  if (!offset)
    return base;
  return LLVM::GEPOp::create(builder, loc, program.pointer, program.i8, base, ArrayRef<LLVM::GEPArg>{offset});
}

Value FunctionEmitter::address(StringRef global) {
  return LLVM::AddressOfOp::create(builder, loc, program.pointer, global);
}

Value FunctionEmitter::number(Type type, int64_t value) {
  Value &constant = numbers[{type, value}];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&result.getBody().front());
    constant = LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  }
  return constant;
}

Value FunctionEmitter::makeArray(Type element) {
  Value count = LLVM::ConstantOp::create(builder, loc, program.i32, builder.getI32IntegerAttr(0));
  return LLVM::AllocaOp::create(builder, loc, program.pointer, element, count, 8);
}

} // namespace braid
