//===- ThreadTransport.h - Ranks that are threads of one process -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference transport, and the one for tests of everything above transports: one lock, one queue per ordered pair.
// It can be made as unkind as an implementation may be: sends that block until they are received, and messages that
// arrive late.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_THREADS_THREADTRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_THREADS_THREADTRANSPORT_H

#include "runtime/transport/Transport.h"

#include <memory>
#include <vector>

namespace braid::runtime {

struct ThreadTransportOptions : TransportOptions {
  /// send() and wait() return only when the peer has received the message.
  bool blockingSends = false;
  /// Each message can be received only after a time between 0 and this, drawn from `delaySeed`, the pair and the
  /// message's number in the pair.
  std::chrono::microseconds maxDelay{0};
  uint64_t delaySeed = 0;
};

/// One transport for each rank; each is to be used by one thread.
std::vector<std::unique_ptr<Transport>> makeThreadTransports(int size, const ThreadTransportOptions &options = {});

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_THREADS_THREADTRANSPORT_H
