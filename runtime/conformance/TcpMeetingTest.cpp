//===- TcpMeetingTest.cpp - Ranks that call each other --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/conformance/Ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace braid::runtime;
using namespace braid::runtime::conformance;
using braid::plan::Result;
using testing::StartsWith;

namespace {

using Joined = Result<std::unique_ptr<Transport>>;

TransportOptions deadlineOf(int milliseconds) {
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(milliseconds);
  return options;
}

/// Calls the place that a rank left in the rendezvous, and says `bytes`.
void call(Rendezvous &rendezvous, const std::string &key, const std::string &bytes) {
  Result<std::string> place = rendezvous.get(key, std::chrono::seconds(5));
  ASSERT_TRUE(place) << place.error();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(place->substr(place->find(' ')))));
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  close(fd);
}

TEST(TcpMeetingTest, MissingRanksAreNamed) {
  SharedRendezvous rendezvous(3);
  Joined joined = joinTcpGroup(rendezvous, 0, 3, deadlineOf(200));
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error(), StartsWith("rank 0 waited 0.2 s for rank 1 to start"));
}

TEST(TcpMeetingTest, ARankThatLeftWordAndDoesNotCallIsNamed) {
  SharedRendezvous rendezvous(3);
  for (const char *key : {"rank1", "rank2"})
    ASSERT_TRUE(rendezvous.set(key, "127.0.0.1 1 1 1"));
  Joined joined = joinTcpGroup(rendezvous, 0, 3, deadlineOf(200));
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error(), StartsWith("rank 0 waited 0.2 s for rank 1, rank 2 to start; see the output"));
}

TEST(TcpMeetingTest, ARankThatCannotBeReachedIsNamed) {
  SharedRendezvous rendezvous(2);
  ASSERT_TRUE(rendezvous.set("rank0", "127.0.0.1 1 1 1 7"));
  Joined joined = joinTcpGroup(rendezvous, 1, 2, deadlineOf(200));
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error(),
              StartsWith("rank 1 cannot reach rank 0: cannot connect to 127.0.0.1:1: Connection refused"));
}

TEST(TcpMeetingTest, StrangersAreTurnedAway) {
  SharedRendezvous rendezvous(2);
  std::string errors[2];
  auto join = [&](int rank) {
    Joined joined = joinTcpGroup(rendezvous, rank, 2, deadlineOf(20000));
    errors[rank] = joined ? "" : joined.error();
    if (joined) {
      EXPECT_TRUE((*joined)->barrier());
    }
  };
  std::thread zero([&] { join(0); });
  call(rendezvous, "rank0", "GET / HTTP/1.1\r\n\r\n      ");
  call(rendezvous, "rank0", "x");
  // Of another run: the right number at the start, and another word.
  int64_t hello[] = {0x6272616964746301, 12345, 1};
  call(rendezvous, "rank0", std::string(reinterpret_cast<char *>(hello), sizeof hello));
  std::thread one([&] { join(1); });
  zero.join();
  one.join();
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(errors[1], "");
}

} // namespace
