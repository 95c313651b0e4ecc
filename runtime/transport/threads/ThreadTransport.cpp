//===- ThreadTransport.cpp - Ranks that are threads of one process --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/threads/ThreadTransport.h"
#include "runtime/transport/Words.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;

namespace {

using Clock = std::chrono::steady_clock;

struct Message {
  const void *data; // the sender's own buffer, or that of `copy`
  std::vector<char> copy;
  size_t bytes;
  uint64_t tag;
  Clock::time_point arrival;
};

/// The messages of one ordered pair.
struct Channel {
  std::deque<Message> messages;
  uint64_t sent = 0;
  uint64_t received = 0;
};

struct Group {
  Group(int size, const ThreadTransportOptions &options)
      : size(size), options(options), channels(size * size), left(size), views(size) {}

  Channel &channel(int from, int to) { return channels[from * size + to]; }

  const int size;
  const ThreadTransportOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Channel> channels;
  std::vector<bool> left;
  std::vector<words::RankView> views;
  std::optional<Failure> failure;
};

class ThreadTransport final : public Transport {
public:
  ThreadTransport(std::shared_ptr<Group> group, int rank) : Transport(rank, group->size), group(std::move(group)) {}

  ~ThreadTransport() override {
    std::lock_guard lock(group->mutex);
    group->left[rank()] = true;
    // Sends that nobody waited for end here: their buffers may be gone.
    if (group->options.blockingSends)
      for (int peer = 0; peer < size(); ++peer)
        group->channel(rank(), peer).messages.clear();
    group->changed.notify_all();
  }

  const char *name() const override { return "threads"; }

  Result<Transfer> isend(int peer, const void *data, size_t bytes, uint64_t tag) override {
    if (Status status = words::checkPeer(*this, peer); !status)
      return Error{status.error()};
    Message message{data, {}, bytes, tag, {}};
    if (!group->options.blockingSends && bytes) {
      message.copy.assign(static_cast<const char *>(data), static_cast<const char *>(data) + bytes);
      message.data = message.copy.data();
    }
    std::lock_guard lock(group->mutex);
    if (group->failure)
      return words::groupFailure(rank(), *group->failure);
    Channel &channel = group->channel(rank(), peer);
    message.arrival = Clock::now() + delay(peer, channel.sent);
    channel.messages.push_back(std::move(message));
    group->changed.notify_all();
    return Transfer{peer, ++channel.sent};
  }

  Status wait(const Transfer &transfer) override {
    if (transfer.ticket == 0 || !group->options.blockingSends)
      return poll();
    std::unique_lock lock(group->mutex);
    Channel &channel = group->channel(rank(), transfer.peer);
    size_t bytes = 0;
    uint64_t tag = 0;
    if (channel.received < transfer.ticket) {
      const Message &message = channel.messages[transfer.ticket - channel.received - 1];
      bytes = message.bytes;
      tag = message.tag;
    }
    return waitFor(lock, {false, transfer.peer, bytes, tag}, [&] { return channel.received >= transfer.ticket; });
  }

  Status recv(int peer, void *data, size_t bytes, uint64_t tag) override {
    if (Status status = words::checkPeer(*this, peer); !status)
      return status;
    std::unique_lock lock(group->mutex);
    Channel &channel = group->channel(peer, rank());
    words::Wait wait{true, peer, bytes, tag};
    if (Status status = waitFor(lock, wait, [&] { return !channel.messages.empty(); }); !status)
      return status;
    Clock::time_point arrival = channel.messages.front().arrival;
    while (Clock::now() < arrival && !group->failure)
      group->changed.wait_until(lock, arrival);
    if (group->failure)
      return words::groupFailure(rank(), *group->failure);
    if (channel.messages.empty()) // the sender left meanwhile, without waiting for its send
      return failLocked(words::peerLeft(*this, wait));
    Message &message = channel.messages.front();
    if (message.bytes != bytes || message.tag != tag)
      return failLocked(words::mismatch(*this, wait, message.bytes, message.tag));
    if (bytes)
      std::memcpy(data, message.data, bytes);
    channel.messages.pop_front();
    ++channel.received;
    group->changed.notify_all();
    return {};
  }

  Status poll() override {
    std::lock_guard lock(group->mutex);
    if (group->failure)
      return words::groupFailure(rank(), *group->failure);
    return {};
  }

  Status fail(std::string reason) override {
    std::lock_guard lock(group->mutex);
    return failLocked(std::move(reason));
  }

  std::optional<Failure> failure() const override {
    std::lock_guard lock(group->mutex);
    return group->failure;
  }

  void setPosition(uint64_t position) override {
    std::lock_guard lock(group->mutex);
    group->views[rank()].position = position;
  }

private:
  Status failLocked(std::string reason) { return failLocked(rank(), std::move(reason)); }
  Status failLocked(int culprit, std::string reason) {
    if (!group->failure)
      group->failure = Failure{culprit, std::move(reason)};
    group->changed.notify_all();
    return words::groupFailure(rank(), *group->failure);
  }

  template <typename Ready>
  Status waitFor(std::unique_lock<std::mutex> &lock, const words::Wait &wait, const Ready &ready) {
    Clock::time_point start = Clock::now();
    auto view = [&](int rank) { return group->views[rank]; };
    group->views[rank()].waitsFor = wait.peer;
    while (!group->failure && !ready()) {
      if (group->left[wait.peer])
        return failLocked(words::peerLeft(*this, wait));
      if (group->changed.wait_until(lock, start + group->options.deadline) == std::cv_status::timeout &&
          !group->failure && !ready() && !group->left[wait.peer])
        return failLocked(words::culprit(wait.peer, view), words::timedOut(*this, wait, Clock::now() - start, view));
    }
    group->views[rank()].waitsFor = -1;
    if (group->failure)
      return words::groupFailure(rank(), *group->failure);
    return {};
  }

  std::chrono::microseconds delay(int peer, uint64_t number) const {
    const ThreadTransportOptions &options = group->options;
    if (options.maxDelay.count() == 0)
      return std::chrono::microseconds(0);
    std::seed_seq seed{options.delaySeed, uint64_t(rank()), uint64_t(peer), number};
    std::mt19937 random(seed);
    return std::chrono::microseconds(random() % (options.maxDelay.count() + 1));
  }

  std::shared_ptr<Group> group;
};

} // namespace

std::vector<std::unique_ptr<Transport>> makeThreadTransports(int size, const ThreadTransportOptions &options) {
  auto group = std::make_shared<Group>(size, options);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < size; ++rank)
    transports.push_back(std::make_unique<ThreadTransport>(group, rank));
  return transports;
}

} // namespace braid::runtime
