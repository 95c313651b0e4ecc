//===- ProgramBuilder.cpp - Globals of a compiled program -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace braid {

ProgramBuilder::ProgramBuilder(ModuleOp module)
    : pointer(LLVM::LLVMPointerType::get(module.getContext())), i8(IntegerType::get(module.getContext(), 8)),
      i32(IntegerType::get(module.getContext(), 32)), i64(IntegerType::get(module.getContext(), 64)), module(module),
      builder(OpBuilder::atBlockEnd(module.getBody())) {
  if (auto symbols = module->getAttrOfType<ArrayAttr>(rt::symbolsAttrName))
    numSymbols = symbols.size();
}

StringAttr ProgramBuilder::freshName(StringRef stem) {
  return builder.getStringAttr("." + stem + "." + Twine(nextName++)); // no name of a module or function starts so
}

LLVM::GlobalOp ProgramBuilder::global(Type type, StringRef name, Attribute value, bool constant) {
  // Names that start with a dot need no entry in the symbol table.
  LLVM::Linkage linkage = name.starts_with(".") ? LLVM::Linkage::Private : LLVM::Linkage::Internal;
  return LLVM::GlobalOp::create(builder, module.getLoc(), type, constant, linkage, name, value);
}

StringAttr ProgramBuilder::bytes(StringRef data, unsigned alignment, StringRef section, StringRef name) {
  StringAttr symbol = name.empty() ? freshName("data") : builder.getStringAttr(name);
  LLVM::GlobalOp op = global(LLVM::LLVMArrayType::get(i8, data.size()), symbol, builder.getStringAttr(data));
  op.setAlignment(alignment);
  if (!section.empty())
    op.setSection(section);
  return symbol;
}

StringAttr ProgramBuilder::string(StringRef text) {
  StringAttr &name = strings[text];
  if (!name)
    name = bytes((text + Twine('\0')).str());
  return name;
}

StringAttr ProgramBuilder::list(ArrayRef<int64_t> values) {
  if (values.empty())
    return nullptr;
  StringAttr &name = lists[builder.getDenseI64ArrayAttr(values)];
  if (!name) {
    name = freshName("list");
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, i64);
    global(LLVM::LLVMArrayType::get(i64, values.size()), name, DenseIntElementsAttr::get(type, values));
  }
  return name;
}

StringAttr ProgramBuilder::structure(StringRef name, ArrayRef<Field> fields, bool external) {
  Location loc = module.getLoc();
  SmallVector<Type> types;
  for (const Field &field : fields) {
    if (std::holds_alternative<StringAttr>(field))
      types.push_back(pointer);
    else if (std::holds_alternative<int32_t>(field))
      types.push_back(i32);
    else
      types.push_back(LLVM::LLVMArrayType::get(i64, std::get<SmallVector<int64_t>>(field).size()));
  }
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  LLVM::GlobalOp op = global(type, name, Attribute());
  if (external)
    op.setLinkage(LLVM::Linkage::External);

  OpBuilder inside = OpBuilder::atBlockEnd(&op.getInitializer().emplaceBlock());
  Value value = LLVM::UndefOp::create(inside, loc, type);
  for (auto [number, field] : llvm::enumerate(fields)) {
    Value element;
    if (const auto *address = std::get_if<StringAttr>(&field)) {
      if (*address)
        element = LLVM::AddressOfOp::create(inside, loc, pointer, address->getValue());
      else
        element = LLVM::ZeroOp::create(inside, loc, pointer);
    } else if (const auto *integer = std::get_if<int32_t>(&field)) {
      element = LLVM::ConstantOp::create(inside, loc, i32, inside.getI32IntegerAttr(*integer));
    } else {
      const auto &run = std::get<SmallVector<int64_t>>(field);
      auto shape = RankedTensorType::get({static_cast<int64_t>(run.size())}, i64);
      element = LLVM::ConstantOp::create(inside, loc, types[number],
                                         DenseIntElementsAttr::get(shape, ArrayRef<int64_t>(run)));
    }
    value = LLVM::InsertValueOp::create(inside, loc, value, element, static_cast<int64_t>(number));
  }
  LLVM::ReturnOp::create(inside, loc, value);
  return op.getSymNameAttr();
}

static SmallVector<Field> siteFields(ProgramBuilder &program, rt::SiteAttr site) {
  if (!site)
    return {program.string(""), program.string(""), 0};
  return {program.string(site.getModule().getValue()), program.string(site.getFile().getValue()), site.getLine()};
}

StringAttr ProgramBuilder::site(rt::SiteAttr site) {
  StringAttr &name = sites[site ? Attribute(site) : builder.getUnitAttr()];
  if (!name)
    name = structure(freshName("site"), siteFields(*this, site));
  return name;
}

