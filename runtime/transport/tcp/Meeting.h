//===- Meeting.h - Connecting all pairs of ranks -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_TCP_MEETING_H
#define BRAID_RUNTIME_TRANSPORT_TCP_MEETING_H

#include "runtime/transport/tcp/TcpTransport.h"

#include <utility>
#include <vector>

namespace braid::runtime::tcp {

/// A file descriptor that is closed with its owner; -1 is none.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd(fd) {}
  Socket(Socket &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Socket();
  int get() const { return fd; }

private:
  int fd = -1;
};

/// What a rank tells of its process, and the connection to it: non-blocking, and none to the own rank.
struct Peer {
  Socket socket;
  int pid = 0;
  uint64_t machine = 0; // equal on two ranks where their pids name processes of one list
};

/// Meets all other ranks; fails with those that did not come within `deadline`.
plan::Result<std::vector<Peer>> meet(Rendezvous &rendezvous, int rank, int size, std::chrono::milliseconds deadline);

} // namespace braid::runtime::tcp

#endif // BRAID_RUNTIME_TRANSPORT_TCP_MEETING_H
