//===- AtenCall.cpp - Arguments of ATen operators -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace braid {

bool hasOperands(ArgKind kind) {
  switch (kind) {
  case ArgKind::Tensor:
  case ArgKind::OptionalTensor:
  case ArgKind::TensorList:
  case ArgKind::OptionalTensorList:
  case ArgKind::SymInt:
  case ArgKind::SymIntList:
    return true;
  default:
    return false;
  }
}

bool hasAttr(ArgKind kind) {
  return !hasOperands(kind) || kind == ArgKind::SymInt || kind == ArgKind::SymIntList ||
         kind == ArgKind::OptionalTensorList;
}

std::string getAttrName(ArgKind kind, StringRef name) {
  if (kind == ArgKind::SymInt || kind == ArgKind::SymIntList)
    return ("static_" + name).str();
  if (kind == ArgKind::OptionalTensorList)
    return ("present_" + name).str();
  return name.str();
}

/// Whether ODS gave the op AttrSizedOperandSegments: with two or more optional arguments or lists.
static bool hasSegments(ArrayRef<ArgSpec> specs) {
  return llvm::count_if(specs, [](const ArgSpec &spec) {
           return hasOperands(spec.kind) && spec.kind != ArgKind::Tensor;
         }) > 1;
}

std::optional<AtenCall> getAtenCall(Operation *op) {
  AtenCall call;
  if (auto typed = dyn_cast<AtenOpInterface>(op)) {
    call.name = typed.getAtenName();
    ArrayRef<ArgSpec> specs = typed.getArgSpecs();
    // With one optional argument or list there is no segment attribute: it has what the others leave.
    SmallVector<int32_t> segments;
    if (auto sizes = dyn_cast_or_null<DenseI32ArrayAttr>(op->getInherentAttr("operandSegmentSizes").value_or(nullptr))) {
      segments.assign(sizes.asArrayRef().begin(), sizes.asArrayRef().end());
    } else {
      int32_t single = llvm::count_if(specs, [](const ArgSpec &spec) { return spec.kind == ArgKind::Tensor; });
      for (const ArgSpec &spec : specs)
        if (hasOperands(spec.kind))
          segments.push_back(spec.kind == ArgKind::Tensor ? 1 : op->getNumOperands() - single);
    }
    unsigned segment = 0, start = 0;
    for (const ArgSpec &spec : specs) {
      unsigned size = hasOperands(spec.kind) ? segments[segment++] : 0;
      Attribute attr;
      if (hasAttr(spec.kind))
        attr = op->getInherentAttr(getAttrName(spec.kind, spec.name)).value_or(Attribute());
      call.args.push_back({spec.kind, spec.name, op->getOperands().slice(start, size), attr});
      start += size;
    }
    return call;
  }
  auto readOpaque = [&](StringAttr name, ArrayAttr names, ArrayRef<int64_t> kinds, ArrayRef<int64_t> counts,
                        ArrayAttr constants, OperandRange tensors, OperandRange indices) {
    call.name = name.getValue();
    unsigned tensor = 0, index = 0;
    for (auto [argName, kindNumber, count, attr] : llvm::zip(names, kinds, counts, constants)) {
      auto kind = static_cast<ArgKind>(kindNumber);
      bool sizes = kind == ArgKind::SymInt || kind == ArgKind::SymIntList;
      OperandRange operands = sizes ? indices.slice(index, count) : tensors.slice(tensor, count);
      (sizes ? index : tensor) += count;
      call.args.push_back({kind, cast<StringAttr>(argName).getValue(), operands,
                           isa<UnitAttr>(attr) ? Attribute() : Attribute(attr)});
    }
  };
  if (auto opaque = dyn_cast<OpaqueOp>(op)) {
    readOpaque(opaque.getNameAttr(), opaque.getNames(), opaque.getKinds(), opaque.getCounts(), opaque.getConstants(),
               opaque.getTensors(), opaque.getIndices());
    return call;
  }
  if (auto gradient = dyn_cast<AtenGradientOp>(op)) {
    readOpaque(gradient.getNameAttr(), gradient.getNames(), gradient.getKinds(), gradient.getCounts(),
               gradient.getConstants(), gradient.getTensors(), gradient.getIndices());
    return call;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The operands and the attribute of one argument. Fails, without a diagnostic, where the value does not fit the kind.
static LogicalResult splitArgument(Builder &builder, const ArgSpec &spec, const ArgValue &value,
                                   SmallVectorImpl<Value> &operands, Attribute &attr) {
  auto splitSize = [&](OpFoldResult size, int64_t &constant) {
    if (auto dynamic = dyn_cast<Value>(size)) {
      operands.push_back(dynamic);
      constant = ShapedType::kDynamic;
    } else {
      constant = cast<IntegerAttr>(cast<Attribute>(size)).getInt();
    }
  };
  bool absent = std::holds_alternative<std::monostate>(value.storage);
  switch (spec.kind) {
  case ArgKind::Tensor:
  case ArgKind::OptionalTensor:
    if (const auto *tensor = std::get_if<Value>(&value.storage)) {
      operands.push_back(*tensor);
      return success();
    }
    return success(absent && spec.kind == ArgKind::OptionalTensor);
  case ArgKind::TensorList:
  case ArgKind::OptionalTensorList: {
    const auto *tensors = std::get_if<ArgValue::Tensors>(&value.storage);
    if (!tensors)
      return failure();
    SmallVector<bool> present;
    for (Value tensor : *tensors) {
      present.push_back(static_cast<bool>(tensor));
      if (tensor)
        operands.push_back(tensor);
    }
    if (spec.kind == ArgKind::OptionalTensorList)
      attr = builder.getDenseBoolArrayAttr(present);
    return success(spec.kind == ArgKind::OptionalTensorList || llvm::all_of(present, [](bool there) { return there; }));
  }
  case ArgKind::SymInt: {
    if (absent)
      return success();
    OpFoldResult size;
    if (const auto *fold = std::get_if<OpFoldResult>(&value.storage))
      size = *fold;
    else if (const auto *constant = std::get_if<Attribute>(&value.storage))
      size = *constant;
    else if (const auto *index = std::get_if<Value>(&value.storage))
      size = *index;
    else
      return failure();
    int64_t constant;
    splitSize(size, constant);
    if (constant != ShapedType::kDynamic)
      attr = builder.getI64IntegerAttr(constant);
    return success();
  }
  case ArgKind::SymIntList: {
    SmallVector<int64_t> constants;
    if (const auto *sizes = std::get_if<ArgValue::Sizes>(&value.storage)) {
      for (OpFoldResult size : *sizes)
        splitSize(size, constants.emplace_back());
    } else if (const auto *list = std::get_if<Attribute>(&value.storage)) {
      auto array = dyn_cast_or_null<DenseI64ArrayAttr>(*list);
      if (!array)
        return failure();
      constants.assign(array.asArrayRef().begin(), array.asArrayRef().end());
    } else {
      return failure();
    }
    attr = builder.getDenseI64ArrayAttr(constants);
    return success();
  }
  default:
    if (absent)
      return success();
    if (const auto *constant = std::get_if<Attribute>(&value.storage)) {
      attr = *constant;
      return success();
    }
    return failure();
  }
}

FailureOr<Operation *> buildAtenOp(OpBuilder &builder, Location loc, OperationName opName, ArrayRef<ArgValue> values,
                                   ShapeAnalysis &shapes) {
  auto *interface = opName.getInterface<AtenOpInterface>();
  if (!interface)
    return emitError(loc) << opName << " is no ATen operator";
  ArrayRef<ArgSpec> specs = interface->getArgSpecs();
  if (values.size() > specs.size())
    return emitError(loc) << opName << " takes at most " << specs.size() << " arguments, not " << values.size();

  OperationState state(loc, opName);
  SmallVector<int32_t> segments;
  for (auto [at, spec] : llvm::enumerate(specs)) {
    Attribute attr;
    size_t before = state.operands.size();
    SmallVector<Value> operands;
    if (failed(splitArgument(builder, spec, at < values.size() ? values[at] : ArgValue(), operands, attr)))
      return emitError(loc) << opName << ": the value given for argument '" << spec.name << "' is of the wrong kind";
    state.addOperands(operands);
    if (hasOperands(spec.kind))
      segments.push_back(state.operands.size() - before);
    if (attr)
      state.addAttribute(getAttrName(spec.kind, spec.name), attr);
  }
  if (hasSegments(specs))
    state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr(segments));

  // The shape rule needs an operation to look at: one without results, outside of any block.
  Operation *probe = Operation::create(state);
  SmallVector<TensorShape> results;
  LogicalResult inferred = cast<ShapeOpInterface>(probe).inferShapes(shapes, results);
  probe->destroy();
  if (failed(inferred))
    return failure();
  for (const TensorShape &result : results)
    state.addTypes(result.toType());
  Operation *op = builder.create(state);
  for (auto [value, shape] : llvm::zip(op->getResults(), results))
    shapes.setShape(value, shape);
  return op;
}

//===----------------------------------------------------------------------===//
// Assembly format
//===----------------------------------------------------------------------===//

void printAtenOp(Operation *op, ArrayRef<ArgSpec> specs, OpAsmPrinter &printer) {
  AtenCall call = *getAtenCall(op);
  SmallVector<StringRef> elided = {"operandSegmentSizes"};
  SmallVector<std::string> names;
  names.reserve(specs.size());
  SmallVector<Type> types;
  bool first = true;
  auto start = [&](StringRef name) -> OpAsmPrinter & {
    printer << (first ? "" : ", ") << name << " = ";
    first = false;
    return printer;
  };
  printer << "(";
  for (const AtenArg &arg : call.args) {
    elided.push_back(names.emplace_back(getAttrName(arg.kind, arg.name)));
    switch (arg.kind) {
    case ArgKind::Tensor:
    case ArgKind::OptionalTensor:
      if (!arg.operands.empty())
        start(arg.name) << arg.operands.front();
      break;
    case ArgKind::TensorList:
      start(arg.name) << "[" << arg.operands << "]";
      break;
    case ArgKind::OptionalTensorList: {
      start(arg.name) << "[";
      auto operand = arg.operands.begin();
      llvm::interleaveComma(cast<DenseBoolArrayAttr>(arg.attr).asArrayRef(), printer, [&](bool present) {
        if (present)
          printer << *operand++;
        else
          printer << "none";
      });
      printer << "]";
      break;
    }
    case ArgKind::SymInt:
      if (!arg.operands.empty())
        start(arg.name) << arg.operands.front();
      else if (arg.attr)
        start(arg.name) << cast<IntegerAttr>(arg.attr).getInt();
      break;
    case ArgKind::SymIntList: {
      start(arg.name) << "[";
      auto operand = arg.operands.begin();
      llvm::interleaveComma(cast<DenseI64ArrayAttr>(arg.attr).asArrayRef(), printer, [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          printer << *operand++;
        else
          printer << size;
      });
      printer << "]";
      break;
    }
    case ArgKind::IntList:
      if (arg.attr) {
        start(arg.name) << "[";
        llvm::interleaveComma(cast<DenseI64ArrayAttr>(arg.attr).asArrayRef(), printer);
        printer << "]";
      }
      break;
    case ArgKind::BoolList:
      if (arg.attr) {
        start(arg.name) << "[";
        llvm::interleaveComma(cast<DenseBoolArrayAttr>(arg.attr).asArrayRef(), printer,
                              [&](bool flag) { printer << (flag ? "true" : "false"); });
        printer << "]";
      }
      break;
    default:
      // Infinity prints as bits, which need their type to be read as a float again.
      if (auto number = dyn_cast_or_null<FloatAttr>(arg.attr); number && !number.getValue().isFinite())
        start(arg.name).printAttribute(arg.attr);
      else if (arg.attr)
        start(arg.name).printAttributeWithoutType(arg.attr);
    }
    if (arg.kind != ArgKind::SymInt && arg.kind != ArgKind::SymIntList)
      llvm::append_range(types, arg.operands.getTypes());
  }
  printer << ")";
  printer.printOptionalAttrDict(op->getAttrs(), elided);
  printer << " : ";
  printer.printFunctionalType(types, op->getResultTypes());
}

namespace {
/// Parses the argument list into unresolved operands and attributes.
class ArgumentParser {
public:
  ArgumentParser(ArrayRef<ArgSpec> specs, OpAsmParser &parser, OperationState &state)
      : specs(specs), parser(parser), state(state) {}

  ParseResult run() {
    if (parser.parseLParen())
      return failure();
    unsigned next = 0;
    bool empty = succeeded(parser.parseOptionalRParen());
    while (!empty) {
      StringRef word;
      SMLoc at = parser.getCurrentLocation();
      if (parser.parseKeyword(&word))
        return failure();
      while (next < specs.size() && specs[next].name != word)
        if (finish(specs[next++], 0))
          return failure();
      if (next == specs.size())
        return parser.emitError(at) << "no argument '" << word << "' here; arguments stand in the schema's order";
      if (parser.parseEqual() || parseValue(specs[next++]))
        return failure();
      if (failed(parser.parseOptionalComma())) {
        if (parser.parseRParen())
          return failure();
        break;
      }
    }
    while (next < specs.size())
      if (finish(specs[next++], 0))
        return failure();
    return resolve();
  }

private:
  /// Ends an argument that has `count` operands.
  ParseResult finish(const ArgSpec &spec, int32_t count) {
    if (spec.kind == ArgKind::Tensor && count != 1)
      return parser.emitError(parser.getCurrentLocation()) << "argument '" << spec.name << "' is missing";
    if (hasOperands(spec.kind))
      segments.push_back(count);
    return success();
  }

  ParseResult operand(bool size) {
    OpAsmParser::UnresolvedOperand name;
    if (parser.parseOperand(name))
      return failure();
    operands.push_back({name, size});
    return success();
  }

  ParseResult parseValue(const ArgSpec &spec) {
    Builder &builder = parser.getBuilder();
    std::string attrName = getAttrName(spec.kind, spec.name);
    switch (spec.kind) {
    case ArgKind::Tensor:
    case ArgKind::OptionalTensor:
      return failure(operand(false) || finish(spec, 1));
    case ArgKind::TensorList:
    case ArgKind::OptionalTensorList: {
      int32_t count = 0;
      SmallVector<bool> present;
      auto entry = [&]() -> ParseResult {
        bool none = succeeded(parser.parseOptionalKeyword("none"));
        present.push_back(!none);
        if (none)
          return success();
        ++count;
        return operand(false);
      };
      if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, entry))
        return failure();
      if (spec.kind == ArgKind::OptionalTensorList)
        state.addAttribute(attrName, builder.getDenseBoolArrayAttr(present));
      return finish(spec, count);
    }
    case ArgKind::SymInt: {
      int64_t constant;
      OptionalParseResult parsed = parser.parseOptionalInteger(constant);
      if (!parsed.has_value())
        return failure(operand(true) || finish(spec, 1));
      if (failed(*parsed))
        return failure();
      state.addAttribute(attrName, builder.getI64IntegerAttr(constant));
      return finish(spec, 0);
    }
    case ArgKind::SymIntList: {
      int32_t count = 0;
      SmallVector<int64_t> constants;
      auto entry = [&]() -> ParseResult {
        OptionalParseResult parsed = parser.parseOptionalInteger(constants.emplace_back());
        if (parsed.has_value())
          return *parsed;
        constants.back() = ShapedType::kDynamic;
        ++count;
        return operand(true);
      };
      if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, entry))
        return failure();
      state.addAttribute(attrName, builder.getDenseI64ArrayAttr(constants));
      return finish(spec, count);
    }
    case ArgKind::IntList: {
      SmallVector<int64_t> values;
      if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                         [&] { return parser.parseInteger(values.emplace_back()); }))
        return failure();
      state.addAttribute(attrName, builder.getDenseI64ArrayAttr(values));
      return success();
    }
    case ArgKind::BoolList: {
      SmallVector<bool> values;
      auto entry = [&]() -> ParseResult {
        StringRef word;
        if (parser.parseKeyword(&word) || (word != "true" && word != "false"))
          return failure();
        values.push_back(word == "true");
        return success();
      };
      if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, entry))
        return failure();
      state.addAttribute(attrName, builder.getDenseBoolArrayAttr(values));
      return success();
    }
    default: {
      Attribute attr;
      if (parser.parseAttribute(attr))
        return failure();
      state.addAttribute(attrName, attr);
      return success();
    }
    }
  }

  ParseResult resolve() {
    FunctionType type;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
      return failure();
    Type index = parser.getBuilder().getIndexType();
    ArrayRef<Type> types = type.getInputs();
    for (auto &[name, size] : operands) {
      if (!size && types.empty())
        return parser.emitError(at, "the type lists too few tensor operands");
      if (parser.resolveOperand(name, size ? index : types.front(), state.operands))
        return failure();
      if (!size)
        types = types.drop_front();
    }
    if (!types.empty())
      return parser.emitError(at, "the type lists too many tensor operands");
    state.addTypes(type.getResults());
    if (hasSegments(specs))
      state.addAttribute("operandSegmentSizes", parser.getBuilder().getDenseI32ArrayAttr(segments));
    return success();
  }

  ArrayRef<ArgSpec> specs;
  OpAsmParser &parser;
  OperationState &state;
  SmallVector<std::pair<OpAsmParser::UnresolvedOperand, bool>> operands; // with whether it is a size
  SmallVector<int32_t> segments;
};
} // namespace

ParseResult parseAtenOp(ArrayRef<ArgSpec> specs, OpAsmParser &parser, OperationState &state) {
  return ArgumentParser(specs, parser, state).run();
}

} // namespace braid
