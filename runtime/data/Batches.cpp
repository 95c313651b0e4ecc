//===- Batches.cpp - Batches from a safetensors file ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Batches.h"
#include "runtime/core/Text.h"

#include <charconv>
#include <cstring>
#include <map>

using namespace braid;
using namespace braid::runtime;

using Steps = std::map<int64_t, std::map<std::string, const TensorEntry *>>;

/// Steps and the inputs in each, by the names of the file's tensors. A name that is not step<number>/... is nobody's
/// concern; a number has one spelling, or two tensors could be one input of one step.
static plan::Result<Steps> bySteps(const SafetensorsFile &file) {
  Steps steps;
  for (const auto &[name, entry] : file.tensors()) {
    size_t slash = name.find('/');
    if (name.compare(0, 4, "step") != 0 || slash == name.npos || slash == 4 ||
        name.find_first_not_of("0123456789", 4) != slash)
      continue;
    int64_t number = 0;
    std::from_chars_result read = std::from_chars(name.data() + 4, name.data() + slash, number);
    if (read.ec != std::errc())
      return plan::Error{text(file.path(), " has a tensor '", name, "', whose step is too large a number")};
    if (std::to_string(number).size() != slash - 4)
      return plan::Error{text(file.path(), " has a tensor '", name, "'; rename it to 'step", number, name.substr(slash),
                              "', for steps are numbered without leading zeros")};
    steps[number][name.substr(slash + 1)] = &entry;
  }
  return steps;
}

/// An input that the program would silently leave aside.
static std::string unknownInput(const Program &program, const std::string &path, int64_t step,
                                const std::string &name) {
  std::vector<std::string> known;
  for (const Input &input : program.inputs)
    known.push_back(input.name);
  std::string near = nearest(name, known);
  return text(path, " has 'step", step, "/", name, "', and the program has no input '", name, "', only ", joined(known),
              near.empty() ? "; leave it out of the file" : text("; do you mean '", near, "'?"));
}

static std::string missingInput(const Program &program, const std::string &path, int64_t step, const Input &input,
                                const std::map<std::string, const TensorEntry *> &given) {
  std::vector<std::string> unknown, all;
  for (const auto &[name, entry] : given) {
    all.push_back("'" + name + "'");
    bool taken = false;
    for (const Input &other : program.inputs)
      taken |= other.name == name;
    if (!taken)
      unknown.push_back(name);
  }
  std::string near = nearest(input.name, unknown);
  return text(path, " has no 'step", step, "/", input.name, "', and the program needs input '", input.name,
              "'; the file has ", joined(all), near.empty() ? "; add it" : text(" there; rename '", near, "'?"));
}

/// The values of offsets and indices.
static plan::Result<std::vector<int64_t>> integersOf(const SafetensorsFile &file, const TensorEntry &entry) {
  std::vector<std::byte> bytes(entry.bytes);
  if (plan::Status status = file.mapping()->read(entry.data, bytes.data(), bytes.size()); !status)
    return plan::Error{status.error()};
  size_t size = info(entry.dtype).bytes;
  std::vector<int64_t> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (entry.dtype == BRAID_I64) {
      std::memcpy(&values[i], &bytes[i * size], size);
    } else {
      int32_t value;
      std::memcpy(&value, &bytes[i * size], size);
      values[i] = value;
    }
  }
  return values;
}

