//===- Layout.cpp - How a value is divided over a mesh --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Mesh/Layout.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace braid::plan {

static std::string printAxes(const std::vector<std::string> &axes) {
  std::string text = "{";
  for (const std::string &axis : axes)
    text += (text.size() > 1 ? ", \"" : "\"") + axis + "\"";
  return text + "}";
}

std::string Layout::str() const {
  std::string text = "[";
  for (size_t dim = 0; dim < dims.size(); ++dim)
    text += (dim ? ", " : "") + printAxes(dims[dim]);
  text += "]";
  return partial.empty() ? text : text + " partial " + printAxes(partial);
}

namespace {
/// Reads a layout's text from left to right.
class LayoutParser {
public:
  explicit LayoutParser(std::string_view text) : text(text) {}

  Result<Layout> parse() {
    Layout layout;
    if (!take('['))
      return wrong("'['");
    for (bool first = true; !take(']'); first = false) {
      if (!first && !take(','))
        return wrong("',' or ']'");
      if (!axes(layout.dims.emplace_back()))
        return wrong(expected);
      if (layout.dims.size() > maxDims)
        return Error{"a layout has at most " + std::to_string(maxDims) + " dims"};
    }
    skip();
    size_t rest = at;
    if (word() != "partial")
      at = rest;
    else if (!axes(layout.partial))
      return wrong(expected);
    skip();
    if (at != text.size())
      return wrong("'partial {AXIS, ...}' or the end");
    return layout;
  }

private:
  static constexpr size_t maxDims = 16;
  std::string_view text;
  size_t at = 0;
  std::string expected;

  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool take(char c) {
    skip();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  std::string_view word() {
    skip();
    size_t from = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_' ||
                                text[at] == '.' || text[at] == '\''))
      ++at;
    return text.substr(from, at - from);
  }
  bool axes(std::vector<std::string> &result) {
    expected = "'{'";
    if (!take('{'))
      return false;
    for (bool first = true; !take('}'); first = false) {
      expected = "',' or '}'";
      if (!first && !take(','))
        return false;
      bool quoted = take('"');
      expected = "the name of an axis";
      std::string_view name = word();
      if (name.empty())
        return false;
      expected = "a closing '\"'";
      if (quoted && !take('"'))
        return false;
      result.emplace_back(name);
    }
    return true;
  }
  Error wrong(const std::string &what) const {
    std::string found = at < text.size() ? "'" + std::string(text.substr(at, 12)) + "'" : "the end";
    return Error{"the layout '" + std::string(text.substr(0, 80)) + "' needs " + what + " at character " +
                 std::to_string(at + 1) + " instead of " + found + "; write [{dp}, {}] or [{dp}, {tp}] partial {cp}"};
  }
};
} // namespace

Result<Layout> Layout::parse(std::string_view text) { return LayoutParser(text).parse(); }

Layout Layout::transposed(const Mesh &mesh) const {
  Layout result{dims, {}};
  for (const auto &[axis, size] : mesh.axes) {
    bool used = std::find(partial.begin(), partial.end(), axis) != partial.end();
    for (const auto &axes : dims)
      used |= std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!used)
      result.partial.push_back(axis);
  }
  return result;
}

int64_t sizeOf(const Intervals &intervals) {
  int64_t size = 0;
  for (const Interval &interval : intervals)
    size += interval.size();
  return size;
}

void append(Intervals &intervals, Interval next) {
  if (next.size() <= 0)
    return;
  if (!intervals.empty() && intervals.back().end == next.begin)
    intervals.back().end = next.end;
  else
    intervals.push_back(next);
}

Rows Rows::whole(int64_t rows) {
  Rows result;
  append(result.lanes.emplace_back(), {0, rows});
  return result;
}

Result<Rows> Rows::ofSamples(std::vector<std::string> axes, const std::vector<std::vector<int>> &samples,
                             const std::vector<int64_t> &rowsPerSample) {
  std::vector<int64_t> start{0};
  for (int64_t rows : rowsPerSample)
    start.push_back(start.back() + rows);
  Rows result{std::move(axes), {}};
  for (const std::vector<int> &lane : samples) {
    Intervals &intervals = result.lanes.emplace_back();
    for (int sample : lane) {
      if (sample < 0 || sample >= static_cast<int>(rowsPerSample.size()))
        return Error{"sample " + std::to_string(sample) + " of lane " + std::to_string(result.lanes.size() - 1) +
                     " does not exist; there are " + std::to_string(rowsPerSample.size()) + " samples"};
      append(intervals, {start[sample], start[sample + 1]});
    }
  }
  return result;
}

