//===- TcpTransport.cpp - Ranks on several machines -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/tcp/TcpTransport.h"
#include "runtime/transport/frames/FrameTransport.h"
#include "runtime/transport/tcp/Link.h"

#include <algorithm>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using namespace tcp;
using namespace frames;

namespace {

class TcpTransport final : public FrameTransport {
public:
  TcpTransport(int rank, const std::vector<Process> &processes, std::vector<Socket> sockets,
               const TransportOptions &options)
      : FrameTransport(rank, processes, options), bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), links(sockets.size()) {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank)
        links[peer] = std::make_unique<Link>(std::move(sockets[peer]), queue(peer));
    server = std::thread([this] { serve(); });
  }

  ~TcpTransport() override {
    {
      std::unique_lock lock(mutex);
      leave(lock);
      stopping = true;
      ring();
    }
    server.join();
  }

  const char *name() const override { return "tcp"; }

private:
  void flush(int peer) override {
    links[peer]->pump();
    if (queue(peer).wantsToWrite())
      ring();
  }

  void ring() {
    uint64_t one = 1;
    (void)!write(bell.get(), &one, sizeof one);
  }

  /// The thread that reads, writes what did not fit at once, and says that this process runs.
  void serve() {
    std::unique_lock lock(mutex);
    Clock::time_point next = tick();
    while (!stopping) {
      std::vector<pollfd> entries = {{bell.get(), POLLIN, 0}};
      std::vector<int> numbers = {-1};
      for (int peer = 0; peer < size(); ++peer)
        if (links[peer] && queue(peer).isOpen()) {
          entries.push_back({links[peer]->fd(), short(POLLIN | (queue(peer).wantsToWrite() ? POLLOUT : 0)), 0});
          numbers.push_back(peer);
        }
      auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
      lock.unlock();
      ::poll(entries.data(), entries.size(), std::clamp<int>(static_cast<int>(left.count()), 0, 50));
      uint64_t rings;
      (void)!read(bell.get(), &rings, sizeof rings);
      lock.lock();
      for (size_t i = 1; i < entries.size(); ++i) {
        int peer = numbers[i];
        if (entries[i].revents & POLLOUT)
          links[peer]->pump();
        if (entries[i].revents & (POLLIN | POLLHUP | POLLERR))
          links[peer]->read([&](const Frame &frame, std::vector<char> body) { take(peer, frame, std::move(body)); });
        if (!queue(peer).isOpen())
          lost(peer);
      }
      next = tick();
      changed.notify_all();
    }
  }

  Socket bell;                              // wakes serve()
  std::vector<std::unique_ptr<Link>> links; // null for the own rank
  bool stopping = false;
  std::thread server;
};

} // namespace

Result<std::unique_ptr<Transport>> joinTcpGroup(Rendezvous &rendezvous, int rank, int size,
                                                const TransportOptions &options) {
  if (rank < 0 || rank >= size)
    return Error{words::noSuchRank(rank, size)};
  std::vector<Process> processes;
  Result<std::vector<Socket>> sockets = meet(rendezvous, rank, size, options.deadline, processes);
  if (!sockets)
    return Error{sockets.error()};
  return std::unique_ptr<Transport>(std::make_unique<TcpTransport>(rank, processes, std::move(*sockets), options));
}

} // namespace braid::runtime
