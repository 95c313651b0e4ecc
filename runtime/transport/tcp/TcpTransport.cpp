//===- TcpTransport.cpp - Ranks on several machines -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/tcp/TcpTransport.h"
#include "runtime/transport/Words.h"
#include "runtime/transport/shm/Process.h"
#include "runtime/transport/tcp/Link.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;
using namespace tcp;
using Clock = std::chrono::steady_clock;

namespace {

/// How often a rank says that it runs, what it waits for, and where it is.
constexpr std::chrono::milliseconds statusInterval{50};
/// Longer between two looks at the others this process did not run itself, and the time counts for nothing.
constexpr std::chrono::milliseconds longestInterval{200};
/// How long rank 0 may take to say which failure is the first.
constexpr std::chrono::milliseconds verdictTime{1000};
/// How long leaving may take until the others have seen it.
constexpr std::chrono::milliseconds leavingTime{2000};

struct PeerState {
  std::unique_ptr<Link> link; // null for the own rank
  int pid = 0;
  uint64_t machine = 0;
  bool left = false, leftSeen = false;
  struct Piece {
    uint64_t tag, total;
    std::vector<char> bytes;
  };
  std::deque<Piece> inbox;
  size_t consumed = 0; // of the room, not granted again yet
  words::RankView view;
  uint64_t frames = 0;
  // What a waiting rank has seen of it.
  uint64_t framesSeen = 0;
  Clock::duration still{0};
};

class TcpTransport final : public Transport {
public:
  TcpTransport(int rank, std::vector<Peer> met, const TransportOptions &options)
      : Transport(rank, static_cast<int>(met.size())), options(options), machine(met[rank].machine),
        bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), peers(met.size()) {
    for (size_t peer = 0; peer < met.size(); ++peer) {
      peers[peer].pid = met[peer].pid;
      peers[peer].machine = met[peer].machine;
      if (int(peer) != rank)
        peers[peer].link = std::make_unique<Link>(std::move(met[peer].socket));
    }
    server = std::thread([this] { serve(); });
  }

  ~TcpTransport() override {
    {
      std::unique_lock lock(mutex);
      for (PeerState &peer : peers)
        if (peer.link) {
          peer.link->drop();
          peer.link->say(FrameKind::Left);
        }
      ring();
      // A connection that is closed with unread bytes loses what is on its way, so the others first say that they saw
      // it.
      changed.wait_for(lock, leavingTime, [&] {
        return std::all_of(peers.begin(), peers.end(), [](const PeerState &peer) {
          return !peer.link || peer.leftSeen || peer.left || !peer.link->isOpen();
        });
      });
      stopping = true;
      ring();
    }
    server.join();
  }

  const char *name() const override { return "tcp"; }

  Result<Transfer> isend(int peer, const void *data, size_t bytes, uint64_t tag) override {
    if (Status status = words::checkPeer(*this, peer); !status)
      return Error{status.error()};
    std::lock_guard lock(mutex);
    if (Status status = groupStatus(); !status)
      return Error{status.error()};
    Link &link = *peers[peer].link;
    Transfer transfer{peer, link.start(data, bytes, tag)};
    if (link.wantsToWrite())
      ring();
    return transfer;
  }

  Status wait(const Transfer &transfer) override {
    std::unique_lock lock(mutex);
    if (transfer.ticket == 0)
      return groupStatus();
    Link &link = *peers[transfer.peer].link;
    if (link.finished() >= transfer.ticket)
      return groupStatus();
    words::Wait wait{false, transfer.peer, link.bytesOf(transfer.ticket), link.tagOf(transfer.ticket)};
    return waitFor(lock, wait, [&] { return link.finished() >= transfer.ticket; });
  }

