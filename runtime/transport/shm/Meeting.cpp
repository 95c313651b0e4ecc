//===- Meeting.cpp - How unrelated processes find one segment -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 makes the segment and listens on a socket in the abstract name space, which belongs to no file system: the
// name is gone with rank 0, whatever ends it. The others connect, say who they are, and get the segment's descriptor.
// Nothing is ever created under /dev/shm, so no crash leaves anything there, and its size (64 MiB in many containers)
// does not matter.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Words.h"
#include "runtime/transport/shm/ShmTransport.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;
using namespace shm;

namespace {

using Clock = std::chrono::steady_clock;

struct Hello {
  int32_t rank;
  int32_t worldSize;
  char key[1000];
};

struct Reply {
  char refusal[1000]; // empty, and a descriptor comes with it, if the rank is welcome
};

/// A descriptor that closes itself.
class Socket {
public:
  explicit Socket(int fd) : fd(fd) {}
  ~Socket() {
    if (fd >= 0)
      close(fd);
  }
  Socket(Socket &&other) : fd(std::exchange(other.fd, -1)) {}
  Socket &operator=(Socket &&) = delete;
  operator int() const { return fd; }

private:
  int fd;
};

Socket newSocket() { return Socket(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

/// Names have about a hundred bytes, keys any number; the whole key is compared when ranks meet.
sockaddr_un addressOf(const std::string &key, socklen_t &length) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (unsigned char c : key)
    hash = (hash ^ c) * 0x100000001b3;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  int written = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid-%u-%016llx",
                              unsigned(geteuid()), static_cast<unsigned long long>(hash));
  length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + written);
  return address;
}

bool isOwnUser(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/// Waits until `fd` can be read; false at `end`.
bool waitReadable(int fd, Clock::time_point end) {
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd request{fd, POLLIN, 0};
    int ready = poll(&request, 1, int(std::clamp<long long>(left, 0, 1'000'000)));
    if (ready > 0)
      return true;
    if (ready == 0 && left <= 0)
      return false;
  }
}

void reply(int connection, const std::string &refusal, int descriptor) {
  Reply body{};
  std::strncpy(body.refusal, refusal.c_str(), sizeof body.refusal - 1);
  iovec piece{&body, sizeof body};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (refusal.empty()) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  // A rank that is gone already is missed when the group waits for it to join.
  (void)sendmsg(connection, &message, MSG_NOSIGNAL);
}

Result<std::shared_ptr<Segment>> host(const std::string &key, int worldSize, const TransportOptions &options) {
  Result<std::shared_ptr<Segment>> segment = Segment::create(worldSize);
  if (!segment)
    return segment;
  socklen_t length;
  sockaddr_un address = addressOf(key, length);
  Socket listener = newSocket();
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(listener, worldSize) != 0) {
    if (errno == EADDRINUSE)
      return Error{"another run on this machine is starting under the key \"" + key +
                   "\"; give each run a port or a run id of its own"};
    return Error{std::string("rank 0 cannot open a local socket for the other ranks: ") + std::strerror(errno)};
  }
  (*segment)->announce(0);

  Clock::time_point end = Clock::now() + options.deadline;
  std::vector<bool> here(worldSize);
  for (int count = 1; count < worldSize;) {
    if (!waitReadable(listener, end)) {
      std::string missing;
      for (int rank = 1; rank < worldSize; ++rank)
        if (!here[rank])
          missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
      std::string reason = "rank 0 waited " + words::seconds(options.deadline) + " for " + missing +
                           " to join the run \"" + key + "\"; see the output of the missing ranks";
      (*segment)->publishFailure(0, reason);
      return Error{reason};
    }
    Socket connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    Hello hello{};
    // Only this user's processes can be ranks, and those send their hello at once.
    if (connection < 0 || !isOwnUser(connection) || !waitReadable(connection, Clock::now() + std::chrono::seconds(5)) ||
        ::recv(connection, &hello, sizeof hello, 0) != ssize_t(sizeof hello))
      continue;
    hello.key[sizeof hello.key - 1] = 0;
    std::string refusal;
    if (hello.key != key.substr(0, sizeof hello.key - 1))
      refusal = "rank 0 belongs to another run; start both runs again with a port or a run id of their own";
    else if (hello.worldSize != worldSize)
      refusal = "rank " + std::to_string(hello.rank) + " was started as one of " + std::to_string(hello.worldSize) +
                " ranks, rank 0 as one of " + std::to_string(worldSize) + "; start all ranks with the same world size";
    else if (hello.rank <= 0 || hello.rank >= worldSize || here[hello.rank])
      refusal = "rank " + std::to_string(hello.rank) + " joined the run \"" + key +
                "\" twice; give each process a rank of its own";
    reply(connection, refusal, (*segment)->fd());
    if (!refusal.empty()) {
      (*segment)->publishFailure(0, refusal);
      return Error{refusal};
    }
    here[hello.rank] = true;
    ++count;
  }
  return segment;
}

Result<std::shared_ptr<Segment>> visit(const std::string &key, int rank, int worldSize,
                                       const TransportOptions &options) {
  socklen_t length;
  sockaddr_un address = addressOf(key, length);
  Clock::time_point end = Clock::now() + options.deadline;
  Socket connection = newSocket();
  // Rank 0 may not have started yet.
  while (connect(connection, reinterpret_cast<sockaddr *>(&address), length) != 0) {
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
      return Error{std::string("rank ") + std::to_string(rank) +
                   " cannot open a local socket to rank 0: " + std::strerror(errno)};
    if (Clock::now() >= end)
      return Error{"rank " + std::to_string(rank) + " waited " + words::seconds(options.deadline) +
                   " for rank 0 to open the run \"" + key + "\"; see the output of rank 0"};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!isOwnUser(connection))
    return Error{"rank " + std::to_string(rank) + " found the run \"" + key +
                 "\" opened by another user of this machine; give the run another port or run id"};
  Hello hello{rank, worldSize, {}};
  std::strncpy(hello.key, key.c_str(), sizeof hello.key - 1);
  Reply body{};
  iovec piece{&body, sizeof body};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::send(connection, &hello, sizeof hello, MSG_NOSIGNAL) != ssize_t(sizeof hello) ||
      !waitReadable(connection, end) || recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != ssize_t(sizeof body))
    return Error{"rank 0 did not let rank " + std::to_string(rank) + " into the run \"" + key +
                 "\": it failed, or another rank did, while the ranks met; see the output of rank 0"};
  if (body.refusal[0])
    return Error{std::string(body.refusal, strnlen(body.refusal, sizeof body.refusal))};
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS)
    return Error{"rank 0 sent rank " + std::to_string(rank) + " no memory to share"};
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  Socket owned(descriptor);
  return Segment::open(owned);
}

} // namespace

Result<std::unique_ptr<Transport>> meetShmGroup(const std::string &key, int rank, int worldSize,
                                                const TransportOptions &options) {
  if (rank < 0 || rank >= worldSize)
    return Error{"rank " + std::to_string(rank) + " is no rank of a run with the ranks 0 to " +
                 std::to_string(worldSize - 1)};
  Result<std::shared_ptr<Segment>> segment =
      rank == 0 ? host(key, worldSize, options) : visit(key, rank, worldSize, options);
  if (!segment)
    return Error{segment.error()};
  return joinShmGroup(*segment, rank, options);
}

} // namespace braid::runtime
