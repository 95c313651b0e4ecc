//===- Batches.h - Batches from a safetensors file ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `step<i>/<input>` is the whole batch of step i. After the last step of the file the first one follows.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_DATA_BATCHES_H
#define BRAID_RUNTIME_DATA_BATCHES_H

#include "runtime/aten/Tensor.h"
#include "runtime/core/MicroBatches.h"
#include "runtime/core/Program.h"
#include "runtime/data/Safetensors.h"

#include <string>
#include <vector>

namespace braid::runtime {

class Batches {
public:
  /// Checks names, dtypes and shapes of every step that `steps` will use; 0 stands for each of the file once.
  static plan::Result<Batches> open(const Program &program, const std::string &path, int64_t steps);

  struct Step {
    std::vector<TensorEntry> inputs;          // in the plan's order
    std::vector<std::vector<int64_t>> shapes; // of the inputs, with what is padded
    std::vector<MicroBatch> microbatches;
    int64_t samples = 0;
  };
  int64_t count() const { return static_cast<int64_t>(steps.size()); }
  const Step &step(int64_t number) const { return steps[number % steps.size()]; }

  /// What a micro-batch sees of an input, read from the file; fails where the file was cut meanwhile.
  plan::Result<Tensor> slice(const Program &program, const Step &step, int input, int microbatch) const;

private:
  explicit Batches(SafetensorsFile file) : file(std::move(file)) {}

  SafetensorsFile file;
  std::vector<Step> steps;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_BATCHES_H
