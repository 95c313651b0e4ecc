//===- ExecutorTest.cpp - Schedules compute what autograd computes --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hand-written model under every placement, number of micro-batches and order of actions, against ATen's autograd
// on the whole model and batch. Three steps of SGD in float64; losses, norms, gradients and parameters to 1e-12.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Executor.h"
#include "TestFiles.h"
#include "runtime/aten/Convert.h"
#include "runtime/transport/threads/ThreadTransport.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <thread>

using namespace braid;
using namespace braid::runtime;
using namespace braid::test;

static constexpr int steps = 3;
static constexpr double lr = 0.1, tolerance = 1e-12;

namespace {
struct Reference {
  std::vector<double> losses, norms;
  std::vector<at::Tensor> firstGradients; // of A, a, B, c
  std::vector<at::Tensor> parameters;
};

at::Tensor toTensor(std::vector<double> values, std::vector<int64_t> shape) {
  return at::from_blob(values.data(), shape, at::kDouble).clone();
}

Reference trainWhole(int samples, double clipNorm) {
  Reference reference;
  std::vector<at::Tensor> p;
  for (int number = 0; number < numParams; ++number)
    p.push_back(toTensor(initialValue(number), paramShape(number)));
  std::vector<NamedTensor> batches = testBatches(samples);
  for (int step = 0; step < steps; ++step) {
    at::Tensor x = toTensor(batches[2 * step].values, {samples, width});
    at::Tensor t = toTensor(batches[2 * step + 1].values, {samples, width});
    std::vector<at::Tensor> trained = {p[paramA], p[param_a], p[paramB], p[param_c]};
    for (at::Tensor &parameter : trained)
      parameter = parameter.detach().requires_grad_(true);
    at::Tensor h = (x.matmul(trained[0].t()) + trained[1]).tanh();
    at::Tensor z = h.matmul(trained[2].t()).tanh();
    at::Tensor e = ((h + z).matmul(trained[0].t()) + trained[3]) * p[param_s] - t;
    at::Tensor loss = (e * e).mean();
    auto gradients = torch::autograd::grad({loss}, {trained[0], trained[1], trained[2], trained[3]});
    double squares = 0;
    for (const at::Tensor &gradient : gradients)
      squares += gradient.square().sum().item().toDouble();
    reference.losses.push_back(loss.item().toDouble());
    reference.norms.push_back(std::sqrt(squares));
    if (step == 0)
      reference.firstGradients = gradients;
    double factor = clipNorm > 0 ? std::min(1.0, clipNorm / (std::sqrt(squares) + 1e-6)) : 1;
    int names[] = {paramA, param_a, paramB, param_c};
    for (int i = 0; i < 4; ++i)
      p[names[i]] = trained[i].detach() - gradients[i] * (factor * lr);
  }
  reference.parameters = p;
  return reference;
}

struct RankResult {
  std::string error;
  std::vector<StepReport> reports;
  std::map<int, at::Tensor> gradients, parameters;
};

RankResult trainRank(const Program &program, const Weights &weights, const Batches &batches, int rank,
                     Transport *transport, double clipNorm) {
  RankResult result;
  ParameterStore store(program, rank, weights);
  OptimizerSettings settings = *OptimizerSettings::named("sgd");
  settings.lr = lr;
  Optimizer optimizer(settings);
  Executor executor(program, rank, transport, store, optimizer, {clipNorm, true});
  for (int step = 0; step < steps; ++step) {
    plan::Result<StepReport> report = executor.step(step, batches);
    if (!report) {
      result.error = report.error();
      if (transport)
        (void)transport->fail(report.error());
      return result;
    }
    if (!report->problem.empty()) {
      result.error = report->problem;
      return result;
    }
    result.reports.push_back(*report);
    for (auto &[number, gradient] : executor.takeKeptGradients())
      result.gradients[number] = toAten(gradient);
  }
  for (int number = 0; number < numParams; ++number)
    if (store.parameter(number))
      result.parameters[number] = toAten(store.parameter(number));
  return result;
}

double difference(const at::Tensor &a, const at::Tensor &b) { return (a - b).abs().max().item().toDouble(); }

class ExecutorTest : public testing::Test {
protected:
  /// Trains with the options and compares everything with autograd.
  void check(const TestModelOptions &options, int samples = 6, double clipNorm = 0) {
    std::string plan = makePlan(folder / "weights.pt", options);
    writeTensors(folder / "batch.safetensors", testBatches(samples));
    braid_program source = makeProgram(plan);
    plan::Result<Program> program = Program::load(source);
    ASSERT_TRUE(program) << program.error();
    ASSERT_EQ(initialize(), 0) << braid_rt_message();
    plan::Result<Weights> weights = Weights::open(*program, "");
    ASSERT_TRUE(weights) << weights.error();
    plan::Result<Batches> batches = Batches::open(*program, folder / "batch.safetensors", steps);
    ASSERT_TRUE(batches) << batches.error();

    int world = program->worldSize;
    std::vector<RankResult> results(world);
    if (world == 1) {
      results[0] = trainRank(*program, *weights, *batches, 0, nullptr, clipNorm);
    } else {
      ThreadTransportOptions transportOptions;
      transportOptions.blockingSends = true;
      auto transports = makeThreadTransports(world, transportOptions);
      std::vector<std::thread> threads;
      for (int rank = 0; rank < world; ++rank)
        threads.emplace_back([&, rank] {
          results[rank] = trainRank(*program, *weights, *batches, rank, transports[rank].get(), clipNorm);
        });
      for (std::thread &thread : threads)
        thread.join();
    }

    Reference want = trainWhole(samples, clipNorm);
    for (int rank = 0; rank < world; ++rank) {
      ASSERT_EQ(results[rank].error, "");
      for (int step = 0; step < steps; ++step)
        EXPECT_NEAR(results[rank].reports[step].gradientNorm, want.norms[step], tolerance);
      for (auto &[number, value] : results[rank].parameters)
        EXPECT_LT(difference(value, want.parameters[number]), tolerance) << paramNames[number] << " on rank " << rank;
    }
    for (int step = 0; step < steps; ++step)
      EXPECT_NEAR(results[0].reports[step].loss, want.losses[step], tolerance);
    int names[] = {paramA, param_a, paramB, param_c};
    for (int i = 0; i < 4; ++i) {
      const ModelParameter &parameter = program->parameters[names[i]];
      auto &owner = results[program->rankOf(parameter)].gradients;
      ASSERT_TRUE(owner.count(names[i])) << parameter.name;
      EXPECT_LT(difference(owner[names[i]], want.firstGradients[i]), tolerance) << parameter.name;
    }
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(ExecutorTest, OneRank) {
  for (int microbatches : {1, 2, 3})
    check({{0, 0, 0}, microbatches});
}

TEST_F(ExecutorTest, TwoRanks) {
  for (std::vector<int> placement : {std::vector{0, 0, 1}, {0, 1, 1}, {0, 1, 0}, {1, 0, 0}})
    for (int microbatches : {1, 2}) {
      SCOPED_TRACE(testing::Message() << placement[0] << placement[1] << placement[2] << " x" << microbatches);
      check({placement, microbatches});
    }
}

TEST_F(ExecutorTest, ThreeRanksWithASkipEdge) {
  for (int microbatches : {1, 2, 3})
    check({{0, 1, 2}, microbatches});
}

TEST_F(ExecutorTest, LossOnAnotherRankThanZeroAndBackwards) { check({{2, 1, 0}, 2}); }

TEST_F(ExecutorTest, Gpipe) { check({{0, 1, 2}, 3, true}); }

TEST_F(ExecutorTest, BackwardSplitInInputAndWeight) {
  check({{0, 0, 0}, 2, false, true});
  check({{0, 1, 1}, 3, true, true});
}

TEST_F(ExecutorTest, MicroBatchesOfUnequalSize) {
  check({{0, 0, 1}, 2}, 5);
  check({{0, 1, 2}, 3}, 7);
}

TEST_F(ExecutorTest, ClippedGradients) {
  check({{0, 0, 0}, 1}, 6, 0.05);
  check({{0, 1, 2}, 2}, 6, 0.05);
}

/// Runs the first step of a plan that was changed by `edit`, on one rank.
static std::string failureOf(const TemporaryFolder &folder, const std::function<void(nlohmann::json &)> &edit,
                             braid_program *replaced = nullptr) {
  nlohmann::json json = nlohmann::json::parse(makePlan(folder / "weights.pt", {}));
  edit(json);
  std::string plan = json.dump();
  writeTensors(folder / "batch.safetensors", testBatches(4));
  braid_program source = makeProgram(plan);
  if (replaced) {
    source.functions = replaced->functions;
    source.num_functions = replaced->num_functions;
  }
  plan::Result<Program> program = Program::load(source);
  if (!program)
    return program.error();
  initialize();
  plan::Result<Weights> weights = Weights::open(*program, "");
  plan::Result<Batches> batches = Batches::open(*program, folder / "batch.safetensors", steps);
  if (!weights || !batches)
    return "no weights or batches";
  return trainRank(*program, *weights, *batches, 0, nullptr, 0).error;
}

TEST_F(ExecutorTest, FailureNamesStepActionStageOperatorAndLine) {
  // Stage 1 is given the bias instead of its matrix.
  std::string error = failureOf(folder, [](nlohmann::json &plan) {
    plan["stages"][1]["parameters"] = {param_a};
    plan["stages"][1]["gradients"] = nlohmann::json::array();
    plan["parameters"][paramB]["home"] = 0;
  });
  for (const char *part : {"step 0", "1F0", "net.1", "micro-batch 0", "aten::mm in model at model.py:5",
                           "self f64[4, 4], mat2 f64[4]", "the last actions were 0F0"})
    EXPECT_NE(error.find(part), error.npos) << part << " is not in: " << error;
}

static braid_status noTargets(const int64_t *, const braid_tensor *, braid_tensor *results) {
  return braid_rt_scalar(0, results);
}

TEST_F(ExecutorTest, CountOfZeroIsNamed) {
  std::vector<braid_function_entry> entries(functions, functions + numFunctions);
  entries.back().function = noTargets;
  braid_program replaced{};
  replaced.functions = entries.data();
  replaced.num_functions = numFunctions;
  std::string error = failureOf(
      folder, [](nlohmann::json &) {}, &replaced);
  EXPECT_NE(error.find("the loss is undefined: mse_loss at model.py:9"), error.npos) << error;
}

TEST_F(ExecutorTest, GradientOfAnotherShapeIsRefused) {
  std::string error = failureOf(folder, [](nlohmann::json &plan) {
    plan["stages"][0]["gradients"] = {param_a, paramA}; // the functions give them the other way round
  });
  EXPECT_NE(error.find("the gradient of first.bias is f64[4, 4] and the parameter is f64[4]"), error.npos) << error;
}
