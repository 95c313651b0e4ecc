//===- Ranks.cpp - Running the ranks of a test ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/conformance/Ranks.h"
#include "runtime/transport/shm/ShmTransport.h"
#include "runtime/transport/tcp/Meeting.h"
#include "runtime/transport/threads/ThreadTransport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace braid::runtime::conformance {

using plan::Result;

std::string nameOf(Kind kind) {
  switch (kind) {
  case Kind::Threads:
    return "Threads";
  case Kind::BlockingThreads:
    return "BlockingThreads";
  case Kind::ShmThreads:
    return "ShmThreads";
  case Kind::ShmFork:
    return "ShmFork";
  case Kind::ShmName:
    return "ShmName";
  case Kind::Tcp:
    return "Tcp";
  case Kind::Gloo:
    return "Gloo";
  }
  return "";
}

bool hasProcesses(Kind kind) {
  return kind == Kind::ShmFork || kind == Kind::ShmName || kind == Kind::Tcp || kind == Kind::Gloo;
}

namespace {

std::string runBody(Result<std::unique_ptr<Transport>> transport, const Body &body) {
  return transport ? body(**transport) : "no transport: " + transport.error();
}

std::vector<RankResult> runThreads(int size, const std::function<std::string(int)> &run) {
  std::vector<RankResult> results(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { results[rank].complaint = run(rank); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

std::vector<RankResult> runProcesses(int size, const std::function<std::string(int)> &run) {
  std::vector<pid_t> children;
  std::vector<int> readers;
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    if (pipe(ends) != 0)
      std::abort();
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      std::string complaint = run(rank);
      bool written = write(ends[1], complaint.data(), complaint.size()) == ssize_t(complaint.size());
      _exit(written ? 0 : 1);
    }
    close(ends[1]);
    children.push_back(child);
    readers.push_back(ends[0]);
  }
  std::vector<RankResult> results(size);
  for (int rank = 0; rank < size; ++rank) {
    char text[4096];
    while (ssize_t length = read(readers[rank], text, sizeof text))
      results[rank].complaint.append(text, length);
    close(readers[rank]);
    waitpid(children[rank], &results[rank].status, 0);
  }
  return results;
}

} // namespace

std::vector<RankResult> runRanks(Kind kind, int size, const Body &body, const TransportOptions &options) {
  switch (kind) {
  case Kind::Threads:
  case Kind::BlockingThreads: {
    ThreadTransportOptions threadOptions;
    threadOptions.deadline = options.deadline;
    threadOptions.blockingSends = kind == Kind::BlockingThreads;
    threadOptions.maxDelay = std::chrono::microseconds(kind == Kind::BlockingThreads ? 300 : 0);
    std::vector<std::unique_ptr<Transport>> transports = makeThreadTransports(size, threadOptions);
    return runThreads(size, [&](int rank) { return runBody(std::move(transports[rank]), body); });
  }
  case Kind::ShmThreads:
  case Kind::ShmFork: {
    Result<std::shared_ptr<shm::Segment>> segment = shm::Segment::create(size);
    if (!segment)
      return {{segment.error(), 0}};
    auto run = [&](int rank) { return runBody(joinShmGroup(*segment, rank, options), body); };
    return kind == Kind::ShmFork ? runProcesses(size, run) : runThreads(size, run);
  }
  case Kind::ShmName: {
    static std::atomic<int> number;
    std::string key = "test " + std::to_string(getpid()) + " " + std::to_string(++number);
    return runProcesses(size, [&](int rank) { return runBody(meetShmGroup(key, rank, size, options), body); });
  }
  case Kind::Tcp: {
    SharedRendezvous rendezvous(size);
    return runProcesses(size, [&](int rank) { return runBody(joinTcpGroup(rendezvous, rank, size, options), body); });
  }
  case Kind::Gloo: {
    std::string port;
    Result<tcp::Socket> listener = tcp::listenOn("127.0.0.1", port, size);
    if (!listener)
      return {{listener.error(), 0}};
    return runProcesses(size,
                        [&](int rank) { return runBody(joinGloo(listener->get(), port, rank, size, options), body); });
  }
  }
  return {};
}

void expectRanks(Kind kind, int size, const Body &body, const TransportOptions &options) {
  std::vector<RankResult> results = runRanks(kind, size, body, options);
  ASSERT_EQ(int(results.size()), size);
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_EQ(results[rank].complaint, "") << "on rank " << rank << " of " << size;
    EXPECT_EQ(results[rank].status, 0) << "on rank " << rank << " of " << size;
  }
}

} // namespace braid::runtime::conformance
