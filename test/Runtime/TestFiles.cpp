//===- TestFiles.cpp - Plans, weights and batches for tests ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "braid/Plan/File/Archive.h"
#include "braid/Plan/Schedule/Generators.h"
#include "runtime/data/Safetensors.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

using namespace braid;
using namespace braid::test;
using nlohmann::json;

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "braid-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("cannot make " + name);
  path = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void test::writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string test::readFile(const std::string &path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

CommandResult test::runCommand(const std::string &command) {
  CommandResult result;
  auto start = std::chrono::steady_clock::now();
  std::FILE *pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (!pipe)
    return result;
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    result.output.append(buffer, count);
  int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

CommandResult test::runPython(const TemporaryFolder &folder, const std::string &code) {
  std::string script = folder / "script.py";
  writeFile(script, "import sys\ntry:\n    import torch, safetensors.torch\nexcept ImportError as error:\n"
                    "    print(error)\n    sys.exit(77)\ntorch.set_num_threads(1)\n" +
                        code);
  return runCommand("cd '" + folder.path.string() + "' && '" + BRAID_TEST_PYTHON + "' script.py");
}

std::vector<double> test::numbers(uint64_t seed, size_t count) {
  std::vector<double> result;
  uint64_t state = seed * 2862933555777941757u + 3037000493u;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    result.push_back(static_cast<double>(state >> 11) / static_cast<double>(uint64_t(1) << 52) - 1);
  }
  return result;
}

void test::writeTensors(const std::string &path, const std::vector<NamedTensor> &tensors) {
  std::vector<runtime::SafetensorsWriter::Spec> specs;
  for (const NamedTensor &tensor : tensors)
    specs.push_back({tensor.name, BRAID_F64, tensor.shape});
  plan::Result<runtime::SafetensorsWriter> writer = runtime::SafetensorsWriter::create(path, specs);
  ASSERT_TRUE(writer) << writer.error();
  for (const NamedTensor &tensor : tensors) {
    plan::Status status = writer->write(tensor.values.data(), tensor.values.size() * sizeof(double));
    ASSERT_TRUE(status) << status.error();
  }
  plan::Status status = writer->finish();
  ASSERT_TRUE(status) << status.error();
}

std::vector<double> test::readTensor(const std::string &path, const std::string &name) {
  plan::Result<runtime::SafetensorsFile> file = runtime::SafetensorsFile::open(path);
  if (!file) {
    ADD_FAILURE() << file.error();
    return {};
  }
  auto found = file->tensors().find(name);
  if (found == file->tensors().end() || found->second.dtype != BRAID_F64) {
    ADD_FAILURE() << path << " has no float64 tensor " << name;
    return {};
  }
  std::vector<double> values(found->second.bytes / sizeof(double));
  std::copy_n(found->second.data, found->second.bytes, reinterpret_cast<std::byte *>(values.data()));
  return values;
}

std::vector<NamedTensor> test::testBatches(int samples) {
  std::vector<NamedTensor> tensors;
  for (int step = 0; step < 3; ++step)
    for (const char *name : {"x", "t"})
      tensors.push_back({"step" + std::to_string(step) + "/" + name,
                         {samples, width},
                         numbers(100 + 2 * step + (*name == 't'), size_t(samples) * width)});
  return tensors;
}

std::vector<double> test::initialValue(int parameter) {
  size_t count = 1;
  for (int64_t size : paramShape(parameter))
    count *= static_cast<size_t>(size);
  return numbers(parameter + 1, count);
}

static void put(std::string &bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
}

// Entries are stored, as torch.save stores tensors.
std::vector<uint64_t> test::writeWeights(const std::string &path) {
  std::vector<uint64_t> offsets;
  std::string archive, directory;
  for (int number = 0; number < numParams; ++number) {
    std::vector<double> values = initialValue(number);
    std::string name = "model/data/" + std::to_string(number);
    size_t bytes = values.size() * sizeof(double), header = archive.size();
    size_t padding = (64 - (header + 30 + name.size()) % 64) % 64;
    auto common = [&](std::string &to) {
      put(to, 0, 2 + 2); // flags and method come before; time, date
      put(to, crc32_z(0, reinterpret_cast<const Bytef *>(values.data()), bytes), 4);
      put(to, bytes, 4);
      put(to, bytes, 4);
      put(to, name.size(), 2);
    };
    put(archive, 0x04034b50, 4);
    put(archive, 20, 2);
    put(archive, 0, 4);
    common(archive);
    put(archive, padding, 2);
    archive += name + std::string(padding, '\0');
    offsets.push_back(archive.size());
    archive.append(reinterpret_cast<const char *>(values.data()), bytes);
    put(directory, 0x02014b50, 4);
    put(directory, 20 << 16 | 20, 4);
    put(directory, 0, 4);
    common(directory);
    put(directory, 0, 2 + 2 + 2 + 2 + 4);
    put(directory, header, 4);
    directory += name;
  }
  std::string end;
  put(end, 0x06054b50, 4);
  put(end, 0, 4);
  put(end, numParams, 2);
  put(end, numParams, 2);
  put(end, directory.size(), 4);
  put(end, archive.size(), 4);
  put(end, 0, 2);
  writeFile(path, archive + directory + end);
  return offsets;
}

static plan::Schedule makeSchedule(const TestModelOptions &options) {
  plan::Pipeline pipeline = plan::Pipeline::chain(3, options.microbatches, options.placement);
  pipeline.edges = {{0, 0, 1, true}, {1, 0, 2, true}, {2, 1, 2, true}};
  pipeline.tied = {{0, {2}}};
  plan::GenerateOptions generate;
  generate.messages = generate.update = false;
  plan::Result<plan::Schedule> schedule =
      options.gpipe ? plan::gpipe(pipeline, generate) : plan::oneFOneB(pipeline, generate);
  if (!schedule)
    throw std::runtime_error(schedule.error());
  if (options.split)
    for (std::vector<plan::Action> &row : schedule->rows) {
      std::vector<plan::Action> halves;
      for (plan::Action action : row) {
        bool full = action.kind == plan::ActionKind::FullBackward;
        if (full)
          action.kind = plan::ActionKind::BackwardInput;
        halves.push_back(action);
        action.kind = plan::ActionKind::BackwardWeight;
        if (full)
          halves.push_back(action);
      }
      row = halves;
    }
  if (plan::Status status = plan::addMessages(pipeline, *schedule); !status)
    throw std::runtime_error(status.error());
  plan::addUpdate(pipeline, *schedule);
  return *schedule;
}

std::string test::makePlan(const std::string &weights, const TestModelOptions &options) {
  std::vector<uint64_t> offsets = writeWeights(weights);
  plan::Result<plan::ArchiveDirectory> directory = plan::readArchiveDirectory(readFile(weights));
  if (!directory)
    throw std::runtime_error(directory.error());
  plan::Schedule schedule = makeSchedule(options);

  json parameters = json::array();
  for (int number = 0; number < numParams; ++number) {
    std::vector<int64_t> shape = paramShape(number);
    bool buffer = number == param_s, trainable = !buffer && number != paramFrozen;
    json aliases = number == paramA ? json{"last.weight"} : json::array();
    parameters.push_back({{"name", paramNames[number]},
                          {"aliases", aliases},
                          {"dtype", "f64"},
                          {"shape", shape},
                          {"strides", shape.size() == 2 ? json{width, 1} : json{1}},
                          {"offset", offsets[number]},
                          {"kind", buffer ? "buffer" : "parameter"},
                          {"trainable", trainable},
                          {"home", number == paramB                         ? 1
                                   : number == param_c || number == param_s ? 2
                                                                            : 0}});
  }
  auto stage = [&](int number, json fields) {
    std::string prefix = "stage" + std::to_string(number) + "_";
    json common = {{"name", "net." + std::to_string(number)},
                   {"rank", options.placement[number]},
                   {"forward", prefix + "forward"},
                   {"backward_input", prefix + "backward_input"},
                   {"backward_weight", prefix + "backward_weight"},
                   {"backward", prefix + "backward"}};
    fields.update(common);
    return fields;
  };
  auto list = [](std::vector<int> numbers) { return json(numbers); };
  json stages = {stage(0, {{"parameters", list({paramA, param_a})},
                           {"inputs", list({0})},
                           {"edges_in", list({})},
                           {"values_out", list({0})},
                           {"counts", list({})},
                           {"loss", false},
                           {"residuals", 2},
                           {"carries", 1},
                           {"gradients", list({paramA, param_a})}}),
                 stage(1, {{"parameters", list({paramB})},
                           {"inputs", list({})},
                           {"edges_in", list({0})},
                           {"values_out", list({1})},
                           {"counts", list({})},
                           {"loss", false},
                           {"residuals", 2},
                           {"carries", 1},
                           {"gradients", list({paramB})}}),
                 stage(2, {{"parameters", list({paramA, param_c, param_s})},
                           {"inputs", list({1})},
                           {"edges_in", list({1, 2})},
                           {"values_out", list({})},
                           {"counts", list({0})},
                           {"loss", true},
                           {"residuals", 2},
                           {"carries", 1},
                           {"gradients", list({paramA, param_c})}})};
  std::vector<std::string> rows;
  std::istringstream csv(schedule.csv());
  for (std::string row; std::getline(csv, row);)
    rows.push_back(row);
  json dims = {"batch", std::to_string(width)};
  auto input = [&](const char *name) {
    return json{{"name", name}, {"dtype", "f64"}, {"dims", dims}, {"collate", "stack"}};
  };
  auto value = [&](int stage, const char *name) {
    return json{{"stage", stage}, {"name", name}, {"dtype", "f64"}, {"dims", dims}, {"gradient", true}};
  };
  json plan = {
      {"format", 1},
      {"model", "test"},
      {"braid", "0.1.0"},
      {"world_size", schedule.ranks()},
      {"microbatches", options.microbatches},
      {"device", "cpu"},
      {"symbols", json::array({{{"name", "batch"}, {"example", 4}}})},
      {"guards", json::array()},
      {"inputs", {input("x"), input("t")}},
      {"weights", {{"file", weights}, {"bytes", directory->bytes}, {"digest", directory->digest}}},
      {"parameters", parameters},
      {"stages", stages},
      {"values", {value(0, "net.h"), value(1, "net.z")}},
      {"edges",
       {{{"value", 0}, {"from", 0}, {"to", 1}},
        {{"value", 0}, {"from", 0}, {"to", 2}},
        {{"value", 1}, {"from", 1}, {"to", 2}}}},
      {"counts", {{"function", "prologue"}, {"inputs", list({1})}, {"names", {"mse_loss at model.py:9"}}, {"nonzero", {true}}}},
      {"schedule", {{"kind", "1f1b"}, {"rows", rows}}},
      {"optimizer", {{"kind", "sgd"}, {"lr", 0.1}}},
  };
  return plan.dump(1);
}
