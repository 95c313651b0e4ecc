//===- ParameterStore.h - A rank's parameters and gradients ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has one tensor of each parameter that any of its stages uses. Gradients are summed per owner: stages on the
// rank of a parameter's home add to the home's sum, stages elsewhere keep a sum of their own until it is sent home.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_PARAMETERSTORE_H
#define BRAID_RUNTIME_CORE_PARAMETERSTORE_H

#include "runtime/core/Optimizer.h"
#include "runtime/core/Program.h"
#include "runtime/core/Weights.h"

#include <map>
#include <vector>

namespace braid::runtime {

class ParameterStore {
public:
  ParameterStore(const Program &program, int rank, const Weights &weights);

  const Tensor &parameter(int number) const { return parameters[number]; }
  Tensor &parameter(int number) { return parameters[number]; }

  /// Adds what `stage` (on this rank) or a copy's message gave; fails where dtype or shape is not the parameter's.
  plan::Status addGradient(int stage, int number, Tensor gradient);
  /// The sum that `stage` sends home, and drops: zeros where nothing was added.
  Tensor takeGradient(int stage, int number);
  /// The home's sum; null where nothing was added.
  Tensor homeGradient(int number) const;

  /// Parameters whose copies in stage `copy` follow home stage `home`: those it uses, or those it gives gradients of.
  std::vector<int> tiedValues(int home, int copy) const;
  std::vector<int> tiedGradients(int home, int copy) const;

  /// Sum of squares of the gradients whose home is on this rank.
  double sumOfSquares() const;
  /// The first parameter of those whose sum of squares is no finite number, or -1.
  int firstNonFinite() const;
  void scaleGradients(double factor);
  /// Updates the parameters whose home is `stage` and drops their gradients.
  void step(int stage, Optimizer &optimizer);
  /// Drops what a failed or partial step left.
  void clearGradients() { gradients.clear(); }

private:
  /// The stage under whose name `stage` sums gradients of a parameter.
  int owner(int stage, int number) const;

  const Program &program;
  int rank;
  std::vector<Tensor> parameters;                  // null where no stage of this rank uses it
  std::map<std::pair<int, int>, Tensor> gradients; // (owner, parameter)
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_PARAMETERSTORE_H
