//===- RtOps.cpp - Runtime calls with explicit ownership ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Rt/IR/RtDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

using Operands = SmallVectorImpl<OpAsmParser::UnresolvedOperand>;

//===----------------------------------------------------------------------===//
// Arguments of operators
//===----------------------------------------------------------------------===//

/// `[%x, none, ...]`
static ParseResult parseTensorList(OpAsmParser &parser, Operands &tensors, ArrayAttr &values) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> entries;
  auto entry = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("none"))) {
      entries.push_back(braid::rt::NoneAttr::get(builder.getContext()));
      return success();
    }
    entries.push_back(braid::rt::OperandAttr::get(builder.getContext()));
    return parser.parseOperand(tensors.emplace_back());
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, entry))
    return failure();
  values = builder.getArrayAttr(entries);
  return success();
}

static void printTensors(OpAsmPrinter &printer, OperandRange::iterator &next, ArrayAttr values) {
  printer << "[";
  llvm::interleaveComma(values, printer, [&](Attribute value) {
    if (isa<braid::rt::OperandAttr>(value))
      printer << *next++;
    else
      printer << "none";
  });
  printer << "]";
}

static void printTensorList(OpAsmPrinter &printer, Operation *, OperandRange tensors, ArrayAttr values) {
  auto next = tensors.begin();
  printTensors(printer, next, values);
}

static ParseResult parseArgument(OpAsmParser &parser, Operands &tensors, Operands &sizes, Attribute &value) {
  Builder &builder = parser.getBuilder();
  MLIRContext *context = builder.getContext();
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word, {"none", "size", "tensors", "bools"}))) {
    if (word == "none") {
      value = braid::rt::NoneAttr::get(context);
      return success();
    }
    if (word == "size") {
      value = braid::rt::SizeAttr::get(context);
      return parser.parseOperand(sizes.emplace_back());
    }
    if (word == "tensors") {
      ArrayAttr entries;
      if (parseTensorList(parser, tensors, entries))
        return failure();
      value = entries;
      return success();
    }
    SmallVector<bool> flags;
    auto flag = [&]() -> ParseResult {
      if (parser.parseOptionalKeyword(&word, {"true", "false"}))
        return parser.emitError(parser.getCurrentLocation(), "expected true or false");
      flags.push_back(word == "true");
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, flag))
      return failure();
    value = builder.getDenseBoolArrayAttr(flags);
    return success();
  }
  OpAsmParser::UnresolvedOperand tensor;
  OptionalParseResult operand = parser.parseOptionalOperand(tensor);
  if (operand.has_value()) {
    tensors.push_back(tensor);
    value = braid::rt::OperandAttr::get(context);
    return *operand;
  }
  SmallVector<int64_t> list;
  auto size = [&]() -> ParseResult {
    OptionalParseResult constant = parser.parseOptionalInteger(list.emplace_back());
    if (constant.has_value())
      return *constant;
    list.back() = ShapedType::kDynamic;
    return parser.parseOperand(sizes.emplace_back());
  };
  if (succeeded(parser.parseOptionalLSquare())) {
    if (failed(parser.parseOptionalRSquare()))
      if (parser.parseCommaSeparatedList(size) || parser.parseRSquare())
        return failure();
    value = builder.getDenseI64ArrayAttr(list);
    return success();
  }
  return parser.parseAttribute(value);
}

static ParseResult parseArguments(OpAsmParser &parser, Operands &tensors, Operands &sizes, ArrayAttr &names,
                                  ArrayAttr &values) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> allNames, allValues;
  auto argument = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    allNames.push_back(builder.getStringAttr(name));
    return parseArgument(parser, tensors, sizes, allValues.emplace_back());
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, argument))
    return failure();
  names = builder.getArrayAttr(allNames);
  values = builder.getArrayAttr(allValues);
  return success();
}

