//===- ProgramTest.cpp - Plans and weight files ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Program.h"
#include "TestFiles.h"
#include "braid/Plan/File/Archive.h"
#include "runtime/core/Weights.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>

using namespace braid;
using namespace braid::runtime;
using namespace braid::test;
using nlohmann::json;

namespace {
class ProgramTest : public testing::Test {
protected:
  ProgramTest() : good(makePlan(folder / "weights.pt", {{0, 1, 0}, 2})) {}

  std::string errorOf(const std::string &text) {
    braid_program source = makeProgram(text);
    plan::Result<Program> program = Program::load(source);
    return program ? "" : program.error();
  }
  /// The error that the plan gives after an edit.
  void expectError(const std::function<void(json &)> &edit, const char *part) {
    json plan = json::parse(good);
    edit(plan);
    std::string error = errorOf(plan.dump());
    EXPECT_NE(error.find(part), error.npos) << "not '" << part << "' but: " << error;
    EXPECT_NE(error.find("compile the program again"), error.npos) << error;
  }

  TemporaryFolder folder;
  std::string good;
};
} // namespace

TEST_F(ProgramTest, ReadsAPlan) {
  braid_program source = makeProgram(good);
  plan::Result<Program> program = Program::load(source);
  ASSERT_TRUE(program) << program.error();
  EXPECT_EQ(program->worldSize, 2);
  EXPECT_EQ(program->stages[2].gradientEdges, (std::vector<int>{1, 2}));
  EXPECT_EQ(program->stages[0].gradientValues, (std::vector<int>{0}));
  EXPECT_TRUE(program->parameters[paramA].updated);
  EXPECT_FALSE(program->parameters[paramFrozen].updated);
  EXPECT_EQ(program->edgesBetween(0, 2, true), (std::vector<int>{1}));
  EXPECT_EQ(program->optimizer.lr, 0.1);
}

TEST_F(ProgramTest, BrokenPlans) {
  EXPECT_NE(errorOf("{").find("is no JSON"), std::string::npos);
  EXPECT_NE(errorOf("[]").find("has no 'format'"), std::string::npos);
  expectError([](json &p) { p["format"] = 7; }, "format is 7 and this runtime reads 1");
  expectError([](json &p) { p["device"] = "cuda"; }, "device is cuda");
  expectError([](json &p) { p.erase("edges"); }, "has no 'edges'");
  expectError([](json &p) { p["world_size"] = 0; }, "world_size is 0, outside 1 to");
  expectError([](json &p) { p["world_size"] = "2"; }, "world_size is string, not an integer");
  expectError([](json &p) { p["world_size"] = 3; }, "has 2 rows and the world size is 3");
  expectError([](json &p) { p["stages"] = json::array(); }, "stages is empty");
  expectError([](json &p) { p["stages"][1]["rank"] = 5; }, "stages[1].rank is 5 and there are 2 ranks");
  expectError([](json &p) { p["stages"][1]["parameters"][0] = 99; }, "stages[1].parameters[0] is 99 and there are 6");
  expectError([](json &p) { p["stages"][1]["forward"] = "nothing"; }, "stages[1].forward is 'nothing'");
  expectError([](json &p) { p["inputs"][0]["dims"][0] = "batch +"; }, "inputs[0].dims[0] is no size");
  expectError([](json &p) { p["inputs"][0]["dims"][0] = "seq"; }, "uses 'seq', which is not among the symbols (batch)");
  expectError([](json &p) { p["symbols"].push_back({{"name", "seq"}}); }, "holds 'seq', which is no dim of any input");
  expectError([](json &p) { p["inputs"][0]["dtype"] = "f8"; }, "inputs[0].dtype is 'f8'");
  expectError([](json &p) { p["inputs"][0]["collate"] = "pad"; }, "inputs[0].collate is 'pad'");
  expectError([](json &p) { p["edges"][0]["from"] = 1; }, "edges[0] takes value 0 from stage 1");
  expectError([](json &p) { p["stages"][2]["edges_in"] = {1}; }, "holds edge 2");
  expectError([](json &p) { p["stages"][1].erase("backward"); }, "1B0 for rank 1, and the stage has no backward");
  expectError([](json &p) { p["parameters"][paramA]["trainable"] = false; }, "first.weight");
  expectError([](json &p) { p["parameters"][paramA]["home"] = 1; },
              "first.weight the home stage 1, which does not use it");
  expectError([](json &p) { p["parameters"][paramA]["strides"] = {1}; }, "has 2 sizes and 1 strides");
  expectError([](json &p) { p["schedule"]["rows"][1] = "0F0"; }, "has 0F0 for rank 1, and the stage is on rank 0");
  expectError([](json &p) { p["schedule"]["rows"][1] = "1F9"; }, "and there are 2 micro-batches");
  expectError([](json &p) { p["schedule"]["rows"][1] = "1X0"; }, "cannot be read");
  expectError([](json &p) { p["schedule"]["rows"][1] = "1F0,1F1,1B0,1B1,1STEP"; }, "for rank 1 has no NORM");
  expectError([](json &p) { p["schedule"]["rows"][1] = "1F0,1F1,1B0,1B1,1NORM"; },
              "middle.weight is updated and its stage 1 has no STEP");
  auto recompute = [](json &p, const char *row) {
    p["stages"][1]["recompute"] = {"full"};
    p["schedule"]["rows"][1] = row;
  };
  expectError([](json &p) { p["schedule"]["rows"][1] = "1F0,1RECOMPUTE0"; }, "and the stage recomputes nothing");
  expectError([&](json &p) { recompute(p, "1F0,1F1,1B0,1B1"); },
              "has 1B0 for rank 1 without RECOMPUTE right before it");
  expectError([&](json &p) { recompute(p, "1F0,1RECOMPUTE0,1F1,1B0"); }, "without RECOMPUTE right before it");
  expectError([&](json &p) { recompute(p, "1F0,1F1,1RECOMPUTE0,1B0,1RECOMPUTE1,1B1"); }, "has no NORM");
  expectError([](json &p) { p["stages"][1]["replay"] = p["stages"][1]["forward"]; }, "has no 'replayed'");
  expectError([](json &p) { p["optimizer"]["kind"] = "adam"; }, "optimizer.kind cannot be used");
}

