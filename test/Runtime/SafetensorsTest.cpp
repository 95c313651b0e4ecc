//===- SafetensorsTest.cpp - Reading and writing safetensors --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Safetensors.h"
#include "TestFiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace braid;
using namespace braid::runtime;
using namespace braid::test;

namespace {
/// The bytes of a file with this header and as much data.
std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(dataBytes, '\1');
}

class SafetensorsTest : public testing::Test {
protected:
  /// The error of opening these bytes; empty where they open.
  std::string errorOf(const std::string &bytes) {
    writeFile(folder / "file.safetensors", bytes);
    plan::Result<SafetensorsFile> file = SafetensorsFile::open(folder / "file.safetensors");
    return file ? "" : file.error();
  }
  void expectError(const std::string &bytes, const char *part) {
    std::string error = errorOf(bytes);
    EXPECT_NE(error.find(part), error.npos) << "not '" << part << "' but: " << error;
    EXPECT_NE(error.find("file.safetensors"), error.npos) << error;
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(SafetensorsTest, RoundTrip) {
  std::string path = folder / "out.safetensors";
  {
    std::vector<SafetensorsWriter::Spec> specs = {
        {"b", BRAID_BOOLEAN, {3}}, {"x", BRAID_F64, {2, 2}}, {"empty", BRAID_I64, {0, 4}}, {"s", BRAID_F16, {}}};
    plan::Result<SafetensorsWriter> writer = SafetensorsWriter::create(path, specs);
    ASSERT_TRUE(writer) << writer.error();
    double x[] = {1, -2, 3.5, 1e300};
    ASSERT_TRUE(writer->write("\1\0\1", 3));
    ASSERT_TRUE(writer->write(x, sizeof x));
    ASSERT_TRUE(writer->write(nullptr, 0));
    EXPECT_FALSE(writer->write(x, 3)) << "a float16 scalar has 2 bytes";
    ASSERT_TRUE(writer->write(x, 2));
    EXPECT_FALSE(std::filesystem::exists(path)) << "the file appears when it is whole";
    plan::Status status = writer->finish();
    ASSERT_TRUE(status) << status.error();
  }
  plan::Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->tensors().size(), 4u);
  const TensorEntry &x = file->tensors().at("x");
  EXPECT_EQ(x.dtype, BRAID_F64);
  EXPECT_EQ(x.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(readTensor(path, "x")[3], 1e300);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1) << "no temporary file is left";
}

TEST_F(SafetensorsTest, UnfinishedFileLeavesTheOldOne) {
  std::string path = folder / "out.safetensors";
  writeFile(path, "old");
  {
    plan::Result<SafetensorsWriter> writer = SafetensorsWriter::create(path, {{"x", BRAID_F32, {2}}});
    ASSERT_TRUE(writer) << writer.error();
    EXPECT_FALSE(writer->finish()) << "a tensor is missing";
  }
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
  EXPECT_FALSE(SafetensorsWriter::create((folder / "no/such/folder"), {}));
  EXPECT_FALSE(SafetensorsWriter::create(path, {{"x", BRAID_F32, {2}}, {"x", BRAID_F32, {2}}}));
}

TEST_F(SafetensorsTest, ExchangesFilesWithPython) {
  writeTensors(folder / "ours.safetensors", {{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"scalar", {}, {7}}});
  CommandResult python = runPython(folder, R"(
from safetensors.torch import load_file, save_file
ours = load_file("ours.safetensors")
assert torch.equal(ours["a"], torch.arange(1, 7, dtype=torch.float64).view(2, 3)), ours
assert ours["scalar"].item() == 7 and ours["scalar"].dim() == 0
names = ["float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
save_file({n: torch.ones(3, 5, dtype=getattr(torch, n)) for n in names}, "theirs.safetensors", {"note": "hello"})
)");
  if (python.status == 77)
    GTEST_SKIP() << "no torch or safetensors in " << BRAID_TEST_PYTHON << ": " << python.output;
  ASSERT_EQ(python.status, 0) << python.output;
  plan::Result<SafetensorsFile> file = SafetensorsFile::open(folder / "theirs.safetensors");
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->tensors().size(), 10u);
  std::pair<const char *, DType> dtypes[] = {{"float32", BRAID_F32}, {"float64", BRAID_F64}, {"bfloat16", BRAID_BF16},
                                             {"float16", BRAID_F16}, {"int64", BRAID_I64},   {"int32", BRAID_I32},
                                             {"int16", BRAID_I16},   {"int8", BRAID_I8},     {"uint8", BRAID_U8},
                                             {"bool", BRAID_BOOLEAN}};
  for (auto [name, dtype] : dtypes) {
    const TensorEntry &entry = file->tensors().at(name);
    EXPECT_EQ(entry.dtype, dtype) << name;
    EXPECT_EQ(entry.shape, (std::vector<int64_t>{3, 5}));
    EXPECT_EQ(entry.bytes, 15 * info(dtype).bytes);
  }
  float one;
  std::memcpy(&one, file->tensors().at("float32").data, sizeof one);
  EXPECT_EQ(one, 1.0f);
}

TEST_F(SafetensorsTest, BrokenFiles) {
  const std::string good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(errorOf(fileOf(good, 8)), "");
  expectError("", "it has 0 bytes");
  expectError("abc", "it has 3 bytes");
  expectError(fileOf(good, 8).substr(0, 30), "announces a header of");
  expectError(std::string(8, '\xff'), "announces a header of 18446744073709551615 bytes");
  expectError(fileOf(good, 4), "the file holds 4 bytes of data");
  expectError(fileOf(good, 12), "end at byte 8 of the data and the data at 12");
  expectError(fileOf("[1]", 0), "expected '{'");
  expectError(fileOf("{\"x\":", 0), "expected '{'");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[2]}})", 8), "tensor 'x' has no 'data_offsets'");
  expectError(fileOf(R"({"x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", 2), "F8_E4M3");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "-2 is outside 0");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              "takes 8 bytes and f32[3] needs 12");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8), "needs more");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", 8), "from byte 8 to 4");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                        "y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                     12),
              "tensor 'x' ends at byte 8 of the data and tensor 'y' starts at 4");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                        "y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                     8),
              "tensor 'x' ends at byte 8 of the data and tensor 'y' starts at 0");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
              "bytes 0 to 4 of the data, before tensor 'x'");
  expectError(fileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                        "x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                     8),
              "'x' stands twice");
  EXPECT_FALSE(SafetensorsFile::open(folder / "missing.safetensors"));
  EXPECT_FALSE(SafetensorsFile::open(folder.path.string()));
}
