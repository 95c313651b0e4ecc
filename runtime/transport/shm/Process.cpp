//===- Process.cpp - Whether another process still lives ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/shm/Process.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::runtime::shm {

/// The line of a process in /proc from the end of its name on, ") S ...": the name may hold blanks and parentheses.
/// Field 3 is the state, field 22 the start time. Null where there is none.
static const char *readStat(int pid, char (&text)[1024]) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  std::FILE *file = std::fopen(path, "re");
  if (!file)
    return nullptr;
  size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = 0;
  const char *at = std::strrchr(text, ')');
  return at && std::strlen(at) >= 3 ? at : nullptr;
}

char processState(int pid) {
  char text[1024];
  const char *at = readStat(pid, text);
  return at ? at[2] : 0;
}

uint64_t processStartTime(int pid) {
  char text[1024];
  const char *at = readStat(pid, text);
  if (!at || at[2] == 'Z' || at[2] == 'X')
    return 0;
  for (int field = 2; at && field < 22; ++field)
    at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at + 1, nullptr, 10) : 0;
}

uint64_t ownPidNamespace() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? uint64_t(status.st_ino) : 0;
}

uint64_t ownMachine() {
  char id[64] = {};
  if (std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    size_t length = std::fread(id, 1, sizeof id - 1, file);
    id[length] = 0;
    std::fclose(file);
  }
  return std::hash<std::string_view>()(id) ^ ownPidNamespace();
}

ProcessWatch::ProcessWatch(int pid, uint64_t startTime)
    : id(pid), startTime(startTime), fd(int(syscall(SYS_pidfd_open, pid, 0))) {
  // The pid may have passed to another process before it was opened.
  if (fd >= 0 && processStartTime(pid) != startTime) {
    close(fd);
    fd = -1;
  }
}

ProcessWatch::ProcessWatch(ProcessWatch &&other)
    : id(other.id), startTime(other.startTime), fd(std::exchange(other.fd, -1)) {}

ProcessWatch::~ProcessWatch() {
  if (fd >= 0)
    close(fd);
}

bool ProcessWatch::ended() const {
  if (fd < 0)
    return processStartTime(id) != startTime;
  pollfd request{fd, POLLIN, 0};
  return poll(&request, 1, 0) == 1;
}

} // namespace braid::runtime::shm
