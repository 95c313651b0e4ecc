//===- Evaluator.cpp - Runs braid functions through ATen ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd.h>

#include "Evaluator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace braid::test {

[[noreturn]] static void fail(const Twine &message) { throw std::runtime_error(message.str()); }

c10::ScalarType toScalarType(Type type) {
  if (type.isF64())
    return c10::ScalarType::Double;
  if (type.isF32())
    return c10::ScalarType::Float;
  if (type.isF16())
    return c10::ScalarType::Half;
  if (type.isBF16())
    return c10::ScalarType::BFloat16;
  if (type.isInteger(1))
    return c10::ScalarType::Bool;
  if (type.isUnsignedInteger(8))
    return c10::ScalarType::Byte;
  if (type.isInteger(8))
    return c10::ScalarType::Char;
  if (type.isInteger(16))
    return c10::ScalarType::Short;
  if (type.isInteger(32))
    return c10::ScalarType::Int;
  if (type.isInteger(64))
    return c10::ScalarType::Long;
  fail("an element type that tensors do not have");
}

Type toElementType(MLIRContext *context, c10::ScalarType type) {
  Builder builder(context);
  switch (type) {
  case c10::ScalarType::Double:
    return builder.getF64Type();
  case c10::ScalarType::Float:
    return builder.getF32Type();
  case c10::ScalarType::Half:
    return builder.getF16Type();
  case c10::ScalarType::BFloat16:
    return builder.getBF16Type();
  case c10::ScalarType::Bool:
    return builder.getI1Type();
  case c10::ScalarType::Int:
    return builder.getI32Type();
  case c10::ScalarType::Long:
    return builder.getI64Type();
  default:
    fail("a dtype that tests do not use");
  }
}

std::vector<at::Tensor> callAten(StringRef name, function_ref<std::optional<c10::IValue>(StringRef)> value) {
  auto [base, overload] = name.split('.');
  c10::OperatorHandle handle =
      c10::Dispatcher::singleton().findSchemaOrThrow(base.str().c_str(), overload.str().c_str());
  torch::jit::Stack stack;
  for (const c10::Argument &argument : handle.schema().arguments()) {
    if (std::optional<c10::IValue> given = value(argument.name()))
      stack.push_back(*given);
    else if (argument.default_value())
      stack.push_back(*argument.default_value());
    else if (argument.type()->kind() == c10::TypeKind::OptionalType)
      stack.emplace_back();
    else
      fail(name + ": no value for argument '" + argument.name() + "'");
  }
  handle.callBoxed(stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue &result : stack)
    if (result.isTensorList())
      for (const at::Tensor &tensor : result.toTensorVector())
        results.push_back(tensor);
    else
      results.push_back(result.toTensor());
  return results;
}

c10::IValue toIValue(Attribute attr) {
  if (auto boolean = dyn_cast<BoolAttr>(attr))
    return boolean.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getInt();
  if (auto real = dyn_cast<FloatAttr>(attr))
    return real.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.getValue().str();
  if (auto type = dyn_cast<TypeAttr>(attr))
    return toScalarType(type.getValue());
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attr))
    return c10::List<int64_t>(llvm::ArrayRef<int64_t>(list.asArrayRef()).vec());
  if (auto list = dyn_cast<DenseBoolArrayAttr>(attr)) {
    c10::List<bool> flags;
    for (bool flag : list.asArrayRef())
      flags.push_back(flag);
    return flags;
  }
  fail("an attribute that is no ATen argument");
}

