//===- TrainingTest.cpp - Training as people do it ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Learning rates, groups, accumulation, evaluation and checkpoints of the hand-written model as a program of its own,
// against torch.optim, transformers' schedules and runs that were never interrupted.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/core/LearningRate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <sstream>

using namespace braid::test;
using nlohmann::json;

/// The model in PyTorch, over the files of the test; its loss is a sum and a count, so that batches can be joined.
static const char *const pytorchModel = R"(
import json
from safetensors.torch import load_file
w = {k: v.clone().requires_grad_(k not in ("scale", "unused.weight")) for k, v in load_file("initial.safetensors").items()}
def parts(x, t):
    h = torch.tanh(x @ w["first.weight"].T + w["first.bias"])
    z = torch.tanh(h @ w["middle.weight"].T)
    e = ((h + z) @ w["first.weight"].T + w["last.bias"]) * w["scale"] - t
    return (e * e).sum(), t.numel()
def loss_of(data, numbers):
    sums = [parts(data[f"step{i}/x"], data[f"step{i}/t"]) for i in numbers]
    return sum(s for s, _ in sums) / sum(c for _, c in sums)
def metrics(run):
    return [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
def near(a, b):
    assert abs(a - b) <= 1e-12 * max(1, abs(b)), (a, b)
def compare(run):
    for name, value in load_file(f"{run}/model.safetensors").items():
        assert (value - w[name]).abs().max() <= 1e-12, (run, name)
)";

namespace {
class TrainingTest : public testing::Test {
protected:
  TrainingTest() {
    // Batches of several sizes, so that the mean of their means is not the mean over their union.
    std::vector<NamedTensor> tensors;
    int64_t sizes[] = {6, 3, 4, 5, 2, 7};
    for (int step = 0; step < 6; ++step)
      for (const char *name : {"x", "t"})
        tensors.push_back({"step" + std::to_string(step) + "/" + name,
                           {sizes[step], width},
                           numbers(200 + 2 * step + (*name == 't'), size_t(sizes[step]) * width)});
    writeTensors(folder / "batch.safetensors", tensors);
    writeTensors(folder / "eval.safetensors", testBatches(5));
    std::vector<NamedTensor> initial;
    for (int number = 0; number < numParams; ++number)
      initial.push_back({paramNames[number], paramShape(number), initialValue(number)});
    writeTensors(folder / "initial.safetensors", initial);
  }

