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
std::string message(const Transport &transport, size_t bytes, uint64_t tag);

/// "0.3 s".
std::string seconds(std::chrono::nanoseconds time);

/// ", it is in step 3, 1F0", or "" where nobody has said what the position means.
std::string whereabouts(const Transport &transport, int rank, uint64_t position);

/// What one call waits for: "64 bytes with tag 7 from rank 1".
struct Wait {
  bool receiving = false;
  int peer = -1;
  size_t bytes = 0;
  uint64_t tag = 0;

  std::string text(const Transport &transport) const;
};

/// What is known of another rank when a wait for it ends.
struct RankView {
  int waitsFor = -1; // a rank
  uint64_t position = 0;
};

/// Whose fault it is that a wait for `peer` does not end: the rank at the end of the chain of ranks that wait for each
/// other, or `peer` where the chain is a circle.
int culprit(int peer, const std::function<RankView(int)> &view);

std::string mismatch(const Transport &transport, const Wait &expected, size_t sentBytes, uint64_t sentTag);
std::string timedOut(const Transport &transport, const Wait &wait, std::chrono::nanoseconds waited,
                     const std::function<RankView(int)> &view);
std::string peerLeft(const Transport &transport, const Wait &wait);

/// Ranks that did not come: "rank 2, rank 3". `why` follows in its own words.
std::string notStarted(int rank, std::chrono::nanoseconds waited, const std::string &ranks,
                       const std::string &why = "");
/// A rank left a word in the rendezvous that none of ours would.
std::string unreadable(int peer, const std::string &word);
/// Somebody wants to join as a rank that the group does not have.
std::string noSuchRank(int rank, int size);

/// The group's failure as the error of a call on `rank`: another rank's failure names that rank first.
plan::Error groupFailure(int rank, const Failure &failure);

/// An error if `peer` is no other rank of the group.
plan::Status checkPeer(const Transport &transport, int peer);

} // namespace braid::runtime::words

#endif // BRAID_RUNTIME_TRANSPORT_WORDS_H
