//===- Export.cpp - Gathering tensors into one file -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Export.h"
#include "runtime/core/Text.h"
#include "runtime/data/Safetensors.h"

using namespace braid;
using namespace braid::runtime;

/// Above every tag of a step's messages, below those of the transport.
static constexpr uint64_t gatherTag = uint64_t(0x7f) << 56;

static plan::Status sendOwn(int rank, Transport &transport, const std::vector<GatheredTensor> &tensors,
                            const std::string &path) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].owner != rank)
      continue;
    Tensor tensor = tensors[i].find().contiguous();
    if (plan::Status status = transport.send(0, tensor.data(), tensor.bytes(), gatherTag | i); !status)
      return plan::Error{text("sending ", tensors[i].name, " for ", path, ": ", status.error())};
  }
  return {};
}

plan::Status runtime::gatherTensors(int rank, Transport *transport, const std::vector<GatheredTensor> &tensors,
                                    const std::string &path) {
  if (rank != 0)
    return sendOwn(rank, *transport, tensors, path);
  std::vector<SafetensorsWriter::Spec> specs;
  for (const GatheredTensor &tensor : tensors)
    specs.push_back({tensor.name, tensor.dtype, tensor.shape});
  plan::Result<SafetensorsWriter> writer = SafetensorsWriter::create(path, specs);
  if (!writer)
    return plan::Error{writer.error()};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const GatheredTensor &source = tensors[i];
    Tensor tensor;
    if (source.owner == 0) {
      tensor = source.find().contiguous();
    } else {
      tensor = Tensor::empty(source.dtype, source.shape);
      if (plan::Status status = transport->recv(source.owner, tensor.data(), tensor.bytes(), gatherTag | i); !status)
        return plan::Error{
            text("receiving ", source.name, " from rank ", source.owner, " for ", path, ": ", status.error())};
    }
    if (plan::Status status = writer->write(tensor.data(), tensor.bytes()); !status)
      return status;
  }
  return writer->finish();
}

plan::Status runtime::exportModel(const Program &program, int rank, Transport *transport,
                                  const ParameterStore &parameters, const Weights &weights, const std::string &path) {
  std::vector<GatheredTensor> tensors;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const ModelParameter &parameter = program.parameters[i];
    if (parameter.kind == ModelParameter::Kind::Constant)
      continue;
    tensors.push_back({parameter.name, parameter.dtype, parameter.shape, program.rankOf(parameter), [&, i] {
                         const Tensor &live = parameters.parameter(static_cast<int>(i));
                         return live ? live : weights.load(program.parameters[i]);
                       }});
  }
  return gatherTensors(rank, transport, tensors, path);
}

plan::Status runtime::exportGradients(const Program &program, int rank, Transport *transport,
                                      const std::map<int, Tensor> &gradients, const std::string &path) {
  std::vector<GatheredTensor> tensors;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const ModelParameter &parameter = program.parameters[i];
    if (!parameter.updated)
      continue;
    tensors.push_back({parameter.name, parameter.dtype, parameter.shape, program.rankOf(parameter), [&, i] {
                         auto found = gradients.find(static_cast<int>(i));
                         return found != gradients.end() ? found->second
                                                         : Tensor::zeros(parameter.dtype, parameter.shape);
                       }});
  }
  return gatherTensors(rank, transport, tensors, path);
}
