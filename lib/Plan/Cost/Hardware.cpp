//===- Hardware.cpp - What devices and links can do -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HardwareReader.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

/// lib/Plan/Cost/Hardware.yaml, put here by the build.
static const char *const hardwareText =
#include "Hardware.inc"
    ;

static const std::vector<std::string> &factorNames() {
  static const std::vector<std::string> names = {"matmul", "memory", "launch", "node_link", "cross_link"};
  return names;
}

const char *spelling(Resource resource) { return factorNames()[static_cast<int>(resource)].c_str(); }

Link readLink(const YAML::Node &node, const std::string &what, Link link) {
  yaml::readKeys(node, what, {"latency", "hop", "bandwidth"}, [&](const std::string &key, const YAML::Node &value) {
    double number = yaml::numberOf(value, key + " of " + what, key == "bandwidth" ? 1 : 0, 1e18);
    (key == "latency" ? link.latency : key == "hop" ? link.hop : link.bandwidth) = number;
  });
  return link;
}

const std::vector<std::string> &hardwareKeys() {
  static const std::vector<std::string> keys = {"memory", "devices_per_node", "flops", "bandwidth", "node",
                                                "cross",  "factors"};
  return keys;
}

void readFigure(const std::string &key, const YAML::Node &value, const std::string &what, Hardware &hardware) {
  if (key == "memory")
    hardware.memory = yaml::numberOf(value, "memory of " + what, 1, 1e18);
  else if (key == "devices_per_node")
    hardware.devicesPerNode = static_cast<int>(yaml::integerOf(value, "devices_per_node of " + what, 1, 1 << 16));
  else if (key == "flops")
    hardware.flops = yaml::numberOf(value, "flops of " + what, 1, 1e21);
  else if (key == "bandwidth")
    hardware.bandwidth = yaml::numberOf(value, "bandwidth of " + what, 1, 1e18);
  else if (key == "node")
    hardware.node = readLink(value, "node of " + what, hardware.node);
  else if (key == "cross")
    hardware.cross = readLink(value, "cross of " + what, hardware.cross);
  else
    yaml::readKeys(value, "factors of " + what, factorNames(), [&](const std::string &factor, const YAML::Node &of) {
      size_t index = std::find(factorNames().begin(), factorNames().end(), factor) - factorNames().begin();
      hardware.factors[index] = yaml::numberOf(of, "factor " + factor + " of " + what, 0, 1e6);
    });
}

static Hardware readOne(const std::string &name, const YAML::Node &node) {
  Hardware hardware;
  hardware.name = name;
  std::string what = "hardware '" + name + "'";
  std::vector<std::string> known = hardwareKeys(), seen;
  known.push_back("sources");
  yaml::readKeys(node, what, known, [&](const std::string &key, const YAML::Node &value) {
    seen.push_back(key);
    if (key != "sources")
      readFigure(key, value, what, hardware);
    else if (!value.IsSequence())
      yaml::fail(value, "sources of " + what + " must be a list of texts, and is " + yaml::kindOf(value));
    else
      for (const YAML::Node &source : value)
        hardware.sources.push_back(yaml::textOf(source, "a source of " + what));
  });
  for (const char *needed : {"memory", "flops", "bandwidth", "node", "cross"})
    if (std::find(seen.begin(), seen.end(), needed) == seen.end())
      yaml::fail(node, what + " lacks '" + needed + "'; give its figure");
  return hardware;
}

Result<std::vector<Hardware>> parseHardware(const std::string &text, const std::string &fileName) {
  std::vector<Hardware> all;
  Status status = yaml::read(text, fileName, "hardware file", [&](const YAML::Node &root) {
    yaml::forEachEntry(root, "the hardware file",
                       [&](const std::string &name, const YAML::Node &, const YAML::Node &value) {
                         all.push_back(readOne(name, value));
                       });
  });
  if (!status)
    return Error{status.error()};
  return all;
}

const std::vector<Hardware> &knownHardware() {
  static const std::vector<Hardware> known = [] {
    Result<std::vector<Hardware>> parsed = parseHardware(hardwareText, "Hardware.yaml");
    return parsed ? *parsed : std::vector<Hardware>{};
  }();
  return known;
}

Result<Hardware> findHardware(const std::string &name) {
  std::vector<std::string> names;
  for (const Hardware &hardware : knownHardware()) {
    if (hardware.name == name)
      return hardware;
    names.push_back(hardware.name);
  }
  return Error{"unknown hardware '" + name + "'" + suggest(name, names)};
}

RankGroup RankGroup::strided(int ranks, int stride, const Hardware &hardware) {
  RankGroup group;
  group.ranks = std::max(1, ranks);
  stride = std::max(1, stride);
  group.perNode = std::clamp(hardware.devicesPerNode / stride, 1, group.ranks);
  group.concurrent = group.ranks > group.perNode ? std::min(stride, hardware.devicesPerNode) : 1;
  return group;
}

Network Hardware::network() const {
  auto scaled = [](const Link &link, double factor, int sharers) {
    factor = std::max(factor, 1e-9); // a factor of 0 leaves the link out of a step
    return Link{link.latency * factor, link.hop * factor, link.bandwidth / sharers / factor};
  };
  return {devicesPerNode, scaled(node, factors[static_cast<int>(Resource::NodeLink)], 1),
          scaled(cross, factors[static_cast<int>(Resource::CrossLink)], devicesPerNode)};
}

/// Work on the links that join a group: the node's, or those between nodes with their bandwidth shared.
template <typename Time> static Work onLinks(const Hardware &hardware, bool sameNode, int concurrent, Time time) {
  Work work;
  if (sameNode)
    work[Resource::NodeLink] = time(hardware.node);
  else
    work[Resource::CrossLink] =
        time(Link{hardware.cross.latency, hardware.cross.hop, hardware.cross.bandwidth / concurrent});
  return work;
}

static Work ringPass(const Hardware &hardware, const RankGroup &group, double bytes) {
  return onLinks(hardware, group.ranks <= group.perNode, group.concurrent,
                 [&](const Link &link) { return link.ringPass(group.ranks, bytes / group.ranks); });
}

Work ringAllReduce(const Hardware &hardware, const RankGroup &group, double bytes) {
  return 2 * ringPass(hardware, group, bytes);
}

Work treeAllReduce(const Hardware &hardware, const RankGroup &group, double bytes) {
  if (group.ranks < 2)
    return {};
  return onLinks(hardware, group.ranks <= group.perNode, group.concurrent,
                 [&](const Link &link) { return link.time(2 * bytes, 2 * std::ceil(std::log2(group.ranks))); });
}

Work allReduce(const Hardware &hardware, const RankGroup &group, double bytes) {
  Work ring = ringAllReduce(hardware, group, bytes), tree = treeAllReduce(hardware, group, bytes);
  return group.ranks <= group.perNode || hardware.seconds(ring) <= hardware.seconds(tree) ? ring : tree;
}

Work allGather(const Hardware &hardware, const RankGroup &group, double bytes) {
  return ringPass(hardware, group, bytes);
}

Work sendReceive(const Hardware &hardware, bool sameNode, int concurrent, double bytes) {
  return onLinks(hardware, sameNode, concurrent, [&](const Link &link) { return link.time(bytes); });
}

} // namespace braid::plan
