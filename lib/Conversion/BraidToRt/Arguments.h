//===- Arguments.h - ATen arguments as the runtime takes them ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_BRAIDTORT_ARGUMENTS_H
#define BRAID_LIB_CONVERSION_BRAIDTORT_ARGUMENTS_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Rt/IR/RtDialect.h"

namespace braid {

/// The arguments of an rt.call or rt.call_gradient.
struct RtArguments {
  llvm::SmallVector<mlir::Value> tensors, sizes;
  llvm::SmallVector<mlir::Attribute> names, values;
};

/// What `call` passes. An absent optional tensor is None; any other absent argument is left to the schema's default.
/// Fails after an error at `op` for constants that the runtime cannot take.
mlir::FailureOr<RtArguments> makeRtArguments(mlir::Operation *op, const AtenCall &call);

/// For an opaque op, the numbers of its tensor operands, counted with absent entries of lists, as the runtime counts.
llvm::SmallVector<int32_t> numberWanted(const RtArguments &arguments, llvm::ArrayRef<int64_t> operands);

} // namespace braid

#endif // BRAID_LIB_CONVERSION_BRAIDTORT_ARGUMENTS_H
