//===- Network.h - What messages between ranks cost -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A link costs a latency and its bytes over a bandwidth (the alpha-beta model). Ranks of one node share one kind of
// link, all others another. The defaults are the hardware of the heterogeneous-parallelism paper (section 2.5): H100
// nodes of eight with NVLink 4, one 400 Gb/s network card per rank.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_RESHARD_NETWORK_H
#define BRAID_PLAN_RESHARD_NETWORK_H

#include <cstdint>

namespace braid::plan {

struct Link {
  double latency = 0;   // seconds
  double bandwidth = 1; // bytes per second, in each direction at once

  double time(double bytes) const { return latency + bytes / bandwidth; }
};

struct Network {
  int ranksPerNode = 8; // rank r is on node r / ranksPerNode
  Link inside{2e-6, 450e9};
  Link across{5e-6, 50e9};

  int nodeOf(int rank) const { return rank / ranksPerNode; }
  const Link &between(int from, int to) const { return nodeOf(from) == nodeOf(to) ? inside : across; }
};

} // namespace braid::plan

#endif // BRAID_PLAN_RESHARD_NETWORK_H