TEST_F(ProgramTest, InterfaceOfAnotherVersion) {
  braid_program source = makeProgram(good);
  source.abi_version = 99;
  plan::Result<Program> program = Program::load(source);
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().find("version 99"), std::string::npos) << program.error();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

TEST_F(ProgramTest, WeightsAreLoaded) {
  braid_program source = makeProgram(good);
  plan::Result<Program> program = Program::load(source);
  ASSERT_TRUE(program) << program.error();
  plan::Result<Weights> weights = Weights::open(*program, "");
  ASSERT_TRUE(weights) << weights.error();
  for (int number = 0; number < numParams; ++number) {
    Tensor tensor = weights->load(program->parameters[number]);
    EXPECT_EQ(tensor.sizes(), paramShape(number));
    std::vector<double> want = initialValue(number);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), static_cast<double *>(tensor.data()))) << paramNames[number];
  }
  ModelParameter transposed = program->parameters[paramA];
  transposed.strides = {1, width};
  EXPECT_EQ(static_cast<double *>(weights->load(transposed).contiguous().data())[1], initialValue(paramA)[width]);
}

TEST_F(ProgramTest, WeightsThatAreMissingOrChanged) {
  braid_program source = makeProgram(good);
  plan::Result<Program> program = Program::load(source);
  ASSERT_TRUE(program) << program.error();
  std::string path = folder / "weights.pt", moved = folder / "moved.pt";
  auto errorWith = [&](const std::string &given) {
    plan::Result<Weights> weights = Weights::open(*program, given);
    return weights ? "" : weights.error();
  };
  std::filesystem::rename(path, moved);
  EXPECT_NE(errorWith("").find("missing: there is no " + path), std::string::npos) << errorWith("");
  EXPECT_NE(errorWith("").find("--weights FILE"), std::string::npos);
  EXPECT_EQ(errorWith(moved), "");

  std::string bytes = readFile(moved);
  writeFile(moved, bytes.substr(0, bytes.size() / 2));
  EXPECT_NE(errorWith(moved).find("cut off"), std::string::npos) << errorWith(moved);
  std::string renamed = bytes;
  renamed[renamed.rfind("model/data/5")] = 'M'; // in the directory
  writeFile(moved, renamed);
  EXPECT_NE(errorWith(moved).find("has changed since the program was compiled"), std::string::npos) << errorWith(moved);
  program->parameters[0].offset = bytes.size() - 8;
  writeFile(moved, bytes);
  EXPECT_NE(errorWith(moved).find("reaches past the"), std::string::npos) << errorWith(moved);
}

TEST_F(ProgramTest, WeightsWhoseBytesWereOverwritten) {
  braid_program source = makeProgram(good);
  plan::Result<Program> program = Program::load(source);
  ASSERT_TRUE(program) << program.error();
  std::string path = folder / "weights.pt", bytes = readFile(path);
  auto errorOf = [&](int rank) {
    plan::Result<Weights> weights = Weights::open(*program, "");
    return weights ? weights->check(*program, rank).error() : weights.error();
  };
  EXPECT_EQ(errorOf(0), "");
  EXPECT_EQ(errorOf(1), "");
  // The size and the directory are as before. Stage 1, which owns b, is on rank 1.
  bytes[program->parameters[paramB].offset + 3] ^= 1;
  writeFile(path, bytes);
  EXPECT_EQ(errorOf(0), "");
  EXPECT_NE(errorOf(1).find("weights of " + program->parameters[paramB].name + " are damaged"), std::string::npos)
      << errorOf(1);
}

TEST(Archive, DigestSeesAnyChangeOfAPyTorchFile) {
  TemporaryFolder folder;
  CommandResult python = runPython(folder, R"(
torch.save({"a": torch.zeros(100)}, "a.pt")
torch.save({"a": torch.zeros(100)}, "same.pt")
torch.save({"a": torch.ones(100)}, "b.pt")
)");
  if (python.status == 77)
    GTEST_SKIP() << "no torch in " << BRAID_TEST_PYTHON << ": " << python.output;
  ASSERT_EQ(python.status, 0) << python.output;
  plan::Result<plan::ArchiveDirectory> a = plan::readArchiveDirectory(readFile(folder / "a.pt")),
                                       b = plan::readArchiveDirectory(readFile(folder / "b.pt"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->bytes, std::filesystem::file_size(folder / "a.pt"));
  EXPECT_EQ(a->digest.size(), 16u);
  EXPECT_NE(a->digest, b->digest) << "the data differs, so its CRC-32 in the directory does";
}