plan::Result<Batches> Batches::open(const Program &program, const std::string &path, int64_t count) {
  plan::Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return plan::Error{file.error()};
  Batches batches(std::move(*file));
  plan::Result<Steps> named = bySteps(batches.file);
  if (!named)
    return plan::Error{named.error()};
  const Steps &given = *named;
  if (given.empty() || given.begin()->first != 0)
    return plan::Error{
        text(path, " has no batch: its tensors must be named step0/<input>, step1/<input> and so on, and ",
             batches.file.tensors().empty() ? "it has none"
                                            : text("one is named '", batches.file.tensors().begin()->first, "'"))};
  int64_t number = 0;
  for (const auto &[key, entries] : given) {
    if (count > 0 && number == count)
      break;
    if (key != number)
      return plan::Error{text(path, " has step ", key, " and no step ", number, "; number the steps without gaps")};
    Step step;
    std::vector<std::vector<int64_t>> shapes;
    for (const Input &input : program.inputs) {
      auto found = entries.find(input.name);
      if (found == entries.end())
        return plan::Error{missingInput(program, path, number, input, entries)};
      if (found->second->dtype != input.dtype)
        return plan::Error{text("input '", input.name, "' of step ", number, " in ", path, " is ",
                                info(found->second->dtype).name, " and the program takes ", info(input.dtype).name,
                                "; convert the batch, or compile with it as the example")};
      step.inputs.push_back(*found->second);
      shapes.push_back(found->second->shape);
    }
    for (const auto &[name, entry] : entries)
      if (std::none_of(program.inputs.begin(), program.inputs.end(), [&](const Input &i) { return i.name == name; }))
        return plan::Error{unknownInput(program, path, number, name)};
    step.shapes = padShapes(program, std::move(shapes));
    plan::Result<std::vector<MicroBatch>> microbatches =
        divide(program, step.shapes, [&](int input) { return integersOf(batches.file, step.inputs[input]); });
    if (!microbatches)
      return plan::Error{text("step ", number, " of ", path, ": ", microbatches.error())};
    step.microbatches = std::move(*microbatches);
    for (const MicroBatch &microbatch : step.microbatches)
      step.samples += microbatch.samples;
    batches.steps.push_back(std::move(step));
    ++number;
  }
  return batches;
}

/// Copies the rows of one dim into a tensor that may be larger in other dims, where what it holds stays.
static plan::Status copyRows(const MappedFile &mapping, const TensorEntry &entry, int dim, const plan::InputCut &cut,
                             const std::vector<int64_t> &shape, std::byte *target) {
  const std::vector<int64_t> &from = entry.shape;
  int rank = static_cast<int>(from.size());
  // What follows `last` is the same run of elements on both sides, and so is a part of `last` itself.
  int last = rank - 1;
  while (last > 0 && last != dim && from[last] == shape[last])
    --last;
  size_t inner = info(entry.dtype).bytes;
  for (int d = last + 1; d < rank; ++d)
    inner *= from[d];
  auto sizeOf = [&](int d) { return d == dim ? cut.size : from[d]; };
  size_t run = rank ? inner * sizeOf(last) : inner, count = 1;
  for (int d = 0; d < last; ++d)
    count *= sizeOf(d);
  std::vector<int64_t> at(rank);
  for (size_t number = 0; run && number < count; ++number) {
    size_t source = 0, destination = 0;
    for (int d = 0; d < rank; ++d) {
      source = source * from[d] + (d == dim ? cut.begin + at[d] : at[d]);
      destination = destination * shape[d] + at[d];
    }
    size_t bytes = info(entry.dtype).bytes;
    if (plan::Status status = mapping.read(entry.data + source * bytes, target + destination * bytes, run); !status)
      return status;
    for (int d = last - 1; d >= 0 && ++at[d] == sizeOf(d); --d)
      at[d] = 0;
  }
  return {};
}

plan::Result<Tensor> Batches::slice(const Program &program, const Step &step, int input, int microbatch) const {
  const TensorEntry &entry = step.inputs[input];
  const plan::CollateRule &rule = program.inputs[input].collate;
  std::vector<int64_t> shape = step.shapes[input];
  plan::InputCut cut = step.microbatches[microbatch].cuts[input];
  int dim = rule.kind == plan::CollateRule::Kind::Shared ? -1 : rule.dim;
  if (dim >= 0)
    shape[dim] = cut.size;
  Tensor tensor = Tensor::empty(entry.dtype, shape);
  std::vector<int64_t> given = entry.shape;
  if (dim >= 0)
    given[dim] = cut.size;
  if (given != shape)
    fill(tensor, rule.value);
  auto *data = static_cast<std::byte *>(tensor.data());
  if (plan::Status status = copyRows(*file.mapping(), entry, dim, cut, shape, data); !status)
    return plan::Error{status.error()};
  for (int64_t i = 0; cut.base && i < cut.size; ++i) {
    if (entry.dtype == BRAID_I64)
      reinterpret_cast<int64_t *>(data)[i] -= cut.base;
    else
      reinterpret_cast<int32_t *>(data)[i] -= static_cast<int32_t>(cut.base);
  }
  return tensor;
}
