//===- Convert.h - Between the C ABI and ATen --------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A braid_tensor is the pointer of an at::Tensor's TensorImpl with one reference counted. Includes ATen: for .cpp files
// only.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_CONVERT_H
#define BRAID_RUNTIME_ATEN_CONVERT_H

#include "braid_rt.h"
#include "runtime/aten/Tensor.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace braid::runtime {

/// The state in which the runtime calls ATen: neither recorded nor seen by autograd.
struct BelowAutograd {
  at::AutoDispatchBelowADInplaceOrView dispatch;
  at::NoGradGuard grad;
};

/// Another reference to the tensor; undefined for NULL.
inline at::Tensor toAten(braid_tensor handle) {
  if (!handle)
    return {};
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(
      reinterpret_cast<c10::TensorImpl *>(handle)));
}

/// Gives the reference away; NULL for an undefined tensor.
inline braid_tensor toHandle(at::Tensor tensor) {
  if (!tensor.defined())
    return nullptr;
  return reinterpret_cast<braid_tensor>(tensor.unsafeReleaseTensorImpl());
}

inline at::Tensor toAten(const Tensor &tensor) { return toAten(tensor.get()); }
inline Tensor fromAten(at::Tensor tensor) { return Tensor::adopt(toHandle(std::move(tensor))); }

at::ScalarType toScalarType(DType dtype);
/// Throws for a type that the C ABI lacks.
DType fromScalarType(at::ScalarType type);

/// "f64[2, 3]"; also for element types that the C ABI lacks.
std::string describe(const at::Tensor &tensor);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_CONVERT_H
