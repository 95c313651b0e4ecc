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

/// Steps and the inputs in each, by the names of the file's tensors; other names are nobody's concern.
static std::map<int64_t, std::map<std::string, const TensorEntry *>> bySteps(const SafetensorsFile &file) {
  std::map<int64_t, std::map<std::string, const TensorEntry *>> steps;
  for (const auto &[name, entry] : file.tensors()) {
    size_t slash = name.find('/');
    if (name.compare(0, 4, "step") != 0 || slash == name.npos)
      continue;
    int64_t number = 0;
    auto [stop, error] = std::from_chars(name.data() + 4, name.data() + slash, number);
    if (error == std::errc() && stop == name.data() + slash && number >= 0)
      steps[number][name.substr(slash + 1)] = &entry;
  }
  return steps;
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
  auto given = bySteps(batches.file);
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

Tensor Batches::slice(const Program &program, const Step &step, int input, int microbatch) const {
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
  if (bytes && reinterpret_cast<uintptr_t>(data) % info(entry.dtype).bytes == 0)
    return Tensor::view(data, entry.dtype, shape, {}, file.mapping());
  Tensor copy = Tensor::empty(entry.dtype, shape);
  if (bytes)
    std::memcpy(copy.data(), data, bytes);
  return copy;
}
