//===- FailureTest.cpp - How every transport must fail --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/conformance/Ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace braid::runtime;
using namespace braid::runtime::conformance;
using braid::plan::Result;
using braid::plan::Status;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

namespace {

/// The error of a call that must fail, for the test to look at.
std::string errorOf(const Status &status) { return status ? "no error" : status.error(); }

class FailureTest : public testing::TestWithParam<Kind> {};

TEST_P(FailureTest, MismatchNamesBothSides) {
  struct Case {
    size_t sentBytes, expectedBytes;
    uint64_t sentTag, expectedTag;
  };
  for (Case test : {Case{64, 128, 7, 7}, Case{64, 64, 7, 9}, Case{0, 64, 7, 7}, Case{200000, 0, 7, 7}}) {
    auto results = runRanks(GetParam(), 2, [&](Transport &transport) {
      std::vector<char> data(200000);
      if (transport.rank() == 0) {
        (void)transport.send(1, data.data(), test.sentBytes, test.sentTag);
        return errorOf(transport.recv(1, data.data(), 1, 1)); // the sender learns of it
      }
      return errorOf(transport.recv(0, data.data(), test.expectedBytes, test.expectedTag));
    });
    std::string words = "rank 1 expected " + std::to_string(test.expectedBytes) + " bytes with tag " +
                        std::to_string(test.expectedTag) + " from rank 0, but rank 0 sent " +
                        std::to_string(test.sentBytes) + " bytes with tag " + std::to_string(test.sentTag) + ";";
    EXPECT_THAT(results[1].complaint, StartsWith(words));
    EXPECT_THAT(results[0].complaint, StartsWith("rank 1 failed: " + words));
  }
}

TEST_P(FailureTest, CollectivesThatDisagreeAreNamed) {
  auto results = runRanks(GetParam(), 2, [](Transport &transport) {
    double value = 0;
    return errorOf(transport.rank() == 0 ? transport.barrier() : transport.allReduceSum(&value, 1));
  });
  // Either rank may find out first.
  EXPECT_THAT(results[0].complaint + results[1].complaint, HasSubstr("0 bytes of a barrier"));
  EXPECT_THAT(results[0].complaint + results[1].complaint, HasSubstr("8 bytes of an all-reduce"));
}

TEST_P(FailureTest, FailReachesEverybody) {
  auto start = Clock::now();
  auto results = runRanks(GetParam(), 3, [](Transport &transport) -> std::string {
    (void)transport.barrier();
    char byte;
    if (transport.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the others wait by then
      std::string own = errorOf(transport.fail("the loss is not finite"));
      return own + "|" + errorOf(transport.fail("a second reason")) + "|" + errorOf(transport.send(0, &byte, 1, 0));
    }
    std::string first = errorOf(transport.recv(1 - transport.rank() + 1, &byte, 1, 0));
    std::string second = errorOf(transport.poll());
    std::optional<Failure> failure = transport.failure();
    return first == second && failure && failure->rank == 1 ? first : first + " but then " + second;
  });
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(results[1].complaint, "the loss is not finite|the loss is not finite|the loss is not finite");
  EXPECT_EQ(results[0].complaint, "rank 1 failed: the loss is not finite");
  EXPECT_EQ(results[2].complaint, "rank 1 failed: the loss is not finite");
}

/// A rank that is alive, but does something else, until the group has failed.
std::string elsewhere(Transport &transport) {
  for (int i = 0; i < 1000; ++i) {
    if (Status status = transport.poll(); !status)
      return status.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "no error";
}

TEST_P(FailureTest, WaitsEndAtTheDeadline) {
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(300);
  auto results = runRanks(
      GetParam(), 2,
      [&](Transport &transport) {
        if (transport.rank() == 1)
          return elsewhere(transport);
        char data[640];
        auto start = Clock::now();
        std::string error = errorOf(transport.recv(1, data, sizeof data, 11));
        return Clock::now() - start < options.deadline ? "too early: " + error : error;
      },
      options);
  EXPECT_THAT(results[1].complaint, MatchesRegex("rank 0 waited [0-9.]+ s for 640 bytes with tag 11 from rank 1; "
                                                 "rank 1 is alive but has not come to it, so .*"));
  EXPECT_EQ(results[0].complaint, "rank 1 failed: " + results[1].complaint);
}

TEST_P(FailureTest, TheEndOfAChainOfWaitsIsBlamed) {
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(500);
  auto results = runRanks(
      GetParam(), 3,
      [&](Transport &transport) {
        transport.setWording({[](uint64_t tag) { return "letter " + std::to_string(tag); },
                              [](int rank, uint64_t position) {
                                return "chapter " + std::to_string(position) + " of rank " + std::to_string(rank);
                              }});
        transport.setPosition(10 + transport.rank());
        char data[640];
        if (transport.rank() == 2)
          return elsewhere(transport);
        if (transport.rank() == 0) // its wait is the first to end
          std::this_thread::sleep_for(std::chrono::milliseconds(0));
        else
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return errorOf(transport.recv(transport.rank() + 1, data, sizeof data, 11));
      },
      options);
  EXPECT_THAT(
      results[2].complaint,
      MatchesRegex("rank 0 waited [0-9.]+ s for 640 bytes of letter 11 from rank 1; rank 1 itself waits for rank "
                   "2; rank 2 is alive but has not come to it, it is in chapter 12 of rank 2, so .*"));
  EXPECT_EQ(results[0].complaint, "rank 2 failed: " + results[2].complaint);
}

TEST_P(FailureTest, ACircleOfWaitsIsOne) {
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(300);
  auto results = runRanks(
      GetParam(), 2,
      [&](Transport &transport) {
        char data[8];
        return errorOf(transport.recv(1 - transport.rank(), data, sizeof data, 1));
      },
      options);
  EXPECT_THAT(results[0].complaint, HasSubstr("wait for each other in a circle"));
}

TEST_P(FailureTest, SendsEndAtTheDeadline) {
  if (GetParam() == Kind::Threads)
    GTEST_SKIP() << "its buffers have no end";
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(300);
  auto results = runRanks(
      GetParam(), 2,
      [&](Transport &transport) {
        if (transport.rank() == 1)
          return elsewhere(transport);
        std::vector<char> data(size_t(40) << 20);
        return errorOf(transport.send(1, data.data(), data.size(), 5));
      },
      options);
  EXPECT_THAT(results[0].complaint,
              MatchesRegex("rank 1 failed: rank 0 waited [0-9.]+ s for 41943040 bytes with tag 5 to reach rank 1; .*"));
  EXPECT_EQ(results[0].complaint, "rank 1 failed: " + results[1].complaint);
}

TEST_P(FailureTest, APeerThatFinishedIsNamed) {
  auto results = runRanks(GetParam(), 2, [](Transport &transport) -> std::string {
    uint32_t value = 42;
    if (transport.rank() == 1)
      return errorOf(transport.send(0, &value, sizeof value, 1));
    uint32_t got = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(GetParam() == Kind::BlockingThreads ? 0 : 100));
    // What was sent before leaving arrives; what was not sent never will.
    if (Status status = transport.recv(1, &got, sizeof got, 1); !status || got != value)
      return "the last message was lost: " + errorOf(status);
    return errorOf(transport.recv(1, &got, sizeof got, 2));
  });
  EXPECT_EQ(results[1].complaint, "no error");
  EXPECT_THAT(results[0].complaint,
              StartsWith("rank 0 waits for 4 bytes with tag 2 from rank 1, but rank 1 has already finished; "));
}

INSTANTIATE_TEST_SUITE_P(Transports, FailureTest, testing::ValuesIn(testedKinds),
                         [](const auto &info) { return nameOf(info.param); });

class ProcessTest : public testing::TestWithParam<Kind> {};

std::vector<Kind> kindsWithProcesses() {
  std::vector<Kind> kinds;
  std::copy_if(testedKinds.begin(), testedKinds.end(), std::back_inserter(kinds), hasProcesses);
  return kinds;
}

/// The time since `start` on the clock that all processes share.
double secondsSince(int64_t start) { return double(Clock::now().time_since_epoch().count() - start) / 1e9; }

TEST_P(ProcessTest, AKilledRankIsNamed) {
  for (int size : {2, 4}) {
    Shared<std::atomic<int64_t>> killed;
    Shared<double> noticed(size);
    auto results = runRanks(GetParam(), size, [&](Transport &transport) -> std::string {
      std::vector<char> data(size_t(40) << 20);
      (void)transport.barrier();
      if (transport.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        killed[0] = Clock::now().time_since_epoch().count();
        raise(SIGKILL);
      }
      Status status;
      if (transport.rank() == 0)
        status = transport.recv(1, data.data(), 8, 0);
      else if (transport.rank() == 2)
        status = transport.send(1, data.data(), data.size(), 0);
      else
        status = transport.recv(0, data.data(), 8, 0); // from a rank that is itself alive
      noticed[transport.rank()] = secondsSince(killed[0]);
      return errorOf(status);
    });
    for (int rank = 0; rank < size; ++rank) {
      if (rank == 1) {
        EXPECT_TRUE(WIFSIGNALED(results[1].status));
        continue;
      }
      EXPECT_LT(noticed[rank], 2) << rank;
      EXPECT_THAT(results[rank].complaint, StartsWith("rank 1 failed: its process (pid ")) << rank;
      EXPECT_THAT(results[rank].complaint, HasSubstr(") ended in the middle of the run")) << rank;
    }
  }
}

TEST_P(ProcessTest, AKilledRankMayBeBusySending) {
  Shared<std::atomic<int64_t>> killed;
  Shared<double> noticed;
  auto results = runRanks(GetParam(), 2, [&](Transport &transport) -> std::string {
    std::vector<char> data(size_t(8) << 20);
    if (transport.rank() == 0) {
      std::thread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        killed[0] = Clock::now().time_since_epoch().count();
        raise(SIGKILL);
      });
      while (transport.send(1, data.data(), data.size(), 0)) {
      }
      killer.join();
    }
    while (true)
      if (Status status = transport.recv(0, data.data(), data.size(), 0); !status) {
        noticed[0] = secondsSince(killed[0]);
        return status.error();
      }
  });
  EXPECT_LT(noticed[0], 2);
  EXPECT_THAT(results[1].complaint, StartsWith("rank 0 failed: its process (pid "));
}

