//===- Rank.cpp - One rank's training run ---------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Rank.h"
#include "runtime/checkpoint/Export.h"
#include "runtime/checkpoint/RunFolder.h"
#include "runtime/core/Executor.h"
#include "runtime/core/Text.h"
#include "runtime/data/Metrics.h"

#include <chrono>

using namespace braid;
using namespace braid::runtime;

static plan::Status train(const Session &session, int rank, Transport *transport) {
  const Program &program = session.program;
  const RunOptions &options = session.options;
  setThreads(options.threads);

  if (plan::Status status = session.weights.check(program, rank); !status)
    return status;
  ParameterStore parameters(program, rank, session.weights);
  Optimizer optimizer(options.optimizer);
  double clipNorm = options.clipNorm > 0 ? options.clipNorm : program.clipNorm;
  Executor executor(program, rank, transport, parameters, optimizer,
                    {clipNorm, options.dumpGradients, options.updateNonFinite});
  std::optional<MetricsFile> metricsFile;
  std::optional<Progress> progress;
  if (rank == 0) {
    if (!options.out.empty()) {
      plan::Result<MetricsFile> file = MetricsFile::create(options.out + "/" + metricsName);
      if (!file)
        return plan::Error{file.error()};
      metricsFile.emplace(std::move(*file));
    }
    progress.emplace(options.progress, options.quiet, options.steps);
  }

  StepReport last;
  int64_t step = 0;
  for (; step < options.steps && last.problem.empty(); ++step) {
    auto start = std::chrono::steady_clock::now();
    plan::Result<StepReport> report = executor.step(step, session.batches);
    if (!report)
      return plan::Error{report.error()};
    last = *report;
    if (rank == 0) {
      StepMetrics metrics;
      metrics.step = step;
      metrics.loss = report->loss;
      metrics.gradientNorm = report->gradientNorm;
      metrics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      metrics.samples = session.batches.step(step).samples;
      metrics.lr = options.optimizer.lr;
      if (metricsFile)
        if (plan::Status status = metricsFile->write(metrics); !status)
          return status;
      progress->update(metrics);
    }
    if (step == 0 && options.dumpGradients)
      if (plan::Status status = exportGradients(program, rank, transport, executor.takeKeptGradients(),
                                                options.out + "/" + gradientsName);
          !status)
        return status;
  }
  std::string model = options.out + "/" + modelName;
  if (!options.out.empty())
    if (plan::Status status = exportModel(program, rank, transport, parameters, session.weights, model); !status)
      return status;
  if (last.problem.empty())
    return {};
  // The rank that it arose on tells it to the others, once nobody needs the others any more: a failure ends what they do.
  for (int round = 0; transport && round < (rank == last.culprit ? 1 : 2); ++round)
    if (plan::Status status = transport->barrier(); !status)
      return status;
  return plan::Error{text("step ", step - 1, ": ", last.problem,
                          options.out.empty() ? "" : text("; ", model, " has what was trained before it"))};
}

plan::Status runtime::trainRank(const Session &session, int rank, Transport *transport) {
  plan::Status status;
  try {
    status = train(session, rank, transport);
  } catch (const std::exception &error) {
    status = plan::Error{error.what()};
  }
  if (!status && transport)
    return transport->fail(status.error());
  return status;
}
