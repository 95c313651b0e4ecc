//===- Numbers.cpp - Arithmetic on tensors without dims -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Traces compute sizes through 0-dim tensors: NumToTensor, floor_divide, Int. Where such a tensor's value is known, as
// a constant or as an index value, the operator is run on that instead.
//
//===----------------------------------------------------------------------===//

#include "Aten.h"
#include "ImportError.h"

#include <ATen/core/grad_mode.h>

using namespace mlir;

namespace braid::torchscript {

/// Runs the operator itself if all its tensors are 0-dim constants; its results are kept if they are, too.
static std::optional<std::vector<at::Tensor>> foldConstants(const Call &call) {
  std::optional<c10::OperatorHandle> handle =
      c10::Dispatcher::singleton().findSchema(c10::OperatorName(call.schema->name(), call.schema->overload_name()));
  if (!handle)
    return std::nullopt;
  torch::jit::Stack stack;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Item &item = call.args[i];
    std::optional<c10::IValue> value = toIValue(item, call.schema->arguments()[i].type());
    if (item.isTensor() && item.tensor()->constant.defined() && item.tensor()->constant.dim() == 0)
      value = item.tensor()->constant;
    if (!value)
      return std::nullopt;
    stack.push_back(*value);
  }
  at::NoGradGuard guard;
  handle->callBoxed(stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue &result : stack) {
    if (!result.isTensor() || result.toTensor().dim())
      return std::nullopt;
    results.push_back(result.toTensor());
  }
  return results;
}

std::optional<Aten::Results> Aten::runOnNumbers(const Call &call) {
  bool constant = true, symbolic = false, tensors = false;
  for (const Item &item : call.args) {
    if (item.list())
      return std::nullopt;
    constant &= !item.isIndex();
    if (!item.isTensor())
      continue;
    tensors = true;
    const Item &number = item.tensor()->number;
    if (number.isNone())
      return std::nullopt;
    constant &= !number.isIndex();
    symbolic |= number.isIndex();
  }
  if (!tensors)
    return std::nullopt;
  if (constant) {
    std::optional<std::vector<at::Tensor>> folded = foldConstants(call);
    if (!folded)
      return std::nullopt;
    Results results;
    for (const at::Tensor &tensor : *folded)
      results.emplace_back(emitter.makeConstant(tensor));
    return results;
  }
  if (!symbolic)
    return std::nullopt;

  auto number = [](const Item &item) { return item.isTensor() ? item.tensor()->number : item; };
  std::string name = call.schema->name();
  std::vector<Item> operands;
  for (size_t i = 0; i < std::min<size_t>(call.args.size(), 2); ++i)
    operands.push_back(number(call.args[i]));
  for (const Item &operand : operands)
    if (!operand.isInt())
      return std::nullopt;
  const Item &alpha = call.arg("alpha");
  if (alpha.isInt() && operands.size() == 2) {
    // add and sub scale their second operand, rsub its first.
    Item &scaled = operands[name == "aten::rsub" ? 0 : 1];
    scaled = emitter.mul(scaled, alpha);
  } else if (!alpha.isNone()) {
    return std::nullopt;
  }
  const c10::IValue *mode = call.arg("rounding_mode").constant();
  bool floors =
      name == "aten::floor_divide" || (name == "aten::div" && mode->isString() &&
                                       (mode->toStringRef() == "floor" || emitter.valueOf(operands[0]).atLeast(0)));
  if (name == "aten::neg" && operands.size() == 1)
    return Results{emitter.makeNumber(emitter.sub(c10::IValue(0), operands[0]))};
  if (operands.size() != 2)
    return std::nullopt;
  const Item &a = operands[0], &b = operands[1];
  std::optional<Item> result;
  if (name == "aten::add")
    result = emitter.add(a, b);
  else if (name == "aten::sub")
    result = emitter.sub(a, b);
  else if (name == "aten::rsub")
    result = emitter.sub(b, a);
  else if (name == "aten::mul")
    result = emitter.mul(a, b);
  else if (floors)
    result = emitter.floorDiv(a, b);
  else if (name == "aten::remainder")
    result = emitter.sub(a, emitter.mul(emitter.floorDiv(a, b), b));
  else if (name == "aten::maximum")
    result = emitter.max(a, b);
  if (!result)
    return std::nullopt;
  return Results{emitter.makeNumber(*result)};
}

} // namespace braid::torchscript
