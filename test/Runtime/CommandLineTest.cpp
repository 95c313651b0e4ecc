//===- CommandLineTest.cpp - Compiled programs as a user runs them --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <unistd.h>

using namespace braid::test;
using nlohmann::json;

namespace {
class CommandLineTest : public testing::Test {
protected:
  CommandLineTest() { writeTensors(folder / "batch.safetensors", testBatches(6)); }

  void compile(const TestModelOptions &options) {
    writeFile(folder / "plan.json", makePlan(folder / "weights.pt", options));
  }
  CommandResult run(const std::string &arguments, const std::string &environment = "") {
    return runCommand("cd '" + folder.path.string() + "' && env -u RANK -u WORLD_SIZE " + environment +
                      " BRAID_TEST_PLAN=plan.json '" + BRAID_TEST_PROGRAM + "' " + arguments);
  }
  void expectRefused(const std::string &arguments, std::initializer_list<const char *> parts) {
    CommandResult result = run(arguments);
    EXPECT_NE(result.status, 0) << arguments;
    for (const char *part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << "not '" << part << "' but: " << result.output;
  }
  std::vector<json> metrics(const std::string &out) {
    std::vector<json> lines;
    std::istringstream text(readFile(folder / (out + "/metrics.jsonl")));
    for (std::string line; std::getline(text, line);)
      lines.push_back(json::parse(line));
    return lines;
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(CommandLineTest, OneRankWritesItsRun) {
  compile({{0, 0, 0}, 2});
  CommandResult result = run("--data batch.safetensors --steps 4 --out run --dump-gradients");
  ASSERT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("step 4/4  loss "), std::string::npos) << result.output;
  std::vector<json> lines = metrics("run");
  ASSERT_EQ(lines.size(), 4u);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(lines[step]["step"], step);
    EXPECT_GT(lines[step]["loss"].get<double>(), 0);
    EXPECT_GT(lines[step]["grad_norm"].get<double>(), 0);
    EXPECT_EQ(lines[step]["samples"], 6);
  }
  // The norm in the metrics is that of the gradients in the file, the tied one once.
  double squares = 0;
  for (int number : {paramA, param_a, paramB, param_c})
    for (double value : readTensor(folder / "run/gradients.safetensors", paramNames[number]))
      squares += value * value;
  EXPECT_NEAR(lines[0]["grad_norm"].get<double>(), std::sqrt(squares), 1e-14);
  EXPECT_EQ(readTensor(folder / "run/model.safetensors", "unused.weight"), initialValue(paramFrozen));
  EXPECT_EQ(readTensor(folder / "run/model.safetensors", "scale"), initialValue(param_s));
  EXPECT_NE(readTensor(folder / "run/model.safetensors", "first.weight"), initialValue(paramA));
}

TEST_F(CommandLineTest, RanksGiveTheSameRun) {
  compile({{0, 0, 0}, 2});
  ASSERT_EQ(run("--data batch.safetensors --out one --dump-gradients --optimizer adamw --quiet").output, "");
  compile({{0, 1, 2}, 2});
  for (std::string transport : {"shm", "threads"}) {
    CommandResult result = run("--data batch.safetensors --local 3 --transport " + transport + " --out " + transport +
                               " --dump-gradients --optimizer adamw --quiet");
    ASSERT_EQ(result.status, 0) << result.output;
    std::vector<json> one = metrics("one"), many = metrics(transport);
    ASSERT_EQ(one.size(), 3u) << "each batch of the file once";
    ASSERT_EQ(many.size(), 3u);
    for (int step = 0; step < 3; ++step) {
      EXPECT_NEAR(one[step]["loss"].get<double>(), many[step]["loss"].get<double>(), 1e-13);
      EXPECT_NEAR(one[step]["grad_norm"].get<double>(), many[step]["grad_norm"].get<double>(), 1e-13);
    }
    for (int number = 0; number < numParams; ++number) {
      std::vector<double> a = readTensor(folder / "one/model.safetensors", paramNames[number]);
      std::vector<double> b = readTensor(folder / (transport + "/model.safetensors"), paramNames[number]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 1e-12) << paramNames[number];
    }
  }
}

TEST_F(CommandLineTest, TorchrunsVariables) {
  compile({{0, 0, 1}, 2});
  std::string rank = " WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29513"
                     " TORCHELASTIC_RUN_ID=braid-test-" +
                     std::to_string(getpid()) + " BRAID_TEST_PLAN=plan.json '" + BRAID_TEST_PROGRAM +
                     "' --data batch.safetensors --out run";
  CommandResult result = runCommand("cd '" + folder.path.string() + "' && (RANK=1 LOCAL_RANK=1" + rank +
                                    " & other=$!; RANK=0 LOCAL_RANK=0" + rank + " && wait $other)");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(metrics("run").size(), 3u);
}

TEST_F(CommandLineTest, ShowPlan) {
  compile({{0, 0, 1}, 2});
  CommandResult result = run("--show-plan");
  ASSERT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(json::parse(result.output), json::parse(readFile(folder / "plan.json")));
}

TEST_F(CommandLineTest, WrongWorldSizeNamesBoth) {
  compile({{0, 0, 1}, 1});
  expectRefused("--data batch.safetensors", {"compiled for 2 ranks", "a single process gives 1", "--local 2"});
  expectRefused("--data batch.safetensors --local 3", {"compiled for 2 ranks", "--local gives 3"});
}

TEST_F(CommandLineTest, WrongArguments) {
  compile({});
  expectRefused("", {"--data FILE"});
  expectRefused("--data batch.safetensors --no-such-option", {"--no-such-option"});
  expectRefused("--data batch.safetensors --steps 0", {"--steps"});
  expectRefused("--data batch.safetensors --optimizer adam", {"adam"});
  expectRefused("--data batch.safetensors --optimizer sgd --betas 0.9 0.99", {"--betas and --eps belong to adamw"});
  expectRefused("--data batch.safetensors --optimizer adamw --betas 0.9 1.5", {"1.5"});
  expectRefused("--data batch.safetensors --dump-gradients", {"--out DIR"});
  expectRefused("--data missing.safetensors", {"cannot read missing.safetensors: No such file"});
  expectRefused("--data batch.safetensors --weights missing.pt", {"weight file is missing", "missing.pt"});
  expectRefused("--data batch.safetensors --out /proc/nowhere", {"/proc/nowhere"});
  writeTensors(folder / "renamed.safetensors",
               {{"step0/x", {6, width}, numbers(1, 24)}, {"step0/tt", {6, width}, numbers(2, 24)}});
  expectRefused("--data renamed.safetensors", {"needs input 't'", "the file has 'tt', 'x'"});
}

TEST_F(CommandLineTest, WeightsBesideTheExecutableOrGiven) {
  compile({});
  std::filesystem::rename(folder / "weights.pt", folder / "elsewhere.pt");
  EXPECT_NE(run("--data batch.safetensors --quiet").status, 0);
  CommandResult result = run("--data batch.safetensors --quiet --weights elsewhere.pt");
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(CommandLineTest, ProgressBar) {
  compile({});
  CommandResult result = run("--data batch.safetensors --progress on");
  EXPECT_NE(result.output.find("ETA"), std::string::npos) << result.output;
  EXPECT_EQ(run("--data batch.safetensors --quiet").output, "");
}

TEST_F(CommandLineTest, ARankThatDiesEndsTheOthersAndIsNamed) {
  compile({{0, 1, 2}, 2});
  CommandResult result = run("--data batch.safetensors --local 3 --steps 1000", "BRAID_TEST_DIE=stage1_forward");
  EXPECT_NE(result.status, 0);
  EXPECT_LT(result.seconds, 10);
  EXPECT_NE(result.output.find("rank 1"), std::string::npos) << result.output;
}

TEST_F(CommandLineTest, ARankThatFailsIsNamedOnce) {
  compile({{0, 1, 2}, 2});
  json plan = json::parse(readFile(folder / "plan.json"));
  plan["stages"][1]["parameters"] = {param_a};
  plan["stages"][1]["gradients"] = json::array();
  plan["parameters"][paramB]["home"] = 0;
  writeFile(folder / "plan.json", plan.dump());
  for (const char *transport : {"shm", "threads"}) {
    CommandResult result = run(std::string("--data batch.safetensors --local 3 --transport ") + transport);
    EXPECT_NE(result.status, 0);
    EXPECT_LT(result.seconds, 10);
    size_t first = result.output.find("rank 1 failed: step 0, 1F0");
    EXPECT_NE(first, std::string::npos) << result.output;
    EXPECT_EQ(result.output.find("aten::mm", first + 1), result.output.rfind("aten::mm")) << result.output;
  }
}
