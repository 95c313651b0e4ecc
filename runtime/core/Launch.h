//===- Launch.h - Starting ranks, and being started --------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A binary is started once per rank by torchrun, Slurm or MPI, or it starts its ranks itself (--local N), or it is the
// only rank.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_LAUNCH_H
#define BRAID_RUNTIME_CORE_LAUNCH_H

#include "runtime/transport/Transport.h"

#include <functional>
#include <memory>
#include <string>

namespace braid::runtime {

namespace shm {
class Segment;
}

enum class LaunchSource { Single, Local, Torchrun, Slurm, Mpi };

const char *launchSourceName(LaunchSource source);

struct LaunchInfo {
  int rank = 0;
  int worldSize = 1;
  int localRank = 0;
  /// Ranks on this machine; 0 where the launcher does not say.
  int localWorldSize = 1;
  LaunchSource source = LaunchSource::Single;
  /// Names the run on this machine: the same for all of its ranks, another one for every other run.
  std::string key;
  /// What launchLocal() made for its ranks.
  std::shared_ptr<shm::Segment> segment;
};

/// Looks up an environment variable; null if it is not set.
using Environment = std::function<const char *(const char *name)>;

/// What the environment says about this process. Variables that contradict each other are an error, naming them.
plan::Result<LaunchInfo> detectLaunch(const Environment &environment);
plan::Result<LaunchInfo> detectLaunch();

struct LocalLaunchOptions {
  /// How long the other ranks get after the first failure to end by themselves, and then after SIGTERM.
  std::chrono::milliseconds settle{1000};
  std::chrono::milliseconds grace{3000};
};

/// Forks `ranks` processes, runs `body` in each and waits for all. The first rank to fail ends the others. Returns the
/// exit status for the whole run: 0 if every body returned 0; otherwise the failing rank's code, or 128 and its signal;
/// the failure is printed once, so a rank that fails for another rank's sake should print nothing. SIGINT, SIGTERM and
/// SIGHUP are passed on. The ranks die with this process.
///
/// Call it before any thread exists: LibTorch's do not survive a fork.
int launchLocal(int ranks, const std::function<int(const LaunchInfo &)> &body, const LocalLaunchOptions &options = {});

/// Whether the launcher says that all ranks are on this machine.
bool isOnOneMachine(const LaunchInfo &launch);

/// The transport over shared memory of this rank, whose run is on one machine. Returns when all ranks have come.
plan::Result<std::unique_ptr<Transport>> makeTransport(const LaunchInfo &launch, const TransportOptions &options = {});

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_LAUNCH_H
