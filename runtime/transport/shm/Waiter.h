//===- Waiter.h - Waiting for the other ranks of a segment -------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank waits in three stages: it polls for a microsecond or two, then gives its core away between polls, for ranks
// may share a core, then sleeps on its doorbell. The second stage gets longer where it succeeds and shorter where it
// does not. A sleeper wakes now and then to see whether the other ranks' processes still live.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_SHM_WAITER_H
#define BRAID_RUNTIME_TRANSPORT_SHM_WAITER_H

#include "runtime/transport/shm/Process.h"
#include "runtime/transport/shm/Segment.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace braid::runtime::shm {

class Waiter {
public:
  using Clock = std::chrono::steady_clock;
  enum class Outcome { Ready, Failed, TimedOut };

  Waiter(std::shared_ptr<Segment> segment, int rank, const TransportOptions &options);

  /// Waits until `ready` holds. Meanwhile `work` is called: it does what can be done without waiting, and returns
  /// whether that was anything. Failed: the group has a failure.
  template <typename Ready, typename Work> Outcome until(const Ready &ready, const Work &work) {
    Clock::time_point start = Clock::now();
    while (true) {
      bool worked = work();
      if (ready()) {
        grow(start);
        return Outcome::Ready;
      }
      if (segment->hasFailure())
        return Outcome::Failed;
      if (worked)
        continue;
      Clock::duration waited = Clock::now() - start;
      if (waited < busyTime) {
        pause();
      } else if (waited < busyTime + yieldTime) {
        yield();
      } else {
        shrink();
        return sleepUntil(ready, work, start);
      }
    }
  }

  /// Looks now whether other ranks' processes still live and run; one that does not becomes the group's failure.
  /// `where` says where a rank is.
  void checkProcesses();
  std::function<std::string(int rank)> where = [](int) { return std::string(); };

private:
  static constexpr std::chrono::microseconds busyTime{2};
  static constexpr std::chrono::milliseconds checkInterval{50};
  /// Longer between two checks this process did not run itself, and the time counts for nothing.
  static constexpr std::chrono::milliseconds longestInterval{200};

  template <typename Ready, typename Work>
  Outcome sleepUntil(const Ready &ready, const Work &work, Clock::time_point start) {
    RankBlock &own = segment->rank(rank);
    Clock::time_point nextCheck = start + checkInterval, end = start + options.deadline;
    while (true) {
      uint32_t bell = own.doorbell;
      own.sleeping = 1;
      // Whoever changes something from here on sees that this rank sleeps, and changes the bell.
      bool worked = work(), isReady = ready(), failed = segment->hasFailure();
      if (!worked && !isReady && !failed)
        sleep(bell, std::min(nextCheck, end));
      own.sleeping = 0;
      if (isReady)
        return Outcome::Ready;
      if (failed)
        return Outcome::Failed;
      Clock::time_point now = Clock::now();
      if (now >= nextCheck) {
        if (now - nextCheck > longestInterval)
          end += now - nextCheck;
        checkProcesses();
        nextCheck = now + checkInterval;
      }
      if (now >= end && !segment->hasFailure() && !ready())
        return Outcome::TimedOut;
    }
  }

  static void pause();
  static void yield();
  void sleep(uint32_t bell, Clock::time_point until) const;
  void grow(Clock::time_point start);
  void shrink();

  std::shared_ptr<Segment> segment;
  int rank;
  TransportOptions options;
  std::chrono::nanoseconds longestYield, yieldTime;
  std::vector<std::optional<ProcessWatch>> watches; // of ranks that were seen to join

  bool standsStill(int peer);
  struct Pulse {
    uint64_t heartbeat = 0;
    Clock::duration still{0}; // for which it has not grown
    Clock::time_point seen{};
  };
  std::vector<Pulse> pulses;
};

} // namespace braid::runtime::shm

#endif // BRAID_RUNTIME_TRANSPORT_SHM_WAITER_H
