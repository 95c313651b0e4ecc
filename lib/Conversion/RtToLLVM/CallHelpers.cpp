//===- CallHelpers.cpp - Internal functions that calls share --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

using namespace mlir;

namespace braid {

/// Copies the constant arguments from the descriptor, sets the others, and calls the runtime.
LLVM::LLVMFuncOp ProgramBuilder::helper(ArrayRef<ArgumentWords> arguments, std::optional<int32_t> cotangents) {
  std::string key = cotangents ? ".gradient." + std::to_string(*cotangents) : ".call";
  llvm::raw_string_ostream stream(key);
  stream << "." << arguments.size() << ".";
  for (const ArgumentWords &argument : arguments)
    stream << "cpn"[argument.patch]; // constant, pointer, number
  LLVM::LLVMFuncOp &op = helpers[key];
  if (op)
    return op;

  Location loc = module.getLoc();
  SmallVector<Type> types(cotangents ? 3 : 2, pointer);
  for (const ArgumentWords &argument : arguments)
    if (argument.patch != ArgumentWords::None)
      types.push_back(argument.patch == ArgumentWords::Pointer ? pointer : i64);
  op = function(loc, key, types, /*external=*/false);
  op.setNoInline(true);
  Block *block = op.addEntryBlock(builder);
  OpBuilder inside = OpBuilder::atBlockEnd(block);
  auto constant = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(inside, loc, type, inside.getIntegerAttr(type, value));
  };
  auto at = [&](Value base, int32_t offset) -> Value {
    return LLVM::GEPOp::create(inside, loc, pointer, i8, base, ArrayRef<LLVM::GEPArg>{offset});
  };
  Value descriptor = block->getArgument(0), results = block->getArgument(1);
  auto numArguments = static_cast<int32_t>(arguments.size());
  Value values = LLVM::ZeroOp::create(inside, loc, pointer);
  if (numArguments) {
    auto array = LLVM::LLVMArrayType::get(i64, 2 * numArguments);
    values = LLVM::AllocaOp::create(inside, loc, pointer, array, constant(i32, 1), 8);
    LLVM::MemcpyOp::create(inside, loc, values, at(descriptor, valuesOffset), constant(i64, 16 * numArguments),
                           /*isVolatile=*/false);
  }
  unsigned next = cotangents ? 3 : 2;
  for (auto [number, argument] : llvm::enumerate(arguments))
    if (argument.patch != ArgumentWords::None)
      LLVM::StoreOp::create(inside, loc, block->getArgument(next++), at(values, 16 * number + 8));

  Value number = LLVM::LoadOp::create(inside, loc, i32, descriptor);
  Value table = LLVM::AddressOfOp::create(inside, loc, pointer, operatorsName);
  Value handle = LLVM::LoadOp::create(inside, loc, pointer,
                                      LLVM::GEPOp::create(inside, loc, pointer, pointer, table, ValueRange{number}));
  Value count = LLVM::LoadOp::create(inside, loc, i32, at(descriptor, 4));
  Value site = at(descriptor, siteOffset);
  Value status;
  if (!cotangents) {
    LLVM::LLVMFuncOp callee = runtime("braid_rt_call", {pointer, pointer, i32, pointer, i32, pointer}, i32);
    status = LLVM::CallOp::create(inside, loc, callee,
                                  ValueRange{handle, values, constant(i32, numArguments), results, count, site})
                 .getResult();
  } else {
    LLVM::LLVMFuncOp callee = runtime(
        "braid_rt_call_gradient", {pointer, pointer, i32, pointer, i32, pointer, i32, pointer, pointer}, i32);
    Value wanted = at(descriptor, valuesOffset + 16 * numArguments);
    status = LLVM::CallOp::create(inside, loc, callee,
                                  ValueRange{handle, values, constant(i32, numArguments), block->getArgument(2),
                                             constant(i32, *cotangents), wanted, count, results, site})
                 .getResult();
  }
  LLVM::ReturnOp::create(inside, loc, status);
  return op;
}

