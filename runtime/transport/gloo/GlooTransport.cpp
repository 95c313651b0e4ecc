//===- GlooTransport.cpp - Ranks connected by c10d and gloo ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/gloo/GlooTransport.h"
#include "runtime/aten/Message.h"
#include "runtime/transport/frames/FrameTransport.h"
#include "runtime/transport/shm/Process.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>

#include <signal.h>
#include <unistd.h>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using namespace frames;

bool hasGloo() { return true; }

namespace {

/// Both ends of a gloo message must know its size, so a frame comes in an envelope of one size, with as much of what
/// follows it as fits; the rest is a message of its own.
struct Envelope {
  Frame frame;
  char inlined[4096 - sizeof(Frame)];

  size_t inlinedBytes() const { return std::min<size_t>(frame.bytes, sizeof inlined); }
  size_t restBytes() const { return frame.bytes - inlinedBytes(); }
};
enum MessageTag : int { envelopeTag, restTag };

/// Gloo takes a wait that ended at its limit for a broken context, so it has none; FrameTransport sees to deadlines.
constexpr std::chrono::hours forever{24 * 365};

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// Gloo writes to connections that may be gone, and the signal of that would end the process. Held back in this thread
/// and in those that it starts.
class NoPipeSignal {
public:
  NoPipeSignal() {
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
  }
  ~NoPipeSignal() {
    timespec now{};
    while (!sigismember(&before, SIGPIPE) && sigtimedwait(&pipe, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  sigset_t pipe, before;
};

class GlooTransport final : public FrameTransport {
public:
  GlooTransport(int rank, const std::vector<Process> &processes, c10::intrusive_ptr<c10d::ProcessGroupGloo> joined,
                const TransportOptions &options)
      : FrameTransport(rank, processes, options), group(std::move(joined)), peers(processes.size()) {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank) {
        peers[peer].reader = std::thread([this, peer] { read(peer); });
        peers[peer].writer = std::thread([this, peer] { write(peer); });
      }
    pulse = std::thread([this] { beat(); });
  }

  ~GlooTransport() override {
    NoPipeSignal noSignal;
    {
      std::unique_lock lock(mutex);
      leave(lock);
      stopping = true;
      stopped.notify_all();
      for (Peer &peer : peers) {
        peer.somethingToWrite.notify_all();
        for (const WorkPtr &work : {peer.reading, peer.writing})
          if (work)
            work->abort();
      }
    }
    pulse.join();
    for (Peer &peer : peers)
      if (peer.reader.joinable()) {
        peer.reader.join();
        peer.writer.join();
      }
    group.reset();
  }

  const char *name() const override { return "gloo"; }

private:
  struct Peer {
    std::thread reader, writer;
    std::condition_variable somethingToWrite;
    WorkPtr reading, writing; // what the threads wait for
  };

  void flush(int peer) override { peers[peer].somethingToWrite.notify_all(); }

  /// Says that this process runs.
  void beat() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      Clock::time_point next = tick();
      changed.notify_all();
      stopped.wait_until(lock, next);
    }
  }

  // Both return with `lock` held; false if the connection is gone, or this rank leaves.

  bool finish(std::unique_lock<std::mutex> &lock, WorkPtr &waited, WorkPtr work) {
    waited = work;
    lock.unlock();
    bool done = false;
    try {
      done = work->wait(forever);
    } catch (const std::exception &) {
    }
    lock.lock();
    waited = nullptr;
    return done && !stopping;
  }

  bool receive(std::unique_lock<std::mutex> &lock, int peer, void *data, size_t bytes, MessageTag tag) {
    std::vector<at::Tensor> tensors = {at::from_blob(data, {int64_t(bytes)}, at::kByte)};
    try {
      return !stopping && finish(lock, peers[peer].reading, group->recv(tensors, peer, tag));
    } catch (const std::exception &) {
      return false;
    }
  }

