//===- Export.cpp - Gathering parameters into one file --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Export.h"
#include "runtime/core/Text.h"
#include "runtime/data/Safetensors.h"

#include <functional>

using namespace braid;
using namespace braid::runtime;

/// Above every tag of a step's messages, below those of the transport.
static constexpr uint64_t gatherTag = uint64_t(0x7f) << 56;

/// Writes the parameters `numbers`; `find` gives the tensor of one whose home is on this rank.
static plan::Status gather(const Program &program, int rank, Transport *transport, const std::vector<int> &numbers,
                           const std::function<Tensor(int)> &find, const std::string &path) {
  auto send = [&](int number) -> plan::Status {
    Tensor tensor = find(number).contiguous();
    return transport->send(0, tensor.data(), tensor.bytes(), gatherTag | uint64_t(number));
  };
  if (rank != 0) {
    for (int number : numbers)
      if (program.rankOf(program.parameters[number]) == rank)
        if (plan::Status status = send(number); !status)
          return plan::Error{text("sending ", program.parameters[number].name, " for ", path, ": ", status.error())};
    return {};
  }

  std::vector<SafetensorsWriter::Spec> specs;
  for (int number : numbers) {
    const ModelParameter &parameter = program.parameters[number];
    specs.push_back({parameter.name, parameter.dtype, parameter.shape});
  }
  plan::Result<SafetensorsWriter> writer = SafetensorsWriter::create(path, specs);
  if (!writer)
    return plan::Error{writer.error()};
  for (int number : numbers) {
    const ModelParameter &parameter = program.parameters[number];
    int owner = program.rankOf(parameter);
    Tensor tensor;
    if (owner == 0) {
      tensor = find(number).contiguous();
    } else {
      tensor = Tensor::empty(parameter.dtype, parameter.shape);
      if (plan::Status status = transport->recv(owner, tensor.data(), tensor.bytes(), gatherTag | uint64_t(number));
          !status)
        return plan::Error{
            text("receiving ", parameter.name, " from rank ", owner, " for ", path, ": ", status.error())};
    }
    if (plan::Status status = writer->write(tensor.data(), tensor.bytes()); !status)
      return status;
  }
  return writer->finish();
}

plan::Status runtime::exportModel(const Program &program, int rank, Transport *transport,
                                  const ParameterStore &parameters, const Weights &weights, const std::string &path) {
  std::vector<int> numbers;
  for (size_t i = 0; i < program.parameters.size(); ++i)
    if (program.parameters[i].kind != ModelParameter::Kind::Constant)
      numbers.push_back(static_cast<int>(i));
  return gather(
      program, rank, transport, numbers,
      [&](int number) {
        const Tensor &live = parameters.parameter(number);
        return live ? live : weights.load(program.parameters[number]);
      },
      path);
}

plan::Status runtime::exportGradients(const Program &program, int rank, Transport *transport,
                                      const std::map<int, Tensor> &gradients, const std::string &path) {
  std::vector<int> numbers;
  for (size_t i = 0; i < program.parameters.size(); ++i)
    if (program.parameters[i].updated)
      numbers.push_back(static_cast<int>(i));
  return gather(
      program, rank, transport, numbers,
      [&](int number) {
        auto found = gradients.find(number);
        const ModelParameter &parameter = program.parameters[number];
        return found != gradients.end() ? found->second : Tensor::zeros(parameter.dtype, parameter.shape);
      },
      path);
}
