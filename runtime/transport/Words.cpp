//===- Words.cpp - The sentences that transports fail with ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Words.h"
#include "runtime/transport/Collectives.h"

#include <cstdio>

namespace braid::runtime::words {

std::string message(size_t bytes, uint64_t tag) {
  std::string text = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (const char *collective = collectiveOfTag(tag))
    return text + " of " + collective;
  return text + " with tag " + std::to_string(tag);
}

std::string seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

std::string Wait::text() const {
  return message(bytes, tag) + (receiving ? " from rank " : " to reach rank ") + std::to_string(peer);
}

std::string mismatch(int rank, const Wait &expected, size_t sentBytes, uint64_t sentTag) {
  return "rank " + std::to_string(rank) + " expected " + message(expected.bytes, expected.tag) + " from rank " +
         std::to_string(expected.peer) + ", but rank " + std::to_string(expected.peer) + " sent " +
         message(sentBytes, sentTag) +
         "; the two ranks run different programs or disagree about a shape, so check that "
         "all ranks start the same binary with the same options and data";
}

std::string timedOut(int rank, const Wait &wait, std::chrono::nanoseconds waited) {
  return "rank " + std::to_string(rank) + " waited " + seconds(waited) + " for " + wait.text() + "; rank " +
         std::to_string(wait.peer) + " is alive but has not come to it, so look at what rank " +
         std::to_string(wait.peer) + " does, or raise the transport's deadline";
}

std::string peerLeft(int rank, const Wait &wait) {
  return "rank " + std::to_string(rank) + " waits for " + wait.text() + ", but rank " + std::to_string(wait.peer) +
         " has already finished; the two ranks run different programs or a different number of steps";
}

plan::Error groupFailure(int rank, const Failure &failure) {
  if (failure.rank == rank)
    return {failure.reason};
  return {"rank " + std::to_string(failure.rank) + " failed: " + failure.reason};
}

plan::Status checkPeer(const Transport &transport, int peer) {
  if (peer == transport.rank())
    return plan::Error{"rank " + std::to_string(peer) +
                       " cannot exchange a message with itself; hand the value over "
                       "inside the rank"};
  if (peer < 0 || peer >= transport.size())
    return plan::Error{"rank " + std::to_string(transport.rank()) + " was asked to exchange a message with rank " +
                       std::to_string(peer) + ", but the ranks of this run are 0 to " +
                       std::to_string(transport.size() - 1)};
  return {};
}

} // namespace braid::runtime::words