/// One argument of a call, or nothing where the schema's default holds.
static std::optional<c10::IValue> readArgument(const AtenArg &arg,
                                               const llvm::DenseMap<mlir::Value, c10::IValue> &values) {
  auto at = [&](Value value) { return values.at(value); };
  switch (arg.kind) {
  case ArgKind::Tensor:
  case ArgKind::OptionalTensor:
    if (arg.operands.empty())
      return std::nullopt;
    return at(arg.operands.front());
  case ArgKind::TensorList: {
    c10::List<at::Tensor> list;
    for (Value operand : arg.operands)
      list.push_back(at(operand).toTensor());
    return list;
  }
  case ArgKind::OptionalTensorList: {
    c10::List<std::optional<at::Tensor>> list;
    unsigned next = 0;
    for (bool present : cast<DenseBoolArrayAttr>(arg.attr).asArrayRef())
      list.push_back(present ? std::optional<at::Tensor>(at(arg.operands[next++]).toTensor()) : std::nullopt);
    return list;
  }
  case ArgKind::SymInt:
    if (!arg.operands.empty())
      return at(arg.operands.front());
    break;
  case ArgKind::SymIntList: {
    if (!arg.attr)
      return std::nullopt;
    c10::List<int64_t> list;
    unsigned next = 0;
    for (int64_t size : cast<DenseI64ArrayAttr>(arg.attr).asArrayRef())
      list.push_back(ShapedType::isDynamic(size) ? at(arg.operands[next++]).toInt() : size);
    return list;
  }
  default:
    break;
  }
  if (!arg.attr)
    return std::nullopt;
  return toIValue(arg.attr);
}

static std::vector<at::Tensor> runCall(Operation *op, const llvm::DenseMap<mlir::Value, c10::IValue> &values) {
  AtenCall call = *getAtenCall(op);
  // The runtime's own operator: as ATen's, but no row may be left over.
  if (call.name == "braid::merge_rows")
    call.name = "aten::masked_scatter";
  return callAten(call.name, [&](StringRef name) -> std::optional<c10::IValue> {
    for (const AtenArg &arg : call.args)
      if (arg.name == name)
        return readArgument(arg, values);
    return std::nullopt;
  });
}

/// A dense constant as a tensor.
static at::Tensor toTensor(ElementsAttr elements) {
  auto type = cast<RankedTensorType>(elements.getType());
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    fail("a constant that is not dense");
  at::Tensor flat = at::empty({type.getNumElements()}, at::kDouble);
  if (isa<FloatType>(type.getElementType())) {
    for (auto [at, value] : llvm::enumerate(dense.getValues<APFloat>())) {
      bool loses;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      flat.data_ptr<double>()[at] = value.convertToDouble();
    }
  } else {
    flat = flat.to(at::kLong);
    bool isBool = type.getElementType().isInteger(1);
    for (auto [at, value] : llvm::enumerate(dense.getValues<APInt>()))
      flat.data_ptr<int64_t>()[at] = isBool ? value.getZExtValue() : value.getSExtValue();
  }
  return flat.to(toScalarType(type.getElementType())).view(type.getShape().vec());
}