  Status recv(int peer, void *data, size_t bytes, uint64_t tag) override {
    if (Status status = words::checkPeer(*this, peer); !status)
      return status;
    PeerState &from = peers[peer];
    words::Wait wait{true, peer, bytes, tag};
    size_t got = 0;
    do {
      std::unique_lock lock(mutex);
      if (Status status = waitFor(lock, wait, [&] { return !from.inbox.empty(); }); !status)
        return status;
      PeerState::Piece piece = std::move(from.inbox.front());
      if (piece.total != bytes || piece.tag != tag)
        return failLocked(lock, rank(), words::mismatch(*this, wait, piece.total, piece.tag));
      from.inbox.pop_front();
      from.consumed += piece.bytes.size() + pieceCost;
      if (from.consumed >= roomBytes / 4) {
        from.link->say(FrameKind::Room, from.consumed);
        from.consumed = 0;
        if (from.link->wantsToWrite())
          ring();
      }
      lock.unlock();
      if (!piece.bytes.empty())
        std::memcpy(static_cast<char *>(data) + got, piece.bytes.data(), piece.bytes.size());
      got += piece.bytes.size();
    } while (got < bytes);
    return {};
  }

  Status poll() override {
    if (!hasFailed)
      return {};
    std::lock_guard lock(mutex);
    return groupStatus();
  }

  Status fail(std::string reason) override {
    std::unique_lock lock(mutex);
    return failLocked(lock, rank(), std::move(reason));
  }

  std::optional<Failure> failure() const override {
    std::lock_guard lock(mutex);
    return first;
  }

  void setPosition(uint64_t position) override { ownPosition = position; }

private:
  void ring() {
    uint64_t one = 1;
    (void)!write(bell.get(), &one, sizeof one);
  }

  Status groupStatus() const { return first ? Status(words::groupFailure(rank(), *first)) : Status(); }

  // -- Failures. Rank 0 decides which is the first; without it, each rank for itself.

  void decide(Failure failure) {
    if (first)
      return;
    first = std::move(failure);
    hasFailed = true;
    for (PeerState &peer : peers)
      if (peer.link && !peer.left)
        peer.link->say(FrameKind::Verdict, uint64_t(first->rank), 0, first->reason);
    changed.notify_all();
  }

  void propose(int culprit, std::string reason) {
    if (first || proposal)
      return;
    proposal = Failure{culprit, std::move(reason)};
    proposed = Clock::now();
    if (rank() == 0 || !peers[0].link->isOpen() || peers[0].left)
      return decide(*proposal);
    peers[0].link->say(FrameKind::Proposal, uint64_t(culprit), 0, proposal->reason);
  }

  Status failLocked(std::unique_lock<std::mutex> &lock, int culprit, std::string reason) {
    propose(culprit, std::move(reason));
    ring();
    changed.wait(lock, [&] { return first.has_value(); }); // serve() decides where rank 0 does not
    return groupStatus();
  }

  // -- The thread that reads, writes what did not fit at once, and says that this process runs.

  void serve() {
    Clock::time_point nextStatus = Clock::now();
    std::unique_lock lock(mutex);
    while (!stopping) {
      std::vector<pollfd> entries = {{bell.get(), POLLIN, 0}};
      std::vector<int> numbers = {-1};
      for (int peer = 0; peer < size(); ++peer)
        if (Link *link = peers[peer].link.get(); link && link->isOpen()) {
          entries.push_back({link->fd(), short(POLLIN | (link->wantsToWrite() ? POLLOUT : 0)), 0});
          numbers.push_back(peer);
        }
      auto left = std::chrono::ceil<std::chrono::milliseconds>(nextStatus - Clock::now());
      lock.unlock();
      ::poll(entries.data(), entries.size(), std::clamp<int>(static_cast<int>(left.count()), 0, 50));
      uint64_t rings;
      (void)!read(bell.get(), &rings, sizeof rings);
      lock.lock();
      for (size_t i = 1; i < entries.size(); ++i) {
        Link &link = *peers[numbers[i]].link;
        if (entries[i].revents & POLLOUT)
          link.pump();
        if (entries[i].revents & (POLLIN | POLLHUP | POLLERR))
          link.read([&](const Frame &frame, std::vector<char> body) { take(numbers[i], frame, std::move(body)); });
        if (!link.isOpen() && !peers[numbers[i]].left)
          propose(numbers[i], "its process (pid " + std::to_string(peers[numbers[i]].pid) +
                                  ") ended in the middle of the run, killed or crashed; see its output");
      }
      if (Clock::now() >= nextStatus) {
        for (PeerState &peer : peers)
          if (peer.link && !peer.leftSeen)
            peer.link->say(FrameKind::Status, uint64_t(ownWaitsFor + 1), ownPosition);
        nextStatus = Clock::now() + statusInterval;
      }
      if (proposal && !first && Clock::now() > proposed + verdictTime)
        decide(*proposal);
      changed.notify_all();
    }
  }

