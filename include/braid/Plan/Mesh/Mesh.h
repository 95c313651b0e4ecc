//===- Mesh.h - Ranks with named axes ---------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mesh lists ranks and names axes over that list, major to minor. A place in the list is a lane; its coordinates
// along the axes are the digits of its number. docs/Reshards.md explains meshes and layouts.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_MESH_MESH_H
#define BRAID_PLAN_MESH_MESH_H

#include "braid/Plan/Support/Result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::plan {

struct Mesh {
  std::vector<int> ranks;                        // in the order written
  std::vector<std::pair<std::string, int>> axes; // major to minor; their product is the number of ranks

  int axis(std::string_view name) const;    // its size; 1 if there is none of that name
  int indexOf(std::string_view name) const; // -1 if there is none of that name
  int lanes() const { return static_cast<int>(ranks.size()); }
  int stride(int axis) const; // lanes from one coordinate along the axis to the next
  int coordinate(int lane, int axis) const { return lane / stride(axis) % axes[axis].second; }
  std::string str() const; // <"dp"=2, "tp"=4> ranks [0-7]

  bool operator==(const Mesh &) const = default;
};

/// Axes have names of their own and positive sizes that multiply to the number of ranks; no rank comes twice.
Status checkMesh(const Mesh &mesh, const std::string &what);

/// Two meshes over the same list of ranks as views of one mesh with finer axes.
struct Refinement {
  Mesh mesh;
  /// For each axis of either mesh, in its order: the axes of `mesh` that it is made of, major to minor. They are named
  /// after the first mesh's axes; parts of "dp" are "dp.0", "dp.1". An axis of size 1 is made of none.
  std::vector<std::vector<std::string>> first, second;
};

/// Fails if the lists differ or an axis of one cuts an axis of the other unevenly. Each mesh must be right.
Result<Refinement> refineMeshes(const Mesh &first, const Mesh &second);

/// "[0-3, 8]".
std::string printRanks(const std::vector<int> &ranks);

} // namespace braid::plan

#endif // BRAID_PLAN_MESH_MESH_H