std::vector<at::Tensor> Evaluator::runGradient(AtenGradientOp op, const Values &values) {
  // The operator once more, on leaves of its own and now recorded.
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  c10::impl::ForceDispatchKeyGuard recording(keys.included_,
                                             keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  c10::AutoGradMode gradients(true);
  Values leaves = values;
  std::vector<at::Tensor> outputs, inputs, cotangents;
  for (int64_t wanted : op.getWanted()) {
    Value operand = op.getTensors()[wanted];
    inputs.push_back(values.at(operand).toTensor().detach().requires_grad_());
    leaves[operand] = inputs.back();
  }
  unsigned next = 0;
  for (auto [present, result] : llvm::zip(op.getPresentCotangents(), runCall(op, leaves)))
    if (present) {
      at::Tensor cotangent = values.at(op.getCotangents()[next++]).toTensor();
      if (!result.requires_grad()) // it does not depend on what is wanted
        continue;
      outputs.push_back(result);
      cotangents.push_back(cotangent);
    }
  std::vector<at::Tensor> results(inputs.size());
  if (!outputs.empty())
    results = torch::autograd::grad(outputs, inputs, cotangents, std::nullopt, false, /*allow_unused=*/true);
  for (auto [result, input] : llvm::zip(results, inputs))
    if (!result.defined())
      result = at::zeros_like(input.detach());
  return results;
}

void Evaluator::runOp(Operation *op, Values &values) {
  auto index = [&](unsigned operand) { return values.at(op->getOperand(operand)).toInt(); };
  auto define = [&](const std::vector<at::Tensor> &results) {
    if (results.size() != op->getNumResults())
      fail(op->getName().getStringRef() + " has " + Twine(op->getNumResults()) + " results, ATen gives " +
           Twine(results.size()));
    for (auto [value, result] : llvm::zip(op->getResults(), results)) {
      auto type = cast<RankedTensorType>(value.getType());
      std::string where = op->getName().getStringRef().str();
      if (!result.defined()) { // what an output mask leaves out; the type says that it is empty
        values[value] = at::empty({0});
        continue;
      }
      if (result.dim() != type.getRank() || result.scalar_type() != toScalarType(type.getElementType()))
        fail(where + ": the type says otherwise than ATen about rank or dtype: " + c10::str(result.sizes()) +
             c10::toString(result.scalar_type()));
      // The only result that may be smaller than its type: rows that do not count are left out.
      auto packed = dyn_cast<LinearCrossEntropyOp>(op);
      bool isPacked = packed && value == packed.getGradLogits();
      for (auto [dim, size] : llvm::enumerate(type.getShape()))
        if (!ShapedType::isDynamic(size) && size != result.size(dim) &&
            !(isPacked && dim == 0 && result.size(dim) < size))
          fail(where + ": the type says " + Twine(size) + " for dim " + Twine(dim) + ", ATen gives " +
               Twine(result.size(dim)));
      values[value] = result;
    }
  };
  if (auto gradient = dyn_cast<AtenGradientOp>(op))
    return define(runGradient(gradient, values));
  if (getAtenCall(op))
    return define(runCall(op, values));
  if (auto constant = dyn_cast<ConstantOp>(op))
    return define({toTensor(constant.getValue())});
  if (auto scalar = dyn_cast<ScalarTensorOp>(op))
    return define({at::scalar_tensor(index(0), at::kLong)});
  if (auto param = dyn_cast<GetParamOp>(op))
    return define({parameters.at(param.getParam().str())});
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto callee = dyn_cast_or_null<func::FuncOp>(call.resolveCallable());
    if (!callee)
      fail("a call of a function that is not there");
    std::vector<at::Tensor> arguments;
    for (Value operand : call.getArgOperands())
      arguments.push_back(values.at(operand).toTensor());
    return define(run(callee, arguments));
  }

  int64_t value;
  if (auto size = dyn_cast<SizeOp>(op)) {
    value = values.at(size.getTensor()).toTensor().size(size.getDim());
  } else if (auto symbol = dyn_cast<SymbolOp>(op)) {
    value = symbols.at(symbol.getName().str());
  } else if (auto constant = dyn_cast<arith::ConstantIndexOp>(op)) {
    value = constant.value();
  } else if (isa<arith::AddIOp>(op)) {
    value = index(0) + index(1);
  } else if (isa<arith::SubIOp>(op)) {
    value = index(0) - index(1);
  } else if (isa<arith::MulIOp>(op)) {
    value = index(0) * index(1);
  } else if (isa<arith::MaxSIOp>(op)) {
    value = std::max(index(0), index(1));
  } else if (isa<arith::MinSIOp>(op)) {
    value = std::min(index(0), index(1));
  } else if (isa<arith::FloorDivSIOp>(op)) {
    int64_t a = index(0), b = index(1);
    if (b == 0)
      fail("division of a size by zero");
    value = a / b - (a % b != 0 && (a < 0) != (b < 0));
  } else {
    fail(op->getName().getStringRef() + " has no meaning here");
  }
  values[op->getResult(0)] = value;
}

std::vector<at::Tensor> Evaluator::run(func::FuncOp function, const std::vector<at::Tensor> &arguments) {
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  if (function.isExternal() || function.getNumArguments() != arguments.size())
    fail("function '" + function.getName() + "' takes " + Twine(function.getNumArguments()) + " arguments, not " +
         Twine(arguments.size()));
  Values values;
  for (auto [value, tensor] : llvm::zip(function.getArguments(), arguments))
    values[value] = tensor;
  for (Operation &op : function.getBody().front()) {
    if (auto result = dyn_cast<func::ReturnOp>(op)) {
      std::vector<at::Tensor> results;
      for (Value operand : result.getOperands())
        results.push_back(values.at(operand).toTensor());
      return results;
    }
    runOp(&op, values);
  }
  fail("function '" + function.getName() + "' does not return");
}

} // namespace braid::test
