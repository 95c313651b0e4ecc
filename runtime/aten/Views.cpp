//===- Views.cpp - Views without the dispatcher ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Views.h"
#include "runtime/aten/Convert.h"
#include "runtime/aten/Operator.h"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorUtils.h>

#include <algorithm>
#include <limits>

using namespace braid::runtime;

View braid::runtime::viewOf(std::string_view name) {
  return name == "aten::reshape"         ? View::Reshape
         : name == "aten::t"             ? View::T
         : name == "aten::transpose.int" ? View::Transpose
         : name == "aten::unsqueeze"     ? View::Unsqueeze
         : name == "aten::slice.Tensor"  ? View::Slice
         : name == "aten::expand"        ? View::Expand
                                         : View::None;
}

namespace {
/// A call's values by their places in the schema.
class Arguments {
public:
  Arguments(const braid_op_s &op, const braid_value *values) : op(op), values(values) {}

  /// Null where the program leaves it to the schema's default, or passes none.
  const braid_value *get(size_t place) const {
    int source = op.parameters[place].source;
    return source < 0 || values[source].tag == BRAID_NONE ? nullptr : values + source;
  }
  /// `absent` where it is not passed; nothing where it is no integer.
  std::optional<int64_t> integer(size_t place, int64_t absent) const {
    const braid_value *value = get(place);
    if (!value)
      return absent;
    return value->tag == BRAID_INT ? std::optional(value->as.i) : std::nullopt;
  }
  /// From the front; nothing where there is no such dim.
  std::optional<int64_t> dim(size_t place, int64_t absent, int64_t rank) const {
    std::optional<int64_t> dim = integer(place, absent);
    if (!dim || *dim < -rank || *dim >= rank)
      return std::nullopt;
    return *dim < 0 ? *dim + rank : *dim;
  }
  std::optional<at::IntArrayRef> integers(size_t place) const {
    const braid_value *value = get(place);
    if (!value || value->tag != BRAID_INT_LIST)
      return std::nullopt;
    return at::IntArrayRef(value->as.ints, value->count);
  }

private:
  const braid_op_s &op;
  const braid_value *values;
};

struct Geometry {
  at::DimVector sizes, strides;
  int64_t offset;
};
} // namespace

static std::optional<Geometry> reshape(const Arguments &arguments, const c10::TensorImpl &self) {
  std::optional<at::IntArrayRef> shape = arguments.integers(1);
  if (!shape)
    return {};
  int64_t known = 1, unknown = -1;
  for (size_t dim = 0; dim < shape->size(); ++dim) {
    int64_t size = (*shape)[dim];
    if (size < -1 || (size == -1 && unknown >= 0))
      return {};
    if (size == -1)
      unknown = static_cast<int64_t>(dim);
    else
      known *= size;
  }
  at::DimVector sizes(*shape);
  if (unknown >= 0) {
    if (known == 0 || self.numel() % known)
      return {};
    sizes[unknown] = self.numel() / known;
  } else if (known != self.numel()) {
    return {};
  }
  // Without a stride for every dim the elements have to be copied.
  std::optional<at::DimVector> strides = at::detail::computeStride(self.sizes(), self.strides(), sizes);
  if (!strides)
    return {};
  return Geometry{std::move(sizes), *std::move(strides), self.storage_offset()};
}

static std::optional<Geometry> slice(const Arguments &arguments, const c10::TensorImpl &self) {
  std::optional<int64_t> dim = arguments.dim(1, 0, self.dim()), start = arguments.integer(2, 0),
                         end = arguments.integer(3, std::numeric_limits<int64_t>::max()),
                         step = arguments.integer(4, 1);
  if (!dim || !start || !end || !step || *step <= 0)
    return {};
  int64_t size = self.sizes()[*dim];
  auto bound = [&](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + size : place, 0, size); };
  int64_t first = bound(*start), last = std::max(first, bound(*end)), stride = self.strides()[*dim];
  Geometry view{at::DimVector(self.sizes()), at::DimVector(self.strides()), self.storage_offset() + first * stride};
  view.sizes[*dim] = (last - first) / *step + ((last - first) % *step != 0);
  view.strides[*dim] = stride * *step;
  return view;
}

static std::optional<Geometry> geometryOf(View view, const Arguments &arguments, const c10::TensorImpl &self) {
  Geometry result{at::DimVector(self.sizes()), at::DimVector(self.strides()), self.storage_offset()};
  auto swap = [&](int64_t a, int64_t b) {
    std::swap(result.sizes[a], result.sizes[b]);
    std::swap(result.strides[a], result.strides[b]);
    return result;
  };
  switch (view) {
  case View::None:
    return {};
  case View::Reshape:
    return reshape(arguments, self);
  case View::T:
    return self.dim() == 2 ? std::optional(swap(0, 1)) : std::nullopt;
  case View::Transpose: {
    std::optional<int64_t> a = arguments.dim(1, 0, self.dim()), b = arguments.dim(2, 0, self.dim());
    return a && b ? std::optional(swap(*a, *b)) : std::nullopt;
  }
  case View::Unsqueeze: {
    std::optional<int64_t> dim = arguments.dim(1, 0, self.dim() + 1);
    if (!dim)
      return {};
    int64_t stride = *dim < self.dim() ? result.sizes[*dim] * result.strides[*dim] : 1;
    result.sizes.insert(result.sizes.begin() + *dim, 1);
    result.strides.insert(result.strides.begin() + *dim, stride);
    return result;
  }
  case View::Slice:
    return slice(arguments, self);
  case View::Expand: {
    std::optional<at::IntArrayRef> sizes = arguments.integers(1);
    int64_t added = sizes ? static_cast<int64_t>(sizes->size()) - self.dim() : -1;
    if (added < 0)
      return {};
    for (int64_t dim = 0; dim < self.dim() + added; ++dim) {
      int64_t size = (*sizes)[dim], own = dim < added ? 1 : self.sizes()[dim - added];
      bool keeps = size == own || (size == -1 && dim >= added);
      if (!keeps && (own != 1 || size < 0))
        return {};
    }
    auto expanded = at::inferExpandGeometry_dimvector(self.sizes(), self.strides(), *sizes);
    return Geometry{std::move(expanded.sizes), std::move(expanded.strides), self.storage_offset()};
  }
  }
  return {};
}

at::Tensor braid::runtime::makeView(const c10::TensorImpl &tensor, at::IntArrayRef sizes, at::IntArrayRef strides,
                                    int64_t offset) {
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(tensor.storage()),
                                                             tensor.key_set(), tensor.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return view;
}

std::optional<at::Tensor> braid::runtime::callView(const braid_op_s &op, const braid_value *values, int32_t count) {
  if (op.view == View::None || count != op.passed)
    return {};
  Arguments arguments(op, values);
  const braid_value *self = arguments.get(0);
  if (!self || self->tag != BRAID_TENSOR || !self->as.tensor)
    return {};
  const auto &tensor = *reinterpret_cast<c10::TensorImpl *>(self->as.tensor);
  if (tensor.layout() != at::kStrided || !tensor.device().is_cpu())
    return {};
  std::optional<Geometry> geometry = geometryOf(op.view, arguments, tensor);
  if (!geometry)
    return {};
  return makeView(tensor, geometry->sizes, geometry->strides, geometry->offset);
}
