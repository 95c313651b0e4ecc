//===- Words.cpp - The sentences that transports fail with ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Words.h"
#include "runtime/transport/Collectives.h"

#include <cstdio>
#include <set>

namespace braid::runtime::words {

std::string message(const Transport &transport, size_t bytes, uint64_t tag) {
  std::string text = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (const char *collective = collectiveOfTag(tag))
    return text + " of " + collective;
  if (transport.wording().tag)
    return text + " of " + transport.wording().tag(tag);
  return text + " with tag " + std::to_string(tag);
}

std::string seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

std::string whereabouts(const Transport &transport, int rank, uint64_t position) {
  if (!transport.wording().position)
    return "";
  return ", it is in " + transport.wording().position(rank, position);
}

std::string Wait::text(const Transport &transport) const {
  return message(transport, bytes, tag) + (receiving ? " from rank " : " to reach rank ") + std::to_string(peer);
}

std::string mismatch(const Transport &transport, const Wait &expected, size_t sentBytes, uint64_t sentTag) {
  return "rank " + std::to_string(transport.rank()) + " expected " + message(transport, expected.bytes, expected.tag) +
         " from rank " + std::to_string(expected.peer) + ", but rank " + std::to_string(expected.peer) + " sent " +
         message(transport, sentBytes, sentTag) +
         "; the two ranks run different programs or disagree about a shape, so check that "
         "all ranks start the same binary with the same options and data";
}

int culprit(int peer, const std::function<RankView(int)> &view) {
  std::set<int> chain;
  for (int rank = peer; chain.insert(rank).second;) {
    int next = view(rank).waitsFor;
    if (next < 0)
      return rank;
    rank = next;
  }
  return peer;
}

std::string timedOut(const Transport &transport, const Wait &wait, std::chrono::nanoseconds waited,
                     const std::function<RankView(int)> &view) {
  std::string text =
      "rank " + std::to_string(transport.rank()) + " waited " + seconds(waited) + " for " + wait.text(transport);
  int end = culprit(wait.peer, view);
  for (int rank = wait.peer; rank != end; rank = view(rank).waitsFor)
    text += "; rank " + std::to_string(rank) + " itself waits for rank " + std::to_string(view(rank).waitsFor);
  if (int next = view(end).waitsFor; next >= 0)
    return text + "; rank " + std::to_string(end) + " waits for rank " + std::to_string(next) +
           ", so they wait for each other in a circle: the ranks run different programs or schedules";
  return text + "; rank " + std::to_string(end) + " is alive but has not come to it" +
         whereabouts(transport, end, view(end).position) + ", so look at what rank " + std::to_string(end) +
         " does, or raise the transport's deadline";
}

std::string peerLeft(const Transport &transport, const Wait &wait) {
  return "rank " + std::to_string(transport.rank()) + " waits for " + wait.text(transport) + ", but rank " +
         std::to_string(wait.peer) +
         " has already finished; the two ranks run different programs or a different number of steps";
}

std::string notStarted(int rank, std::chrono::nanoseconds waited, const std::string &ranks, const std::string &why) {
  return "rank " + std::to_string(rank) + " waited " + seconds(waited) + " for " + ranks + " to start" + why +
         "; see the output of the missing ranks";
}

std::string unreadable(int peer, const std::string &word) {
  return "rank " + std::to_string(peer) + " says that it is at '" + word +
         "', which cannot be read; start all ranks from the same binary with the same --transport";
}

std::string noSuchRank(int rank, int size) {
  return "rank " + std::to_string(rank) + " wants to join a group whose ranks are 0 to " + std::to_string(size - 1);
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