  bool send(std::unique_lock<std::mutex> &lock, int peer, void *data, size_t bytes, MessageTag tag) {
    std::vector<at::Tensor> tensors = {at::from_blob(data, {int64_t(bytes)}, at::kByte)};
    try {
      return !stopping && finish(lock, peers[peer].writing, group->send(tensors, peer, tag));
    } catch (const std::exception &) {
      return false;
    }
  }

  void read(int peer) {
    Envelope envelope{};
    std::unique_lock lock(mutex);
    while (receive(lock, peer, &envelope, sizeof envelope, envelopeTag) && isFrame(envelope.frame)) {
      std::vector<char> body(envelope.inlined, envelope.inlined + envelope.inlinedBytes());
      body.resize(envelope.frame.bytes);
      if (envelope.restBytes() &&
          !receive(lock, peer, body.data() + envelope.inlinedBytes(), envelope.restBytes(), restTag))
        break;
      take(peer, envelope.frame, std::move(body));
      changed.notify_all();
    }
    if (!stopping)
      lost(peer);
    peers[peer].somethingToWrite.notify_all();
    changed.notify_all();
  }

  /// What is written is a copy: who started a send may leave before it is through.
  void write(int peer) {
    Envelope envelope{};
    std::vector<char> rest;
    std::unique_lock lock(mutex);
    while (true) {
      peers[peer].somethingToWrite.wait(
          lock, [&] { return stopping || !queue(peer).isOpen() || queue(peer).wantsToWrite(); });
      if (stopping || !queue(peer).isOpen())
        return;
      const FrameQueue::Output &output = *queue(peer).front();
      envelope.frame = output.frame;
      std::memcpy(envelope.inlined, output.body(), envelope.inlinedBytes());
      rest.assign(output.body() + envelope.inlinedBytes(), output.body() + output.frame.bytes);
      if (!send(lock, peer, &envelope, sizeof envelope, envelopeTag) ||
          (!rest.empty() && !send(lock, peer, rest.data(), rest.size(), restTag)))
        return; // reading will find that the connection is broken
      queue(peer).pop();
      changed.notify_all();
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
  std::vector<Peer> peers;
  bool stopping = false;
  std::condition_variable stopped;
  std::thread pulse;
};

} // namespace

Result<std::unique_ptr<Transport>> joinGlooGroup(StoreRendezvous &rendezvous, int rank, int size,
                                                 const TransportOptions &options) {
  if (rank < 0 || rank >= size)
    return Error{words::noSuchRank(rank, size)};
  auto end = std::chrono::steady_clock::now() + options.deadline;
  std::ostringstream own;
  own << "gloo " << getpid() << ' ' << shm::ownMachine();
  Result<std::vector<std::string>> found = exchangeWords(rendezvous, rank, size, own.str(), options.deadline);
  if (!found)
    return Error{found.error()};
  std::vector<Process> processes(size);
  for (int peer = 0; peer < size; ++peer) {
    std::istringstream text((*found)[peer]);
    std::string kind;
    text >> kind >> processes[peer].pid >> processes[peer].machine;
    if (!text || kind != "gloo")
      return Error{words::unreadable(peer, (*found)[peer])};
  }
  try {
    NoPipeSignal noSignal;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    auto settings = c10d::ProcessGroupGloo::Options::create(std::max(left, std::chrono::milliseconds(1)));
    settings->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(rendezvous.ownAddress()));
    settings->threads = 1; // of collectives, which are not used
    auto store = c10::make_intrusive<c10d::PrefixStore>("gloo", rendezvous.store());
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, settings);
    return std::unique_ptr<Transport>(std::make_unique<GlooTransport>(rank, processes, std::move(group), options));
  } catch (const std::exception &error) {
    return Error{"rank " + std::to_string(rank) + " cannot connect to the other ranks through gloo: " +
                 firstLine(error) + "; check that the machines may open connections to each other"};
  }
}

} // namespace braid::runtime