int32_t ProgramBuilder::operatorNumber(StringRef name, ArrayAttr argumentNames) {
  std::string names;
  llvm::raw_string_ostream stream(names);
  llvm::interleave(argumentNames.getAsValueRange<StringAttr>(), stream, ",");
  auto key = std::pair(string(name), string(names));
  return operators.insert({key, static_cast<int32_t>(operators.size())}).first->second;
}

StringAttr ProgramBuilder::descriptor(StringRef name, ArrayAttr argumentNames, ArrayRef<ArgumentWords> arguments,
                                      int32_t numResults, rt::SiteAttr site, ArrayRef<int32_t> wanted) {
  SmallVector<Field> fields = {operatorNumber(name, argumentNames), numResults};
  fields.append(siteFields(*this, site));
  auto word = [&](int64_t value) {
    if (!std::holds_alternative<SmallVector<int64_t>>(fields.back()))
      fields.push_back(SmallVector<int64_t>());
    std::get<SmallVector<int64_t>>(fields.back()).push_back(value);
  };
  for (const ArgumentWords &argument : arguments) {
    word(static_cast<int64_t>(argument.count) << 32 | argument.tag);
    if (const auto *address = std::get_if<StringAttr>(&argument.payload))
      fields.push_back(*address);
    else
      word(std::get<int64_t>(argument.payload));
  }
  for (int32_t number : wanted)
    fields.push_back(number);
  return structure(freshName("call"), fields);
}

LLVM::LLVMFuncOp ProgramBuilder::runtime(StringRef name, ArrayRef<Type> arguments, Type result) {
  LLVM::LLVMFuncOp &op = declared[name];
  if (!op) {
    auto type = LLVM::LLVMFunctionType::get(result ? result : LLVM::LLVMVoidType::get(builder.getContext()), arguments);
    op = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
  }
  return op;
}

LLVM::LLVMFuncOp ProgramBuilder::function(Location loc, StringRef name, ArrayRef<Type> arguments, bool external) {
  auto op = LLVM::LLVMFuncOp::create(builder, loc, name, LLVM::LLVMFunctionType::get(i32, arguments),
                                     external ? LLVM::Linkage::External : LLVM::Linkage::Internal);
  // Nothing here is hot: the time is in the operators. What counts is the size.
  op.setPassthroughAttr(builder.getStrArrayAttr({"minsize", "optsize"}));
  return op;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The elements as the runtime wants them: dense, row-major, bools as bytes.
static std::string elementBytes(ElementsAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return std::string(blob->getData().data(), blob->getData().size());
  std::string data;
  auto append = [&](const APInt &bits) {
    for (unsigned at = 0; at < bits.getBitWidth(); at += 8)
      data.push_back(static_cast<char>(bits.extractBitsAsZExtValue(std::min(8u, bits.getBitWidth() - at), at)));
  };
  if (isa<FloatType>(value.getElementType())) {
    for (const APFloat &element : value.getValues<APFloat>())
      append(element.bitcastToAPInt());
  } else {
    for (const APInt &element : value.getValues<APInt>())
      append(element);
  }
  return data;
}

void ProgramBuilder::takeConstants() {
  for (rt::ConstantOp constant : llvm::make_early_inc_range(module.getOps<rt::ConstantOp>())) {
    constantNumbers[constant.getSymName()] = constantNumbers.size();
    ElementsAttr value = constant.getValue();
    ArrayRef<int64_t> sizes = value.getShapedType().getShape();
    constantTable.append({*rt::getDtype(value.getElementType()), static_cast<int32_t>(sizes.size()), list(sizes),
                          value.empty() ? StringAttr() : bytes(elementBytes(value), 16)});
    constant.erase();
  }
}

void ProgramBuilder::handles(StringRef name, size_t count) {
  auto type = LLVM::LLVMArrayType::get(pointer, count);
  LLVM::GlobalOp op = global(type, name, Attribute(), /*constant=*/false);
  OpBuilder inside = OpBuilder::atBlockEnd(&op.getInitializer().emplaceBlock());
  LLVM::ReturnOp::create(inside, module.getLoc(), LLVM::ZeroOp::create(inside, module.getLoc(), type).getResult());
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {
/// `for (i = 0; i < count; ++i) if (status = body(i)) return status;`
class CheckedLoop {
public:
  CheckedLoop(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp function, int64_t count,
              llvm::function_ref<Value(Value)> body) {
    Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
    auto constant = [&](Type type, int64_t value) {
      return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value)).getResult();
    };
    Block *head = function.addBlock(), *step = function.addBlock(), *failed = function.addBlock(),
          *end = function.addBlock();
    Value number = head->addArgument(i64, loc);
    LLVM::BrOp::create(builder, loc, ValueRange{constant(i64, 0)}, head);
    builder.setInsertionPointToStart(head);
    Value status = body(number);
    Value bad = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, status, constant(i32, 0));
    LLVM::CondBrOp::create(builder, loc, bad, failed, ValueRange{}, step, ValueRange{});
    builder.setInsertionPointToStart(failed);
    LLVM::ReturnOp::create(builder, loc, status);
    builder.setInsertionPointToStart(step);
    Value next = LLVM::AddOp::create(builder, loc, number, constant(i64, 1));
    Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult, next, constant(i64, count));
    LLVM::CondBrOp::create(builder, loc, more, head, ValueRange{next}, end, ValueRange{});
    builder.setInsertionPointToStart(end);
  }
};
} // namespace

