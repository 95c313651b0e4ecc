//===- MeetingTest.cpp - Ranks that find each other by name ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/shm/ShmTransport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

using namespace braid::runtime;
using braid::plan::Result;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::string keyOfThisTest() {
  return std::string("meeting ") + testing::UnitTest::GetInstance()->current_test_info()->name() + " " +
         std::to_string(getpid());
}

TransportOptions shortDeadline(int milliseconds = 300) {
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(milliseconds);
  return options;
}

using Joined = Result<std::unique_ptr<Transport>>;

/// Joins on two threads at once.
std::pair<std::string, std::string> joinTwo(const std::function<Joined()> &first,
                                            const std::function<Joined()> &second) {
  std::string errors[2];
  auto run = [&](int i, const std::function<Joined()> &join) {
    Joined joined = join();
    errors[i] = joined ? "joined" : joined.error();
  };
  std::thread other([&] { run(1, second); });
  run(0, first);
  other.join();
  return {errors[0], errors[1]};
}

TEST(MeetingTest, RankZeroNamesTheMissing) {
  Joined joined = meetShmGroup(keyOfThisTest(), 0, 3, shortDeadline());
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error(), StartsWith("rank 0 waited 0.3 s for rank 1, rank 2 to join the run \"meeting "));
}

TEST(MeetingTest, OthersNameRankZero) {
  Joined joined = meetShmGroup(keyOfThisTest(), 2, 3, shortDeadline());
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error(), StartsWith("rank 2 waited 0.3 s for rank 0 to open the run \"meeting "));
}

TEST(MeetingTest, RanksMayComeInAnyOrder) {
  std::string key = keyOfThisTest();
  auto errors = joinTwo([&] { return meetShmGroup(key, 1, 2); },
                        [&] {
                          std::this_thread::sleep_for(std::chrono::milliseconds(100));
                          return meetShmGroup(key, 0, 2);
                        });
  EXPECT_EQ(errors.first, "joined");
  EXPECT_EQ(errors.second, "joined");
}

TEST(MeetingTest, AKeyCanBeUsedAgain) {
  std::string key = keyOfThisTest();
  for (int i = 0; i < 3; ++i) {
    auto errors = joinTwo([&] { return meetShmGroup(key, 0, 2); }, [&] { return meetShmGroup(key, 1, 2); });
    EXPECT_EQ(errors.first, "joined");
    EXPECT_EQ(errors.second, "joined");
  }
}

TEST(MeetingTest, ASecondRunUnderOneKeyIsRefused) {
  std::string key = keyOfThisTest();
  auto errors = joinTwo([&] { return meetShmGroup(key, 0, 2, shortDeadline(1500)); },
                        [&] {
                          std::this_thread::sleep_for(std::chrono::milliseconds(100));
                          return meetShmGroup(key, 0, 2, shortDeadline());
                        });
  EXPECT_THAT(errors.second, StartsWith("another run on this machine is starting under the key \"" + key + "\"; "));
}

TEST(MeetingTest, WorldSizesMustAgree) {
  std::string key = keyOfThisTest();
  auto errors = joinTwo([&] { return meetShmGroup(key, 0, 2); }, [&] { return meetShmGroup(key, 1, 4); });
  EXPECT_THAT(errors.first, StartsWith("rank 1 was started as one of 4 ranks, rank 0 as one of 2; "));
  EXPECT_EQ(errors.first, errors.second);
}

TEST(MeetingTest, ARankExistsOnce) {
  std::string key = keyOfThisTest();
  std::string third;
  std::thread rankZero([&] {
    Joined joined = meetShmGroup(key, 0, 3);
    third = joined ? "joined" : joined.error();
  });
  auto errors = joinTwo([&] { return meetShmGroup(key, 1, 3); }, [&] { return meetShmGroup(key, 1, 3); });
  rankZero.join();
  EXPECT_THAT(third, HasSubstr("rank 1 joined the run \"" + key + "\" twice"));
  EXPECT_THAT(errors.first, HasSubstr("twice"));
  EXPECT_THAT(errors.second, HasSubstr("twice"));
}

TEST(MeetingTest, RanksOutsideTheGroupAreRefused) {
  EXPECT_FALSE(meetShmGroup(keyOfThisTest(), 2, 2));
  EXPECT_FALSE(meetShmGroup(keyOfThisTest(), -1, 2));
}

} // namespace
