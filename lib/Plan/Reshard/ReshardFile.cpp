//===- ReshardFile.cpp - Reshards as YAML ---------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/ReshardFile.h"
#include "../Cost/HardwareReader.h"
#include "braid/Plan/Cost/Hardware.h"

#include <cmath>

namespace braid::plan {

using namespace yaml;

namespace {
constexpr int64_t maxSize = int64_t(1) << 50;
constexpr size_t maxDims = 16;

/// A side of the file, before the number of rows is known.
struct Side {
  Sharding sharding;
  std::vector<std::vector<int>> samples; // of each lane
  bool hasAxes = false, hasLanes = false;
  YAML::Node node, rowsNode;
};

Mesh readMesh(const YAML::Node &node, const std::string &what) {
  Mesh mesh;
  readKeys(node, what, {"ranks", "axes"}, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "ranks")
      mesh.ranks = ranksOf(value, what);
    else
      forEachEntry(
          value, "the axes of " + what, [&](const std::string &axis, const YAML::Node &, const YAML::Node &size) {
            mesh.axes.emplace_back(axis, static_cast<int>(integerOf(size, "the size of axis " + axis, 1, maxRanks)));
          });
  });
  if (Status status = checkMesh(mesh, what); !status)
    fail(node, status.error());
  return mesh;
}

void readRows(const YAML::Node &node, const std::string &what, Side &side) {
  readKeys(node, what, {"axes", "lanes"}, [&](const std::string &entry, const YAML::Node &value) {
    if (!value.IsSequence())
      fail(value, entry + " of " + what + " must be a list, and is " + kindOf(value));
    if (entry == "axes") {
      side.hasAxes = true;
      for (const YAML::Node &axis : value)
        side.sharding.rows.axes.push_back(textOf(axis, "an axis of " + what));
      return;
    }
    side.hasLanes = true;
    for (const YAML::Node &lane : value) {
      if (!lane.IsSequence())
        fail(lane, "a lane of " + what + " must be a list of samples, as in [0, 2], and is " + kindOf(lane));
      std::vector<int> &samples = side.samples.emplace_back();
      for (const YAML::Node &sample : lane)
        samples.push_back(static_cast<int>(integerOf(sample, "a sample of " + what, 0, INT32_MAX)));
    }
  });
}

Side readSide(const YAML::Node &node, const std::string &what) {
  Side side;
  side.node.reset(node);
  bool hasMesh = false, hasLayout = false;
  readKeys(node, what, {"mesh", "layout", "rows"}, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "mesh") {
      hasMesh = true;
      side.sharding.mesh = readMesh(value, "the mesh of " + what);
    } else if (entry == "layout") {
      hasLayout = true;
      Result<Layout> layout = Layout::parse(textOf(value, "the layout of " + what));
      if (!layout)
        fail(value, layout.error());
      side.sharding.layout = *layout;
    } else {
      side.rowsNode.reset(value);
      readRows(value, "rows of " + what, side);
    }
  });
  if (!hasMesh || !hasLayout)
    fail(node,
         what + " needs a mesh and a layout, as in {mesh: {ranks: [0-3], axes: {dp: 4}}, layout: \"[{dp}, {}]\"}");
  return side;
}

/// The rows that a side's lanes hold. Without lanes, the samples in order, in numbers as equal as possible; without
/// axes, over the row dimension's leading axes whose names begin with dp.
void fillRows(const ValueShape &shape, const std::vector<int64_t> &rowsPerSample, const std::string &what, Side &side) {
  if (shape.rowDim < 0) {
    if (side.rowsNode.IsDefined() && !side.rowsNode.IsNull())
      fail(side.rowsNode, "rows of " + what + " are given, and the value has none; call one of its sizes 'rows'");
    return;
  }
  Rows &rows = side.sharding.rows;
  const Mesh &mesh = side.sharding.mesh;
  if (!side.hasAxes && shape.rowDim < static_cast<int>(side.sharding.layout.dims.size()))
    for (const std::string &axis : side.sharding.layout.dims[shape.rowDim]) {
      if (axis.rfind("dp", 0) != 0)
        break;
      rows.axes.push_back(axis);
    }
  if (!side.hasLanes) {
    // An unknown axis counts as one lane here; checkSharding() names it.
    int64_t lanes = 1, count = static_cast<int64_t>(rowsPerSample.size());
    for (const std::string &axis : rows.axes)
      lanes = std::min<int64_t>(lanes * mesh.axis(axis), mesh.lanes());
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (auto &samples = side.samples.emplace_back();
           count * lane / lanes + static_cast<int64_t>(samples.size()) < count * (lane + 1) / lanes;)
        samples.push_back(static_cast<int>(count * lane / lanes) + static_cast<int>(samples.size()));
  }
  Result<Rows> made = Rows::ofSamples(rows.axes, side.samples, rowsPerSample);
  if (!made)
    fail(side.rowsNode.IsDefined() && !side.rowsNode.IsNull() ? side.rowsNode : side.node,
         "rows of " + what + ": " + made.error());
  rows = std::move(*made);
}

