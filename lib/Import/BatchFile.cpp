//===- BatchFile.cpp - Inputs from an example batch and from options ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "braid/Dialect/Braid/IR/ElementTypes.h"
#include "braid/Import/Import.h"
#include "braid/Plan/Expr/Expr.h"
#include "braid/Plan/File/SafetensorsHeader.h"
#include "braid/Plan/Support/Files.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace braid {

plan::Result<std::vector<InputSpec>> readInputSpecs(mlir::MLIRContext &context, const std::string &batchFile) {
  auto error = [&](const Twine &what) { return plan::Error{(batchFile + ": " + what).str()}; };
  if (plan::Status status = plan::checkRegularFile(batchFile); !status)
    return plan::Error{status.error()};
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(batchFile, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return error("cannot be read: " + buffer.getError().message());
  auto tensors = plan::readSafetensorsHeader((*buffer)->getBuffer());
  if (!tensors)
    return error(tensors.error() + "; write it with safetensors.torch.save_file");
  struct Entry {
    mlir::Type type;
    std::vector<int64_t> shape;
  };
  std::map<unsigned, std::map<std::string, Entry>> steps;
  for (const auto &[key, tensor] : *tensors) {
    auto [step, input] = StringRef(key).split('/');
    unsigned number;
    if (!step.consume_front("step") || step.getAsInteger(10, number) || input.empty())
      return error("tensor '" + key + "' is not named step<N>/<input>, as in 'step0/input_ids'");
    if (!steps[number].emplace(input.str(), Entry{toType(&context, tensor.type), tensor.shape}).second)
      return error("the input '" + input + "' of step " + Twine(number) + " stands twice");
  }
  if (steps.empty())
    return error("there are no tensors in this file; a batch has some named step0/<input>");
  std::vector<InputSpec> inputs;
  for (const auto &[name, entry] : steps.begin()->second)
    inputs.push_back({name, entry.type, entry.shape, {}, {}});
  for (const auto &[number, step] : llvm::drop_begin(steps))
    for (InputSpec &input : inputs) {
      auto found = step.find(input.name);
      if (found == step.end())
        return error("step" + Twine(number) + " lacks the input '" + input.name + "' of the first step");
      if (found->second.type != input.elementType || found->second.shape.size() != input.example.size())
        return error("input '" + input.name + "' has another dtype or rank in step" + Twine(number) +
                     " than in the first step");
      input.others.push_back(found->second.shape);
    }
  return inputs;
}

plan::Status parseInputOption(mlir::MLIRContext &context, const std::string &text, std::vector<InputSpec> &inputs) {
  auto error = [&](const Twine &what) {
    return plan::Error{("--input '" + text + "': " + what + "; write it as 'ids: i64[batch, seq]'").str()};
  };
  auto [left, right] = StringRef(text).split(':');
  StringRef name = left.trim();
  auto [typeText, rest] = right.trim().split('[');
  StringRef list = rest.trim();
  if (name.empty() || !list.consume_back("]"))
    return error("this is no input");
  mlir::Type type = torchscript::parseTypeName(&context, typeText.trim());
  if (!type)
    return error("there is no element type '" + typeText.trim() +
                 "'; there are f32, f64, bf16, f16, i64, i32, i16, i8, u8 and bool");
  std::vector<std::string> dims;
  SmallVector<StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef dim = part.trim();
    plan::Result<plan::Expr> size = plan::Expr::parse(dim.str());
    if (!size)
      return error("'" + dim + "' is neither a size, nor a name, nor an expression of names");
    dims.push_back(size->str());
  }
  auto known = llvm::find_if(inputs, [&](const InputSpec &input) { return input.name == name; });
  if (known == inputs.end()) {
    inputs.push_back({name.str(), type, {}, {}, dims});
    return {};
  }
  if (known->elementType != type)
    return plan::Error{("input '" + name + "' is " + torchscript::typeName(known->elementType) +
                        " in the example, but --input says " + torchscript::typeName(type))
                           .str()};
  if (known->example.size() != dims.size())
    return plan::Error{("input '" + name + "' has " + Twine(known->example.size()) +
                        " dims in the example, but --input lists " + Twine(dims.size()))
                           .str()};
  known->dims = dims;
  return {};
}

} // namespace braid
