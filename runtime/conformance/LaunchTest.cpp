//===- LaunchTest.cpp - Starting ranks, and being started -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace braid::runtime;
using braid::plan::Result;
using braid::plan::Status;
using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

namespace {

Result<LaunchInfo> detect(const std::map<std::string, std::string> &variables) {
  return detectLaunch([&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(DetectLaunchTest, NothingIsASingleRank) {
  Result<LaunchInfo> info = detect({});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->source, LaunchSource::Single);
  EXPECT_EQ(info->worldSize, 1);
}

TEST(DetectLaunchTest, Torchrun) {
  std::map<std::string, std::string> variables = {{"RANK", "3"},
                                                  {"WORLD_SIZE", "4"},
                                                  {"LOCAL_RANK", "1"},
                                                  {"LOCAL_WORLD_SIZE", "2"},
                                                  {"MASTER_ADDR", "a"},
                                                  {"MASTER_PORT", "29500"},
                                                  {"TORCHELASTIC_RUN_ID", "r7"},
                                                  {"TORCHELASTIC_RESTART_COUNT", "1"}};
  Result<LaunchInfo> info = detect(variables);
  ASSERT_TRUE(info) << info.error();
  EXPECT_EQ(info->source, LaunchSource::Torchrun);
  EXPECT_EQ(info->rank, 3);
  EXPECT_EQ(info->worldSize, 4);
  EXPECT_EQ(info->localRank, 1);
  EXPECT_EQ(info->localWorldSize, 2);
  // Two runs on one machine differ in one of these.
  for (const char *name : {"MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}) {
    auto other = variables;
    other[name] = "2";
    EXPECT_NE(detect(other)->key, info->key) << name;
  }
  Result<std::unique_ptr<Transport>> transport = makeTransport(*info);
  ASSERT_FALSE(transport);
  EXPECT_THAT(transport.error(), StartsWith("torchrun started 4 ranks, 2 of them on this machine; "));
}

TEST(DetectLaunchTest, EnvironmentByHandOnThisMachine) {
  Result<LaunchInfo> info =
      detect({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1234"}});
  ASSERT_TRUE(info) << info.error();
  EXPECT_EQ(info->localWorldSize, 2);
  EXPECT_EQ(detect({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "host"}})->localWorldSize, 0);
}

TEST(DetectLaunchTest, Slurm) {
  Result<LaunchInfo> info = detect({{"SLURM_PROCID", "5"},
                                    {"SLURM_STEP_NUM_TASKS", "8"},
                                    {"SLURM_LOCALID", "5"},
                                    {"SLURM_STEP_NUM_NODES", "1"},
                                    {"SLURM_JOB_ID", "12"},
                                    {"SLURM_STEP_ID", "3"},
                                    {"PMI_RANK", "5"},
                                    {"PMI_SIZE", "8"}});
  ASSERT_TRUE(info) << info.error();
  EXPECT_EQ(info->source, LaunchSource::Slurm);
  EXPECT_EQ(info->rank, 5);
  EXPECT_EQ(info->localWorldSize, 8);
  EXPECT_THAT(info->key, HasSubstr("12.3"));
  // A batch script without srun.
  EXPECT_EQ(detect({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})->worldSize, 1);
  EXPECT_EQ(detect({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NNODES", "2"}})->localWorldSize, 0);
}

TEST(DetectLaunchTest, Mpi) {
  // Under mpirun in a Slurm job, the helper's own Slurm variables are inherited.
  Result<LaunchInfo> info = detect({{"OMPI_COMM_WORLD_RANK", "1"},
                                    {"OMPI_COMM_WORLD_SIZE", "2"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                    {"SLURM_PROCID", "0"},
                                    {"SLURM_STEP_NUM_TASKS", "1"}});
  ASSERT_TRUE(info) << info.error();
  EXPECT_EQ(info->source, LaunchSource::Mpi);
  EXPECT_EQ(info->rank, 1);
  EXPECT_EQ(info->localWorldSize, 2);
  info = detect({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}});
  ASSERT_TRUE(info) << info.error();
  EXPECT_EQ(info->source, LaunchSource::Mpi);
  EXPECT_EQ(info->rank, 2);
  EXPECT_EQ(info->localWorldSize, 3);
}

TEST(DetectLaunchTest, NonsenseIsNamed) {
  EXPECT_THAT(detect({{"RANK", "1"}}).error(), HasSubstr("WORLD_SIZE is not set"));
  EXPECT_THAT(detect({{"RANK", "1x"}, {"WORLD_SIZE", "2"}}).error(),
              StartsWith("RANK is \"1x\", but should be a number"));
  EXPECT_THAT(detect({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}).error(), StartsWith("RANK is \"-1\""));
  EXPECT_THAT(detect({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).error(), HasSubstr("rank 2 of 2 ranks"));
  EXPECT_THAT(detect({{"RANK", "0"}, {"WORLD_SIZE", "99999999999"}}).error(), HasSubstr("99999999999"));
}

/// Runs a launcher, and gives its exit code, what it and its ranks printed, and the time.
struct Launched {
  int code;
  std::string printed;
  std::chrono::duration<double> time;
};

Launched launch(int ranks, const std::function<int(const LaunchInfo &)> &body, const LocalLaunchOptions &options = {}) {
  testing::internal::CaptureStderr();
  auto start = Clock::now();
  int code = launchLocal(ranks, body, options);
  auto time = Clock::now() - start;
  return {code, testing::internal::GetCapturedStderr(), time};
}

/// A rank that waits for every other; 3 if that fails.
int meetAndWait(const LaunchInfo &info) {
  Result<std::unique_ptr<Transport>> transport = makeTransport(info);
  if (!transport)
    return 3;
  while (Status status = (*transport)->barrier())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return 3;
}

TEST(LaunchLocalTest, AllRanksRun) {
  for (int ranks : {1, 2, 4}) {
    Launched run = launch(ranks, [&](const LaunchInfo &info) {
      Result<std::unique_ptr<Transport>> transport = makeTransport(info);
      double sum = info.rank + 1;
      if (!transport || !(*transport)->allReduceSum(&sum, 1))
        return 1;
      return sum == ranks * (ranks + 1) / 2 && info.localRank == info.rank && info.source == LaunchSource::Local ? 0
                                                                                                                 : 2;
    });
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(run.printed, "");
  }
}

TEST(LaunchLocalTest, AnExitCodeEndsTheRun) {
  Launched run = launch(3, [](const LaunchInfo &info) { return info.rank == 1 ? 9 : meetAndWait(info); });
  EXPECT_EQ(run.code, 9);
  EXPECT_THAT(run.printed, testing::MatchesRegex("braid: rank 1 failed: its process \\(pid [0-9]+\\) ended with exit "
                                                 "code 9\n"));
  EXPECT_LT(run.time.count(), 4);
}

TEST(LaunchLocalTest, AKilledRankIsNamedOnceWithItsSignal) {
  Launched run = launch(3, [](const LaunchInfo &info) {
    Result<std::unique_ptr<Transport>> transport = makeTransport(info);
    if (!transport || !(*transport)->barrier())
      return 1;
    if (info.rank == 2)
      raise(SIGKILL);
    char byte;
    Status status = (*transport)->recv(2, &byte, 1, 0);
    return status.error().find("was killed by signal 9 (Killed)") == std::string::npos ? 77 : 3; // 3: it was told
  });
  EXPECT_EQ(run.code, 128 + SIGKILL);
  EXPECT_THAT(run.printed, testing::MatchesRegex("braid: rank 2 failed: its process \\(pid [0-9]+\\) was killed by "
                                                 "signal 9 \\(Killed\\)\n"));
  EXPECT_LT(run.time.count(), 2);
}

TEST(LaunchLocalTest, AReasonIsReported) {
  Launched run = launch(2, [](const LaunchInfo &info) {
    if (info.rank == 0)
      return meetAndWait(info);
    Result<std::unique_ptr<Transport>> transport = makeTransport(info);
    return transport && (*transport)->fail("the batch has 3 samples, which 2 micro-batches cannot share") ? 0 : 5;
  });
  EXPECT_EQ(run.code, 5);
  EXPECT_EQ(run.printed, "braid: rank 1 failed: the batch has 3 samples, which 2 micro-batches cannot share\n");
}

TEST(LaunchLocalTest, ARankThatIgnoresSignalsIsKilled) {
  LocalLaunchOptions options;
  options.settle = options.grace = std::chrono::milliseconds(300);
  Launched run = launch(
      2,
      [](const LaunchInfo &info) {
        if (info.rank == 1)
          return 4;
        signal(SIGTERM, SIG_IGN);
        while (true)
          pause();
      },
      options);
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.printed, StartsWith("braid: rank 1 failed: "));
  EXPECT_GT(run.time.count(), 0.55);
  EXPECT_LT(run.time.count(), 2);
}

TEST(LaunchLocalTest, ARankThatLeavesEarlyEndsTheRun) {
  // Rank 1 ends with code 0, without a word; rank 0 must not wait for it until the deadline.
  Launched run = launch(2, [](const LaunchInfo &info) {
    if (info.rank == 0)
      return meetAndWait(info);
    Result<std::unique_ptr<Transport>> transport = makeTransport(info);
    _exit(0);
  });
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.printed, HasSubstr("rank 1 failed: its process"));
  EXPECT_LT(run.time.count(), 4);
}

TEST(LaunchLocalTest, RanksThatNeverJoinAreNotWaitedFor) {
  Launched run = launch(2, [](const LaunchInfo &info) { return info.rank == 0 ? meetAndWait(info) : 0; });
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.printed, HasSubstr("but rank 1 has already finished"));
  EXPECT_LT(run.time.count(), 4);
}

/// Forks a launcher of two ranks that would run for ever, and waits until they run. Its end of `reader` is closed once
/// the launcher and both ranks are gone.
pid_t forkLauncher(int &reader) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t launcher = fork();
  if (launcher == 0) {
    close(ends[0]);
    close(STDERR_FILENO);
    _exit(launchLocal(2, [&](const LaunchInfo &info) {
      (void)!write(ends[1], "r", 1);
      return meetAndWait(info);
    }));
  }
  close(ends[1]);
  reader = ends[0];
  char started[2];
  EXPECT_EQ(read(reader, started, 1), 1);
  EXPECT_EQ(read(reader, started, 1), 1);
  return launcher;
}

/// The end of a launcher and its ranks after `signal`: the launcher's status, and how long the last process lived.
std::pair<int, double> endOf(int signal) {
  int reader, status;
  pid_t launcher = forkLauncher(reader);
  auto start = Clock::now();
  kill(launcher, signal);
  waitpid(launcher, &status, 0);
  char byte;
  EXPECT_EQ(read(reader, &byte, 1), 0);
  close(reader);
  return {status, std::chrono::duration<double>(Clock::now() - start).count()};
}

TEST(LaunchLocalTest, SignalsArePassedOn) {
  for (int signal : {SIGINT, SIGTERM}) {
    auto [status, time] = endOf(signal);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    EXPECT_LT(time, 2);
  }
}

TEST(LaunchLocalTest, RanksDieWithTheirLauncher) {
  auto [status, time] = endOf(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_LT(time, 2);
}

TEST(LaunchLocalTest, NonsenseIsRefused) {
  Launched run = launch(0, [](const LaunchInfo &) { return 0; });
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.printed, HasSubstr("--local needs a number of ranks from 1 on, not 0"));
}

} // namespace
