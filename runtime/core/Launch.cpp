//===- Launch.cpp - Being started by a launcher ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Launch.h"
#include "runtime/transport/shm/ShmTransport.h"
#include "runtime/transport/threads/ThreadTransport.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <unistd.h>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;

const char *launchSourceName(LaunchSource source) {
  switch (source) {
  case LaunchSource::Single:
    return "a single process";
  case LaunchSource::Local:
    return "--local";
  case LaunchSource::Torchrun:
    return "torchrun";
  case LaunchSource::Slurm:
    return "Slurm";
  case LaunchSource::Mpi:
    return "MPI";
  }
  return "";
}

namespace {

/// Reads one launcher's variables and keeps the first complaint.
class Reader {
public:
  Reader(const Environment &environment, LaunchSource source) : environment(environment) { info.source = source; }

  const char *text(const char *name) const {
    const char *value = environment(name);
    return value ? value : "";
  }

  /// The number in a variable that must be there.
  int number(const char *name) {
    const char *value = environment(name);
    int result = 0;
    if (!value) {
      complain(std::string(launchSourceName(info.source)) + " started this process, but " + name +
               " is not set; start the binary with a complete launcher, or use --local N");
      return 0;
    }
    auto [end, error] = std::from_chars(value, value + std::strlen(value), result);
    if (error != std::errc() || *end || result < 0)
      complain(std::string(name) + " is \"" + value + "\", but should be a number from 0 on; start the binary with " +
               launchSourceName(info.source) + " or unset it");
    return result;
  }

  /// The number in the first variable that is set.
  int number(std::initializer_list<const char *> names, int otherwise) {
    for (const char *name : names)
      if (environment(name))
        return number(name);
    return otherwise;
  }

  Result<LaunchInfo> finish() {
    if (problem.empty() && (info.worldSize < 1 || info.rank >= info.worldSize))
      complain(std::string(launchSourceName(info.source)) + " says that this process is rank " +
               std::to_string(info.rank) + " of " + std::to_string(info.worldSize) +
               " ranks, which cannot be; unset its variables or start the binary with it");
    if (!problem.empty())
      return Error{problem};
    return info;
  }

  LaunchInfo info;

private:
  void complain(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }

  const Environment &environment;
  std::string problem;
};

Result<LaunchInfo> readTorchrun(const Environment &environment) {
  Reader reader(environment, LaunchSource::Torchrun);
  LaunchInfo &info = reader.info;
  info.rank = reader.number("RANK");
  info.worldSize = reader.number("WORLD_SIZE");
  info.localRank = reader.number({"LOCAL_RANK"}, info.rank);
  std::string address = reader.text("MASTER_ADDR");
  bool isLocal = address == "localhost" || address == "127.0.0.1" || address == "::1";
  info.localWorldSize = reader.number({"LOCAL_WORLD_SIZE"}, isLocal ? info.worldSize : 0);
  info.key = std::string("torchrun ") + reader.text("TORCHELASTIC_RUN_ID") + " " +
             reader.text("TORCHELASTIC_RESTART_COUNT") + " " + address + ":" + reader.text("MASTER_PORT");
  return reader.finish();
}

Result<LaunchInfo> readSlurm(const Environment &environment) {
  Reader reader(environment, LaunchSource::Slurm);
  LaunchInfo &info = reader.info;
  info.rank = reader.number("SLURM_PROCID");
  info.worldSize = reader.number("SLURM_STEP_NUM_TASKS");
  info.localRank = reader.number({"SLURM_LOCALID"}, info.rank);
  bool oneNode = reader.number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, 0) == 1;
  info.localWorldSize = oneNode ? info.worldSize : 0;
  info.key = std::string("slurm ") + reader.text("SLURM_JOB_ID") + "." + reader.text("SLURM_STEP_ID") + " " +
             reader.text("SLURM_RESTART_COUNT");
  return reader.finish();
}

