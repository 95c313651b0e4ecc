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
#include <cstring>
#include <random>
#include <sstream>

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
};

Error systemError(const std::string &what) { return Error{what + ": " + std::strerror(errno)}; }

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

} // namespace

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

namespace {

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

Result<std::vector<Socket>> meet(Rendezvous &rendezvous, int rank, int size, std::chrono::milliseconds deadline,
                                 std::vector<frames::Process> &processes) {
  Clock::time_point start = Clock::now(), end = start + deadline;
  std::string port;
  Result<Socket> listener = listenOn(rendezvous.ownAddress(), port, size);
  if (!listener)
    return Error{listener.error()};
  Hello own;
  own.rank = rank;
  std::ostringstream place;
  place << rendezvous.ownAddress() << ' ' << port << ' ' << getpid() << ' ' << shm::ownMachine();
  if (rank == 0) {
    std::random_device random;
    own.word = uint64_t(random()) << 32 | random();
    place << ' ' << own.word;
  }
  Result<std::vector<std::string>> found = exchangeWords(rendezvous, rank, size, place.str(), deadline);
  if (!found)
    return Error{found.error()};
  processes.resize(size);
  std::vector<Place> places(size);
  for (int peer = 0; peer < size; ++peer) {
    std::istringstream words((*found)[peer]);
    words >> places[peer].host >> places[peer].port >> processes[peer].pid >> processes[peer].machine;
    if (peer == 0)
      words >> own.word;
    if (!words)
      return Error{words::unreadable(peer, (*found)[peer])};
  }
  std::vector<Socket> sockets(size);
  // Each rank calls those before it, and is called by those after it.
  for (int peer = 0; peer < rank; ++peer) {
    Result<Socket> socket = connectTo(places[peer], end);
    if (!socket)
      return Error{"rank " + std::to_string(rank) + " cannot reach rank " + std::to_string(peer) + ": " +
                   socket.error() + "; check that the machines may open connections to each other"};
    if (!writeValue(socket->get(), own))
      return systemError("rank " + std::to_string(rank) + " cannot write to rank " + std::to_string(peer));
    sockets[peer] = std::move(*socket);
  }
  for (int expected = size - 1 - rank; expected > 0;) {
    if (!waitFor(listener->get(), POLLIN, end)) {
      std::string ranks;
      for (int peer = rank + 1; peer < size; ++peer)
        if (sockets[peer].get() < 0)
          ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(peer);
      return Error{words::notStarted(rank, Clock::now() - start, ranks)};
    }
    Socket socket(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Hello hello;
    hello.magic = 0;
    // Whoever else calls is let go.
    if (socket.get() < 0 || !readValue(socket.get(), hello, std::min(end, Clock::now() + std::chrono::seconds(5))) ||
        hello.magic != own.magic || hello.word != own.word || hello.rank <= rank || hello.rank >= size ||
        sockets[hello.rank].get() >= 0)
      continue;
    sockets[hello.rank] = std::move(socket);
    --expected;
  }
  for (Socket &socket : sockets) {
    int on = 1;
    if (socket.get() >= 0)
      setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return sockets;
}

} // namespace braid::runtime::tcp
