//===- Process.h - Whether another process still lives -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_SHM_PROCESS_H
#define BRAID_RUNTIME_TRANSPORT_SHM_PROCESS_H

#include <cstdint>

namespace braid::runtime::shm {

/// The start time of a process in clock ticks since boot; 0 if it does not exist or has ended. A pid and a start time
/// name a process for good, a pid alone is reused.
uint64_t processStartTime(int pid);

/// The state of a process as /proc has it, 'T' for one that a signal stopped; 0 if that cannot be known.
char processState(int pid);

/// The number of this process's pid namespace.
uint64_t ownPidNamespace();

/// The same for processes that see the same pids: of one boot of one machine, in one pid namespace.
uint64_t ownMachine();

/// Watches a process that need not be a child. A process that ended but was not waited for counts as ended.
class ProcessWatch {
public:
  ProcessWatch(int pid, uint64_t startTime);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch &&other);
  ProcessWatch &operator=(ProcessWatch &&) = delete;

  int pid() const { return id; }
  bool ended() const;

private:
  int id;
  uint64_t startTime;
  int fd; // a pidfd, or -1 where the kernel has or allows none
};

} // namespace braid::runtime::shm

#endif // BRAID_RUNTIME_TRANSPORT_SHM_PROCESS_H
