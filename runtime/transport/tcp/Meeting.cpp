//===- Meeting.cpp - Connecting all pairs of ranks ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/tcp/Meeting.h"
#include "runtime/transport/Words.h"
#include "runtime/transport/shm/Process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace braid::runtime::tcp {

using plan::Error;
using plan::Result;
using plan::Status;
using Clock = std::chrono::steady_clock;

Socket::~Socket() {
  if (fd >= 0)
    close(fd);
}

namespace {

/// The first bytes of a connection, so that a rank of another run, or something else altogether, is turned away. Read
/// on a machine of another byte order, the magic number is wrong.
struct Hello {
  uint64_t magic = 0x6272616964746301; // "braidtc", version 1
  uint64_t word = 0;                   // of this run
  int64_t rank = 0;
};

struct Place {
  std::string host, port;
  int pid = 0;
  uint64_t machine = 0;
};

std::string keyOf(int rank) { return "rank" + std::to_string(rank); }

Error systemError(const std::string &what) { return Error{what + ": " + std::strerror(errno)}; }

/// The same for processes that see the same pids: of one boot of one machine, in one pid namespace.
uint64_t ownMachine() {
  char id[64] = {};
  if (std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    size_t length = std::fread(id, 1, sizeof id - 1, file);
    id[length] = 0;
    std::fclose(file);
  }
  return std::hash<std::string>()(id) ^ shm::ownPidNamespace();
}

struct AddressList {
  addrinfo *first = nullptr;
  ~AddressList() {
    if (first)
      freeaddrinfo(first);
  }
};

Status lookUp(const std::string &host, const std::string &port, int flags, AddressList &list) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  if (int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list.first); error != 0)
    return Error{"the address " + host + " cannot be found: " + gai_strerror(error)};
  return {};
}

Result<Socket> listenOn(const std::string &host, std::string &port, int backlog) {
  AddressList list;
  if (Status status = lookUp(host, "0", AI_PASSIVE, list); !status)
    return Error{status.error()};
  Socket socket(::socket(list.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0 || bind(socket.get(), list.first->ai_addr, list.first->ai_addrlen) != 0 ||
      listen(socket.get(), backlog) != 0)
    return systemError("cannot listen on " + host);
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char number[NI_MAXSERV];
  if (getsockname(socket.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), length, nullptr, 0, number, sizeof number, NI_NUMERICSERV))
    return systemError("cannot tell the port that " + host + " listens on");
  port = number;
  return socket;
}

/// Waits until `fd` is ready for `events`; false at `end`.
bool waitFor(int fd, short events, Clock::time_point end) {
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd entry{fd, events, 0};
    int ready = ::poll(&entry, 1, std::max<int>(0, static_cast<int>(left.count())));
    if (ready > 0)
      return true;
    if (ready == 0 || errno != EINTR)
      return false;
  }
}

Result<Socket> connectTo(const Place &place, Clock::time_point end) {
  AddressList list;
  if (Status status = lookUp(place.host, place.port, 0, list); !status)
    return Error{status.error()};
  Socket socket(::socket(list.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::string what = "cannot connect to " + place.host + ":" + place.port;
  if (socket.get() < 0)
    return systemError(what);
  if (connect(socket.get(), list.first->ai_addr, list.first->ai_addrlen) == 0)
    return socket;
  if (errno != EINPROGRESS)
    return systemError(what);
  if (!waitFor(socket.get(), POLLOUT, end))
    return Error{what + ": no answer"};
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0)
    return socket;
  errno = error;
  return systemError(what);
}

template <typename Value> bool writeValue(int fd, const Value &value) {
  return write(fd, &value, sizeof value) == ssize_t(sizeof value); // the first bytes of a connection always fit
}

template <typename Value> bool readValue(int fd, Value &value, Clock::time_point end) {
  for (size_t got = 0; got < sizeof value;) {
    ssize_t length = read(fd, reinterpret_cast<char *>(&value) + got, sizeof value - got);
    if (length > 0)
      got += length;
    else if (length == 0 || (errno != EAGAIN && errno != EINTR) || !waitFor(fd, POLLIN, end))
      return false;
  }
  return true;
}

} // namespace

Result<std::vector<Peer>> meet(Rendezvous &rendezvous, int rank, int size, std::chrono::milliseconds deadline) {
  Clock::time_point start = Clock::now(), end = start + deadline;
  auto left = [&] {
    return std::max(std::chrono::milliseconds(1),
                    std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
  };
  auto missing = [&](const std::string &ranks, const std::string &why) {
    return Error{"rank " + std::to_string(rank) + " waited " + words::seconds(Clock::now() - start) + " for " + ranks +
                 " to start" + (why.empty() ? "" : " (" + why + ")") + "; see the output of the missing ranks"};
  };

  std::string port;
  Result<Socket> listener = listenOn(rendezvous.ownAddress(), port, size);
  if (!listener)
    return Error{listener.error()};
  Hello own;
  own.rank = rank;
  std::ostringstream place;
  place << rendezvous.ownAddress() << ' ' << port << ' ' << getpid() << ' ' << ownMachine();
  if (rank == 0) {
    std::random_device random;
    own.word = uint64_t(random()) << 32 | random();
    place << ' ' << own.word;
  }
  if (Status status = rendezvous.set(keyOf(rank), place.str()); !status)
    return Error{status.error()};

  std::vector<Peer> peers(size);
  peers[rank].machine = ownMachine();
  std::vector<Place> places(size);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank)
      continue;
    Result<std::string> found = rendezvous.get(keyOf(peer), left());
    if (!found)
      return missing("rank " + std::to_string(peer), found.error());
    std::istringstream words(*found);
    words >> places[peer].host >> places[peer].port >> places[peer].pid >> places[peer].machine;
    if (peer == 0)
      words >> own.word;
    if (!words)
      return Error{"rank " + std::to_string(peer) + " says that it is at '" + *found +
                   "', which cannot be read; start all ranks from the same binary"};
    peers[peer].pid = places[peer].pid;
    peers[peer].machine = places[peer].machine;
  }
  // Each rank calls those before it, and is called by those after it.
  for (int peer = 0; peer < rank; ++peer) {
    Result<Socket> socket = connectTo(places[peer], end);
    if (!socket)
      return Error{"rank " + std::to_string(rank) + " cannot reach rank " + std::to_string(peer) + ": " +
                   socket.error() + "; check that the machines may open connections to each other"};
    if (!writeValue(socket->get(), own))
      return systemError("rank " + std::to_string(rank) + " cannot write to rank " + std::to_string(peer));
    peers[peer].socket = std::move(*socket);
  }
  for (int expected = size - 1 - rank; expected > 0;) {
    if (!waitFor(listener->get(), POLLIN, end)) {
      std::string ranks;
      for (int peer = rank + 1; peer < size; ++peer)
        if (peers[peer].socket.get() < 0)
          ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(peer);
      return missing(ranks, "");
    }
    Socket socket(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Hello hello;
    hello.magic = 0;
    // Whoever else calls is let go.
    if (socket.get() < 0 || !readValue(socket.get(), hello, std::min(end, Clock::now() + std::chrono::seconds(5))) ||
        hello.magic != own.magic || hello.word != own.word || hello.rank <= rank || hello.rank >= size ||
        peers[hello.rank].socket.get() >= 0)
      continue;
    peers[hello.rank].socket = std::move(socket);
    --expected;
  }
  for (Peer &peer : peers) {
    int on = 1;
    if (peer.socket.get() >= 0)
      setsockopt(peer.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return peers;
}

} // namespace braid::runtime::tcp