TEST_P(ProcessTest, AStoppedRankIsNamedSoon) {
  TransportOptions options;
  options.standstill = std::chrono::milliseconds(1000);
  Shared<std::atomic<int>> stopped;
  auto results = runRanks(
      GetParam(), 3,
      [&](Transport &transport) -> std::string {
        transport.setWording({nullptr, [](int, uint64_t position) { return "step " + std::to_string(position); }});
        transport.setPosition(7);
        (void)transport.barrier();
        char byte;
        if (transport.rank() == 2) {
          stopped[0] = getpid();
          raise(SIGSTOP);
          return errorOf(transport.poll());
        }
        // Rank 0 waits for rank 1, which waits for the one that is stopped.
        auto start = Clock::now();
        std::string error = errorOf(transport.recv(transport.rank() + 1, &byte, 1, 0));
        bool soon = Clock::now() - start < std::chrono::seconds(10);
        if (transport.rank() == 1)
          kill(stopped[0], SIGCONT); // or the test waits for it
        return soon ? error : "late: " + error;
      },
      options);
  // Over a connection the step is the last that the rank has told.
  const std::string step = GetParam() == Kind::Tcp || GetParam() == Kind::Gloo ? "[07]" : "7";
  for (int rank : {0, 1})
    EXPECT_THAT(
        results[rank].complaint,
        MatchesRegex("rank 2 failed: its process .pid [0-9]+. has stood still for [0-9.]+ s: a signal stopped it, "
                     "it is in step " +
                     step + ", and rank [01] waits for it"));
}

