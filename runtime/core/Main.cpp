//===- Main.cpp - The main function of compiled programs ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that can be refused is refused here, before any rank starts: the plan, the arguments, the weights, the
// data. Local ranks inherit what was read.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Allocator.h"
#include "runtime/checkpoint/RunFolder.h"
#include "runtime/core/Launch.h"
#include "runtime/core/MasterStore.h"
#include "runtime/core/Rank.h"
#include "runtime/core/StandardStreams.h"
#include "runtime/core/Text.h"
#include "runtime/data/MappedFile.h"
#include "runtime/transport/gloo/GlooTransport.h"
#include "runtime/transport/shm/Segment.h"
#include "runtime/transport/tcp/Meeting.h"
#include "runtime/transport/tcp/TcpTransport.h"
#include "runtime/transport/threads/ThreadTransport.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

static int refuse(const std::string &message) {
  std::fprintf(stderr, "braid: %s\n", message.c_str());
  return 1;
}

/// A run that is taken up with other settings is one that nobody may have meant.
static void noteOtherSettings(const Checkpoint &resumed, const std::map<std::string, std::string> &settings) {
  std::map<std::string, std::string> all = settings; // and those that only the checkpoint has
  all.insert(resumed.state().settings.begin(), resumed.state().settings.end());
  auto valueIn = [](const std::map<std::string, std::string> &in, const std::string &name) {
    auto found = in.find(name);
    return found == in.end() ? "none" : found->second;
  };
  std::vector<std::string> others;
  for (const auto &entry : all) {
    std::string now = valueIn(settings, entry.first), then = valueIn(resumed.state().settings, entry.first);
    if (now != then)
      others.push_back(text(entry.first, " ", now, " (it had ", then, ")"));
  }
  if (!others.empty())
    std::fprintf(stderr, "braid: note: %s was saved with other settings; this run has %s\n", resumed.folder().c_str(),
                 joined(others).c_str());
}

/// Reads weights and data, resolves the operators and makes the folder of --out ready: on the first rank only, for the
/// others may come when it is in use already.
static plan::Result<Session> openSession(Program program, RunOptions options, bool first) {
  installAllocator();
  setThreads(1); // ranks are forked from here, and threads do not survive that
  plan::Result<Weights> weights = Weights::open(program, options.weights);
  if (!weights)
    return plan::Error{weights.error()};
  if (options.accumulate == 0)
    options.accumulate = program.accumulate;
  if (!options.seed)
    options.seed = program.seed;
  if (options.accumulate > 1 && !program.wholeBatch.empty())
    return plan::Error{text("the loss is no sum over samples, so a step cannot take ", options.accumulate,
                            " batches: ", program.wholeBatch, "; use --accumulate 1")};
  options.groups.insert(options.groups.end(), program.groups.begin(), program.groups.end());
  plan::Result<std::vector<ParameterRates>> rates = assignRates(program, options.optimizer, options.groups);
  if (!rates)
    return plan::Error{rates.error()};
  std::optional<Checkpoint> resumed;
  if (!options.resume.empty()) {
    plan::Result<Checkpoint> checkpoint = Checkpoint::open(program, options.optimizer, options.resume);
    if (!checkpoint)
      return plan::Error{checkpoint.error()};
    resumed = std::move(*checkpoint);
  }
  TrainingState done = resumed ? resumed->state() : TrainingState();
  if (options.steps && done.step >= options.steps)
    return plan::Error{text("the run of ", resumed->folder(), " has made ", done.step, " steps and --steps is ",
                            options.steps, ", which counts them; give more")};
  int64_t used = options.steps ? done.position + (options.steps - done.step) * options.accumulate : 0;
  plan::Result<Batches> batches = Batches::open(program, options.data, used);
  if (!batches)
    return plan::Error{batches.error()};
  if (options.steps == 0)
    options.steps = done.step + std::max<int64_t>(1, batches->count() / options.accumulate);
  if (options.clipNorm == 0)
    options.clipNorm = program.clipNorm;
  if (resumed && first)
    noteOtherSettings(*resumed, trainingSettings(options));
  std::optional<Batches> evaluation;
  if (!options.evalData.empty()) {
    plan::Result<Batches> read = Batches::open(program, options.evalData, 0);
    if (!read)
      return plan::Error{read.error()};
    evaluation = std::move(*read);
  }
  if (program.initialize && program.initialize())
    return plan::Error{text("the program cannot start: ", braid_rt_message())};
  if (options.out.empty() && first && !options.quiet)
    std::fprintf(stderr,
                 "braid: note: nothing of this run is kept; pass --out DIR to save the model and the metrics\n");
  if (!options.out.empty() && first)
    if (plan::Status status = prepareRunFolder(options.out, options.overwrite, resumed ? resumed->folder() : "");
        !status)
      return plan::Error{status.error()};
  return Session{std::move(program),    std::move(options), std::move(*weights), std::move(*batches),
                 std::move(evaluation), std::move(resumed), std::move(*rates)};
}

static std::string worldSizeMismatch(const Program &program, const LaunchInfo &launch) {
  std::string start =
      text("--local ", program.worldSize, ", or torchrun --no-python --nproc-per-node ", program.worldSize);
  return text("the program was compiled for ", program.worldSize, program.worldSize == 1 ? " rank" : " ranks", " and ",
              launchSourceName(launch.source), " gives ", launch.worldSize, "; start it with ", start,
              ", or compile it for ", launch.worldSize);
}

/// Where local ranks meet that do not share memory: rank 0 serves their store at a socket that all were forked with.
struct LocalMeeting {
  tcp::Socket listener;
  std::string port;
};