static void printArguments(OpAsmPrinter &printer, Operation *, OperandRange tensors, OperandRange sizes,
                           ArrayAttr names, ArrayAttr values) {
  auto tensor = tensors.begin();
  auto size = sizes.begin();
  printer << "(";
  llvm::interleaveComma(llvm::zip(names, values), printer, [&](auto argument) {
    auto [name, value] = argument;
    printer << cast<StringAttr>(name).getValue() << " = ";
    if (isa<braid::rt::OperandAttr>(value)) {
      printer << *tensor++;
    } else if (isa<braid::rt::NoneAttr>(value)) {
      printer << "none";
    } else if (isa<braid::rt::SizeAttr>(value)) {
      printer << "size " << *size++;
    } else if (auto entries = dyn_cast<ArrayAttr>(value)) {
      printTensors(printer << "tensors ", tensor, entries);
    } else if (auto flags = dyn_cast<DenseBoolArrayAttr>(value)) {
      printer << "bools [";
      llvm::interleaveComma(flags.asArrayRef(), printer, [&](bool flag) { printer << (flag ? "true" : "false"); });
      printer << "]";
    } else if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
      printer << "[";
      llvm::interleaveComma(list.asArrayRef(), printer, [&](int64_t entry) {
        if (ShapedType::isDynamic(entry))
          printer << *size++;
        else
          printer << entry;
      });
      printer << "]";
    } else if (auto number = dyn_cast<FloatAttr>(value); number && !number.getValue().isFinite()) {
      printer.printAttribute(value); // as bits, which need their type to be read as a float again
    } else {
      printer.printAttributeWithoutType(value);
    }
  });
  printer << ")";
}

#define GET_OP_CLASSES
#include "braid/Dialect/Rt/IR/RtOps.cpp.inc"

namespace braid::rt {

/// Checks that the operands are as many as the values say, and that every constant is one that the C ABI can pass.
static LogicalResult verifyArguments(Operation *op, ArrayAttr names, ArrayAttr values, size_t tensors, size_t sizes) {
  if (names.size() != values.size())
    return op->emitOpError() << "has " << names.size() << " argument names for " << values.size() << " values";
  size_t wantedTensors = 0, wantedSizes = 0;
  for (auto [name, value] : llvm::zip(names, values)) {
    if (isa<OperandAttr>(value)) {
      ++wantedTensors;
    } else if (isa<SizeAttr>(value)) {
      ++wantedSizes;
    } else if (auto entries = dyn_cast<ArrayAttr>(value)) {
      for (Attribute entry : entries) {
        if (!isa<OperandAttr, NoneAttr>(entry))
          return op->emitOpError() << "argument " << name << " lists " << entry << ", which is no tensor";
        wantedTensors += isa<OperandAttr>(entry);
      }
    } else if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
      wantedSizes += llvm::count_if(list.asArrayRef(), ShapedType::isDynamic);
    } else if (auto type = dyn_cast<TypeAttr>(value)) {
      if (!getDtype(type.getValue()))
        return op->emitOpError() << "argument " << name << " is " << type
                                 << ", which is no element type of the runtime";
    } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
      if (!integer.getType().isSignlessInteger(64) && !integer.getType().isSignlessInteger(1))
        return op->emitOpError() << "argument " << name << " must be an i64 or i1, not " << integer.getType();
    } else if (auto real = dyn_cast<FloatAttr>(value)) {
      if (!real.getType().isF64())
        return op->emitOpError() << "argument " << name << " must be an f64, not " << real.getType();
    } else if (!isa<NoneAttr, StringAttr, DenseBoolArrayAttr>(value)) {
      return op->emitOpError() << "argument " << name << " is " << value << ", which the runtime cannot take";
    }
  }
  if (wantedTensors != tensors || wantedSizes != sizes)
    return op->emitOpError() << "names " << wantedTensors << " tensors and " << wantedSizes << " sizes as arguments, "
                             << "but has " << tensors << " and " << sizes;
  return success();
}

LogicalResult CallOp::verify() {
  return verifyArguments(*this, getNames(), getValues(), getTensors().size(), getSizes().size());
}

LogicalResult CallGradientOp::verify() {
  if (getWanted().size() != getNumResults())
    return emitOpError() << "wants " << getWanted().size() << " gradients and has " << getNumResults() << " results";
  for (Attribute value : getCotangentValues())
    if (!isa<OperandAttr, NoneAttr>(value))
      return emitOpError() << "has the cotangent " << value << ", which is no tensor";
  size_t present = llvm::count_if(getCotangentValues(), llvm::IsaPred<OperandAttr>);
  if (present != getCotangents().size())
    return emitOpError() << "names " << present << " cotangents, but has " << getCotangents().size();
  return verifyArguments(*this, getNames(), getValues(), getTensors().size(), getSizes().size());
}

/// A stream is a number of its own, or one of those that the caller passes.
template <typename OpTy> static LogicalResult verifyRandom(OpTy op) {
  int64_t stream = op.getStream();
  if (stream < 0)
    return op.emitOpError() << "draws from stream " << stream << "; streams are numbered from 0";
  if (static_cast<bool>(op.getBefore()) != static_cast<bool>(op.getSamples()))
    return op.emitOpError() << "has one of before and samples; give both, or none where no dim holds samples";
  auto function = op->template getParentOfType<func::FuncOp>();
  auto passed = function ? function->template getAttrOfType<IntegerAttr>(streamsAttrName) : IntegerAttr();
  if (passed && stream >= passed.getInt())
    return op.emitOpError() << "draws from stream " << stream << " of the " << passed.getInt()
                            << " that callers pass (" << streamsAttrName << ")";
  return success();
}

