//===- Export.h - Gathering tensors into one file ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 writes plain safetensors files that PyTorch loads, under TorchScript's names; a tied group once, under its
// first name. Owners send their tensors one by one, so no rank holds more than one that is not its own. All ranks call
// these together.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CHECKPOINT_EXPORT_H
#define BRAID_RUNTIME_CHECKPOINT_EXPORT_H

#include "runtime/core/ParameterStore.h"
#include "runtime/core/Program.h"
#include "runtime/core/Weights.h"
#include "runtime/transport/Transport.h"

#include <functional>
#include <map>
#include <string>

namespace braid::runtime {

/// A tensor of the file. Every rank lists all of them, alike but for `find`, which only the owner calls.
struct GatheredTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  int owner = 0; // a rank
  std::function<Tensor()> find;
};
plan::Status gatherTensors(int rank, Transport *transport, const std::vector<GatheredTensor> &tensors,
                           const std::string &path);

/// Parameters and buffers; those that no stage uses come from the weight file.
plan::Status exportModel(const Program &program, int rank, Transport *transport, const ParameterStore &parameters,
                         const Weights &weights, const std::string &path);

/// `gradients` are those of the parameters whose home is on this rank, by number.
plan::Status exportGradients(const Program &program, int rank, Transport *transport,
                             const std::map<int, Tensor> &gradients, const std::string &path);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CHECKPOINT_EXPORT_H
