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
  std::string command(const std::string &arguments, const std::string &environment = "") {
    return "cd '" + folder.path.string() + "' && env -u RANK -u WORLD_SIZE " + environment +
           " BRAID_TEST_PLAN=plan.json '" + BRAID_TEST_PROGRAM + "' " + arguments;
  }
  CommandResult run(const std::string &arguments, const std::string &environment = "") {
    return runCommand(command(arguments, environment));
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
  expectRefused("--data batch.safetensors --lr inf", {"learning rate is inf"});
  expectRefused("--data batch.safetensors --lr nan", {"learning rate is nan"});
  expectRefused("--data batch.safetensors --weight-decay inf", {"weight decay is inf"});
  expectRefused("--data batch.safetensors --clip-norm nan", {"--clip-norm"});
  expectRefused("--data batch.safetensors --clip-norm inf", {"--clip-norm"});
  expectRefused("--show-plan > /dev/full", {"cannot write to standard output", "No space left"});
  expectRefused("--help > /dev/full", {"cannot write to standard output"});
  expectRefused("--data batch.safetensors --dump-gradients", {"--out DIR"});
  expectRefused("--data missing.safetensors", {"cannot read missing.safetensors: No such file"});
  expectRefused("--data batch.safetensors --weights missing.pt", {"weight file is missing", "missing.pt"});
  expectRefused("--data batch.safetensors --out /proc/nowhere", {"/proc/nowhere"});
  writeTensors(folder / "renamed.safetensors",
               {{"step0/x", {6, width}, numbers(1, 24)}, {"step0/tt", {6, width}, numbers(2, 24)}});
  expectRefused("--data renamed.safetensors", {"needs input 't'", "the file has 'tt', 'x'"});
}

TEST_F(CommandLineTest, ClosedStreamsAreNotReused) {
  compile({{0, 0, 0}, 2});
  ASSERT_EQ(run("--data batch.safetensors --steps 4 --out open").status, 0);
  // The first file that is opened would become standard output, and its name "step 1/4 ..." a line of the metrics.
  ASSERT_EQ(run("--data batch.safetensors --steps 4 --out closed 0<&- 1>&- 2>&-").status, 0);
  EXPECT_EQ(metrics("closed").size(), 4u);
  EXPECT_EQ(readFile(folder / "closed/model.safetensors"), readFile(folder / "open/model.safetensors"));
}

TEST_F(CommandLineTest, OutputThatCannotBeWrittenIsAnError) {
  compile({});
  for (const char *arguments : {"--show-plan", "--help", "--data batch.safetensors"}) {
    CommandResult result = run(std::string(arguments) + " >/dev/full");
    EXPECT_EQ(result.status, 1) << arguments;
    EXPECT_NE(result.output.find("cannot write to standard output"), std::string::npos) << result.output;
  }
  compile({{0, 1, 2}, 1});
  EXPECT_NE(run("--data batch.safetensors --local 3 >/dev/full").status, 0);
}

TEST_F(CommandLineTest, AnEarlierRunIsNotReplacedSilently) {
  compile({});
  ASSERT_EQ(run("--data batch.safetensors --steps 1 --out run --dump-gradients --quiet").output, "");
  std::string before = readFile(folder / "run/model.safetensors");
  expectRefused("--data batch.safetensors --steps 2 --out run", {"run of --out holds an earlier run", "--overwrite"});
  EXPECT_EQ(readFile(folder / "run/model.safetensors"), before);
  writeFile(folder / "run/notes.txt", "mine");
  ASSERT_EQ(run("--data batch.safetensors --steps 2 --out run --overwrite --quiet").output, "");
  EXPECT_NE(readFile(folder / "run/model.safetensors"), before);
  EXPECT_EQ(metrics("run").size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "run/gradients.safetensors")) << "it is the earlier run's";
  EXPECT_EQ(readFile(folder / "run/notes.txt"), "mine");
}

TEST_F(CommandLineTest, NonFiniteGradientsEndTheRunBeforeTheUpdate) {
  // Step 2 has an infinite target: its loss and gradients are not finite.
  std::vector<NamedTensor> tensors = testBatches(6);
  ASSERT_EQ(tensors[5].name, "step2/t");
  tensors[5].values[0] = HUGE_VAL;
  writeTensors(folder / "bad.safetensors", tensors);
  for (std::vector<int> placement : {std::vector<int>{0, 0, 0}, {0, 1, 2}}) {
    compile({placement, 2});
    std::string ranks = placement[2] ? " --local 3" : "";
    std::string out = placement[2] ? "three" : "one", good = out + "-good";
    ASSERT_EQ(run("--data batch.safetensors --steps 2 --quiet --out " + good + ranks).status, 0);
    CommandResult result = run("--data bad.safetensors --steps 9 --out " + out + ranks);
    EXPECT_EQ(result.status, 1);
    std::string words = placement[2] ? "rank 2 failed: step 2: the loss is not finite on rank 2"
                                     : "braid: step 2: the loss is not finite on rank 0";
    EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("model.safetensors has what was trained before it"), std::string::npos);
    EXPECT_EQ(readFile(folder / (out + "/model.safetensors")), readFile(folder / (good + "/model.safetensors")));
    result = run("--data bad.safetensors --steps 3 --quiet --on-nonfinite continue --overwrite --out " + out + ranks);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_FALSE(std::isfinite(readTensor(folder / (out + "/model.safetensors"), "last.bias")[0]));
  }
}

TEST_F(CommandLineTest, ABatchWithoutTargetsEndsTheRunAndSavesIt) {
  // Rows of no samples cannot be; so the count is of another kind here: the model's prologue counts no element above 2.
  std::vector<NamedTensor> tensors = testBatches(6);
  for (double &value : tensors[5].values)
    value = 3;
  writeTensors(folder / "ignored.safetensors", tensors);
  compile({{0, 1, 2}, 2});
  json plan = json::parse(readFile(folder / "plan.json"));
  plan["counts"]["function"] = "prologue_ignoring";
  writeFile(folder / "plan.json", plan.dump());
  ASSERT_EQ(run("--data ignored.safetensors --local 3 --steps 2 --out good --quiet").output, "");
  CommandResult result = run("--data ignored.safetensors --local 3 --steps 9 --out run --quiet");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("step 2: the loss is undefined: mse_loss at model.py:9 divides by what it counts in "
                               "the batch, and that is 0 here"),
            std::string::npos)
      << result.output;
  EXPECT_EQ(readFile(folder / "run/model.safetensors"), readFile(folder / "good/model.safetensors"));
  EXPECT_NE(readFile(folder / "run/metrics.jsonl").find(R"("step":2,"loss":null)"), std::string::npos);
}

TEST_F(CommandLineTest, DataThatIsCutDuringTheRun) {
  compile({{0, 1, 2}, 2});
  std::vector<NamedTensor> tensors;
  for (int step = 0; step < 2000; ++step)
    for (const char *name : {"x", "t"})
      tensors.push_back({"step" + std::to_string(step) + "/" + name, {6, width}, numbers(step, 6 * width)});
  writeTensors(folder / "long.safetensors", tensors);
  // Cut once the first step is through; the run goes round the file until it comes to the cut.
  std::string cut = "(until [ -s '" + (folder / "run/metrics.jsonl") +
                    "' ]; do sleep 0.02; done; truncate -s 300000 '" + (folder / "long.safetensors") + "') & ";
  CommandResult result =
      runCommand(cut + command("--data long.safetensors --local 3 --steps 100000000 --out run --quiet"));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("the file long.safetensors had "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("bytes when the run started and has 300000 now"), std::string::npos) << result.output;
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
