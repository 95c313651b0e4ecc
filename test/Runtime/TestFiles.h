//===- TestFiles.h - Plans, weights and batches for tests --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_RUNTIME_TESTFILES_H
#define BRAID_TEST_RUNTIME_TESTFILES_H

#include "TestModel.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace braid::test {

/// A folder that is gone with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const { return (path / name).string(); }

  std::filesystem::path path;
};

void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

/// What a shell command prints, both streams, and its exit status.
struct CommandResult {
  int status = -1;
  std::string output;
  double seconds = 0;
};
CommandResult runCommand(const std::string &command);

/// Runs Python code with the packages of the build; its status is 77 where they are missing.
CommandResult runPython(const TemporaryFolder &folder, const std::string &code);

/// Numbers between -1 and 1, the same on every machine.
std::vector<double> numbers(uint64_t seed, size_t count);

/// A safetensors file of float64 tensors.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;
};
void writeTensors(const std::string &path, const std::vector<NamedTensor> &tensors);
std::vector<double> readTensor(const std::string &path, const std::string &name);

/// Three steps of x and t with `samples` rows each.
std::vector<NamedTensor> testBatches(int samples);

/// The hand-written model in files.
struct TestModelOptions {
  std::vector<int> placement = {0, 0, 0}; // rank of each stage
  int microbatches = 1;
  bool gpipe = false;
  bool split = false; // B as I and W
};
/// Writes the weights, a stored zip archive, to `path`; gives the byte offset of each parameter.
std::vector<uint64_t> writeWeights(const std::string &path);
std::vector<double> initialValue(int parameter);
/// The plan over weights at `weights`, which must exist.
std::string makePlan(const std::string &weights, const TestModelOptions &options);

} // namespace braid::test

#endif // BRAID_TEST_RUNTIME_TESTFILES_H