void ProgramBuilder::initializer() {
  Location loc = module.getLoc();
  LLVM::LLVMFuncOp operatorFunction = runtime("braid_rt_op", {pointer, pointer, pointer}, i32);
  LLVM::LLVMFuncOp constantFunction = runtime("braid_rt_constant", {i32, i32, pointer, pointer, pointer}, i32);
  SmallVector<Field> operatorTable;
  for (auto &[key, number] : operators)
    operatorTable.append({key.first, key.second});

  LLVM::LLVMFuncOp op = function(loc, "braid_initialize", {}, /*external=*/false);
  OpBuilder inside = OpBuilder::atBlockEnd(op.addEntryBlock(builder));
  auto address = [&](StringRef name) -> Value { return LLVM::AddressOfOp::create(inside, loc, pointer, name); };
  auto entry = [&](Value table, Value number, Type type) -> Value {
    return LLVM::GEPOp::create(inside, loc, pointer, type, table, ValueRange{number});
  };
  auto load = [&](Value base, Type type, int32_t offset) -> Value {
    Value at = LLVM::GEPOp::create(inside, loc, pointer, i8, base, ArrayRef<LLVM::GEPArg>{offset});
    return LLVM::LoadOp::create(inside, loc, type, at);
  };
  auto row = [&](ArrayRef<Type> types) { return LLVM::LLVMStructType::getLiteral(builder.getContext(), types); };
  if (!operatorTable.empty()) {
    handles(operatorsName, operators.size());
    StringAttr table = structure(".operator_names", operatorTable);
    CheckedLoop(inside, loc, op, operators.size(), [&](Value number) {
      Value names = entry(address(table), number, row({pointer, pointer}));
      return LLVM::CallOp::create(inside, loc, operatorFunction,
                                  ValueRange{load(names, pointer, 0), load(names, pointer, 8),
                                             entry(address(operatorsName), number, pointer)})
          .getResult();
    });
  }
  if (!constantTable.empty()) {
    handles(constantsName, constantNumbers.size());
    StringAttr table = structure(".constant_table", constantTable);
    CheckedLoop(inside, loc, op, constantNumbers.size(), [&](Value number) {
      Value constant = entry(address(table), number, row({i32, i32, pointer, pointer}));
      return LLVM::CallOp::create(inside, loc, constantFunction,
                                  ValueRange{load(constant, i32, 0), load(constant, i32, 4), load(constant, pointer, 8),
                                             load(constant, pointer, 16),
                                             entry(address(constantsName), number, pointer)})
          .getResult();
    });
  }
  Value success = LLVM::ConstantOp::create(inside, loc, i32, inside.getI32IntegerAttr(0));
  LLVM::ReturnOp::create(inside, loc, success);
}

void ProgramBuilder::finish(ArrayRef<StringAttr> entries, StringRef plan, bool emitMain) {
  Location loc = module.getLoc();
  initializer();
  StringAttr planName = bytes((plan + Twine('\0')).str(), 1, ".braid.plan", "braid_plan");
  SmallVector<Field> table;
  for (StringAttr entry : entries)
    table.append({string(entry.getValue()), entry});
  StringAttr tableName = entries.empty() ? StringAttr() : structure(".functions", table);
  StringAttr program = structure("braid_program",
                                 {1, planName, static_cast<int32_t>(entries.size()), tableName,
                                  builder.getStringAttr("braid_initialize")},
                                 /*external=*/true);
  if (!emitMain)
    return;
  LLVM::LLVMFuncOp start = runtime("braid_rt_main", {i32, pointer, pointer}, i32);
  LLVM::LLVMFuncOp main = function(loc, "main", {i32, pointer}, /*external=*/true);
  Block *block = main.addEntryBlock(builder);
  OpBuilder inside = OpBuilder::atBlockEnd(block);
  Value address = LLVM::AddressOfOp::create(inside, loc, pointer, program.getValue());
  auto call = LLVM::CallOp::create(inside, loc, start,
                                   ValueRange{block->getArgument(0), block->getArgument(1), address});
  LLVM::ReturnOp::create(inside, loc, call.getResult());
}

} // namespace braid
