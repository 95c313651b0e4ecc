//===- BatchFile.cpp - Inputs from an example batch and from options ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the header of the safetensors file is read: eight bytes of length, then JSON with dtype and shape by name.
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "braid/Import/Import.h"
#include "braid/Plan/Expr.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace braid {

plan::Result<std::vector<InputSpec>> readInputSpecs(mlir::MLIRContext &context, const std::string &batchFile) {
  auto error = [&](const Twine &what) { return plan::Error{(batchFile + ": " + what).str()}; };
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(batchFile, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return error("cannot be read: " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length = bytes.size() < 8 ? 0 : support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return error("this is no complete safetensors file; write it with safetensors.torch.save_file");
  Expected<json::Value> header = json::parse(bytes.substr(8, length));
  if (!header) {
    std::string why = toString(header.takeError());
    return error("the header of this safetensors file is damaged: " + why);
  }
  const json::Object *tensors = header->getAsObject();
  if (!tensors)
    return error("the header of this safetensors file is no JSON object");
  static const StringMap<StringLiteral> names = {{"F32", "f32"}, {"F64", "f64"},  {"BF16", "bf16"}, {"F16", "f16"},
                                                 {"I64", "i64"}, {"I32", "i32"},  {"I16", "i16"},   {"I8", "i8"},
                                                 {"U8", "u8"},   {"BOOL", "bool"}};
  struct Entry {
    mlir::Type type;
    std::vector<int64_t> shape;
  };
  std::map<unsigned, std::map<std::string, Entry>> steps;
  for (const auto &[key, value] : *tensors) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    auto [step, input] = name.split('/');
    unsigned number;
    if (!step.consume_front("step") || step.getAsInteger(10, number) || input.empty())
      return error("tensor '" + name + "' is not named step<N>/<input>, as in 'step0/input_ids'");
    const json::Object *entry = value.getAsObject();
    std::optional<StringRef> dtype = entry ? entry->getString("dtype") : std::nullopt;
    const json::Array *shape = entry ? entry->getArray("shape") : nullptr;
    if (!dtype || !shape)
      return error("tensor '" + name + "' has no dtype and shape");
    const json::Array *offsets = entry->getArray("data_offsets");
    std::optional<int64_t> end = offsets && offsets->size() == 2 ? (*offsets)[1].getAsInteger() : std::nullopt;
    if (!end || *end < 0 || static_cast<uint64_t>(*end) > bytes.size() - 8 - length)
      return error("the data of tensor '" + name +
                   "' is cut off; write the file again with safetensors.torch.save_file");
    auto known = names.find(*dtype);
    if (known == names.end())
      return error("tensor '" + name + "' has dtype " + *dtype + ", which braid lacks");
    Entry &result = steps[number][input.str()];
    result.type = torchscript::parseTypeName(&context, known->second);
    for (const json::Value &size : *shape)
      result.shape.push_back(size.getAsInteger().value_or(-1));
    if (llvm::is_contained(result.shape, -1))
      return error("tensor '" + name + "' has a shape that is no list of sizes");
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
