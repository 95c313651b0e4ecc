//===- SafetensorsHeaderTest.cpp - What a safetensors file holds ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/SafetensorsHeader.h"

#include <gtest/gtest.h>

#include <random>

using namespace braid::plan;

namespace {
std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(dataBytes, '\1');
}

std::string errorOf(const std::string &header, size_t dataBytes = 0) {
  auto tensors = readSafetensorsHeader(fileOf(header, dataBytes));
  return tensors ? "" : tensors.error();
}

void expectError(const std::string &header, size_t dataBytes, const std::string &part) {
  EXPECT_NE(errorOf(header, dataBytes).find(part), std::string::npos)
      << header.substr(0, 200) << "\nnot '" << part << "' but: " << errorOf(header, dataBytes);
}
} // namespace

TEST(SafetensorsHeader, Reads) {
  const std::string header = R"( {"__metadata__": {"a\n": "\u00e9\"{}"}, "e": {"shape": [0, 3], "dtype": "I64",
      "data_offsets": [8, 8]}, "b\u0041\ud83d\ude00": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}}   )";
  auto tensors = readSafetensorsHeader(fileOf(header, 8));
  ASSERT_TRUE(tensors) << tensors.error();
  ASSERT_EQ(tensors->size(), 2u);
  const StoredTensor &b = tensors->at("bA\xF0\x9F\x98\x80");
  EXPECT_EQ(b.type, ElementType::F32);
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(b.begin, 8 + header.size());
  EXPECT_EQ(b.bytes, 8u);
  EXPECT_EQ(tensors->at("e").bytes, 0u);
  EXPECT_EQ(errorOf("{}"), "");
}

TEST(SafetensorsHeader, NestingIsNoRecursion) {
  for (const char *open : {"[", "{\"a\":", "{\"x\":{\"shape\":["})
    for (const char *before : {"", R"({"x":{"shape":)", R"({"x":)", R"({"__metadata__":{"a":)"}) {
      std::string header = before;
      for (int depth = 0; depth < 200000; ++depth)
        header += open;
      expectError(header, 0, "its header is damaged at byte");
    }
}

TEST(SafetensorsHeader, UnsoundHeaders) {
  auto tensor = [](const std::string &fields) { return R"({"x":{"dtype":"F32",)" + fields + "}}"; };
  expectError(tensor(R"("shape":[2],"data_offsets":[0,8],"dtype":"F64")"), 8, "'dtype' twice");
  expectError(tensor(R"("shape":[2],"data_offsets":[0,8],"stride":[1])"), 8, "'stride', which no safetensors file has");
  expectError(tensor(R"("shape":[2.5],"data_offsets":[0,8])"), 8, "expected ',', in tensor 'x'");
  expectError(tensor(R"("shape":[02],"data_offsets":[0,8])"), 8, "starts with 0");
  expectError(tensor(R"("shape":[-0],"data_offsets":[0,0])"), 0, "outside 0");
  expectError(tensor(R"("shape":[99999999999999999999],"data_offsets":[0,8])"), 8, "outside 0");
  expectError(tensor(R"("shape":2,"data_offsets":[0,8])"), 8, "expected '['");
  expectError(tensor(R"("shape":[2],"data_offsets":[0,8],)"), 8, "expected '\"'");
  expectError(tensor(R"("shape":[2],"data_offsets":[0,8,8])"), 8, "3 numbers, not 2");
  expectError(tensor(R"("shape":[0],"data_offsets":[9,9])"), 0, "starts at byte 9 and the file holds 0");
  expectError(R"({"x":"F32"})", 0, "expected '{'");
  expectError(R"({"__metadata__":{"a":1}})", 0, "expected '\"'");
  expectError("{} {}", 0, "more text");
  expectError("{\"a\nb\":{}}", 0, "control character");
  expectError(R"({"\ud800":{}})", 0, "surrogate");
  expectError(R"({"\x":{}})", 0, "escape");
  expectError(R"({"\u00g0":{}})", 0, "escape");
  expectError("", 0, "expected '{'");
}

// Whatever a file holds, what is accepted lies within it.
TEST(SafetensorsHeader, DamagedFiles) {
  const std::string good = fileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("y":{"dtype":"I64","shape":[1,3],"data_offsets":[8,32]}})",
                                  32);
  ASSERT_TRUE(readSafetensorsHeader(good));
  std::mt19937 random(1);
  int accepted = 0;
  for (int trial = 0; trial < 50000; ++trial) {
    std::string file = good.substr(0, trial % 4 ? good.size() : random() % good.size());
    for (unsigned change = random() % 3; change-- > 0 && !file.empty();)
      file[random() % file.size()] = "0123456789[]{},:\"\\ FI\xff"[random() % 22];
    auto tensors = readSafetensorsHeader(file);
    if (!tensors)
      continue;
    ++accepted;
    for (const auto &[name, tensor] : *tensors) {
      EXPECT_LE(tensor.begin + tensor.bytes, file.size());
      for (int64_t size : tensor.shape)
        EXPECT_GE(size, 0);
    }
  }
  EXPECT_GT(accepted, 100);
}
