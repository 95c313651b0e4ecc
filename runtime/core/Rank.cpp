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
#include <memory>

using namespace braid;
using namespace braid::runtime;

namespace {
/// What rank 0 tells while training.
class Reporter {
public:
  static plan::Result<Reporter> open(const Session &session, int rank) {
    Reporter reporter;
    if (rank != 0)
      return reporter;
    const RunOptions &options = session.options;
    int64_t done = session.resumed ? session.resumed->state().step : 0;
    if (!options.out.empty()) {
      std::string path = options.out + "/" + metricsName;
      plan::Result<MetricsFile> file = done ? MetricsFile::resume(path, done) : MetricsFile::create(path);
      if (!file)
        return plan::Error{file.error()};
      reporter.metrics = std::make_unique<MetricsFile>(std::move(*file));
    }
    reporter.progress = std::make_unique<Progress>(options.progress, options.quiet, options.steps, done);
    return reporter;
  }

  plan::Status step(const StepMetrics &step) {
    if (progress)
      progress->update(step);
    return metrics ? metrics->write(step) : plan::Status();
  }
  plan::Status evaluation(int64_t step, double loss, double seconds) {
    if (progress)
      progress->evaluated(step, loss);
    return metrics ? metrics->writeEvaluation(step, loss, seconds) : plan::Status();
  }

private:
  std::unique_ptr<MetricsFile> metrics;
  std::unique_ptr<Progress> progress;
};

/// Whether something that is due every `every` steps, and after the last, is due when `done` of `steps` are done.
bool isDue(int64_t every, int64_t done, int64_t steps) { return (every && done % every == 0) || done == steps; }

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
} // namespace

static plan::Status train(const Session &session, int rank, Transport *transport) {
  const Program &program = session.program;
  const RunOptions &options = session.options;
  setThreads(options.threads);
  setMatrixLibrary(options.matrixLibrary);

  if (plan::Status status = session.weights.check(program, rank); !status)
    return status;
  ParameterStore parameters(program, rank, session.weights);
  Optimizer optimizer(options.optimizer, session.rates);
  TrainingState state;
  if (session.resumed) {
    if (plan::Status status = session.resumed->load(program, rank, session.weights, parameters, optimizer); !status)
      return status;
    state = session.resumed->state();
  }
  state.settings = trainingSettings(options);
  Executor executor(program, rank, transport, parameters, optimizer,
                    {options.clipNorm, options.dumpGradients, options.updateNonFinite, options.seed.value_or(0)});
  plan::Result<Reporter> reporter = Reporter::open(session, rank);
  if (!reporter)
    return plan::Error{reporter.error()};

  StepReport last;
  bool first = true;
  while (state.step < options.steps) {
    auto start = std::chrono::steady_clock::now();
    int64_t step = state.step;
    double factor = options.learningRate.factor(step, options.steps);
    optimizer.setRateFactor(factor);
    plan::Result<StepReport> report = executor.step(step, session.batches, state.position, options.accumulate);
    if (!report)
      return plan::Error{report.error()};
    last = *report;
    if (rank == 0) {
      StepMetrics metrics;
      metrics.step = step;
      metrics.loss = report->loss;
      metrics.gradientNorm = report->gradientNorm;
      metrics.seconds = secondsSince(start);
      for (int64_t batch = 0; batch < options.accumulate; ++batch)
        metrics.samples += session.batches.step(state.position + batch).samples;
      metrics.lr = options.optimizer.lr * factor;
      if (plan::Status status = reporter->step(metrics); !status)
        return status;
    }
    if (first && options.dumpGradients)
      if (plan::Status status = exportGradients(program, rank, transport, executor.takeKeptGradients(),
                                                options.out + "/" + gradientsName);
          !status)
        return status;
    first = false;
    if (!last.problem.empty())
      break;
    ++state.step;
    state.position += options.accumulate;
    if (session.evaluation && isDue(options.evalEvery, state.step, options.steps)) {
      auto evaluationStart = std::chrono::steady_clock::now();
      plan::Result<StepReport> evaluated = executor.lossOf(*session.evaluation);
      if (!evaluated)
        return plan::Error{evaluated.error()};
      if (!evaluated->problem.empty()) {
        last = *evaluated;
        break;
      }
      if (rank == 0)
        if (plan::Status status = reporter->evaluation(step, evaluated->loss, secondsSince(evaluationStart)); !status)
          return status;
    }
    if (options.saveEvery && isDue(options.saveEvery, state.step, options.steps))
      if (plan::Status status = saveCheckpoint(program, rank, transport, parameters, session.weights, optimizer, state,
                                               options.out, options.keep);
          !status)
        return status;
  }
  std::string model = options.out + "/" + modelName;
  if (!options.out.empty())
    if (plan::Status status = exportModel(program, rank, transport, parameters, session.weights, model); !status)
      return status;
  if (last.problem.empty())
    return {};
  // The rank that it arose on tells it to the others, once nobody needs the others any more: a failure ends what they
  // do.
  for (int round = 0; transport && round < (rank == last.culprit ? 1 : 2); ++round)
    if (plan::Status status = transport->barrier(); !status)
      return status;
  return plan::Error{text("step ", state.step, ": ", last.problem,
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
