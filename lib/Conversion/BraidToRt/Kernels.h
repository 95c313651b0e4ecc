//===- Kernels.h - Groups of elementwise ops as kernels ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_BRAIDTORT_KERNELS_H
#define BRAID_LIB_CONVERSION_BRAIDTORT_KERNELS_H

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Rt/IR/RtDialect.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace braid {

/// On functions whose kernels are formed.
inline constexpr llvm::StringLiteral hasKernelsAttrName = "braid.has_kernels";

/// A path inside of a function that is called for one module only, `caller`; as it is where there are several (null).
mlir::StringAttr pathBelow(mlir::StringAttr caller, mlir::StringAttr path);
/// Where an op comes from, for messages.
rt::SiteAttr makeSite(mlir::Operation *op, mlir::StringAttr caller);

/// Makes rt.kernels of a module, one for equal bodies, and the launches of them.
class KernelBuilder {
public:
  /// Kernels that the module has already are used again.
  KernelBuilder(mlir::ModuleOp module, ShapeAnalysis &shapes);

  /// Replaces groups of elementwise ops and row reductions, over one space of elements and connected, by launches on
  /// the same tensors. `makeSite` says where an op comes from.
  void formKernels(mlir::Block &block, llvm::function_ref<rt::SiteAttr(mlir::Operation *)> makeSite);

  size_t getNumKernels() const { return kernels.size(); }

private:
  struct Group;

  /// Drops inputs that nothing reads.
  mlir::StringAttr makeKernel(const Group &group, llvm::SetVector<mlir::Value> &inputs, mlir::ValueRange outputs);

  mlir::ModuleOp module;
  ShapeAnalysis &shapes;
  llvm::StringMap<mlir::StringAttr> kernels; // by their text without the name
};

} // namespace braid

#endif // BRAID_LIB_CONVERSION_BRAIDTORT_KERNELS_H
