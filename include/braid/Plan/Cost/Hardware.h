//===- Hardware.h - What devices and links can do ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures of a cluster: peaks from data sheets, and the share of each peak that training reaches, which is fitted. The
// figures that braid brings are data, lib/Plan/Cost/Hardware.yaml, with the source of each. docs/Costs.md, section 1.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COST_HARDWARE_H
#define BRAID_PLAN_COST_HARDWARE_H

#include "braid/Plan/Cost/Network.h"
#include "braid/Plan/Support/Result.h"

#include <array>
#include <string>
#include <vector>

namespace braid::plan {

/// What a piece of work occupies. Nothing overlaps unless its caller says so: times of resources add up.
enum class Resource {
  Matmul,    // nominal seconds of matrix products: FLOP over the peak
  Memory,    // nominal seconds of memory traffic of all else
  Launch,    // passes through a layer, each of which launches its kernels
  NodeLink,  // nominal seconds of collectives inside a node
  CrossLink, // nominal seconds of messages between nodes
};
constexpr int numResources = 5;
const char *spelling(Resource resource);

struct Work {
  std::array<double, numResources> amounts{};

  double &operator[](Resource resource) { return amounts[static_cast<int>(resource)]; }
  double operator[](Resource resource) const { return amounts[static_cast<int>(resource)]; }
  Work &operator+=(const Work &other) {
    for (int i = 0; i < numResources; ++i)
      amounts[i] += other.amounts[i];
    return *this;
  }
  friend Work operator+(Work first, const Work &second) { return first += second; }
  friend Work operator*(double factor, Work work) {
    for (double &amount : work.amounts)
      amount *= factor;
    return work;
  }
};

struct Hardware {
  std::string name;
  double memory = 0; // bytes of a device
  int devicesPerNode = 8;
  double flops = 1;     // peak of matrix products in the compute precision, per second and device
  double bandwidth = 1; // of a device's memory, bytes per second
  Link node;            // of one device to others of its node
  Link cross;           // of one whole node to others
  std::vector<std::string> sources;
  /// Seconds that one unit of each resource takes: 1 where the nominal figure is reached, 1.25 where 80 % of it is;
  /// for Launch, seconds per pass.
  std::array<double, numResources> factors{1, 1, 0, 1, 1};

  double seconds(const Work &work) const {
    double sum = 0;
    for (int i = 0; i < numResources; ++i)
      sum += work.amounts[i] * factors[i];
    return sum;
  }

  /// The links with their factors, each rank with its share of its node's bandwidth.
  Network network() const;
};

/// Reads hardware from YAML: one map of names to figures.
Result<std::vector<Hardware>> parseHardware(const std::string &text, const std::string &fileName);
/// What braid knows: a100, h100, a800, h200.
Result<Hardware> findHardware(const std::string &name);
const std::vector<Hardware> &knownHardware();

/// Members of a group and how they lie. Groups that share a node's links to others wait for each other.
struct RankGroup {
  int ranks = 1;
  int perNode = 1;    // members of one node
  int concurrent = 1; // groups that communicate at once from one node

  /// Ranks 0, stride, 2 stride, ... of consecutively numbered devices; `stride` groups lie side by side.
  static RankGroup strided(int ranks, int stride, const Hardware &hardware);
};

// Collectives over `bytes` of the whole tensor; each rank holds all of it (all-reduce) or a part before or after.
// (alpha-beta costs of rings and trees; Thakur, Rabenseifner and Gropp, 2005) docs/Costs.md, section 2.
Work ringAllReduce(const Hardware &hardware, const RankGroup &group, double bytes);
/// Down and up two binary trees that share the bytes: fewer steps, somewhat more bytes. (Sanders, Speck and Traff,
/// 2009)
Work treeAllReduce(const Hardware &hardware, const RankGroup &group, double bytes);
/// The ring inside a node; between nodes the faster of both.
Work allReduce(const Hardware &hardware, const RankGroup &group, double bytes);
Work allGather(const Hardware &hardware, const RankGroup &group, double bytes);
/// From one rank to another; `concurrent` of a node do the same at once.
Work sendReceive(const Hardware &hardware, bool sameNode, int concurrent, double bytes);

} // namespace braid::plan

#endif // BRAID_PLAN_COST_HARDWARE_H
