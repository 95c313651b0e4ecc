//===- Waiter.cpp - Waiting for the other ranks of a segment --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/shm/Waiter.h"

#include <cstdio>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace braid::runtime::shm {

namespace {
constexpr std::chrono::microseconds shortestYield{5};
/// How long a launcher may take to say how a process ended.
constexpr std::chrono::milliseconds supervisorTime{1000};

int coresOfThisProcess() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}
} // namespace

Waiter::Waiter(std::shared_ptr<Segment> segment, int rank, const TransportOptions &options)
    : segment(std::move(segment)), rank(rank), options(options), watches(this->segment->worldSize()),
      pulses(this->segment->worldSize()) {
  bool coreForEach = coresOfThisProcess() >= this->segment->worldSize();
  longestYield = coreForEach ? std::chrono::microseconds(100) : std::chrono::microseconds(20);
  yieldTime = longestYield;
}

void Waiter::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void Waiter::yield() { sched_yield(); }

void Waiter::grow(Clock::time_point start) {
  if (yieldTime < longestYield && Clock::now() - start > busyTime)
    yieldTime = std::min<std::chrono::nanoseconds>(2 * yieldTime, longestYield);
}

void Waiter::shrink() { yieldTime = std::max<std::chrono::nanoseconds>(yieldTime / 2, shortestYield); }

void Waiter::sleep(uint32_t bell, Clock::time_point until) const {
  auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now()).count();
  if (left <= 0)
    return;
  timespec time{time_t(left / 1'000'000'000), long(left % 1'000'000'000)};
  syscall(SYS_futex, &segment->rank(rank).doorbell, FUTEX_WAIT, bell, &time, nullptr, 0);
}

bool Waiter::standsStill(int peer) {
  Pulse &pulse = pulses[peer];
  Clock::time_point now = Clock::now();
  uint64_t heartbeat = segment->rank(peer).heartbeat;
  if (heartbeat != pulse.heartbeat)
    pulse.still = Clock::duration(0);
  else
    pulse.still += std::min<Clock::duration>(now - pulse.seen, longestInterval);
  pulse.heartbeat = heartbeat;
  pulse.seen = now;
  return pulse.still >= options.standstill;
}

void Waiter::checkProcesses() {
  for (int peer = 0; peer < segment->worldSize(); ++peer) {
    RankBlock &block = segment->rank(peer);
    if (peer != rank && block.state == RankState::Joined && standsStill(peer)) {
      bool sameIds = block.pidNamespace == segment->rank(rank).pidNamespace;
      char state = sameIds ? processState(block.pid) : 0;
      std::string why = state == 'T'   ? "a signal stopped it"
                        : state == 't' ? "a debugger holds it"
                                       : "it is stopped, or the machine gives it no time";
      auto time = std::chrono::duration<double>(pulses[peer].still).count();
      char text[64];
      std::snprintf(text, sizeof text, "has stood still for %.1f s: ", time);
      segment->publishFailure(peer, "its process (pid " + std::to_string(block.pid) + ") " + text + why + where(peer) +
                                        ", and rank " + std::to_string(rank) + " waits for it");
      return;
    }
    if (peer == rank || block.state != RankState::Joined || block.pidNamespace != segment->rank(rank).pidNamespace)
      continue;
    std::optional<ProcessWatch> &watch = watches[peer];
    if (!watch)
      watch.emplace(block.pid, block.startTime);
    // A rank that finishes says so before its process ends, so the state is looked at again.
    if (!watch->ended() || block.state != RankState::Joined)
      continue;
    Clock::time_point end = Clock::now() + supervisorTime;
    while (segment->isSupervised() && !segment->hasFailure() && Clock::now() < end)
      usleep(1000);
    segment->publishFailure(peer, "its process (pid " + std::to_string(watch->pid()) +
                                      ") ended in the middle of the run, killed or crashed; see its output");
    return;
  }
}

} // namespace braid::runtime::shm
