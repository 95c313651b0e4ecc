//===- ShmTransport.cpp - Ranks that are processes of one machine ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/shm/ShmTransport.h"
#include "runtime/transport/Words.h"
#include "runtime/transport/shm/Waiter.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;
using namespace shm;

namespace {

/// The first piece of a large message is small, so that the receiver starts early.
constexpr size_t firstPieceBytes = 16 << 10;
/// The sender looks for blocks that came back once this many are out. Looking takes a cache line from the receiver.
constexpr size_t piecesBeforeReclaim = 8;

struct StartedSend {
  const char *data;
  size_t bytes;
  uint64_t tag;
  size_t written;
  bool done;
};

/// This rank's end of the channel to one peer.
struct Outgoing {
  int peer;
  Channel *channel;
  uint64_t produced = 0, reclaimed = 0; // pieces
  uint64_t started = 0, finished = 0;   // messages
  std::vector<uint32_t> freeBlocks;
  std::deque<StartedSend> unfinished;
};

struct Incoming {
  Channel *channel;
  uint64_t consumed = 0;
};

class ShmTransport final : public Transport {
public:
  ShmTransport(std::shared_ptr<Segment> shared, int rank, const TransportOptions &options)
      : Transport(rank, shared->worldSize()), segment(std::move(shared)), waiter(segment, rank, options),
        deadline(options.deadline) {
    for (int peer = 0; peer < size(); ++peer) {
      Outgoing &out = outgoing.emplace_back();
      out.peer = peer;
      out.channel = &segment->channel(rank, peer);
      for (uint32_t block = 0; block < slotCount; ++block)
        out.freeBlocks.push_back(slotCount - 1 - block);
      incoming.push_back({&segment->channel(peer, rank)});
    }
  }

  ~ShmTransport() override {
    {
      std::lock_guard lock(pulseMutex);
      leaving = true;
    }
    pulseChanged.notify_all();
    if (pulse.joinable())
      pulse.join();
    segment->rank(rank()).state = RankState::Left;
    segment->notifyAll(rank());
  }

  /// Waits until every rank has joined.
  Status join() {
    waiter.where = [this](int peer) { return words::whereabouts(*this, peer, segment->rank(peer).position); };
    pulse = std::thread([this] { beat(); });
    segment->announce(rank());
    auto missing = [&] {
      std::string ranks;
      for (int peer = 0; peer < size(); ++peer)
        if (segment->rank(peer).state == RankState::Absent)
          ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(peer);
      return ranks;
    };
    auto allHere = [&] { return missing().empty(); };
    if (waiter.until(allHere, [] { return false; }) == Waiter::Outcome::TimedOut)
      return fail(words::notStarted(rank(), deadline, missing()));
    return groupStatus();
  }

  const char *name() const override { return "shm"; }

  Result<Transfer> isend(int peer, const void *data, size_t bytes, uint64_t tag) override {
    if (Status status = words::checkPeer(*this, peer); !status)
      return Error{status.error()};
    if (Status status = groupStatus(); !status)
      return Error{status.error()};
    Outgoing &out = outgoing[peer];
    StartedSend send{static_cast<const char *>(data), bytes, tag, 0, false};
    Transfer transfer{peer, ++out.started};
    if (out.unfinished.empty()) {
      while (!send.done && writePiece(out, send))
        ;
      if (send.done) {
        out.finished = transfer.ticket;
        return transfer;
      }
      ++peersWithUnfinished;
    }
    out.unfinished.push_back(send);
    return transfer;
  }

  Status wait(const Transfer &transfer) override {
    if (transfer.ticket == 0)
      return groupStatus();
    Outgoing &out = outgoing[transfer.peer];
    if (out.finished >= transfer.ticket)
      return groupStatus();
    const StartedSend &send = out.unfinished[transfer.ticket - out.finished - 1];
    return waitFor({false, transfer.peer, send.bytes, send.tag}, [&] { return out.finished >= transfer.ticket; });
  }

  Status recv(int peer, void *data, size_t bytes, uint64_t tag) override {
    if (Status status = words::checkPeer(*this, peer); !status)
      return status;
    if (Status status = groupStatus(); !status)
      return status;
    Incoming &in = incoming[peer];
    words::Wait wait{true, peer, bytes, tag};
    size_t got = 0;
    do {
      Slot &slot = in.channel->slots[in.consumed % slotCount];
      if (slot.ticket != in.consumed + 1)
        if (Status status = waitFor(wait, [&] { return slot.ticket == in.consumed + 1; }); !status)
          return status;
      if (slot.total != bytes || slot.tag != tag)
        return fail(words::mismatch(*this, wait, slot.total, slot.tag));
      if (slot.bytes)
        std::memcpy(static_cast<char *>(data) + got, contents(slot, peer, rank()), slot.bytes);
      got += slot.bytes;
      in.channel->consumed = ++in.consumed;
      segment->notify(peer);
      progress();
    } while (got < bytes);
    return {};
  }

  Status poll() override {
    progress();
    return groupStatus();
  }

