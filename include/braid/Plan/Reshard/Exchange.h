//===- Exchange.h - Who sends which slices to whom --------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exchange moves a value without partial axes from one sharding to another by messages between pairs of ranks. Every
// element that a destination lane lacks is sent to it once, replicas of a source region send equal parts, and the
// messages have one order that cannot deadlock. docs/Reshards.md, section 3.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_RESHARD_EXCHANGE_H
#define BRAID_PLAN_RESHARD_EXCHANGE_H

#include "braid/Plan/Cost/Network.h"
#include "braid/Plan/Mesh/Layout.h"

namespace braid::plan {

/// One dimension of a box that is copied from one local buffer into another.
struct SliceDim {
  int64_t from = 0, to = 0, size = 0; // offsets in the sender's and the receiver's buffer
  bool operator==(const SliceDim &) const = default;
};
using Slice = std::vector<SliceDim>; // one for each dimension

struct Message {
  int from = 0, to = 0;         // ranks
  int fromLane = 0, toLane = 0; // places in the source's and the destination's mesh
  int64_t elements = 0;
  std::vector<Slice> slices; // the message is these boxes one after the other, each with its last dimension fastest
  int round = 0;

  bool operator==(const Message &) const = default;
};

struct Exchange {
  std::vector<Message> messages; // between ranks, in the global order
  std::vector<Message> copies;   // from a rank to itself
  int rounds = 0;                // no rank has two messages in one

  int64_t elements() const;
};

/// Both shardings must be right and without partial axes. With `nearFirst`, replicas on a receiver's node serve it.
/// Rows that the destination holds and the source does not are left alone.
Exchange planExchange(const Division &source, const Division &destination, const Network &links, bool nearFirst);

/// The same boxes from the destination back to the source. A receiver adds up what it gets.
Exchange transposed(const Exchange &exchange);

/// When the busiest sender or receiver is done; sending and receiving overlap.
double exchangeTime(const Exchange &exchange, int64_t elementBytes, const Network &links);

/// When all are done if every message keeps both its ends busy and ranks follow the global order.
double blockingTime(const Exchange &exchange, int64_t elementBytes, const Network &links);

} // namespace braid::plan

#endif // BRAID_PLAN_RESHARD_EXCHANGE_H
