//===- Transport.h - Messages between the ranks of one run -------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages between ranks. The two ranks of a pair see each other's messages in the order of sending; tags do not
// reorder anything, they only prove that both sides mean the same message. One thread per rank uses a transport; only
// fail() and failure() may be called from any thread.
//
// Nobody waits for ever. A wait ends with an error when any rank has failed, when the process of a rank is gone, when
// the awaited rank has closed its transport, or at the deadline. The first failure of the group wins, and every later
// call of every rank returns it.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_TRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_TRANSPORT_H

#include "braid/Plan/Support/Result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace braid::runtime {

struct TransportOptions {
  /// The longest that one wait may last.
  std::chrono::milliseconds deadline{300'000};
  /// How long the process of a rank may stand still, stopped or frozen, before that is its failure. Transports between
  /// processes see it; a process that computes does not stand still.
  std::chrono::milliseconds standstill{10'000};
};

/// How the caller's numbers read in messages. What is null is printed as a number, or left out.
struct Wording {
  std::function<std::string(uint64_t tag)> tag;
  std::function<std::string(int rank, uint64_t position)> position;
};

/// A send that was started. Copies are the same send; a default one is finished.
struct Transfer {
  int peer = -1;
  uint64_t ticket = 0;
};

/// The first failure of a group.
struct Failure {
  int rank = -1;
  std::string reason;
};

class Transport {
public:
  /// Tags from here on belong to the collectives below.
  static constexpr uint64_t reservedTags = uint64_t(1) << 63;

  /// Leaves the group. Messages that were sent can still be received; a peer that waits for more gets an error.
  virtual ~Transport() = default;
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;

  int rank() const { return ownRank; }
  int size() const { return worldSize; }
  virtual const char *name() const = 0;

  /// Starts a send and returns at once. `data` must stay alive and unchanged until wait() has returned. What does not
  /// fit the transport's buffer moves on inside later calls, so two ranks may start large sends to each other, receive,
  /// and then wait.
  virtual plan::Result<Transfer> isend(int peer, const void *data, size_t bytes, uint64_t tag) = 0;

  /// Returns once the caller may reuse the buffer. The peer need not have received the message yet.
  virtual plan::Status wait(const Transfer &transfer) = 0;

  /// isend() and wait(). May block until the peer receives; small and medium messages are buffered.
  plan::Status send(int peer, const void *data, size_t bytes, uint64_t tag);

  /// Receives the next message of `peer`. Another size or tag than the sender's fails the whole group, naming both.
  virtual plan::Status recv(int peer, void *data, size_t bytes, uint64_t tag) = 0;

  /// Moves started sends on and returns the group's failure, if any. Cheap: call it between pieces of computation.
  virtual plan::Status poll() = 0;

  /// Adds up over all ranks, in the order of ranks: every rank gets the same bits.
  plan::Status allReduceSum(double *values, size_t count);
  plan::Status barrier();
  plan::Status broadcast(void *data, size_t bytes, int root);

  /// Publishes this rank's failure, unless there is one already, and returns the group's failure: the caller can
  /// `return transport.fail(...)`. Every other rank's blocking call returns "rank R failed: REASON".
  virtual plan::Status fail(std::string reason) = 0;

  /// Says how far this rank has come, for the messages of those that wait for it. Cheap.
  virtual void setPosition(uint64_t position) = 0;
  void setWording(Wording wording) { words = std::move(wording); }
  const Wording &wording() const { return words; }

  /// The group's first failure. A rank whose error has another rank as its cause need not print it again.
  virtual std::optional<Failure> failure() const = 0;

protected:
  Transport(int rank, int size) : ownRank(rank), worldSize(size) {}

private:
  int ownRank;
  int worldSize;
  Wording words;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_TRANSPORT_H