/// Every sample with rows that the destination wants must be in some lane of the source.
void checkSamples(const std::vector<int64_t> &rowsPerSample, const Side &source, const Side &destination) {
  std::vector<char> held(rowsPerSample.size());
  for (const std::vector<int> &lane : source.samples)
    for (int sample : lane)
      held[sample] = 1;
  for (size_t lane = 0; lane < destination.samples.size(); ++lane)
    for (int sample : destination.samples[lane])
      if (!held[sample] && rowsPerSample[sample] > 0)
        fail(destination.hasLanes ? destination.rowsNode : destination.node,
             "lane " + std::to_string(lane) + " of the destination wants sample " + std::to_string(sample) +
                 ", and no lane of the source holds it; give it to a lane of the source, or leave it out here");
}

void readValue(const YAML::Node &node, ReshardProblem &problem) {
  readKeys(node, "value", {"sizes", "element_bytes", "name"}, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "element_bytes") {
      problem.shape.elementBytes = integerOf(value, "element_bytes", 1, 1 << 20);
    } else if (entry == "name") {
      problem.options.name = textOf(value, "name");
    } else {
      if (!value.IsSequence() || value.size() == 0 || value.size() > maxDims)
        fail(value, "sizes must be a list of 1 to " + std::to_string(maxDims) + " numbers, of which one may be 'rows'");
      for (const YAML::Node &size : value) {
        if (size.IsScalar() && size.Scalar() == "rows") {
          if (problem.shape.rowDim >= 0)
            fail(size, "two of the sizes are 'rows'; a value has one dimension of samples");
          problem.shape.rowDim = static_cast<int>(problem.shape.sizes.size());
          problem.shape.sizes.push_back(0);
        } else {
          problem.shape.sizes.push_back(integerOf(size, "a size", 0, maxSize));
        }
      }
    }
  });
}

/// The name of hardware, or figures; what these leave out is as it was.
void readLinks(const YAML::Node &node, Network &links) {
  if (node.IsScalar()) {
    Result<Hardware> hardware = findHardware(node.Scalar());
    if (!hardware)
      fail(node, hardware.error());
    links = hardware->network();
    return;
  }
  readKeys(node, "links", {"ranks_per_node", "inside", "across"}, [&](const std::string &key, const YAML::Node &value) {
    if (key == "ranks_per_node")
      links.ranksPerNode = static_cast<int>(integerOf(value, key, 1, maxRanks));
    else if (key == "inside")
      links.inside = readLink(value, "the link inside a node", links.inside);
    else
      links.across = readLink(value, "the link across nodes", links.across);
  });
}

ReshardProblem readRoot(const YAML::Node &root) {
  ReshardProblem problem;
  problem.links = findHardware("h100")->network();
  std::vector<int64_t> rowsPerSample;
  std::vector<Side> sides; // source, destination
  sides.resize(2);
  YAML::Node samplesNode;
  bool hasSide[2] = {false, false};
  readKeys(root, "the reshard", {"value", "samples", "source", "destination", "links"},
           [&](const std::string &entry, const YAML::Node &value) {
             if (entry == "value") {
               readValue(value, problem);
             } else if (entry == "samples") {
               samplesNode.reset(value);
               if (!value.IsSequence())
                 fail(value, "samples must be a list with the rows of each sample, and is " + kindOf(value));
               for (const YAML::Node &rows : value)
                 rowsPerSample.push_back(integerOf(rows, "the rows of a sample", 0, int64_t(1) << 40));
             } else if (entry == "links") {
               readLinks(value, problem.links);
             } else {
               int side = entry == "source" ? 0 : 1;
               hasSide[side] = true;
               sides[side] = readSide(value, "the " + entry);
             }
           });
  if (problem.shape.sizes.empty() || !hasSide[0] || !hasSide[1])
    fail(root, "a reshard needs a value with sizes, a source and a destination; docs/Reshards.md has an example");
  if (problem.shape.rowDim >= 0) {
    int64_t &rows = problem.shape.sizes[problem.shape.rowDim];
    for (int64_t count : rowsPerSample)
      rows = std::min(rows + count, maxSize);
    if (!samplesNode.IsDefined() || samplesNode.IsNull())
      fail(root, "the value has rows; list the rows of each sample, as in samples: [300, 0, 75]");
  } else if (!rowsPerSample.empty()) {
    fail(samplesNode, "samples are given, and the value has no rows; call one of its sizes 'rows'");
  }
  fillRows(problem.shape, rowsPerSample, "the source", sides[0]);
  fillRows(problem.shape, rowsPerSample, "the destination", sides[1]);
  if (problem.shape.rowDim >= 0)
    checkSamples(rowsPerSample, sides[0], sides[1]);
  for (int side = 0; side < 2; ++side)
    if (Status status = checkSharding(problem.shape, sides[side].sharding,
                                      problem.options.name + (side ? " at the destination" : " at the source"));
        !status)
      fail(sides[side].node, status.error());
  problem.source = std::move(sides[0].sharding);
  problem.destination = std::move(sides[1].sharding);
  return problem;
}
} // namespace

Result<ReshardProblem> parseReshard(const std::string &text, const std::string &fileName) {
  std::optional<ReshardProblem> problem;
  if (Status status = read(text, fileName, "reshard", [&](const YAML::Node &root) { problem = readRoot(root); });
      !status)
    return Error{status.error()};
  if (!problem)
    return Error{fileName + ": the file is empty; docs/Reshards.md has an example"};
  return std::move(*problem);
}

} // namespace braid::plan
