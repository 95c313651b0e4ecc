//===- Segment.h - The memory that local ranks share -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One memory file holds everything that the ranks of a machine share: who they are, how they are woken, the group's
// first failure, and one channel per ordered pair. The file has no name, so it is gone with the last process that maps
// it, however that process ends. Pages exist only once they are touched: channels that a run does not use cost nothing.
//
// A channel is a ring of slots and as many blocks of data. The sender owns the blocks and reuses first those that came
// back last, which keeps short queues in the cache and lets long ones grow to the whole ring. A slot is handed over by
// its ticket, so a receiver that polls finds the message in the cache line that it polled.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_SHM_SEGMENT_H
#define BRAID_RUNTIME_TRANSPORT_SHM_SEGMENT_H

#include "runtime/transport/Transport.h"

#include <atomic>
#include <memory>
#include <string_view>

namespace braid::runtime::shm {

inline constexpr size_t slotCount = 256;
inline constexpr size_t blockBytes = 128 << 10;

/// A piece of a message. `total` and `tag` are the message's; a message of 0 bytes is one empty piece.
struct alignas(64) Slot {
  /// n + 1 once the piece with number n is complete.
  std::atomic<uint64_t> ticket;
  uint64_t tag;
  uint64_t total;
  uint32_t bytes;
  uint32_t block;
  /// Pieces that fit here use no block.
  char inlined[32];
};
static_assert(sizeof(Slot) == 64 && std::atomic<uint64_t>::is_always_lock_free);

struct Channel {
  Slot slots[slotCount];
  /// How many pieces the receiver is done with.
  alignas(64) std::atomic<uint64_t> consumed;
};

enum class RankState : uint32_t { Absent, Joined, Left };

struct alignas(64) RankBlock {
  std::atomic<RankState> state;
  std::atomic<int32_t> pid;
  std::atomic<uint64_t> startTime;    // of the process, as /proc has it
  std::atomic<uint64_t> pidNamespace; // pids mean nothing in another one
  /// A rank sleeps on its doorbell, a futex, whatever it waits for.
  alignas(64) std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> doorbell;
  /// What the others may want to know: a count that grows while the process runs, the rank that this one waits for plus
  /// 1, and how far it has come.
  alignas(64) std::atomic<uint64_t> heartbeat;
  std::atomic<int32_t> waitsFor;
  std::atomic<uint64_t> position;
};

class Segment {
public:
  static plan::Result<std::shared_ptr<Segment>> create(int worldSize);
  /// Maps the file behind `fd`, which stays the caller's.
  static plan::Result<std::shared_ptr<Segment>> open(int fd);
  ~Segment();
  Segment(const Segment &) = delete;
  Segment &operator=(const Segment &) = delete;

  int fd() const { return file; }
  int worldSize() const;
  RankBlock &rank(int rank) const;
  Channel &channel(int from, int to) const;
  char *block(int from, int to, uint32_t number) const;

  /// Says that this process is `rank`. Peers can watch it from now on.
  void announce(int rank);

  /// Wakes `rank` if it sleeps. Whatever it is to notice must have been stored sequentially consistently before.
  void notify(int rank) const;
  /// notify() for everyone but `self`.
  void notifyAll(int self) const;

  /// Stores the group's failure and wakes everybody; false if there was one already.
  bool publishFailure(int rank, std::string_view reason);
  bool hasFailure() const;
  std::optional<Failure> failure() const;

  /// A launcher watches the ranks' processes and publishes how they ended, better than ranks can know it.
  void setSupervised();
  bool isSupervised() const;

private:
  struct Header;
  Segment(int fd, char *base, size_t bytes) : file(fd), base(base), bytes(bytes) {}
  static plan::Result<std::shared_ptr<Segment>> map(int fd, size_t bytes);
  Header &header() const;

  int file;
  char *base;
  size_t bytes;
};

} // namespace braid::runtime::shm

#endif // BRAID_RUNTIME_TRANSPORT_SHM_SEGMENT_H
