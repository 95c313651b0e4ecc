//===- Operator.cpp - ATen operators resolved once ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Operator.h"
#include "runtime/aten/Convert.h"
#include "runtime/aten/Message.h"
#include "runtime/core/Text.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <cmath>
#include <stdexcept>

using namespace braid::runtime;

static Wants classify(const c10::Type &type) {
  switch (type.kind()) {
  case c10::TypeKind::TensorType:
    return Wants::Tensor;
  case c10::TypeKind::IntType:
  case c10::TypeKind::SymIntType:
    return Wants::Int;
  case c10::TypeKind::FloatType:
    return Wants::Double;
  case c10::TypeKind::NumberType:
    return Wants::Number;
  case c10::TypeKind::BoolType:
    return Wants::Bool;
  case c10::TypeKind::StringType:
    return Wants::String;
  case c10::TypeKind::DeviceObjType:
    return Wants::Device;
  case c10::TypeKind::ListType: {
    const c10::Type &element = *type.expectRef<c10::ListType>().getElementType();
    if (element.kind() == c10::TypeKind::OptionalType)
      return Wants::OptionalTensorList;
    switch (classify(element)) {
    case Wants::Tensor:
      return Wants::TensorList;
    case Wants::Int:
      return Wants::IntList;
    case Wants::Double:
      return Wants::DoubleList;
    case Wants::Bool:
      return Wants::BoolList;
    case Wants::Number:
      return Wants::NumberList;
    default:
      return Wants::Other;
    }
  }
  default:
    return Wants::Other;
  }
}

static Parameter makeParameter(const c10::Argument &argument) {
  Parameter parameter;
  parameter.name = argument.name();
  c10::TypePtr type = argument.type();
  if (auto optional = type->cast<c10::OptionalType>()) {
    parameter.optional = true;
    type = optional->getElementType();
  }
  parameter.wants = classify(*type);
  parameter.listSize = argument.N().value_or(0);
  return parameter;
}

extern "C" braid_status braid_rt_op(const char *name, const char *arguments, braid_op *op) {
  try {
    std::string_view full = name;
    size_t dot = full.find('.', full.find("::") == full.npos ? 0 : full.find("::"));
    c10::OperatorName key(std::string(full.substr(0, dot)), dot == full.npos ? "" : std::string(full.substr(dot + 1)));
    std::optional<c10::OperatorHandle> handle = c10::Dispatcher::singleton().findSchema(key);
    if (!handle)
      return fail(text("this LibTorch has no operator ", name,
                       "; run the program with a LibTorch from 2.11 to 2.15, or compile it again with this one"));
    auto result = std::make_unique<braid_op_s>(
        braid_op_s{name, *handle, {}, 0, matrixProductOf(full), viewOf(full), withoutRowsOf(full)});
    const c10::FunctionSchema &schema = handle->schema();
    for (const c10::Argument &argument : schema.arguments())
      result->parameters.push_back(makeParameter(argument));

    std::string_view rest = arguments;
    while (!rest.empty()) {
      std::string_view given = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), given.size() + 1));
      std::optional<int> index = schema.argumentIndexWithName(given);
      if (!index)
        return fail(text(name, " has no argument '", given, "'; its schema is ", schema));
      if (result->parameters[*index].source >= 0)
        return fail(text(name, " is passed argument '", given, "' twice; pass it once"));
      result->parameters[*index].source = result->passed++;
    }
    for (size_t i = 0; i < result->parameters.size(); ++i) {
      Parameter &parameter = result->parameters[i];
      if (parameter.source >= 0)
        continue;
      const std::optional<c10::IValue> &value = schema.arguments()[i].default_value();
      if (!value && !parameter.optional)
        return fail(text(name, " needs argument '", parameter.name, "', which is neither passed (", arguments,
                         ") nor has a default; its schema is ", schema));
      parameter.defaultValue = value.value_or(c10::IValue());
    }
    *op = result.release(); // lives as long as the process
    return 0;
  } catch (const std::exception &error) {
    return fail(text("cannot resolve operator ", name, ": ", firstLine(error)));
  } catch (...) {
    return fail(text("cannot resolve operator ", name, ": an unknown C++ exception"));
  }
}