/// Axes exist, each comes at most once.
static Status checkAxes(const Sharding &sharding, const std::string &what) {
  const auto &[mesh, layout, rows] = sharding;
  std::vector<std::string> names;
  for (const auto &axis : mesh.axes)
    names.push_back(axis.first);
  std::set<std::string> seen;
  auto check = [&](const std::string &axis, const std::string &where) -> Status {
    if (mesh.indexOf(axis) < 0)
      return Error{what + ": " + where + " of the layout " + layout.str() + " names the axis '" + axis +
                   "', and the mesh " + mesh.str() + " has none of that name" + suggest(axis, names)};
    if (!seen.insert(axis).second)
      return Error{what + ": the axis '" + axis + "' comes twice in the layout " + layout.str() +
                   "; an axis divides one dimension, or is partial"};
    return {};
  };
  for (size_t dim = 0; dim < layout.dims.size(); ++dim)
    for (const std::string &axis : layout.dims[dim])
      if (Status status = check(axis, "dim " + std::to_string(dim)); !status)
        return status;
  for (const std::string &axis : layout.partial)
    if (Status status = check(axis, "the partial set"); !status)
      return status;
  return {};
}

static Status checkRows(const ValueShape &shape, const Sharding &sharding, const std::string &what) {
  const Rows &rows = sharding.rows;
  const std::vector<std::string> &dim = sharding.layout.dims[shape.rowDim];
  size_t lanes = 1;
  for (size_t i = 0; i < rows.axes.size(); ++i) {
    if (i >= dim.size() || dim[i] != rows.axes[i])
      return Error{what + ": the manifest divides rows over " + printAxes(rows.axes) + ", and dim " +
                   std::to_string(shape.rowDim) + " of the layout " + sharding.layout.str() +
                   " does not begin with these axes; let it, or divide the rows over other axes"};
    lanes *= sharding.mesh.axis(rows.axes[i]);
  }
  if (rows.lanes.size() != lanes)
    return Error{what + ": rows are given for " + std::to_string(rows.lanes.size()) + " lanes, and the axes " +
                 printAxes(rows.axes) + " of " + sharding.mesh.str() + " have " + std::to_string(lanes) +
                 "; give one list for each lane, empty where a lane has no rows"};
  std::vector<Interval> sorted;
  for (const Intervals &lane : rows.lanes)
    for (const Interval &interval : lane) {
      if (interval.begin < 0 || interval.size() <= 0 || interval.end > shape.sizes[shape.rowDim])
        return Error{what + ": a lane holds rows " + std::to_string(interval.begin) + " to " +
                     std::to_string(interval.end) + " of " + std::to_string(shape.sizes[shape.rowDim]) +
                     "; rows count from 0 and end there"};
      sorted.push_back(interval);
    }
  std::sort(sorted.begin(), sorted.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].begin < sorted[i - 1].end)
      return Error{what + ": row " + std::to_string(sorted[i].begin) +
                   " is in two places; a manifest gives each sample to one lane, once"};
  return {};
}

