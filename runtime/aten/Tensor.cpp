//===- Tensor.cpp - Owned tensors -----------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Tensor.h"
#include "runtime/aten/Convert.h"
#include "runtime/core/Text.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <stdexcept>

namespace braid::runtime {

static constexpr at::ScalarType scalarTypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong,
                                                 at::kInt,   at::kShort,  at::kChar,     at::kByte, at::kBool};
static_assert(std::size(scalarTypes) == std::size(plan::elementTypes));

at::ScalarType toScalarType(DType dtype) { return scalarTypes[dtype]; }

DType fromScalarType(at::ScalarType type) {
  for (size_t i = 0; i < std::size(scalarTypes); ++i)
    if (scalarTypes[i] == type)
      return static_cast<DType>(i);
  throw std::runtime_error(text("a tensor has elements of type ", c10::toString(type),
                                ", which compiled programs do not know; cast it in the model"));
}

std::string describe(const at::Tensor &tensor) {
  if (!tensor.defined())
    return "none";
  for (size_t i = 0; i < std::size(scalarTypes); ++i)
    if (scalarTypes[i] == tensor.scalar_type())
      return text(plan::elementTypes[i].name, shapeText(tensor.sizes().vec()));
  return text(c10::toString(tensor.scalar_type()), shapeText(tensor.sizes().vec()));
}

Tensor Tensor::empty(DType dtype, const std::vector<int64_t> &sizes) {
  BelowAutograd guard;
  return fromAten(at::empty(sizes, toScalarType(dtype)));
}

Tensor Tensor::zeros(DType dtype, const std::vector<int64_t> &sizes) {
  BelowAutograd guard;
  return fromAten(at::zeros(sizes, toScalarType(dtype)));
}

Tensor Tensor::view(void *data, DType dtype, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides,
                    std::shared_ptr<const void> owner) {
  BelowAutograd guard;
  auto release = [owner = std::move(owner)](void *) {};
  if (strides.empty())
    return fromAten(at::from_blob(data, sizes, std::move(release), toScalarType(dtype)));
  return fromAten(at::from_blob(data, sizes, strides, std::move(release), toScalarType(dtype)));
}

/// A new tensor with the shape of `tensor` and, if they are dense, its strides.
static at::Tensor emptyLike(const at::Tensor &tensor) {
  if (tensor.is_non_overlapping_and_dense())
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  return at::empty(tensor.sizes(), tensor.options());
}

Tensor Tensor::clone() const {
  BelowAutograd guard;
  at::Tensor source = toAten(handle);
  return fromAten(emptyLike(source).copy_(source));
}

Tensor Tensor::contiguous() const {
  BelowAutograd guard;
  return fromAten(toAten(handle).contiguous());
}

DType Tensor::dtype() const { return fromScalarType(toAten(handle).scalar_type()); }
std::vector<int64_t> Tensor::sizes() const { return toAten(handle).sizes().vec(); }
int64_t Tensor::numel() const { return toAten(handle).numel(); }
size_t Tensor::bytes() const { return toAten(handle).nbytes(); }
void *Tensor::data() const { return toAten(handle).data_ptr(); }
std::string Tensor::str() const { return describe(toAten(handle)); }

bool Tensor::hasShape(DType dtype, const std::vector<int64_t> &sizes) const {
  at::Tensor tensor = toAten(handle);
  return tensor.defined() && tensor.scalar_type() == toScalarType(dtype) && tensor.sizes().equals(sizes);
}

double Tensor::item() const {
  BelowAutograd guard;
  return toAten(handle).item().toDouble();
}


Tensor ownedLike(Tensor value, const Tensor &like) {
  BelowAutograd guard;
  {
    at::Tensor tensor = toAten(value);
    at::Tensor model = toAten(like);
    // The references are `value`, `tensor` and, for the storage, the one tensor. A storage without allocator is a view
    // of a file.
    bool alone = tensor.use_count() == 2 && tensor.storage().use_count() == 1 && tensor.storage().allocator();
    bool strided = model.is_non_overlapping_and_dense() ? tensor.strides() == model.strides() : tensor.is_contiguous();
    if (!alone || !strided)
      return fromAten(emptyLike(model).copy_(tensor));
  }
  return value;
}

void add(Tensor &sum, const Tensor &value) {
  BelowAutograd guard;
  toAten(sum).add_(toAten(value));
}

void fill(Tensor &tensor, double value) {
  BelowAutograd guard;
  toAten(tensor).fill_(value);
}

void scale(Tensor &tensor, double factor) {
  BelowAutograd guard;
  toAten(tensor).mul_(factor);
}

void assign(Tensor &tensor, const Tensor &value) {
  BelowAutograd guard;
  toAten(tensor).copy_(toAten(value));
}

double sumOfSquares(const Tensor &tensor) {
  BelowAutograd guard;
  at::Tensor value = toAten(tensor);
  at::ScalarType wide = value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  double norm = value.norm(2, wide).item().toDouble();
  return norm * norm;
}

Tensor sum(const Tensor &a, const Tensor &b) {
  BelowAutograd guard;
  return fromAten(toAten(a).add(toAten(b)));
}

void setThreads(int threads) { at::set_num_threads(threads); }

} // namespace braid::runtime
