//===- Batches.cpp - Batches from a safetensors file ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Batches.h"
#include "runtime/core/Text.h"

#include <charconv>
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
    plan::Result<std::vector<MicroBatch>> microbatches = divide(program, shapes);
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

plan::Result<Tensor> Batches::slice(const Program &program, const Step &step, int input, int microbatch) const {
  const TensorEntry &entry = step.inputs[input];
  std::vector<int64_t> shape = entry.shape;
  std::byte *data = entry.data;
  size_t bytes = entry.bytes;
  if (program.inputs[input].stack) {
    size_t rowBytes = shape[0] ? bytes / shape[0] : 0;
    shape[0] = step.microbatches[microbatch].samples;
    data += rowBytes * step.microbatches[microbatch].begin;
    bytes = rowBytes * shape[0];
  }
  Tensor tensor = Tensor::empty(entry.dtype, shape);
  if (plan::Status status = file.mapping()->read(data, tensor.data(), bytes); !status)
    return plan::Error{status.error()};
  return tensor;
}