static std::string valueText(const braid_value &value) {
  auto list = [&](auto element) {
    std::string result = "[";
    for (int32_t i = 0; i < value.count; ++i)
      result += text(i ? ", " : "", element(i));
    return result + "]";
  };
  switch (value.tag) {
  case BRAID_NONE:
    return "none";
  case BRAID_TENSOR:
    return describe(toAten(value.as.tensor));
  case BRAID_INT:
    return std::to_string(value.as.i);
  case BRAID_DOUBLE:
    return text(value.as.d);
  case BRAID_BOOL:
    return value.as.i ? "true" : "false";
  case BRAID_STRING:
    return text("'", value.as.string, "'");
  case BRAID_DTYPE:
    return value.as.i >= 0 && value.as.i <= BRAID_BOOLEAN ? std::string(braid::plan::elementTypes[value.as.i].name)
                                                          : text("dtype ", value.as.i);
  case BRAID_INT_LIST:
    return list([&](int32_t i) { return value.as.ints[i]; });
  case BRAID_DOUBLE_LIST:
    return list([&](int32_t i) { return value.as.doubles[i]; });
  case BRAID_BOOL_LIST:
    return list([&](int32_t i) { return value.as.bools[i] ? "true" : "false"; });
  case BRAID_TENSOR_LIST:
    return list([&](int32_t i) { return describe(toAten(value.as.tensors[i])); });
  }
  return text("a value of unknown tag ", value.tag);
}

static bool isInteger(double value) { return std::nearbyint(value) == value && std::abs(value) < 9e18; }

