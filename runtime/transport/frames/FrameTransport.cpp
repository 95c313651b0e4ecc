//===- FrameTransport.cpp - Ranks that exchange frames --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/frames/FrameTransport.h"
#include "runtime/transport/shm/Process.h"

#include <algorithm>
#include <cstring>

namespace braid::runtime::frames {

using plan::Error;
using plan::Result;
using plan::Status;

/// How often a rank says that it runs, what it waits for, and where it is.
static constexpr std::chrono::milliseconds statusInterval{50};
/// Longer between two looks at the others this process did not run itself, and the time counts for nothing.
static constexpr std::chrono::milliseconds longestInterval{200};
/// How long rank 0 may take to say which failure is the first.
static constexpr std::chrono::milliseconds verdictTime{1000};
/// How long leaving may take until the others have seen it.
static constexpr std::chrono::milliseconds leavingTime{2000};

FrameTransport::FrameTransport(int rank, const std::vector<Process> &processes, const TransportOptions &options)
    : Transport(rank, static_cast<int>(processes.size())), options(options), peers(processes.size()),
      nextStatus(Clock::now()) {
  for (size_t peer = 0; peer < processes.size(); ++peer)
    peers[peer].process = processes[peer];
}

void FrameTransport::leave(std::unique_lock<std::mutex> &lock) {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank()) {
      peers[peer].queue.drop();
      say(peer, FrameKind::Left);
    }
  // A connection that is closed with unread bytes loses what is on its way, so the others first say that they saw it.
  changed.wait_for(lock, leavingTime, [&] {
    for (int number = 0; number < size(); ++number) {
      const Peer &peer = peers[number];
      bool done = peer.leftSeen || (peer.left && !peer.queue.wantsToWrite()) || !peer.queue.isOpen();
      if (number != rank() && !done)
        return false;
    }
    return true;
  });
}

Result<Transfer> FrameTransport::isend(int peer, const void *data, size_t bytes, uint64_t tag) {
  if (Status status = words::checkPeer(*this, peer); !status)
    return Error{status.error()};
  std::lock_guard lock(mutex);
  if (Status status = groupStatus(); !status)
    return Error{status.error()};
  Transfer transfer{peer, peers[peer].queue.start(data, bytes, tag)};
  flush(peer);
  return transfer;
}

Status FrameTransport::wait(const Transfer &transfer) {
  std::unique_lock lock(mutex);
  if (transfer.ticket == 0)
    return groupStatus();
  FrameQueue &queue = peers[transfer.peer].queue;
  if (queue.finished() >= transfer.ticket)
    return groupStatus();
  words::Wait wait{false, transfer.peer, queue.bytesOf(transfer.ticket), queue.tagOf(transfer.ticket)};
  return waitFor(lock, wait, [&] { return queue.finished() >= transfer.ticket; });
}

Status FrameTransport::recv(int peer, void *data, size_t bytes, uint64_t tag) {
  if (Status status = words::checkPeer(*this, peer); !status)
    return status;
  Peer &from = peers[peer];
  words::Wait wait{true, peer, bytes, tag};
  size_t got = 0;
  do {
    std::unique_lock lock(mutex);
    if (Status status = waitFor(lock, wait, [&] { return !from.inbox.empty(); }); !status)
      return status;
    Peer::Piece piece = std::move(from.inbox.front());
    // More than is left, or nothing where something is, is no part of this message.
    if (piece.total != bytes || piece.tag != tag || piece.bytes.size() > bytes - got || (piece.bytes.empty() && bytes))
      return failLocked(lock, rank(), words::mismatch(*this, wait, piece.total, piece.tag));
    from.inbox.pop_front();
    from.consumed += piece.bytes.size() + pieceCost;
    if (from.consumed >= roomBytes / 4) {
      say(peer, FrameKind::Room, from.consumed);
      from.consumed = 0;
    }
    lock.unlock();
    if (!piece.bytes.empty())
      std::memcpy(static_cast<char *>(data) + got, piece.bytes.data(), piece.bytes.size());
    got += piece.bytes.size();
  } while (got < bytes);
  return {};
}

Status FrameTransport::poll() {
  if (!hasFailed)
    return {};
  std::lock_guard lock(mutex);
  return groupStatus();
}

Status FrameTransport::fail(std::string reason) {
  std::unique_lock lock(mutex);
  return failLocked(lock, rank(), std::move(reason));
}

std::optional<Failure> FrameTransport::failure() const {
  std::lock_guard lock(mutex);
  return first;
}

void FrameTransport::say(int peer, FrameKind kind, uint64_t first, uint64_t second, std::string text) {
  peers[peer].queue.say(kind, first, second, std::move(text));
  flush(peer);
}

Status FrameTransport::groupStatus() const { return first ? Status(words::groupFailure(rank(), *first)) : Status(); }

//===----------------------------------------------------------------------===//
// Failures. Rank 0 decides which is the first; without it, each rank for itself.
//===----------------------------------------------------------------------===//

