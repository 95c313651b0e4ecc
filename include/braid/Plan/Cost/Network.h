//===- Network.h - What messages between ranks cost -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A link costs latencies and its bytes over a bandwidth (the alpha-beta model). Planner, cost tables and reshards take
// the times of messages and collectives from here. docs/Costs.md, section 2.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_COST_NETWORK_H
#define BRAID_PLAN_COST_NETWORK_H

namespace braid::plan {

struct Link {
  double latency = 0;   // seconds that a collective or message takes at least
  double hop = 0;       // seconds for each further step of a collective
  double bandwidth = 1; // bytes per second in one direction

  /// Seconds of a message, or of so many steps one after the other that pass on these bytes in all.
  double time(double bytes, double steps = 1) const { return latency + hop * (steps - 1) + bytes / bandwidth; }
  /// Seconds of one pass around a ring: each of the ranks passes on a block ranks - 1 times. An all-gather or a
  /// reduce-scatter is one pass; an all-reduce is two, and has the latency once, as measured all-reduces do.
  double ringPass(double ranks, double blockBytes) const {
    return ranks < 2 ? 0 : time(2 * (ranks - 1) * blockBytes, ranks - 1) / 2;
  }
};

/// The links of equal nodes, as one rank sees them.
struct Network {
  int ranksPerNode = 1; // rank r is on node r / ranksPerNode
  Link inside, across;  // of a node's ranks with each other, and with ranks of other nodes

  int nodeOf(int rank) const { return rank / ranksPerNode; }
  const Link &between(int from, int to) const { return nodeOf(from) == nodeOf(to) ? inside : across; }
};

} // namespace braid::plan

#endif // BRAID_PLAN_COST_NETWORK_H
