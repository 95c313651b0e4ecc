//===- LaunchLocal.cpp - Starting ranks on this machine -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Launch.h"
#include "runtime/transport/shm/Segment.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::runtime {

using plan::Result;
using namespace shm;

namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;
  bool running = false;
  int status = 0;
};

std::string describe(int status) {
  if (WIFSIGNALED(status))
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

/// Holds back the signals that a launcher waits for, and puts everything back.
class WaitedSignals {
public:
  WaitedSignals() {
    sigemptyset(&waited);
    for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP})
      sigaddset(&waited, signal);
    sigprocmask(SIG_BLOCK, &waited, &before);
    // Where SIGCHLD is ignored, children vanish without a status.
    struct sigaction byDefault {};
    byDefault.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &byDefault, &childBefore);
  }
  ~WaitedSignals() { restore(); }

  void restore() {
    sigaction(SIGCHLD, &childBefore, nullptr);
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }

  /// The next signal, or nothing after `time`.
  std::optional<int> next(std::chrono::milliseconds time) const {
    timespec limit{time_t(time.count() / 1000), long(time.count() % 1000 * 1'000'000)};
    int signal = sigtimedwait(&waited, nullptr, &limit);
    return signal > 0 ? std::optional(signal) : std::nullopt;
  }

private:
  sigset_t waited, before;
  struct sigaction childBefore;
};

class Supervisor {
public:
  Supervisor(std::shared_ptr<Segment> segment, const LocalLaunchOptions &options)
      : segment(std::move(segment)), options(options), children(this->segment->worldSize()) {}

  int run(const std::function<int(const LaunchInfo &)> &body) {
    std::fflush(nullptr); // or every child would print what is buffered
    for (int rank = 0; rank < int(children.size()) && !segment->hasFailure(); ++rank)
      start(rank, body);
    while (anyRunning()) {
      if (std::optional<int> signal = signals.next(std::chrono::milliseconds(200)); signal && *signal != SIGCHLD)
        passOn(*signal);
      reap();
      endTheRest();
    }
    return report();
  }

private:
  void start(int rank, const std::function<int(const LaunchInfo &)> &body) {
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
      segment->publishFailure(rank, std::string("its process could not be forked: ") + std::strerror(errno));
      return;
    }
    if (pid > 0) {
      children[rank] = {pid, true, 0};
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    signals.restore();
    LaunchInfo info;
    info.rank = info.localRank = rank;
    info.worldSize = info.localWorldSize = int(children.size());
    info.source = LaunchSource::Local;
    info.segment = segment;
    int code = body(info);
    std::fflush(nullptr);
    _exit(code);
  }

  bool anyRunning() const {
    for (const Child &child : children)
      if (child.running)
        return true;
    return false;
  }

  void reap() {
    for (int rank = 0; rank < int(children.size()); ++rank) {
      Child &child = children[rank];
      if (!child.running || waitpid(child.pid, &child.status, WNOHANG) != child.pid)
        continue;
      child.running = false;
      RankBlock &block = segment->rank(rank);
      bool wasOpen = block.state == RankState::Joined;
      if (child.status != 0 || wasOpen) {
        // A stopped run is no failure of the rank that heeded the signal first.
        std::string reason = stoppedBy
                                 ? std::string("the run was stopped by signal ") + std::to_string(*stoppedBy)
                                 : "its process (pid " + std::to_string(child.pid) + ") " + describe(child.status);
        segment->publishFailure(rank, reason + (child.status == 0 ? " in the middle of the run" : ""));
      }
      block.state = RankState::Left; // nobody need wait for it
      segment->notifyAll(rank);
    }
  }

  void signalRunning(int signal) {
    for (const Child &child : children)
      if (child.running)
        kill(child.pid, signal);
  }

  void passOn(int signal) {
    if (!stoppedBy)
      stoppedAt = Clock::now();
    stoppedBy = signal;
    signalRunning(signal);
  }

  /// After a failure or a signal: waits a little, then asks, then kills.
  void endTheRest() {
    if (!stoppedAt && segment->hasFailure())
      stoppedAt = Clock::now();
    if (!stoppedAt)
      return;
    Clock::duration since = Clock::now() - *stoppedAt;
    if (!asked && since >= options.settle) {
      asked = true;
      signalRunning(SIGTERM);
    }
    if (since >= options.settle + options.grace)
      signalRunning(SIGKILL);
  }

  int report() const {
    std::optional<Failure> failure = segment->failure();
    if (stoppedBy) {
      std::fprintf(stderr, "braid: the run was stopped by signal %d (%s)\n", *stoppedBy, strsignal(*stoppedBy));
      return 128 + *stoppedBy;
    }
    if (!failure)
      return 0;
    std::fprintf(stderr, "braid: rank %d failed: %s\n", failure->rank, failure->reason.c_str());
    int status = children[failure->rank].status;
    // A rank that was ended from here, or not at all, has no status of its own for its failure.
    if (WIFSIGNALED(status) && !(asked && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL)))
      return 128 + WTERMSIG(status);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
  }

  std::shared_ptr<Segment> segment;
  LocalLaunchOptions options;
  WaitedSignals signals;
  std::vector<Child> children;
  std::optional<int> stoppedBy;
  std::optional<Clock::time_point> stoppedAt;
  bool asked = false;
};

} // namespace

int launchLocal(int ranks, const std::function<int(const LaunchInfo &)> &body, const LocalLaunchOptions &options) {
  if (ranks < 1) {
    std::fprintf(stderr, "braid: --local needs a number of ranks from 1 on, not %d\n", ranks);
    return 1;
  }
  Result<std::shared_ptr<Segment>> segment = Segment::create(ranks);
  if (!segment) {
    std::fprintf(stderr, "braid: %s\n", segment.error().c_str());
    return 1;
  }
  (*segment)->setSupervised();
  return Supervisor(*segment, options).run(body);
}

} // namespace braid::runtime