// The ranks of one machine are children of one process of the launcher, which names the run where nothing else does.
std::string parentKey() { return std::string("parent ") + std::to_string(getppid()); }

Result<LaunchInfo> readOpenMpi(const Environment &environment) {
  Reader reader(environment, LaunchSource::Mpi);
  LaunchInfo &info = reader.info;
  info.rank = reader.number("OMPI_COMM_WORLD_RANK");
  info.worldSize = reader.number("OMPI_COMM_WORLD_SIZE");
  info.localRank = reader.number({"OMPI_COMM_WORLD_LOCAL_RANK"}, info.rank);
  info.localWorldSize = reader.number({"OMPI_COMM_WORLD_LOCAL_SIZE"}, 0);
  info.key = "mpi ";
  for (const char *name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
    info.key += reader.text(name);
  info.key += " " + parentKey();
  return reader.finish();
}

Result<LaunchInfo> readPmi(const Environment &environment) {
  Reader reader(environment, LaunchSource::Mpi);
  LaunchInfo &info = reader.info;
  info.rank = reader.number("PMI_RANK");
  info.worldSize = reader.number("PMI_SIZE");
  info.localRank = reader.number({"MPI_LOCALRANKID"}, info.rank);
  info.localWorldSize = reader.number({"MPI_LOCALNRANKS"}, 0);
  info.key = std::string("mpi ") + parentKey();
  return reader.finish();
}

} // namespace

// Inside a Slurm job, mpirun starts its helpers with srun, and the ranks inherit the helpers' SLURM_PROCID; so MPI's
// variables come before Slurm's. Where srun itself starts the ranks and speaks PMI, both agree, and Slurm's say more.
// A batch script alone has SLURM_PROCID but no SLURM_STEP_NUM_TASKS: it was not started by srun.
Result<LaunchInfo> detectLaunch(const Environment &environment) {
  auto isSet = [&](const char *name) { return environment(name) != nullptr; };
  if (isSet("RANK") || isSet("WORLD_SIZE"))
    return readTorchrun(environment);
  if (isSet("OMPI_COMM_WORLD_RANK"))
    return readOpenMpi(environment);
  bool slurm = isSet("SLURM_PROCID") && isSet("SLURM_STEP_NUM_TASKS");
  if (isSet("PMI_RANK")) {
    bool agree = slurm && std::strcmp(environment("PMI_RANK"), environment("SLURM_PROCID")) == 0 && isSet("PMI_SIZE") &&
                 std::strcmp(environment("PMI_SIZE"), environment("SLURM_STEP_NUM_TASKS")) == 0;
    if (!agree)
      return readPmi(environment);
  }
  if (slurm)
    return readSlurm(environment);
  return LaunchInfo();
}

Result<LaunchInfo> detectLaunch() {
  return detectLaunch([](const char *name) -> const char * { return std::getenv(name); });
}

bool isOnOneMachine(const LaunchInfo &launch) { return launch.segment || launch.localWorldSize == launch.worldSize; }

Result<std::unique_ptr<Transport>> makeTransport(const LaunchInfo &launch, const TransportOptions &options) {
  if (launch.worldSize == 1) {
    ThreadTransportOptions alone;
    alone.deadline = options.deadline;
    return std::move(makeThreadTransports(1, alone).front());
  }
  if (launch.segment)
    return joinShmGroup(launch.segment, launch.rank, options);
  if (isOnOneMachine(launch))
    return meetShmGroup(launch.key, launch.rank, launch.worldSize, options);
  std::string here = launch.localWorldSize ? std::to_string(launch.localWorldSize) + " of them on this machine"
                                           : "and does not say how many of them are on this machine";
  return Error{std::string(launchSourceName(launch.source)) + " started " + std::to_string(launch.worldSize) +
               " ranks, " + here + "; only ranks of one machine share memory, so pass --transport tcp"};
}

} // namespace braid::runtime