/// Over shared memory where all ranks are on one machine, unless another way is asked for.
static plan::Result<std::unique_ptr<Transport>> connect(const LaunchInfo &launch, TransportKind kind,
                                                        const LocalMeeting &meeting, const TransportOptions &options) {
  bool gloo = kind == TransportKind::Gloo;
  bool tcp = kind == TransportKind::Tcp || (kind == TransportKind::Auto && !isOnOneMachine(launch));
  if (!tcp && !gloo)
    return makeTransport(launch, options);
  auto environment = [](const char *name) -> const char * { return std::getenv(name); };
  plan::Result<std::unique_ptr<StoreRendezvous>> rendezvous =
      launch.source == LaunchSource::Local
          ? openLocalStore(meeting.listener.get(), meeting.port, launch.rank, options.deadline)
          : openStoreRendezvous(launch, environment, options.deadline);
  if (!rendezvous)
    return plan::Error{rendezvous.error()};
  return gloo ? joinGlooGroup(**rendezvous, launch.rank, launch.worldSize, options)
              : joinTcpGroup(**rendezvous, launch.rank, launch.worldSize, options);
}

/// One rank of a run whose ranks are processes.
static int runProcess(const Session &session, const LaunchInfo &launch, const LocalMeeting &meeting = {}) {
  TransportOptions options;
  options.deadline = std::chrono::milliseconds(static_cast<int64_t>(session.options.deadline * 1000));
  options.standstill = std::chrono::milliseconds(static_cast<int64_t>(session.options.standstill * 1000));
  std::unique_ptr<Transport> transport;
  if (launch.worldSize > 1) {
    plan::Result<std::unique_ptr<Transport>> made = connect(launch, session.options.transport, meeting, options);
    if (!made)
      return refuse(text("rank ", launch.rank, " of ", launch.worldSize, ": ", made.error()));
    transport = std::move(*made);
  }
  plan::Status status = trainRank(session, launch.rank, transport.get());
  if (status)
    return 0;
  if (!transport)
    return refuse(status.error());
  // launchLocal prints the first failure; other launchers leave it to the rank that failed.
  std::optional<Failure> failure = transport->failure();
  if (launch.segment && failure)
    launch.segment->publishFailure(failure->rank, failure->reason); // where the transport did not
  bool own = !failure || failure->rank == launch.rank;
  if (launch.source != LaunchSource::Local && own)
    refuse(text("rank ", launch.rank, " failed: ", failure ? failure->reason : status.error()));
  else if (launch.source != LaunchSource::Local)
    refuse(text("rank ", launch.rank, " ends because ", status.error()));
  return 1;
}

static int runThreads(const Session &session) {
  ThreadTransportOptions options;
  options.deadline = std::chrono::milliseconds(static_cast<int64_t>(session.options.deadline * 1000));
  std::vector<std::unique_ptr<Transport>> transports = makeThreadTransports(session.program.worldSize, options);
  std::vector<std::thread> threads;
  std::vector<plan::Status> results(transports.size());
  for (size_t rank = 0; rank < transports.size(); ++rank)
    threads.emplace_back(
        [&, rank] { results[rank] = trainRank(session, static_cast<int>(rank), transports[rank].get()); });
  for (std::thread &thread : threads)
    thread.join();
  if (std::optional<Failure> failure = transports[0]->failure())
    return refuse(text("rank ", failure->rank, " failed: ", failure->reason));
  for (const plan::Status &result : results)
    if (!result)
      return refuse(result.error());
  return 0;
}

static int runMain(int argc, char **argv, const braid_program &source) {
  plan::Result<Program> program = Program::load(source);
  if (!program)
    return refuse(program.error());
  ParsedOptions parsed = parseOptions(argc, argv, program->optimizer, program->learningRate);
  if (parsed.exit)
    return *parsed.exit;
  const RunOptions &options = parsed.options;
  if (options.showPlan) {
    std::printf("%s\n", nlohmann::ordered_json::parse(program->planText).dump(1).c_str());
    return 0;
  }

  LaunchInfo launch;
  if (options.local) {
    launch.worldSize = options.local;
    launch.source = LaunchSource::Local;
  } else {
    plan::Result<LaunchInfo> detected = detectLaunch();
    if (!detected)
      return refuse(detected.error());
    launch = *detected;
  }
  if (launch.worldSize != program->worldSize)
    return refuse(worldSizeMismatch(*program, launch));

  plan::Result<Session> session = openSession(std::move(*program), options, launch.rank == 0);
  if (!session)
    return refuse(session.error());
  if (!options.local || options.local == 1)
    return runProcess(*session, launch);
  if (options.transport == TransportKind::Threads)
    return runThreads(*session);
  LocalMeeting meeting;
  if (options.transport == TransportKind::Gloo) {
    plan::Result<tcp::Socket> listener = tcp::listenOn("127.0.0.1", meeting.port, options.local);
    if (!listener)
      return refuse(listener.error());
    meeting.listener = std::move(*listener);
  }
  return launchLocal(options.local,
                     [&](const LaunchInfo &info) { return flushStandardOutput(runProcess(*session, info, meeting)); });
}

static int runGuarded(int argc, char **argv, const braid_program &program) {
  try {
    return flushStandardOutput(runMain(argc, argv, program));
  } catch (const std::exception &error) {
    return refuse(error.what());
  } catch (...) {
    return refuse("an unknown C++ exception");
  }
}

extern "C" int braid_rt_main(int argc, char **argv, const braid_program *program) {
  openStandardStreams();
  explainBusErrors();
  int status = runGuarded(argc, argv, *program);
#ifndef BRAID_SANITIZED // leaks are looked for when a process ends in the ordinary way
  // LibTorch takes its operators out of the dispatcher one by one, which costs half as much as loading it did.
  std::fflush(nullptr);
  _exit(status);
#endif
  return status;
}