LogicalResult DropoutOp::verify() {
  if (double p = getP().convertToDouble(); !(p >= 0 && p <= 1))
    return emitOpError() << "drops with probability " << p << ", which is not from 0 to 1";
  return verifyRandom(*this);
}

LogicalResult RandOp::verify() {
  if (!isa<FloatType>(getDtype()) || !rt::getDtype(getDtype()))
    return emitOpError() << "makes elements of type " << getDtype() << "; f64, f32, bf16 and f16 can be drawn";
  return verifyRandom(*this);
}

LogicalResult ConstantOp::verify() {
  Type elementType = getValue().getElementType();
  if (!getDtype(elementType))
    return emitOpError() << "has elements of type " << elementType << ", which the runtime lacks";
  return success();
}

LogicalResult GetConstantOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<ConstantOp>(*this, getConstantAttr()))
    return emitOpError() << "reads '" << getConstant() << "', which is no rt.constant";
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  auto end = dyn_cast<YieldOp>(block.getTerminator());
  if (!end)
    return emitOpError() << "does not end in rt.yield";
  if (block.getNumArguments() != getInputs().size() || end.getNumOperands() != getOutputs().size())
    return emitOpError() << "has kinds for " << getInputs().size() << " inputs and " << getOutputs().size()
                         << " outputs, and code for " << block.getNumArguments() << " and " << end.getNumOperands();
  for (int32_t kind : llvm::concat<const int32_t>(getInputs(), getOutputs()))
    if (kind < 0 || kind > 2)
      return emitOpError() << "has an operand of kind " << kind << "; there are 0, 1 and 2";
  llvm::SmallDenseSet<Value> perElement;
  for (auto [argument, kind] : llvm::zip(block.getArguments(), getInputs()))
    if (kind == 0)
      perElement.insert(argument);
  for (Operation &op : block.without_terminator()) {
    bool varies = isa<ColumnOp>(op) || llvm::any_of(op.getOperands(), [&](Value x) { return perElement.contains(x); });
    if (varies && !isa<RowSumOp, RowMaxOp>(op))
      perElement.insert(op.result_begin(), op.result_end());
  }
  for (auto [value, kind] : llvm::zip(end.getOperands(), getOutputs()))
    if (kind != 0 && perElement.contains(value))
      return emitOpError() << "has an output of kind " << kind << " that differs along the row; reduce it, or make it 0";
  for (Type type : llvm::concat<const Type>(block.getArgumentTypes(), end.getOperandTypes()))
    if (!getDtype(type))
      return emitOpError() << "has elements of type " << type << ", which the runtime lacks";
  for (Operation &op : block.without_terminator())
    if (op.getNumResults() != 1 || op.getNumRegions())
      return op.emitOpError() << "is no scalar op with one result, which is all that a kernel can hold";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "launches '" << getKernel() << "', which is no rt.kernel";
  if (kernel.getInputs().size() != getInputs().size() || kernel.getOutputs().size() != getNumResults() ||
      kernel.getRank() != getStaticSizes().size())
    return (emitOpError() << "has " << getInputs().size() << " inputs, " << getNumResults() << " results and "
                          << getStaticSizes().size() << " sizes, which does not fit '" << getKernel() << "'")
               .attachNote(kernel.getLoc())
           << "declared here";
  return success();
}

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "invokes '" << getCallee() << "', which is no function";
  if (callee.getArgumentTypes() != getOperandTypes() || callee.getResultTypes() != getResultTypes())
    return (emitOpError() << "does not fit the type of '" << getCallee() << "', " << callee.getFunctionType())
               .attachNote(callee.getLoc())
           << "declared here";
  auto taken = callee->getAttrOfType<IntegerAttr>(streamsAttrName);
  int64_t wanted = taken ? taken.getInt() : 0, given = getStreams() ? getStreams()->size() : 0;
  if (wanted != given)
    return (emitOpError() << "passes " << given << " streams, and '" << getCallee() << "' draws from " << wanted << " ("
                          << streamsAttrName << ")")
               .attachNote(callee.getLoc())
           << "declared here";
  return success();
}

} // namespace braid::rt