TEST_P(ProcessTest, ABusyRankDoesNotStandStill) {
  TransportOptions options;
  options.standstill = std::chrono::milliseconds(600);
  expectRanks(
      GetParam(), 2,
      [&](Transport &transport) -> std::string {
        char byte = 0;
        if (transport.rank() == 0) {
          Status status = transport.recv(1, &byte, 1, 0);
          return status ? "" : status.error();
        }
        auto end = Clock::now() + std::chrono::milliseconds(1500);
        while (Clock::now() < end) {
        }
        Status status = transport.send(0, &byte, 1, 0);
        return status ? "" : status.error();
      },
      options);
}

TEST_P(ProcessTest, NothingHasAName) {
  if (GetParam() == Kind::Tcp || GetParam() == Kind::Gloo)
    GTEST_SKIP() << "it shares no memory";
  auto listed = [] {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator("/dev/shm", ignored))
      if (entry.path().filename().string().find("braid") != std::string::npos)
        names.push_back(entry.path());
    return names;
  };
  std::vector<std::string> before = listed();
  auto results = runRanks(GetParam(), 2, [&](Transport &transport) -> std::string {
    (void)transport.barrier();
    std::ifstream maps("/proc/self/maps");
    std::string line, found;
    while (std::getline(maps, line))
      if (line.find("braid (deleted)") != std::string::npos)
        found += line.find("/memfd:") == std::string::npos ? "a file " : "memory ";
    if (transport.rank() == 1)
      raise(SIGKILL); // a crash leaves nothing either
    return found;
  });
  EXPECT_EQ(results[0].complaint, "memory ");
  EXPECT_EQ(listed(), before);
}

INSTANTIATE_TEST_SUITE_P(Transports, ProcessTest, testing::ValuesIn(kindsWithProcesses()),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
