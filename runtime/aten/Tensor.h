//===- Tensor.h - Owned tensors without ATen's headers -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor owns one reference to an at::Tensor, as a braid_tensor does in the C ABI. The executor, data and checkpoints
// use it, so that only this folder and the optimizer compile ATen. What can fail in ATen (memory, in practice) throws
// a std::exception, which the executor turns into a message.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_TENSOR_H
#define BRAID_RUNTIME_ATEN_TENSOR_H

#include "braid_rt.h"
#include "runtime/data/DType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace braid::runtime {

class Tensor {
public:
  Tensor() = default;
  Tensor(const Tensor &other) : handle(other.handle) { braid_rt_retain(handle); }
  Tensor(Tensor &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Tensor &operator=(Tensor other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Tensor() { braid_rt_release(handle); }

  /// Takes over the reference.
  static Tensor adopt(braid_tensor handle) {
    Tensor tensor;
    tensor.handle = handle;
    return tensor;
  }
  braid_tensor get() const { return handle; }
  explicit operator bool() const { return handle; }

  static Tensor empty(DType dtype, const std::vector<int64_t> &sizes);
  static Tensor zeros(DType dtype, const std::vector<int64_t> &sizes);
  /// A tensor over memory that `owner` keeps alive. `strides` in elements; row-major where empty.
  static Tensor view(void *data, DType dtype, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides,
                     std::shared_ptr<const void> owner);
  /// A copy in memory of its own with the same strides, if those are dense, else row-major.
  Tensor clone() const;
  /// Itself if it is row-major, else a row-major copy.
  Tensor contiguous() const;

  DType dtype() const;
  std::vector<int64_t> sizes() const;
  int64_t numel() const;
  size_t bytes() const; // of the elements
  bool hasShape(DType dtype, const std::vector<int64_t> &sizes) const;
  /// The elements of a row-major tensor.
  void *data() const;
  /// "f64[2, 3]"
  std::string str() const;

  /// The only element.
  double item() const;

private:
  braid_tensor handle = nullptr;
};

/// `value` in memory that nothing else refers to, with the strides of `like`: the start of a gradient's sum.
Tensor ownedLike(Tensor value, const Tensor &like);
/// sum += value, in place.
void add(Tensor &sum, const Tensor &value);
/// Every element becomes `value`.
void fill(Tensor &tensor, double value);
/// tensor *= factor, in place.
void scale(Tensor &tensor, double factor);
/// Overwrites `tensor`, which keeps its strides.
void assign(Tensor &tensor, const Tensor &value);
/// In at least float32.
double sumOfSquares(const Tensor &tensor);
/// a + b, a new tensor.
Tensor sum(const Tensor &a, const Tensor &b);

/// Threads of one operator that this thread calls.
void setThreads(int threads);

/// Who computes large products of float32 matrices: ATen's BLAS or oneDNN; Auto takes the faster of the two on this
/// processor. For all threads of the process.
enum class MatrixLibrary { Auto, Blas, OneDnn };
void setMatrixLibrary(MatrixLibrary library);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_TENSOR_H