c10::IValue braid::runtime::convert(const braid_value &value, const Parameter &parameter) {
  auto mismatch = [&]() -> c10::IValue {
    throw std::runtime_error(text("argument '", parameter.name, "' cannot be ", valueText(value),
                                  "; compile the program again with this version of braid"));
  };
  if (value.tag == BRAID_NONE || (value.tag == BRAID_TENSOR && !value.as.tensor)) {
    if (parameter.wants == Wants::Tensor)
      return parameter.optional ? c10::IValue() : c10::IValue(at::Tensor());
    return parameter.optional ? c10::IValue() : mismatch();
  }
  bool number = value.tag == BRAID_INT || value.tag == BRAID_DOUBLE || value.tag == BRAID_BOOL;
  double real = value.tag == BRAID_DOUBLE ? value.as.d : static_cast<double>(value.as.i);
  switch (parameter.wants) {
  case Wants::Tensor:
    return value.tag == BRAID_TENSOR ? c10::IValue(toAten(value.as.tensor)) : mismatch();
  case Wants::Int:
    if (value.tag == BRAID_DTYPE && value.as.i >= 0 && value.as.i <= BRAID_BOOLEAN)
      return static_cast<int64_t>(toScalarType(static_cast<DType>(value.as.i)));
    if (value.tag == BRAID_INT || value.tag == BRAID_BOOL)
      return value.as.i;
    return value.tag == BRAID_DOUBLE && isInteger(value.as.d) ? c10::IValue(static_cast<int64_t>(value.as.d))
                                                              : mismatch();
  case Wants::Double:
    return number ? c10::IValue(real) : mismatch();
  case Wants::Number:
    if (value.tag == BRAID_BOOL)
      return value.as.i != 0;
    return value.tag == BRAID_INT ? c10::IValue(value.as.i) : number ? c10::IValue(real) : mismatch();
  case Wants::Bool:
    return value.tag == BRAID_BOOL || value.tag == BRAID_INT ? c10::IValue(value.as.i != 0) : mismatch();
  case Wants::String:
    return value.tag == BRAID_STRING ? c10::IValue(std::string(value.as.string)) : mismatch();
  case Wants::Device:
    return value.tag == BRAID_STRING ? c10::IValue(c10::Device(value.as.string)) : mismatch();
  case Wants::TensorList: {
    if (value.tag != BRAID_TENSOR_LIST && value.count)
      return mismatch();
    c10::List<at::Tensor> list;
    for (int32_t i = 0; i < value.count; ++i)
      list.push_back(toAten(value.as.tensors[i]));
    return list;
  }
  case Wants::OptionalTensorList: {
    if (value.tag != BRAID_TENSOR_LIST && value.count)
      return mismatch();
    c10::List<std::optional<at::Tensor>> list;
    for (int32_t i = 0; i < value.count; ++i)
      list.push_back(value.as.tensors[i] ? std::optional<at::Tensor>(toAten(value.as.tensors[i])) : std::nullopt);
    return list;
  }
  case Wants::IntList: {
    if (value.tag == BRAID_INT)
      return c10::List<int64_t>(std::vector<int64_t>(std::max(parameter.listSize, 1), value.as.i));
    if (value.tag != BRAID_INT_LIST && value.count)
      return mismatch();
    c10::List<int64_t> list;
    list.reserve(value.count);
    for (int32_t i = 0; i < value.count; ++i)
      list.push_back(value.as.ints[i]);
    return list;
  }
  case Wants::DoubleList: {
    c10::List<double> list;
    if (value.tag != BRAID_DOUBLE_LIST && value.tag != BRAID_INT_LIST && value.count)
      return mismatch();
    for (int32_t i = 0; i < value.count; ++i)
      list.push_back(value.tag == BRAID_INT_LIST ? static_cast<double>(value.as.ints[i]) : value.as.doubles[i]);
    return list;
  }
  case Wants::BoolList: {
    c10::List<bool> list;
    if (value.tag != BRAID_BOOL_LIST && value.count)
      return mismatch();
    for (int32_t i = 0; i < value.count; ++i)
      list.push_back(value.as.bools[i] != 0);
    return list;
  }
  case Wants::NumberList: {
    c10::impl::GenericList list(c10::NumberType::get());
    if (value.tag != BRAID_DOUBLE_LIST && value.tag != BRAID_INT_LIST && value.count)
      return mismatch();
    for (int32_t i = 0; i < value.count; ++i)
      list.push_back(value.tag == BRAID_INT_LIST ? c10::IValue(value.as.ints[i]) : c10::IValue(value.as.doubles[i]));
    return list;
  }
  case Wants::Other:
    return mismatch();
  }
  return mismatch();
}

std::vector<at::Tensor> braid::runtime::tensorsOf(const torch::jit::Stack &results) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue &result : results) {
    if (result.isTensor())
      tensors.push_back(result.toTensor());
    else if (result.isTensorList())
      for (const at::Tensor &tensor : result.toTensorVector())
        tensors.push_back(tensor);
    else
      throw std::runtime_error(
          text("it returned a ", result.tagKind(), " where programs take only tensors; rewrite the call in the model"));
  }
  return tensors;
}

torch::jit::Stack braid_op_s::makeStack(const braid_value *arguments, int32_t count) const {
  if (count != passed)
    throw std::runtime_error(text("it was resolved for ", passed, " arguments and called with ", count,
                                  "; compile the program again with this version of braid"));
  torch::jit::Stack stack;
  stack.reserve(parameters.size());
  for (const Parameter &parameter : parameters)
    stack.push_back(parameter.source < 0 ? parameter.defaultValue : convert(arguments[parameter.source], parameter));
  return stack;
}

std::string braid_op_s::describe(const braid_value *arguments, int32_t count) const {
  std::string result;
  for (const Parameter &parameter : parameters)
    if (parameter.source >= 0 && parameter.source < count)
      result += text(result.empty() ? "" : ", ", parameter.name, " ", valueText(arguments[parameter.source]));
  return result;
}

std::string braid_op_s::failure(const std::exception &error, const braid_value *arguments, int32_t count,
                                const braid_site *site) const {
  return text(name, siteText(site), " failed: ", firstLine(error), "; its arguments are ", describe(arguments, count));
}
