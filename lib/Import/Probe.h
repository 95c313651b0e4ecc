//===- Probe.h - Result shapes by running the operator -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator without a typed op has no shape rule. It is run for the example's sizes and for a few others, on meta
// tensors or on zeros, and each dim of its results is fitted by an expression that explains all runs.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_PROBE_H
#define BRAID_LIB_IMPORT_PROBE_H

#include "Aten.h"

namespace braid::torchscript {

struct ProbedResult {
  c10::ScalarType dtype;
  /// Over the dims of the tensor operands, named as in braid.aten, and over the model's symbols.
  std::vector<Expr> dims;
};

/// Fails, with a diagnostic, where the operator refuses the example or no expression fits.
std::vector<ProbedResult> probe(Emitter &emitter, const Call &call, llvm::ArrayRef<mlir::Value> tensors);

/// Calls fn for each tensor among the arguments, in the order of the arguments, entries of lists included.
void forEachTensor(const Call &call, llvm::function_ref<void(Tensor &)> fn);

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_PROBE_H
