//===- Mesh.cpp - Ranks with named axes -----------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Mesh/Mesh.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>

namespace braid::plan {

int Mesh::indexOf(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].first == name)
      return static_cast<int>(i);
  return -1;
}

int Mesh::axis(std::string_view name) const {
  int index = indexOf(name);
  return index < 0 ? 1 : axes[index].second;
}

int Mesh::stride(int axis) const {
  int stride = 1;
  for (size_t i = axis + 1; i < axes.size(); ++i)
    stride *= axes[i].second;
  return stride;
}

std::string printRanks(const std::vector<int> &ranks) {
  std::string text = "[";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    text += (i ? ", " : "") + std::to_string(ranks[i]);
    if (end - i > 1)
      text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text + "]";
}

std::string Mesh::str() const {
  std::string text = "<";
  for (const auto &[name, size] : axes)
    text += (text.size() > 1 ? ", \"" : "\"") + name + "\"=" + std::to_string(size);
  return text + "> ranks " + printRanks(ranks);
}

Status checkMesh(const Mesh &mesh, const std::string &what) {
  if (mesh.ranks.empty())
    return Error{what + " has no ranks; give it at least one"};
  int64_t product = 1;
  std::string sizes;
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    const auto &[name, size] = mesh.axes[i];
    if (name.empty())
      return Error{what + " has an axis without a name"};
    if (mesh.indexOf(name) != static_cast<int>(i))
      return Error{what + " has two axes '" + name + "'; name them apart"};
    if (size < 1)
      return Error{"axis '" + name + "' of " + what + " has size " + std::to_string(size) + "; sizes are at least 1"};
    product = std::min<int64_t>(product * size, INT32_MAX);
    sizes += (i ? " x " : "") + name + " " + std::to_string(size);
  }
  if (product != static_cast<int64_t>(mesh.ranks.size()))
    return Error{what + " has " + std::to_string(mesh.ranks.size()) + " ranks, and its axes " + sizes + " make " +
                 std::to_string(product) + "; let the sizes of the axes multiply to the number of ranks"};
  std::unordered_set<int> seen;
  for (int rank : mesh.ranks) {
    if (rank < 0)
      return Error{what + " has the rank " + std::to_string(rank) + "; ranks count from 0"};
    if (!seen.insert(rank).second)
      return Error{"rank " + std::to_string(rank) + " comes twice in " + what};
  }
  return {};
}

Result<Refinement> refineMeshes(const Mesh &first, const Mesh &second) {
  if (first.ranks != second.ranks)
    return Error{"the meshes list different ranks"};
  // Cut points of the list: the strides of both meshes' axes. Each must divide the next larger one.
  std::vector<int> strides{1};
  for (const Mesh *mesh : {&first, &second})
    for (size_t axis = 0; axis < mesh->axes.size(); ++axis)
      strides.push_back(mesh->stride(static_cast<int>(axis)));
  strides.push_back(first.lanes());
  std::sort(strides.begin(), strides.end());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  Refinement refinement;
  refinement.mesh.ranks = first.ranks;
  for (size_t i = strides.size() - 1; i > 0; --i) {
    if (strides[i] % strides[i - 1])
      return Error{"an axis of one mesh cuts an axis of the other unevenly"};
    refinement.mesh.axes.emplace_back("", strides[i] / strides[i - 1]);
  }
  // The finer axes of each axis, by their places from the major end.
  auto placesOf = [&](const Mesh &mesh, size_t axis) {
    std::vector<int> places;
    int low = mesh.stride(static_cast<int>(axis)), high = low * mesh.axes[axis].second;
    for (size_t i = strides.size() - 1; i > 0; --i)
      if (strides[i] <= high && strides[i - 1] >= low)
        places.push_back(static_cast<int>(strides.size() - 1 - i));
    return places;
  };
  for (size_t axis = 0; axis < first.axes.size(); ++axis) {
    std::vector<int> places = placesOf(first, axis);
    for (size_t part = 0; part < places.size(); ++part)
      refinement.mesh.axes[places[part]].first =
          first.axes[axis].first + (places.size() == 1 ? "" : "." + std::to_string(part));
  }
  // Names may come twice only if an axis is called like a part of another, as "dp.0".
  for (size_t i = 0; i < refinement.mesh.axes.size(); ++i)
    while (refinement.mesh.indexOf(refinement.mesh.axes[i].first) != static_cast<int>(i))
      refinement.mesh.axes[i].first += "'";
  for (const Mesh *mesh : {&first, &second})
    for (size_t axis = 0; axis < mesh->axes.size(); ++axis) {
      auto &names = (mesh == &first ? refinement.first : refinement.second).emplace_back();
      for (int place : placesOf(*mesh, axis))
        names.push_back(refinement.mesh.axes[place].first);
    }
  return refinement;
}

} // namespace braid::plan
