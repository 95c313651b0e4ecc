//===- TransportTest.cpp - What every transport must do -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/conformance/Ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

using namespace braid::runtime;
using namespace braid::runtime::conformance;
using braid::plan::Result;
using braid::plan::Status;

namespace {

/// Returns from a body with the error of a call.
#define CHECKED(call)                                                                                                  \
  if (Status status = (call); !status)                                                                                 \
  return std::string(#call ": ") + status.error()

/// Bytes that say which message they are and where in it.
std::vector<char> contentsOf(uint64_t message, size_t bytes) {
  std::vector<uint64_t> words(bytes / 8 + 1);
  uint64_t state = message * 0x9e3779b97f4a7c15 + 1;
  for (uint64_t &word : words)
    word = state = state * 6364136223846793005 + 1442695040888963407;
  std::vector<char> data(bytes);
  if (bytes)
    std::memcpy(data.data(), words.data(), bytes);
  return data;
}

/// Receives a message of contentsOf() and compares it.
std::string receive(Transport &transport, int peer, uint64_t message, size_t bytes) {
  std::vector<char> data(bytes + 1, 'x'), expected = contentsOf(message, bytes);
  if (Status status = transport.recv(peer, data.data(), bytes, message); !status)
    return status.error();
  if ((bytes && std::memcmp(expected.data(), data.data(), bytes) != 0) || data[bytes] != 'x')
    return "message " + std::to_string(message) + " of " + std::to_string(bytes) + " bytes arrived changed";
  return "";
}

constexpr size_t largest = 64 << 20;

class TransportTest : public testing::TestWithParam<Kind> {};

TEST_P(TransportTest, KnowsItsRank) {
  for (int size : {1, 2, 3, 4})
    if (size > 1 || GetParam() != Kind::ShmName)
      expectRanks(GetParam(), size, [&](Transport &transport) -> std::string {
        return transport.size() == size && transport.rank() >= 0 && transport.rank() < size ? "" : "wrong numbers";
      });
}

TEST_P(TransportTest, KeepsTheOrderOfAPair) {
  expectRanks(GetParam(), 2, [](Transport &transport) -> std::string {
    for (uint64_t i = 0; i < 1000; ++i) {
      if (transport.rank() == 0) {
        CHECKED(transport.send(1, &i, sizeof i, i % 3));
        continue;
      }
      uint64_t got = 0;
      CHECKED(transport.recv(0, &got, sizeof got, i % 3));
      if (got != i)
        return "got " + std::to_string(got) + " instead of " + std::to_string(i);
    }
    return "";
  });
}

TEST_P(TransportTest, CarriesAllSizes) {
  // Around the sizes where an implementation may change its ways: inlined, one piece, several pieces, whole ring.
  std::vector<size_t> sizes = {0,      1,      7,       31,      32,      33,        4095,
                               4096,   16383,  16384,   16385,   32768,   65536 + 1, 131071,
                               131072, 131073, 1 << 20, 5000000, largest, 0,         largest / 2 + 1};
  expectRanks(GetParam(), 2, [&](Transport &transport) -> std::string {
    for (size_t i = 0; i < sizes.size(); ++i) {
      int sender = i % 2;
      if (transport.rank() == sender) {
        std::vector<char> data = contentsOf(i, sizes[i]);
        CHECKED(transport.send(1 - sender, data.data(), data.size(), i));
      } else if (std::string complaint = receive(transport, sender, i, sizes[i]); !complaint.empty()) {
        return complaint;
      }
    }
    return "";
  });
}

TEST_P(TransportTest, SmallSendsDoNotWaitForTheReceiver) {
  if (GetParam() == Kind::BlockingThreads)
    GTEST_SKIP() << "it blocks on purpose";
  // Both ranks send first: with blocking sends neither would come to its receives.
  expectRanks(GetParam(), 2, [](Transport &transport) -> std::string {
    int peer = 1 - transport.rank();
    for (size_t bytes : {size_t(0), size_t(8), size_t(4096), size_t(1) << 20}) {
      std::vector<char> data = contentsOf(transport.rank(), bytes);
      CHECKED(transport.send(peer, data.data(), bytes, transport.rank()));
    }
    for (size_t bytes : {size_t(0), size_t(8), size_t(4096), size_t(1) << 20})
      if (std::string complaint = receive(transport, peer, peer, bytes); !complaint.empty())
        return complaint;
    return "";
  });
}

TEST_P(TransportTest, OpposingLargeSendsMeet) {
  for (int size : {2, 3})
    expectRanks(GetParam(), size, [](Transport &transport) -> std::string {
      std::vector<char> data = contentsOf(transport.rank(), size_t(40) << 20);
      std::vector<Transfer> transfers;
      for (int peer = 0; peer < transport.size(); ++peer) {
        if (peer == transport.rank())
          continue;
        Result<Transfer> transfer = transport.isend(peer, data.data(), data.size(), transport.rank());
        if (!transfer)
          return transfer.error();
        transfers.push_back(*transfer);
      }
      for (int peer = 0; peer < transport.size(); ++peer)
        if (peer != transport.rank())
          if (std::string complaint = receive(transport, peer, peer, data.size()); !complaint.empty())
            return complaint;
      for (const Transfer &transfer : transfers)
        CHECKED(transport.wait(transfer));
      CHECKED(transport.wait(transfers.front())); // waiting again is legal
      CHECKED(transport.wait(Transfer()));
      return "";
    });
}

TEST_P(TransportTest, BuffersAreFreeAfterWait) {
  expectRanks(GetParam(), 2, [](Transport &transport) -> std::string {
    for (uint64_t i = 0; i < 20; ++i) {
      size_t bytes = size_t(1) << i;
      if (transport.rank() == 0) {
        std::vector<char> data = contentsOf(i, bytes);
        CHECKED(transport.send(1, data.data(), bytes, i));
        std::fill(data.begin(), data.end(), '!');
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (std::string complaint = receive(transport, 0, i, bytes); !complaint.empty())
          return complaint;
      }
    }
    return "";
  });
}

TEST_P(TransportTest, AllReduceGivesTheSumInTheOrderOfRanks) {
  for (int size : {1, 2, 3, 4}) {
    if (size == 1 && GetParam() == Kind::ShmName)
      continue;
    for (size_t count : {0, 1, 5, 1024, 1025, 100003})
      expectRanks(GetParam(), size, [&](Transport &transport) -> std::string {
        // Magnitudes far apart: another order of additions has other bits.
        auto term = [](int rank, size_t i) { return std::ldexp(1.0 + rank * 0.37 + i * 1e-7, rank * 17 % 60) / 3; };
        std::vector<double> values(count), expected(count);
        for (size_t i = 0; i < count; ++i) {
          values[i] = term(transport.rank(), i);
          expected[i] = term(0, i);
          for (int rank = 1; rank < size; ++rank)
            expected[i] += term(rank, i);
        }
        CHECKED(transport.allReduceSum(values.data(), count));
        return count == 0 || std::memcmp(values.data(), expected.data(), count * sizeof(double)) == 0 ? ""
                                                                                                      : "other bits";
      });
  }
}

TEST_P(TransportTest, BarrierHoldsEverybody) {
  constexpr int barriers = 40;
  for (int size : {2, 3, 4}) {
    Shared<std::atomic<int>> came(barriers); // how many ranks have come to each barrier
    expectRanks(GetParam(), size, [&](Transport &transport) -> std::string {
      for (int i = 0; i < barriers; ++i) {
        if (i % size == transport.rank())
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++came[i];
        CHECKED(transport.barrier());
        if (came[i] != size)
          return "left barrier " + std::to_string(i) + " when " + std::to_string(came[i]) + " ranks had come";
      }
      return "";
    });
  }
}

TEST_P(TransportTest, BroadcastReachesEverybody) {
  for (int size : {2, 4})
    expectRanks(GetParam(), size, [](Transport &transport) -> std::string {
      for (int root = 0; root < transport.size(); ++root)
        for (size_t bytes : {size_t(0), size_t(12), size_t(3) << 20}) {
          std::vector<char> expected = contentsOf(root, bytes), data(bytes);
          if (transport.rank() == root)
            data = expected;
          CHECKED(transport.broadcast(data.data(), bytes, root));
          if (data != expected)
            return "another broadcast than rank " + std::to_string(root) + "'s";
        }
      Status outside = transport.broadcast(nullptr, 0, transport.size());
      return outside ? "a root outside the group was accepted" : "";
    });
}

TEST_P(TransportTest, RefusesItselfAndOthersAsPeer) {
  expectRanks(GetParam(), 2, [](Transport &transport) -> std::string {
    char byte = 0;
    for (int peer : {transport.rank(), -1, 2}) {
      if (transport.send(peer, &byte, 1, 0))
        return "sent to rank " + std::to_string(peer);
      if (transport.recv(peer, &byte, 1, 0))
        return "received from rank " + std::to_string(peer);
    }
    CHECKED(transport.barrier()); // the group is none the worse
    return "";
  });
}

/// One message of a random run.
struct Traffic {
  int from, to;
  size_t bytes;
  bool blocking;
};

TEST_P(TransportTest, CarriesRandomTraffic) {
  for (int size : {2, 3, 4})
    for (unsigned seed : {1u, 2u, 3u}) {
      // Every rank does its part of one global order, so that blocking sends cannot deadlock either.
      std::mt19937 random(seed * 100 + size);
      std::vector<Traffic> order(400);
      for (Traffic &traffic : order) {
        traffic.from = random() % size;
        traffic.to = (traffic.from + 1 + random() % (size - 1)) % size;
        traffic.bytes = random() % (size_t(1) << random() % 22);
        traffic.blocking = random() % 2;
      }
      expectRanks(GetParam(), size, [&](Transport &transport) -> std::string {
        std::vector<std::vector<char>> buffers;
        std::vector<Transfer> transfers;
        for (size_t i = 0; i < order.size(); ++i) {
          const Traffic &traffic = order[i];
          if (transport.rank() == traffic.to)
            if (std::string complaint = receive(transport, traffic.from, i, traffic.bytes); !complaint.empty())
              return complaint;
          if (transport.rank() != traffic.from)
            continue;
          buffers.push_back(contentsOf(i, traffic.bytes));
          Result<Transfer> transfer = transport.isend(traffic.to, buffers.back().data(), traffic.bytes, i);
          if (!transfer)
            return transfer.error();
          transfers.push_back(*transfer);
          if (traffic.blocking)
            CHECKED(transport.wait(*transfer));
          CHECKED(transport.poll());
        }
        for (const Transfer &transfer : transfers)
          CHECKED(transport.wait(transfer));
        return "";
      });
    }
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, testing::ValuesIn(testedKinds),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