void FrameTransport::decide(Failure failure) {
  if (first)
    return;
  first = std::move(failure);
  hasFailed = true;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank() && !peers[peer].left)
      say(peer, FrameKind::Verdict, uint64_t(first->rank), 0, first->reason);
  changed.notify_all();
}

void FrameTransport::propose(int culprit, std::string reason) {
  if (first || proposal)
    return;
  proposal = Failure{culprit, std::move(reason)};
  proposed = Clock::now();
  if (rank() == 0 || !peers[0].queue.isOpen() || peers[0].left)
    return decide(*proposal);
  say(0, FrameKind::Proposal, uint64_t(culprit), 0, proposal->reason);
}

Status FrameTransport::failLocked(std::unique_lock<std::mutex> &lock, int culprit, std::string reason) {
  propose(culprit, std::move(reason));
  changed.wait(lock, [&] { return first.has_value(); }); // tick() decides where rank 0 does not
  return groupStatus();
}

void FrameTransport::lost(int peer) {
  peers[peer].queue.close();
  if (!peers[peer].left)
    propose(peer, "its process (pid " + std::to_string(peers[peer].process.pid) +
                      ") ended in the middle of the run, killed or crashed; see its output");
}

//===----------------------------------------------------------------------===//
// What comes and goes.
//===----------------------------------------------------------------------===//

FrameTransport::Clock::time_point FrameTransport::tick() {
  if (Clock::now() >= nextStatus) {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank() && !peers[peer].leftSeen)
        say(peer, FrameKind::Status, uint64_t(ownWaitsFor + 1), ownPosition);
    nextStatus = Clock::now() + statusInterval;
  }
  if (proposal && !first && Clock::now() > proposed + verdictTime)
    decide(*proposal);
  return nextStatus;
}

void FrameTransport::take(int from, const Frame &frame, std::vector<char> body) {
  Peer &peer = peers[from];
  ++peer.frames;
  switch (frame.kind) {
  case FrameKind::Piece:
    peer.inbox.push_back({frame.first, frame.second, std::move(body)});
    break;
  case FrameKind::Room:
    peer.queue.addRoom(frame.first);
    flush(from);
    break;
  case FrameKind::Status:
    peer.view = {int(frame.first) - 1, frame.second};
    break;
  case FrameKind::Proposal:
  case FrameKind::Verdict:
    decide({int(frame.first), std::string(body.begin(), body.end())});
    break;
  case FrameKind::Left:
    peer.left = true;
    say(from, FrameKind::LeftSeen);
    break;
  case FrameKind::LeftSeen:
    peer.leftSeen = true;
    break;
  }
}

//===----------------------------------------------------------------------===//
// Waiting.
//===----------------------------------------------------------------------===//

/// One that says nothing for too long becomes the group's failure.
void FrameTransport::lookForStandstill(Clock::duration sinceLast) {
  for (int number = 0; number < size(); ++number) {
    Peer &peer = peers[number];
    if (number == rank() || peer.left || !peer.queue.isOpen())
      continue;
    peer.still = peer.frames == peer.framesSeen ? peer.still + std::min<Clock::duration>(sinceLast, longestInterval)
                                                : Clock::duration(0);
    peer.framesSeen = peer.frames;
    if (peer.still < options.standstill)
      continue;
    bool isNear = peer.process.machine == peers[rank()].process.machine;
    char state = isNear ? shm::processState(peer.process.pid) : 0;
    std::string why = state == 'T'   ? "a signal stopped it"
                      : state == 't' ? "a debugger holds it"
                      : isNear       ? "it is stopped, or the machine gives it no time"
                                     : "it is stopped, or its machine cannot be reached";
    propose(number, "its process (pid " + std::to_string(peer.process.pid) + ") has stood still for " +
                        words::seconds(peer.still) + ": " + why +
                        words::whereabouts(*this, number, peer.view.position) + ", and rank " + std::to_string(rank()) +
                        " waits for it");
  }
}

template <typename Ready>
Status FrameTransport::waitFor(std::unique_lock<std::mutex> &lock, const words::Wait &wait, Ready ready) {
  Clock::time_point start = Clock::now(), end = start + options.deadline, lastLook = start;
  ownWaitsFor = wait.peer;
  auto view = [&](int of) { return of == rank() ? words::RankView{ownWaitsFor, ownPosition} : peers[of].view; };
  while (!first && !ready()) {
    // What the peer has read may not be known yet to be written.
    bool canEnd = !wait.receiving && peers[wait.peer].queue.isWriting();
    if (peers[wait.peer].left && !canEnd) {
      propose(rank(), words::peerLeft(*this, wait));
    } else if (Clock::now() >= end) {
      propose(words::culprit(wait.peer, view), words::timedOut(*this, wait, Clock::now() - start, view));
    }
    if (first)
      break;
    Clock::time_point nextLook = lastLook + statusInterval;
    changed.wait_until(lock, nextLook);
    Clock::time_point now = Clock::now();
    if (now < nextLook)
      continue;
    if (now - nextLook > longestInterval)
      end += now - nextLook;
    lookForStandstill(now - lastLook);
    lastLook = now;
  }
  ownWaitsFor = -1;
  return groupStatus();
}

} // namespace braid::runtime::frames