  Status fail(std::string reason) override {
    segment->publishFailure(rank(), reason);
    return groupStatus();
  }

  std::optional<Failure> failure() const override { return segment->failure(); }

  void setPosition(uint64_t position) override {
    segment->rank(rank()).position.store(position, std::memory_order_relaxed);
  }

private:
  /// Lets the others see that this process runs, whatever its other threads do.
  void beat() {
    std::unique_lock lock(pulseMutex);
    while (!leaving) {
      segment->rank(rank()).heartbeat.fetch_add(1, std::memory_order_relaxed);
      pulseChanged.wait_for(lock, std::chrono::milliseconds(200));
    }
  }

  Status groupStatus() const {
    if (!segment->hasFailure())
      return {};
    return words::groupFailure(rank(), *segment->failure());
  }

  char *contents(Slot &slot, int from, int to) const {
    return slot.total <= sizeof slot.inlined ? slot.inlined : segment->block(from, to, slot.block);
  }

  /// Takes back the blocks of the pieces that the peer is done with.
  void reclaim(Outgoing &out) {
    for (uint64_t consumed = out.channel->consumed; out.reclaimed < consumed; ++out.reclaimed) {
      const Slot &slot = out.channel->slots[out.reclaimed % slotCount];
      if (slot.total > sizeof slot.inlined)
        out.freeBlocks.push_back(slot.block);
    }
  }

  /// Copies the next piece of `send` into the channel; false if there is no room.
  bool writePiece(Outgoing &out, StartedSend &send) {
    if (out.produced - out.reclaimed >= piecesBeforeReclaim)
      reclaim(out);
    if (out.produced - out.reclaimed == slotCount)
      return false;
    Slot &slot = out.channel->slots[out.produced % slotCount];
    slot.tag = send.tag;
    slot.total = send.bytes;
    slot.bytes = uint32_t(std::min(send.bytes - send.written, std::clamp(send.written, firstPieceBytes, blockBytes)));
    if (slot.total > sizeof slot.inlined) {
      slot.block = out.freeBlocks.back();
      out.freeBlocks.pop_back();
    }
    if (slot.bytes)
      std::memcpy(contents(slot, rank(), out.peer), send.data + send.written, slot.bytes);
    send.written += slot.bytes;
    send.done = send.written == send.bytes;
    slot.ticket = ++out.produced;
    segment->notify(out.peer);
    return true;
  }

  /// Moves started sends on by a piece for each peer; false if nothing moved.
  bool progress() {
    if (peersWithUnfinished == 0)
      return false;
    bool moved = false;
    for (Outgoing &out : outgoing) {
      if (out.unfinished.empty() || !writePiece(out, out.unfinished.front()))
        continue;
      moved = true;
      if (!out.unfinished.front().done)
        continue;
      out.unfinished.pop_front();
      ++out.finished;
      peersWithUnfinished -= out.unfinished.empty();
    }
    return moved;
  }

  template <typename Ready> Status waitFor(const words::Wait &wait, const Ready &ready) {
    bool peerLeft = false;
    Waiter::Clock::time_point start = Waiter::Clock::now();
    auto readyOrLeft = [&] {
      // What the peer sent before it left can be received, so its state is read first.
      bool left = segment->rank(wait.peer).state == RankState::Left;
      return ready() || (peerLeft = left);
    };
    RankBlock &own = segment->rank(rank());
    own.waitsFor.store(wait.peer + 1, std::memory_order_relaxed);
    Waiter::Outcome outcome = waiter.until(readyOrLeft, [&] { return progress(); });
    if (outcome == Waiter::Outcome::TimedOut) {
      auto view = [&](int rank) {
        const RankBlock &block = segment->rank(rank);
        return words::RankView{block.waitsFor - 1, block.position};
      };
      segment->publishFailure(words::culprit(wait.peer, view),
                              words::timedOut(*this, wait, Waiter::Clock::now() - start, view));
    }
    own.waitsFor.store(0, std::memory_order_relaxed); // not before the view of who waits for whom
    if (outcome == Waiter::Outcome::TimedOut)
      return groupStatus();
    if (outcome == Waiter::Outcome::Ready && peerLeft)
      return fail(words::peerLeft(*this, wait));
    return outcome == Waiter::Outcome::Ready ? Status() : groupStatus();
  }

  std::shared_ptr<Segment> segment;
  Waiter waiter;
  std::chrono::milliseconds deadline;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  int peersWithUnfinished = 0;
  std::mutex pulseMutex;
  std::condition_variable pulseChanged;
  bool leaving = false;
  std::thread pulse;
};

} // namespace

Result<std::unique_ptr<Transport>> joinShmGroup(std::shared_ptr<Segment> segment, int rank,
                                                const TransportOptions &options) {
  if (rank < 0 || rank >= segment->worldSize())
    return Error{words::noSuchRank(rank, segment->worldSize())};
  auto transport = std::make_unique<ShmTransport>(std::move(segment), rank, options);
  if (Status status = transport->join(); !status)
    return Error{status.error()};
  return std::unique_ptr<Transport>(std::move(transport));
}

} // namespace braid::runtime