  void take(int from, const Frame &frame, std::vector<char> body) {
    PeerState &peer = peers[from];
    ++peer.frames;
    switch (frame.kind) {
    case FrameKind::Piece:
      peer.inbox.push_back({frame.first, frame.second, std::move(body)});
      break;
    case FrameKind::Room:
      peer.link->addRoom(frame.first);
      peer.link->pump();
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
      peer.link->say(FrameKind::LeftSeen);
      break;
    case FrameKind::LeftSeen:
      peer.leftSeen = true;
      break;
    }
  }

  // -- Waiting.

  /// One that says nothing for too long becomes the group's failure.
  void lookForStandstill(Clock::duration sinceLast) {
    for (int number = 0; number < size(); ++number) {
      PeerState &peer = peers[number];
      if (!peer.link || peer.left || !peer.link->isOpen())
        continue;
      peer.still = peer.frames == peer.framesSeen ? peer.still + std::min<Clock::duration>(sinceLast, longestInterval)
                                                  : Clock::duration(0);
      peer.framesSeen = peer.frames;
      if (peer.still < options.standstill)
        continue;
      char state = peer.machine == machine ? shm::processState(peer.pid) : 0;
      std::string why = state == 'T'              ? "a signal stopped it"
                        : state == 't'            ? "a debugger holds it"
                        : peer.machine == machine ? "it is stopped, or the machine gives it no time"
                                                  : "it is stopped, or its machine cannot be reached";
      propose(number, "its process (pid " + std::to_string(peer.pid) + ") has stood still for " +
                          words::seconds(peer.still) + ": " + why +
                          words::whereabouts(*this, number, peer.view.position) + ", and rank " +
                          std::to_string(rank()) + " waits for it");
    }
  }

  template <typename Ready> Status waitFor(std::unique_lock<std::mutex> &lock, const words::Wait &wait, Ready ready) {
    Clock::time_point start = Clock::now(), end = start + options.deadline, lastLook = start;
    ownWaitsFor = wait.peer;
    auto view = [&](int of) { return of == rank() ? words::RankView{ownWaitsFor, ownPosition} : peers[of].view; };
    while (!first && !ready()) {
      if (peers[wait.peer].left) {
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

  const TransportOptions options;
  const uint64_t machine;
  Socket bell; // wakes serve()
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<PeerState> peers;
  std::optional<Failure> first, proposal;
  Clock::time_point proposed;
  std::atomic<bool> hasFailed = false;
  std::atomic<int> ownWaitsFor = -1;
  std::atomic<uint64_t> ownPosition = 0;
  bool stopping = false;
  std::thread server;
};

} // namespace

Result<std::unique_ptr<Transport>> joinTcpGroup(Rendezvous &rendezvous, int rank, int size,
                                                const TransportOptions &options) {
  if (rank < 0 || rank >= size)
    return Error{"rank " + std::to_string(rank) + " wants to join a group whose ranks are 0 to " +
                 std::to_string(size - 1)};
  Result<std::vector<Peer>> peers = meet(rendezvous, rank, size, options.deadline);
  if (!peers)
    return Error{peers.error()};
  return std::unique_ptr<Transport>(std::make_unique<TcpTransport>(rank, std::move(*peers), options));
}

} // namespace braid::runtime