LLVM::LLVMFuncOp ProgramBuilder::gather() {
  LLVM::LLVMFuncOp &op = helpers[".gather"];
  if (op)
    return op;
  Location loc = module.getLoc();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, i64, pointer, pointer, pointer});
  op = LLVM::LLVMFuncOp::create(builder, loc, ".gather", type, LLVM::Linkage::Internal);
  op.setNoInline(true);
  Block *entry = op.addEntryBlock(builder), *head = op.addBlock(), *end = op.addBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(entry);
  auto constant = [&](Type of, int64_t value) -> Value {
    return LLVM::ConstantOp::create(inside, loc, of, inside.getIntegerAttr(of, value));
  };
  auto entryOf = [&](Value array, Type of, Value number) -> Value {
    return LLVM::GEPOp::create(inside, loc, pointer, of, array, ValueRange{number});
  };
  Value bases = LLVM::AllocaOp::create(inside, loc, pointer, pointer, constant(i32, 3), 8);
  Value constants = constantNumbers.empty() ? LLVM::ZeroOp::create(inside, loc, pointer).getResult()
                                            : LLVM::AddressOfOp::create(inside, loc, pointer, constantsName).getResult();
  Value places[] = {entry->getArgument(2), entry->getArgument(3), constants};
  for (auto [kind, base] : llvm::enumerate(places))
    LLVM::StoreOp::create(inside, loc, base, entryOf(bases, pointer, constant(i64, static_cast<int64_t>(kind))));
  LLVM::BrOp::create(inside, loc, ValueRange{constant(i64, 0)}, head);

  Value number = head->addArgument(i64, loc);
  inside.setInsertionPointToStart(head);
  Value word = LLVM::LoadOp::create(inside, loc, i32, entryOf(entry->getArgument(0), i32, number));
  Value kind = LLVM::AndOp::create(inside, loc, word, constant(i32, 3));
  Value place = LLVM::LShrOp::create(inside, loc, word, constant(i32, 2));
  Value base = LLVM::LoadOp::create(inside, loc, pointer, entryOf(bases, pointer, kind));
  Value handle = LLVM::LoadOp::create(inside, loc, pointer, entryOf(base, pointer, place));
  LLVM::StoreOp::create(inside, loc, handle, entryOf(entry->getArgument(4), pointer, number));
  Value next = LLVM::AddOp::create(inside, loc, number, constant(i64, 1));
  Value more = LLVM::ICmpOp::create(inside, loc, LLVM::ICmpPredicate::ult, next, entry->getArgument(1));
  LLVM::CondBrOp::create(inside, loc, more, head, ValueRange{next}, end, ValueRange{});
  inside.setInsertionPointToStart(end);
  LLVM::ReturnOp::create(inside, loc, ValueRange{});
  return op;
}

LLVM::LLVMFuncOp ProgramBuilder::floorDivide() {
  LLVM::LLVMFuncOp &op = helpers[".floordiv"];
  if (op)
    return op;
  Location loc = module.getLoc();
  op = LLVM::LLVMFuncOp::create(builder, loc, ".floordiv", LLVM::LLVMFunctionType::get(i64, {i64, i64}),
                                LLVM::Linkage::Internal);
  op.setNoInline(true);
  Block *entry = op.addEntryBlock(builder), *divide = op.addBlock(), *byZero = op.addBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(entry);
  Value a = entry->getArgument(0), b = entry->getArgument(1);
  Value zero = LLVM::ConstantOp::create(inside, loc, i64, inside.getI64IntegerAttr(0));
  auto compare = [&](LLVM::ICmpPredicate predicate, Value left, Value right) -> Value {
    return LLVM::ICmpOp::create(inside, loc, predicate, left, right);
  };
  LLVM::CondBrOp::create(inside, loc, compare(LLVM::ICmpPredicate::eq, b, zero), byZero, ValueRange{}, divide,
                         ValueRange{});
  // An empty batch: what is divided is empty too, and the operator that takes the size checks it.
  inside.setInsertionPointToStart(byZero);
  LLVM::ReturnOp::create(inside, loc, zero);
  inside.setInsertionPointToStart(divide);
  Value quotient = LLVM::SDivOp::create(inside, loc, a, b), remainder = LLVM::SRemOp::create(inside, loc, a, b);
  Value inexact = compare(LLVM::ICmpPredicate::ne, remainder, zero);
  Value signsDiffer = compare(LLVM::ICmpPredicate::slt, LLVM::XOrOp::create(inside, loc, a, b), zero);
  Value down = LLVM::AndOp::create(inside, loc, inexact, signsDiffer);
  Value rounded = LLVM::SubOp::create(inside, loc, quotient, LLVM::ZExtOp::create(inside, loc, i64, down));
  LLVM::ReturnOp::create(inside, loc, rounded);
  return op;
}

} // namespace braid
