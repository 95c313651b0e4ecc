//===- Arguments.cpp - ATen arguments as the runtime takes them -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace braid {

/// A constant argument in the types that the C ABI passes: i64, i1, f64, strings, lists, element types.
static Attribute normalize(Attribute constant) {
  Builder builder(constant.getContext());
  if (auto integer = dyn_cast<IntegerAttr>(constant))
    return integer.getType().isInteger(1) ? Attribute(builder.getBoolAttr(integer.getValue().getBoolValue()))
                                          : builder.getI64IntegerAttr(integer.getValue().getSExtValue());
  if (auto real = dyn_cast<FloatAttr>(constant))
    return builder.getF64FloatAttr(real.getValueAsDouble());
  if (auto type = dyn_cast<TypeAttr>(constant))
    return rt::getDtype(type.getValue()) ? constant : Attribute();
  return isa<StringAttr, DenseI64ArrayAttr, DenseBoolArrayAttr>(constant) ? constant : Attribute();
}

FailureOr<RtArguments> makeRtArguments(Operation *op, const AtenCall &call) {
  MLIRContext *context = op->getContext();
  Builder builder(context);
  RtArguments result;
  for (const AtenArg &arg : call.args) {
    Attribute value;
    switch (arg.kind) {
    case ArgKind::Tensor:
    case ArgKind::OptionalTensor:
      if (arg.operands.empty())
        value = rt::NoneAttr::get(context);
      else
        value = rt::OperandAttr::get(context);
      llvm::append_range(result.tensors, arg.operands);
      break;
    case ArgKind::TensorList:
    case ArgKind::OptionalTensorList: {
      SmallVector<Attribute> entries;
      if (auto present = dyn_cast_or_null<DenseBoolArrayAttr>(arg.attr))
        for (bool there : present.asArrayRef())
          entries.push_back(there ? Attribute(rt::OperandAttr::get(context)) : rt::NoneAttr::get(context));
      else
        entries.assign(arg.operands.size(), rt::OperandAttr::get(context));
      value = builder.getArrayAttr(entries);
      llvm::append_range(result.tensors, arg.operands);
      break;
    }
    case ArgKind::SymInt:
    case ArgKind::SymIntList:
      if (arg.kind == ArgKind::SymInt && !arg.operands.empty())
        value = rt::SizeAttr::get(context);
      else if (!arg.attr)
        continue;
      else
        value = normalize(arg.attr);
      llvm::append_range(result.sizes, arg.operands);
      break;
    default:
      if (!arg.attr)
        continue;
      value = normalize(arg.attr);
    }
    if (!value)
      return op->emitError() << call.name << ": the runtime cannot take argument '" << arg.name << "' as " << arg.attr;
    result.names.push_back(builder.getStringAttr(arg.name));
    result.values.push_back(value);
  }
  return result;
}

SmallVector<int32_t> numberWanted(const RtArguments &arguments, ArrayRef<int64_t> operands) {
  SmallVector<int32_t> numbers; // for each tensor operand
  int32_t next = 0;
  auto count = [&](Attribute entry, bool inList) {
    if (isa<rt::OperandAttr>(entry))
      numbers.push_back(next++);
    else if (inList && isa<rt::NoneAttr>(entry))
      ++next;
  };
  for (Attribute value : arguments.values) {
    if (auto entries = dyn_cast<ArrayAttr>(value))
      for (Attribute entry : entries)
        count(entry, /*inList=*/true);
    else
      count(value, /*inList=*/false);
  }
  return llvm::map_to_vector(operands, [&](int64_t operand) { return numbers[operand]; });
}

} // namespace braid
