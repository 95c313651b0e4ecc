//===- Segment.cpp - The memory that local ranks share --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/shm/Segment.h"
#include "runtime/transport/shm/Process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::runtime::shm {

using plan::Error;
using plan::Result;

namespace {
constexpr uint64_t magicNumber = 0x6272616964000002; // "braid", layout 2
constexpr size_t reasonBytes = 4000;
constexpr size_t pageBytes = 4096;
enum FailureState : uint32_t { NoFailure, WritingFailure, HasFailure };

size_t roundUp(size_t bytes) { return (bytes + pageBytes - 1) / pageBytes * pageBytes; }
size_t ranksAt() { return roundUp(pageBytes + reasonBytes); }
size_t channelsAt(size_t size) { return ranksAt() + roundUp(size * sizeof(RankBlock)); }
size_t blocksAt(size_t size) { return channelsAt(size) + size * size * roundUp(sizeof(Channel)); }
size_t segmentBytes(size_t size) { return blocksAt(size) + size * size * slotCount * blockBytes; }
} // namespace

struct Segment::Header {
  uint64_t magic;
  int32_t worldSize;
  std::atomic<uint32_t> supervised;
  std::atomic<FailureState> failureState;
  int32_t failedRank;
  uint32_t reasonLength;
  char reason[reasonBytes];
};

Segment::Header &Segment::header() const { return *reinterpret_cast<Header *>(base); }
int Segment::worldSize() const { return header().worldSize; }
RankBlock &Segment::rank(int rank) const { return reinterpret_cast<RankBlock *>(base + ranksAt())[rank]; }

Channel &Segment::channel(int from, int to) const {
  size_t pair = size_t(from) * worldSize() + to;
  return *reinterpret_cast<Channel *>(base + channelsAt(worldSize()) + pair * roundUp(sizeof(Channel)));
}

char *Segment::block(int from, int to, uint32_t number) const {
  size_t pair = size_t(from) * worldSize() + to;
  return base + blocksAt(worldSize()) + (pair * slotCount + number) * blockBytes;
}

// A new memory file is all zero, which is the initial state of every object in it.
Result<std::shared_ptr<Segment>> Segment::create(int worldSize) {
  int fd = memfd_create("braid", MFD_CLOEXEC);
  size_t bytes = segmentBytes(worldSize);
  if (fd < 0 || ftruncate(fd, off_t(bytes)) != 0) {
    Error error{"cannot make the memory that " + std::to_string(worldSize) + " local ranks share (" +
                std::to_string(bytes >> 20) + " MiB of address space): " + std::strerror(errno)};
    if (fd >= 0)
      close(fd);
    return error;
  }
  Result<std::shared_ptr<Segment>> segment = map(fd, bytes);
  if (segment) {
    (*segment)->header().worldSize = worldSize;
    (*segment)->header().magic = magicNumber;
  }
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::open(int fd) {
  struct stat status;
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0 || fstat(own, &status) != 0 || size_t(status.st_size) < channelsAt(1)) {
    if (own >= 0)
      close(own);
    return Error{"the memory that rank 0 shares cannot be used; all ranks must run the same binary"};
  }
  Result<std::shared_ptr<Segment>> segment = map(own, size_t(status.st_size));
  if (segment && ((*segment)->header().magic != magicNumber ||
                  size_t(status.st_size) != segmentBytes((*segment)->header().worldSize)))
    return Error{"the memory that rank 0 shares has another layout than this rank's; all ranks must run the same "
                 "binary"};
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::map(int fd, size_t bytes) {
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    Error error{"cannot map the memory that local ranks share (" + std::to_string(bytes >> 20) +
                " MiB of address space): " + std::strerror(errno)};
    close(fd);
    return error;
  }
  // A core dump of one rank is no place for gigabytes of everybody's buffers.
  madvise(base, bytes, MADV_DONTDUMP);
  return std::shared_ptr<Segment>(new Segment(fd, static_cast<char *>(base), bytes));
}

Segment::~Segment() {
  munmap(base, bytes);
  close(file);
}

void Segment::announce(int self) {
  RankBlock &block = rank(self);
  block.pid = getpid();
  block.startTime = processStartTime(getpid());
  block.pidNamespace = ownPidNamespace();
  block.state = RankState::Joined;
  notifyAll(self);
}

void Segment::notify(int rank) const {
  RankBlock &block = this->rank(rank);
  if (block.sleeping.load() == 0 || block.sleeping.exchange(0) == 0)
    return;
  block.doorbell.fetch_add(1);
  syscall(SYS_futex, &block.doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Segment::notifyAll(int self) const {
  for (int rank = 0; rank < worldSize(); ++rank)
    if (rank != self)
      notify(rank);
}

bool Segment::publishFailure(int rank, std::string_view reason) {
  Header &header = this->header();
  FailureState none = NoFailure;
  if (!header.failureState.compare_exchange_strong(none, WritingFailure))
    return false;
  header.failedRank = rank;
  header.reasonLength = uint32_t(std::min(reason.size(), reasonBytes));
  std::memcpy(header.reason, reason.data(), header.reasonLength);
  header.failureState = HasFailure;
  notifyAll(-1);
  return true;
}

bool Segment::hasFailure() const { return header().failureState.load(std::memory_order_acquire) != NoFailure; }

std::optional<Failure> Segment::failure() const {
  const Header &header = this->header();
  if (!hasFailure())
    return std::nullopt;
  // Writing takes a microsecond, unless the writer is killed at it.
  for (int tries = 0; header.failureState.load() != HasFailure; ++tries) {
    if (tries == 1000)
      return Failure{header.failedRank, "it was killed while it reported its failure"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Failure{header.failedRank, std::string(header.reason, header.reasonLength)};
}

void Segment::setSupervised() { header().supervised = 1; }
bool Segment::isSupervised() const { return header().supervised != 0; }

} // namespace braid::runtime::shm