Status checkSharding(const ValueShape &shape, const Sharding &sharding, const std::string &what) {
  const Layout &layout = sharding.layout;
  constexpr int64_t most = int64_t(1) << 60;
  if (Status status = checkMesh(sharding.mesh, "the mesh of " + what); !status)
    return status;
  if (shape.sizes.empty())
    return Error{what + " has no dims to divide; give it one dim of size 1"};
  if (layout.dims.size() != shape.sizes.size())
    return Error{what + " has " + std::to_string(shape.sizes.size()) + " dims, and its layout " + layout.str() +
                 " has " + std::to_string(layout.dims.size()) + "; give one list of axes for each dim"};
  if (shape.rowDim < -1 || shape.rowDim >= static_cast<int>(shape.sizes.size()))
    return Error{what + " has no dim " + std::to_string(shape.rowDim) + " that could be its rows"};
  if (shape.elementBytes < 1)
    return Error{what + " has elements of " + std::to_string(shape.elementBytes) + " bytes"};
  int64_t bytes = shape.elementBytes;
  for (size_t dim = 0; dim < shape.sizes.size(); ++dim) {
    int64_t size = shape.sizes[dim];
    if (size < 0)
      return Error{"dim " + std::to_string(dim) + " of " + what + " has size " + std::to_string(size)};
    if (bytes > 0 && size > most / bytes)
      return Error{what + " is larger than 2^60 bytes"};
    bytes *= size;
  }
  if (Status status = checkAxes(sharding, what); !status)
    return status;
  for (size_t dim = 0; dim < shape.sizes.size(); ++dim) {
    if (static_cast<int>(dim) == shape.rowDim)
      continue;
    int64_t parts = 1, size = shape.sizes[dim];
    for (const std::string &axis : layout.dims[dim]) {
      parts *= sharding.mesh.axis(axis);
      if (size % parts)
        return Error{what + ": dim " + std::to_string(dim) + " has size " + std::to_string(size) + ", and axis '" +
                     axis + "' of " + layout.str() + " cuts it into " + std::to_string(parts) +
                     " unequal parts; the nearest sizes that work are " + std::to_string(size / parts * parts) +
                     " and " + std::to_string((size / parts + 1) * parts)};
    }
  }
  return shape.rowDim < 0 ? Status{} : checkRows(shape, sharding, what);
}

/// Cuts a list into chunks of the ceiling of its size over `count`.
static void cutEvenly(const Intervals &whole, int count, std::vector<Intervals> &chunks) {
  int64_t chunk = (sizeOf(whole) + count - 1) / count;
  size_t at = 0;
  int64_t used = 0; // of whole[at]
  for (int i = 0; i < count; ++i) {
    Intervals &part = chunks.emplace_back();
    for (int64_t left = chunk; left > 0 && at < whole.size();) {
      int64_t take = std::min(left, whole[at].size() - used);
      part.push_back({whole[at].begin + used, whole[at].begin + used + take});
      left -= take;
      used += take;
      if (used == whole[at].size()) {
        ++at;
        used = 0;
      }
    }
  }
}

Division divide(const ValueShape &shape, const Sharding &sharding) {
  Division division;
  division.mesh = std::make_shared<const Mesh>(sharding.mesh);
  const Mesh &mesh = *division.mesh;
  std::vector<bool> used(mesh.axes.size());
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    division.strides.push_back(mesh.stride(static_cast<int>(axis)));
  for (const std::string &axis : sharding.layout.partial) {
    division.partial.push_back(mesh.indexOf(axis));
    used[division.partial.back()] = true;
  }
  for (size_t dim = 0; dim < shape.sizes.size(); ++dim) {
    DividedDim &divided = division.dims.emplace_back();
    bool rows = static_cast<int>(dim) == shape.rowDim;
    for (const std::string &axis : sharding.layout.dims[dim]) {
      divided.axes.push_back(mesh.indexOf(axis));
      used[divided.axes.back()] = true;
    }
    divided.parts = rows ? sharding.rows.lanes : Rows::whole(shape.sizes[dim]).lanes;
    for (size_t i = rows ? sharding.rows.axes.size() : 0; i < divided.axes.size(); ++i) {
      std::vector<Intervals> finer;
      for (const Intervals &part : divided.parts)
        cutEvenly(part, mesh.axes[divided.axes[i]].second, finer);
      divided.parts = std::move(finer);
    }
    for (const Intervals &part : divided.parts)
      divided.sizes.push_back(plan::sizeOf(part));
  }
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (!used[axis])
      division.replicated.push_back(static_cast<int>(axis));
  return division;
}

int64_t Division::elementsOf(int lane) const {
  int64_t elements = 1;
  for (size_t dim = 0; dim < dims.size(); ++dim)
    elements *= sizeOf(lane, static_cast<int>(dim));
  return elements;
}

std::vector<int64_t> Division::sizesOf(int lane) const {
  std::vector<int64_t> sizes;
  for (size_t dim = 0; dim < dims.size(); ++dim)
    sizes.push_back(sizeOf(lane, static_cast<int>(dim)));
  return sizes;
}

} // namespace braid::plan
