//===- Ranks.h - Running the ranks of a test ---------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conformance test is one function that every rank runs, on every kind of transport.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CONFORMANCE_RANKS_H
#define BRAID_RUNTIME_CONFORMANCE_RANKS_H

#include "runtime/transport/tcp/TcpTransport.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace braid::runtime::conformance {

enum class Kind {
  Threads,         // buffered
  BlockingThreads, // sends block until they are received, and messages are late
  ShmThreads,      // the shared-memory transport between threads, where thread sanitizers see both ends
  ShmFork,         // processes that inherited their segment
  ShmName,         // processes that meet by name
  Tcp,             // processes that are connected over the loopback
  Gloo,            // the same, by c10d; in a test program of its own, for LibTorch is slow to load
};

/// What this test program tests.
extern const std::vector<Kind> testedKinds;
/// Joins a group of Kind::Gloo, whose ranks were forked with the socket `listener` on `port`.
plan::Result<std::unique_ptr<Transport>> joinGloo(int listener, const std::string &port, int rank, int size,
                                                  const TransportOptions &options);

/// The name in test names.
std::string nameOf(Kind kind);
bool hasProcesses(Kind kind);

/// What a rank runs: returns "" or a complaint.
using Body = std::function<std::string(Transport &)>;

struct RankResult {
  std::string complaint;
  int status = 0; // of the process, as waitpid has it; 0 for threads
};

/// Runs `body` on all ranks and waits for them.
std::vector<RankResult> runRanks(Kind kind, int size, const Body &body, const TransportOptions &options = {});

/// The same, and expects no complaint.
void expectRanks(Kind kind, int size, const Body &body, const TransportOptions &options = {});

/// Values, first all 0, that the test and all ranks share, be they threads or forked processes.
template <typename T> class Shared {
public:
  explicit Shared(size_t count = 1)
      : bytes(count * sizeof(T)),
        memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory == MAP_FAILED)
      std::abort();
  }
  ~Shared() { munmap(memory, bytes); }
  Shared(const Shared &) = delete;
  Shared &operator=(const Shared &) = delete;

  T &operator[](size_t i) const { return static_cast<T *>(memory)[i]; }

private:
  size_t bytes;
  void *memory;
};

/// A store in memory that the forked ranks share, for keys "rank<N>".
class SharedRendezvous final : public Rendezvous {
public:
  explicit SharedRendezvous(int size) : entries(size) {}

  std::string ownAddress() const override { return "127.0.0.1"; }
  plan::Status set(const std::string &key, const std::string &value) override {
    Entry &entry = find(key);
    std::snprintf(entry.value, sizeof entry.value, "%s", value.c_str());
    entry.there = true;
    return {};
  }
  plan::Result<std::string> get(const std::string &key, std::chrono::milliseconds time) override {
    for (auto end = std::chrono::steady_clock::now() + time; !find(key).there;) {
      if (std::chrono::steady_clock::now() > end)
        return plan::Error{"no " + key};
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return std::string(find(key).value);
  }

private:
  struct Entry {
    std::atomic<bool> there;
    char value[256];
  };
  Entry &find(const std::string &key) { return entries[std::stoul(key.substr(4))]; }

  Shared<Entry> entries;
};

} // namespace braid::runtime::conformance

#endif // BRAID_RUNTIME_CONFORMANCE_RANKS_H
