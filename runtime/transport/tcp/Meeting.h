//===- Meeting.h - Connecting all pairs of ranks -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_TCP_MEETING_H
#define BRAID_RUNTIME_TRANSPORT_TCP_MEETING_H

#include "runtime/transport/Rendezvous.h"
#include "runtime/transport/frames/FrameTransport.h"

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

/// A socket of this machine that others can connect to; sets `port`.
plan::Result<Socket> listenOn(const std::string &host, std::string &port, int backlog);

/// Meets all other ranks and fills `processes`; fails with those that did not come within `deadline`. The connections
/// are non-blocking, and there is none to the own rank.
plan::Result<std::vector<Socket>> meet(Rendezvous &rendezvous, int rank, int size, std::chrono::milliseconds deadline,
                                       std::vector<frames::Process> &processes);

} // namespace braid::runtime::tcp

#endif // BRAID_RUNTIME_TRANSPORT_TCP_MEETING_H
