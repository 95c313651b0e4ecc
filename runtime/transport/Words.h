//===- Words.h - The sentences that transports fail with ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All transports fail with the same words, so that the conformance suite can test them once.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_WORDS_H
#define BRAID_RUNTIME_TRANSPORT_WORDS_H

#include "runtime/transport/Transport.h"

namespace braid::runtime::words {

/// "64 bytes with tag 7", or "8 bytes of a barrier" for the tags of collectives.
std::string message(size_t bytes, uint64_t tag);

/// "0.3 s".
std::string seconds(std::chrono::nanoseconds time);

/// What one call waits for: "64 bytes with tag 7 from rank 1".
struct Wait {
  bool receiving = false;
  int peer = -1;
  size_t bytes = 0;
  uint64_t tag = 0;

  std::string text() const;
};

std::string mismatch(int rank, const Wait &expected, size_t sentBytes, uint64_t sentTag);
std::string timedOut(int rank, const Wait &wait, std::chrono::nanoseconds waited);
std::string peerLeft(int rank, const Wait &wait);

/// The group's failure as the error of a call on `rank`: another rank's failure names that rank first.
plan::Error groupFailure(int rank, const Failure &failure);

/// An error if `peer` is no other rank of the group.
plan::Status checkPeer(const Transport &transport, int peer);

} // namespace braid::runtime::words

#endif // BRAID_RUNTIME_TRANSPORT_WORDS_H
