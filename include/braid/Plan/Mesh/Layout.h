//===- Layout.h - How a value is divided over a mesh ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout lists for each dimension of a value the mesh axes that divide it, and the axes along which the value is
// partial. Rows say how a step's manifest divides the row dimension. docs/Reshards.md explains both.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_MESH_LAYOUT_H
#define BRAID_PLAN_MESH_LAYOUT_H

#include "braid/Plan/Mesh/Mesh.h"

#include <cstdint>
#include <memory>

namespace braid::plan {

struct Layout {
  std::vector<std::vector<std::string>> dims; // for each dimension: the axes that divide it, major to minor
  std::vector<std::string> partial;           // axes along which lanes hold summands

  /// [{"dp"}, {}, {"tp"}] partial {"cp"}
  std::string str() const;
  /// Reads what str() writes, quotes or not.
  static Result<Layout> parse(std::string_view text);
  /// The layout that the gradient has where this layout's value is used by its adjoint: axes that come nowhere become
  /// partial, partial axes come nowhere.
  Layout transposed(const Mesh &mesh) const;

  bool operator==(const Layout &) const = default;
};

/// Indices begin <= i < end of one dimension.
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval &) const = default;
};
/// What a lane holds of one dimension, in the order in which it stores it. No two overlap, none is empty.
using Intervals = std::vector<Interval>;
int64_t sizeOf(const Intervals &intervals);
/// Appends an interval, joined to the last one where it follows that without a gap. An empty one changes nothing.
void append(Intervals &intervals, Interval next);

/// Which rows are where. The axes must come first in the row dimension of a layout that is used with these rows.
struct Rows {
  std::vector<std::string> axes;
  std::vector<Intervals> lanes; // for each lane of those axes, the last axis fastest

  /// One lane that holds all rows: for layouts whose row dimension no manifest divides.
  static Rows whole(int64_t rows);
  /// Lanes hold these samples, in this order. Sample i has rowsPerSample[i] rows; samples follow each other in the
  /// whole dimension. Fails if a sample does not exist.
  static Result<Rows> ofSamples(std::vector<std::string> axes, const std::vector<std::vector<int>> &samples,
                                const std::vector<int64_t> &rowsPerSample);

  bool operator==(const Rows &) const = default;
};

/// The value as the logical program sees it.
struct ValueShape {
  std::vector<int64_t> sizes;
  int rowDim = -1; // the dimension whose indices are rows of samples; -1: the value has no samples
  int64_t elementBytes = 4;
};

/// Where a value is, and how it lies there. `rows` is read only if the value has a row dimension.
struct Sharding {
  Mesh mesh;
  Layout layout;
  Rows rows;

  std::string str() const { return layout.str() + " on " + mesh.str(); }
  bool operator==(const Sharding &) const = default;
};

/// Refuses what cannot be: unknown or repeated axes, rows that come twice or do not exist, constant sizes that an axis
/// does not divide. `what` names the value in messages.
Status checkSharding(const ValueShape &shape, const Sharding &sharding, const std::string &what);

/// One dimension of a value as a sharding divides it: lanes that hold the same of it have the same part.
struct DividedDim {
  std::vector<int> axes; // of the mesh
  std::vector<Intervals> parts;
  std::vector<int64_t> sizes; // of the parts
};

/// A sharding worked out: what every lane holds. Sizes that do not divide are cut into chunks of their ceiling.
struct Division {
  std::shared_ptr<const Mesh> mesh;
  std::vector<DividedDim> dims;
  std::vector<int> partial, replicated; // axes
  std::vector<int> strides;             // of the mesh's axes

  int partOf(int lane, int dim) const {
    const DividedDim &divided = dims[dim];
    int part = 0;
    for (int axis : divided.axes)
      part = part * mesh->axes[axis].second + lane / strides[axis] % mesh->axes[axis].second;
    return part;
  }
  int64_t sizeOf(int lane, int dim) const { return dims[dim].sizes[partOf(lane, dim)]; }
  int64_t elementsOf(int lane) const;
  std::vector<int64_t> sizesOf(int lane) const;
};

/// The sharding must have passed checkSharding().
Division divide(const ValueShape &shape, const Sharding &sharding);

} // namespace braid::plan

#endif // BRAID_PLAN_MESH_LAYOUT_H