  /// Edits `optimizer` of the plan.
  void compile(const TestModelOptions &options, const json &optimizer = {{"kind", "sgd"}, {"lr", 0.1}}) {
    json plan = json::parse(makePlan(folder / "weights.pt", options));
    plan["optimizer"] = optimizer;
    writeFile(folder / "plan.json", plan.dump());
  }
  CommandResult run(const std::string &arguments, const std::string &environment = "") {
    return runCommand("cd '" + folder.path.string() + "' && env -u RANK -u WORLD_SIZE " + environment +
                      " BRAID_TEST_PLAN=plan.json '" + BRAID_TEST_PROGRAM + "' --data batch.safetensors " + arguments);
  }
  void expectRun(const std::string &arguments) {
    CommandResult result = run(arguments + " --quiet");
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(result.output, "");
  }
  void expectRefused(const std::string &arguments, std::initializer_list<const char *> parts) {
    CommandResult result = run(arguments);
    EXPECT_NE(result.status, 0) << arguments;
    for (const char *part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << "not '" << part << "' but: " << result.output;
  }
  void expectPython(const std::string &code) {
    CommandResult result = runPython(folder, pytorchModel + code);
    if (result.status == 77)
      GTEST_SKIP() << result.output;
    EXPECT_EQ(result.status, 0) << result.output;
  }
  /// Losses and norms of a run, as printed: equal text is equal bits. Norms are sums over ranks, and so have other last
  /// bits with other ranks.
  std::vector<std::string> losses(const std::string &out, bool norms = true) {
    std::vector<std::string> lines;
    std::istringstream text(readFile(folder / (out + "/metrics.jsonl")));
    for (std::string line; std::getline(text, line);) {
      json entry = json::parse(line);
      lines.push_back(entry["step"].dump() + " " + entry["loss"].dump() +
                      (norms ? " " + entry["grad_norm"].dump() : ""));
    }
    return lines;
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(TrainingTest, LearningRatesAreTransformers) {
  CommandResult python = runPython(folder, R"(
try:
    from transformers import (get_constant_schedule_with_warmup, get_linear_schedule_with_warmup,
                              get_cosine_with_min_lr_schedule_with_warmup)
except ImportError as error:
    print(error)
    sys.exit(77)
def rates(make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = make(optimizer)
    for _ in range(20):
        print(repr(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        schedule.step()
rates(lambda o: get_constant_schedule_with_warmup(o, 5))
rates(lambda o: get_linear_schedule_with_warmup(o, 5, 20))
rates(lambda o: get_linear_schedule_with_warmup(o, 0, 20))
rates(lambda o: get_cosine_with_min_lr_schedule_with_warmup(o, 5, 20, min_lr_rate=0.1))
rates(lambda o: get_cosine_with_min_lr_schedule_with_warmup(o, 0, 20, min_lr_rate=0.0))
)");
  if (python.status == 77)
    GTEST_SKIP() << python.output;
  std::istringstream expected(python.output);
  using braid::runtime::LearningRateSchedule;
  for (LearningRateSchedule schedule : {LearningRateSchedule{"constant", 5, 0, 0},
                                        {"linear", 5, 0, 0},
                                        {"linear", 0, 20, 0},
                                        {"cosine", 5, 20, 0.1},
                                        {"cosine", 0, 0, 0}})
    for (int step = 0; step < 20; ++step) {
      double rate = -1;
      expected >> rate;
      EXPECT_NEAR(schedule.factor(step, 20), rate, 1e-15) << schedule.kind << " " << step;
    }
  // Behind its last step a schedule stays where it is.
  EXPECT_EQ((LearningRateSchedule{"cosine", 0, 10, 0.25}).factor(15, 100), 0.25);
  EXPECT_EQ((LearningRateSchedule{"linear", 10, 10, 0.5}).factor(10, 100), 0.5);
  EXPECT_FALSE((LearningRateSchedule{"linear", 11, 10, 0}).check());
  EXPECT_FALSE((LearningRateSchedule{"linear", 0, 10, 1.5}).check());
}

TEST_F(TrainingTest, SchedulesGroupsAndNesterovEqualPyTorch) {
  json groups = {{{"parameters", {"*.bias"}}, {"weight_decay", 0.0}}, {{"parameters", {"last"}}, {"lr", 0.02}}};
  json schedule = {{"kind", "cosine"}, {"warmup", 2}, {"minimum", 0.1}};
  compile({{0, 0, 0}, 2}, {{"kind", "sgd"},
                           {"lr", 0.05},
                           {"momentum", 0.9},
                           {"nesterov", true},
                           {"weight_decay", 0.1},
                           {"schedule", schedule},
                           {"groups", groups}});
  expectRun("--steps 8 --out sgd");
  // The same from the command line, over three ranks, with AdamW. A tied parameter has an alias in last.
  compile({{0, 1, 2}, 2});
  expectRun("--steps 8 --out adamw --local 3 --optimizer adamw --lr 0.05 --weight-decay 0.1 --lr-schedule linear "
            "--warmup 2 --group '*.bias: weight_decay=0' --group 'last: lr=0.02'");
  expectPython(R"(
from transformers import get_linear_schedule_with_warmup, get_cosine_with_min_lr_schedule_with_warmup
start = {k: v.detach().clone() for k, v in w.items()}
def train(run, make, schedule):
    for k in w:
        w[k] = start[k].clone().requires_grad_(start[k].requires_grad or k not in ("scale", "unused.weight"))
    groups = [{"params": [w["first.bias"], w["last.bias"]], "weight_decay": 0.0},
              {"params": [w["first.weight"]], "lr": 0.02}, {"params": [w["middle.weight"]]}]
    optimizer = make(groups)
    rates = schedule(optimizer)
    data = load_file("batch.safetensors")
    for step, line in enumerate(metrics(run)):
        optimizer.zero_grad()
        loss = loss_of(data, [step % 6])
        loss.backward()
        near(line["loss"], loss.item())
        near(line["lr"], optimizer.param_groups[2]["lr"])
        optimizer.step()
        rates.step()
    compare(run)
train("sgd", lambda g: torch.optim.SGD(g, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1),
      lambda o: get_cosine_with_min_lr_schedule_with_warmup(o, 2, 8, min_lr_rate=0.1))
train("adamw", lambda g: torch.optim.AdamW(g, lr=0.05, weight_decay=0.1), lambda o: get_linear_schedule_with_warmup(o, 2, 8))
)");
}

TEST_F(TrainingTest, GroupsThatNameNothing) {
  compile({});
  expectRefused("--group 'frist.weight: lr=1'",
                {"'frist.weight'", "names no parameter", "did you mean 'first.weight'?"});
  expectRefused("--group 'unused: lr=1'", {"'unused'", "frozen parameters only"});
  expectRefused("--group 'first: lr=-1'", {"lr to '-1'"});
  expectRefused("--group first", {"names no parameters", "PATTERN: lr="});
}

TEST_F(TrainingTest, AccumulatedBatchesAreTheirUnion) {
  compile({{0, 0, 0}, 1});
  expectRun("--steps 3 --accumulate 2 --out one");
  compile({{0, 1, 2}, 2}, {{"kind", "sgd"}, {"lr", 0.1}, {"accumulate", 2}});
  expectRun("--steps 3 --out three --local 3");
  expectPython(R"(
optimizer = torch.optim.SGD([v for v in w.values() if v.requires_grad], lr=0.1)
data = load_file("batch.safetensors")
lines = metrics("one"), metrics("three")
for step in range(3):
    optimizer.zero_grad()
    loss = loss_of(data, [2 * step, 2 * step + 1])
    loss.backward()
    optimizer.step()
    for run in lines:
        near(run[step]["loss"], loss.item())
        assert run[step]["samples"] == sum(len(data[f"step{i}/x"]) for i in (2 * step, 2 * step + 1))
compare("one")
compare("three")
)");
  json plan = json::parse(readFile(folder / "plan.json"));
  plan["whole_batch"] = "batch_norm at model.py:3 mixes samples";
  writeFile(folder / "plan.json", plan.dump());
  expectRefused("--local 3", {"cannot take 2 batches", "batch_norm at model.py:3", "--accumulate 1"});
}

TEST_F(TrainingTest, EvaluationTouchesNothing) {
  compile({{0, 1, 2}, 2});
  expectRun("--steps 5 --local 3 --optimizer adamw --out plain");
  expectRun("--steps 5 --local 3 --optimizer adamw --out run --eval-data eval.safetensors --eval-every 2");
  EXPECT_EQ(readFile(folder / "run/model.safetensors"), readFile(folder / "plain/model.safetensors"));
  expectPython(R"(
lines = metrics("run")
assert [("eval_loss" in line, line["step"]) for line in lines] == [
    (False, 0), (False, 1), (True, 1), (False, 2), (False, 3), (True, 3), (False, 4), (True, 4)], lines
optimizer = torch.optim.AdamW([v for v in w.values() if v.requires_grad], lr=1e-3, weight_decay=0.01)
train, evaluation = load_file("batch.safetensors"), load_file("eval.safetensors")
for line in lines:
    if "eval_loss" in line:
        near(line["eval_loss"], loss_of(evaluation, range(3)).item())
        continue
    optimizer.zero_grad()
    loss_of(train, [line["step"]]).backward()
    optimizer.step()
)");
  expectRefused("--local 3 --eval-every 2", {"--eval-data FILE"});
}

TEST_F(TrainingTest, ResumingGivesTheSameBits) {
  std::string options = " --optimizer adamw --lr 0.01 --lr-schedule cosine --warmup 2 --accumulate 2 --quiet";
  compile({{0, 0, 0}, 2});
  ASSERT_EQ(run("--steps 7 --out whole" + options).status, 0);
  ASSERT_EQ(run("--steps 7 --out part --save-every 3" + options).status, 0);
  EXPECT_EQ(readFile(folder / "part/model.safetensors"), readFile(folder / "whole/model.safetensors"));
  // From the third step, into the same folder, and over three ranks into another one.
  CommandResult result = run("--steps 7 --out part --resume part/checkpoints/step3" + options);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(losses("part"), losses("whole"));
  EXPECT_EQ(readFile(folder / "part/model.safetensors"), readFile(folder / "whole/model.safetensors"));
  compile({{0, 1, 2}, 2});
  result = run("--steps 7 --out three --local 3 --resume part/checkpoints/step3" + options);
  EXPECT_EQ(result.status, 0) << result.output;
  std::vector<std::string> whole = losses("whole", /*norms=*/false);
  EXPECT_EQ(losses("three", /*norms=*/false), std::vector<std::string>(whole.begin() + 3, whole.end()));
  EXPECT_EQ(readFile(folder / "three/model.safetensors"), readFile(folder / "whole/model.safetensors"));
  // What the run did before it was taken up earlier is no part of it any more, once it saves: step6 and step7 go, and
  // not those that are kept.
  std::filesystem::copy(folder.path / "part", folder.path / "again", std::filesystem::copy_options::recursive);
  std::filesystem::create_directory(folder.path / "again/checkpoints/.step9.tmp");
  result = run("--steps 5 --lr-steps 7 --local 3 --out again --save-every 1 --keep 2 --resume again/checkpoints/step3" +
               options);
  EXPECT_EQ(result.status, 0) << result.output;
  std::set<std::string> left;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path / "again/checkpoints"))
    left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"step4", "step5"}));
  // The folder of a run stands for its latest checkpoint; the one after the last step has nothing left to do.
  expectRefused("--steps 7 --local 3 --out other --optimizer adamw --resume part", {"step7 has made 7 steps"});
  expectRefused("--steps 9 --local 3 --out whole --optimizer adamw --resume part", {"holds an earlier run"});
  expectRefused("--steps 9 --local 3 --out part --optimizer adamw --overwrite --resume part",
                {"--overwrite would remove"});
  expectRefused("--steps 9 --local 3 --resume part", {"its optimizer is adamw, and this run's is sgd"});
  expectRefused("--steps 9 --local 3 --resume nowhere", {"there is no nowhere"});
  expectRefused("--steps 9 --local 3 --resume whole", {"no run with checkpoints"});
  json state = json::parse(readFile(folder / "part/checkpoints/step3/state.json"));
  EXPECT_EQ(state["position"], 6);
  state["model"] = "0123456789abcdef";
  writeFile(folder / "part/checkpoints/step3/state.json", state.dump());
  expectRefused("--steps 9 --local 3 --optimizer adamw --resume part/checkpoints/step3",
                {"0123456789abcdef", "weights.pt"});
  writeFile(folder / "part/checkpoints/step3/state.json", "{");
  expectRefused("--steps 9 --local 3 --optimizer adamw --resume part/checkpoints/step3", {"no sound checkpoint"});
}

TEST_F(TrainingTest, ADamagedCheckpointIsRefused) {
  compile({{0, 0, 0}, 2});
  expectRun("--steps 2 --out run --save-every 1 --optimizer adamw --quiet");
  for (const char *name : {"model.safetensors", "optimizer.safetensors"}) {
    std::string path = folder / (std::string("run/checkpoints/step1/") + name), bytes = readFile(path);
    std::string damaged = bytes;
    damaged[bytes.size() - 3] ^= 1;
    writeFile(path, damaged);
    expectRefused("--steps 2 --out again --optimizer adamw --resume run/checkpoints/step1",
                  {name, "is damaged or was changed since it was saved; resume from another checkpoint"});
    writeFile(path, bytes);
  }
  expectRun("--steps 2 --out again --optimizer adamw --quiet --resume run/checkpoints/step1");
}

TEST_F(TrainingTest, PyTorchReadsCheckpoints) {
  compile({{0, 1, 2}, 2});
  expectRun("--steps 4 --local 3 --out run --save-every 2 --keep 1 --optimizer adamw");
  EXPECT_FALSE(std::filesystem::exists(folder.path / "run/checkpoints/step2"));
  expectPython(R"(
trained = {k: v for k, v in w.items() if v.requires_grad}
optimizer = torch.optim.AdamW(trained.values(), lr=1e-3, weight_decay=0.01)
data = load_file("batch.safetensors")
for step in range(4):
    optimizer.zero_grad()
    loss_of(data, [step]).backward()
    optimizer.step()
saved = load_file("run/checkpoints/step4/optimizer.safetensors")
assert len(saved) == 3 * len(trained), saved.keys()
for name, parameter in trained.items():
    for key, value in optimizer.state[parameter].items():
        got = saved[f"{name}.{key}"]
        assert got.shape == value.shape and (got - value).abs().max() <= 1e-12, (name, key)
compare("run/checkpoints/step4")
)");
}

TEST_F(TrainingTest, AKilledSaveLeavesTheLastCheckpointWhole) {
  compile({{0, 1, 2}, 1});
  std::string options = " --local 3 --optimizer adamw --quiet";
  ASSERT_EQ(run("--steps 4 --out whole" + options).status, 0);
  // Rank 0, which writes, is killed before each call in turn that makes something durable, from the second checkpoint
  // on; then the run goes on from what it left. A checkpoint takes ten such calls.
  int checkpoints = 0;
  for (int at = 11; at <= 20; ++at) {
    std::string out = "run" + std::to_string(at);
    CommandResult killed = run("--steps 4 --save-every 1 --out " + out + options,
                               "LD_PRELOAD=" BRAID_TEST_KILL_AT_SYNC " BRAID_TEST_KILL_AT=" + std::to_string(at));
    ASSERT_NE(killed.status, 0) << at;
    EXPECT_NE(killed.output.find("rank 0"), std::string::npos) << killed.output;
    CommandResult resumed = run("--steps 4 --save-every 1 --out " + out + " --resume " + out + options);
    ASSERT_EQ(resumed.status, 0) << at << ": " << resumed.output;
    EXPECT_EQ(losses(out), losses("whole")) << at;
    EXPECT_EQ(readFile(folder / (out + "/model.safetensors")), readFile(folder / "whole/model.safetensors")) << at;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path / out / "checkpoints")) {
      EXPECT_NE(entry.path().filename().string()[0], '.') << "left behind: " << entry.path();
      ++checkpoints;
    }
  }
  EXPECT_EQ(checkpoints, 10 * 4);
}
