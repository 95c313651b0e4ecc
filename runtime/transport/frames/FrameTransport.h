//===- FrameTransport.h - Ranks that exchange frames ---------- -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What transports over connections have in common: messages in pieces, who waits for whom, standstill, leaving, and one
// first failure. A connection to each peer carries frames in order; who derives from this reads and writes them.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_FRAMES_FRAMETRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_FRAMES_FRAMETRANSPORT_H

#include "runtime/transport/Transport.h"
#include "runtime/transport/Words.h"
#include "runtime/transport/frames/FrameQueue.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace braid::runtime::frames {

/// What a rank tells of its process.
struct Process {
  int pid = 0;
  uint64_t machine = 0; // equal on two ranks where their pids name processes of one list
};

class FrameTransport : public Transport {
public:
  plan::Result<Transfer> isend(int peer, const void *data, size_t bytes, uint64_t tag) final;
  plan::Status wait(const Transfer &transfer) final;
  plan::Status recv(int peer, void *data, size_t bytes, uint64_t tag) final;
  plan::Status poll() final;
  plan::Status fail(std::string reason) final;
  std::optional<Failure> failure() const final;
  void setPosition(uint64_t position) final { ownPosition = position; }

protected:
  using Clock = std::chrono::steady_clock;

  FrameTransport(int rank, const std::vector<Process> &processes, const TransportOptions &options);

  // All below with `mutex` held.

  /// Writes, or has somebody write, what waits in the queue of `peer`.
  virtual void flush(int peer) = 0;

  /// The queue of another rank.
  FrameQueue &queue(int peer) { return peers[peer].queue; }
  /// A frame has come.
  void take(int from, const Frame &frame, std::vector<char> body);
  /// Nothing more will come from `peer`.
  void lost(int peer);
  /// Says how this rank is, when that is due; returns when it is due again. To be called then at the latest.
  Clock::time_point tick();
  /// Says that this rank leaves and waits until all others have seen it; then nothing need be read or written.
  void leave(std::unique_lock<std::mutex> &lock);

  mutable std::mutex mutex;
  /// Notify it after what may end somebody's wait.
  std::condition_variable changed;

private:
  struct Peer {
    Process process;
    FrameQueue queue;
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

  void say(int peer, FrameKind kind, uint64_t first = 0, uint64_t second = 0, std::string text = "");
  plan::Status groupStatus() const;
  void decide(Failure failure);
  void propose(int culprit, std::string reason);
  plan::Status failLocked(std::unique_lock<std::mutex> &lock, int culprit, std::string reason);
  void lookForStandstill(Clock::duration sinceLast);
  template <typename Ready>
  plan::Status waitFor(std::unique_lock<std::mutex> &lock, const words::Wait &wait, Ready ready);

  const TransportOptions options;
  std::vector<Peer> peers; // the own rank's is never used, but for its process
  std::optional<Failure> first, proposal;
  Clock::time_point proposed, nextStatus;
  std::atomic<bool> hasFailed = false;
  std::atomic<int> ownWaitsFor = -1;
  std::atomic<uint64_t> ownPosition = 0;
};

} // namespace braid::runtime::frames

#endif // BRAID_RUNTIME_TRANSPORT_FRAMES_FRAMETRANSPORT_H
