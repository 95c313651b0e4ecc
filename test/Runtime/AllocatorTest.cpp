//===- AllocatorTest.cpp - The caching allocator --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Allocator.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace braid::runtime;

namespace {
class AllocatorTest : public testing::Test {
protected:
  void SetUp() override {
    installAllocator();
    at::Tensor probe = at::empty({1}, at::kByte);
    if (allocatorStatistics().reserved == 0)
      GTEST_SKIP() << "tensors stay with the sanitizer's allocator";
  }
};

at::Tensor bytes(int64_t count) { return at::empty({count}, at::kByte); }

// Every block keeps what is written to it while others come and go: none overlap, and headers stay whole.
TEST_F(AllocatorTest, BlocksDoNotOverlap) {
  std::mt19937 random(7);
  struct Block {
    at::Tensor tensor;
    uint8_t mark;
  };
  std::vector<Block> blocks;
  auto check = [](const Block &block) {
    auto *data = static_cast<const uint8_t *>(block.tensor.data_ptr());
    for (int64_t i = 0; i < block.tensor.numel(); ++i)
      if (data[i] != block.mark)
        return false;
    return true;
  };
  for (int round = 0; round < 4000; ++round) {
    if (!blocks.empty() && random() % 2) {
      size_t victim = random() % blocks.size();
      ASSERT_TRUE(check(blocks[victim])) << "round " << round;
      std::swap(blocks[victim], blocks.back());
      blocks.pop_back();
      continue;
    }
    // Sizes on both sides of what is kept by exact size, of a page, and of a huge page.
    int64_t size = 1 + static_cast<int64_t>(random() % (int64_t(1) << (random() % 22)));
    Block block{bytes(size), static_cast<uint8_t>(random())};
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block.tensor.data_ptr()) % 64, 0u);
    std::memset(block.tensor.data_ptr(), block.mark, static_cast<size_t>(size));
    blocks.push_back(std::move(block));
  }
  for (const Block &block : blocks)
    ASSERT_TRUE(check(block));
}

TEST_F(AllocatorTest, CountsWhatIsInUse) {
  size_t before = allocatorStatistics().allocated;
  {
    at::Tensor tensor = bytes(1 << 20);
    size_t used = allocatorStatistics().allocated - before;
    EXPECT_GE(used, size_t(1) << 20);
    EXPECT_LT(used, (size_t(1) << 20) + 8192);
  }
  EXPECT_EQ(allocatorStatistics().allocated, before);
  EXPECT_GE(allocatorStatistics().peak, before + (size_t(1) << 20));
}

// A step that is repeated needs no more memory than it did the first time.
TEST_F(AllocatorTest, RepeatedStepsReserveNothing) {
  auto step = [] {
    std::vector<at::Tensor> kept;
    for (int layer = 0; layer < 20; ++layer) {
      kept.push_back(bytes(100000 + 7000 * layer));
      at::Tensor scratch = bytes(300000);
    }
    while (!kept.empty())
      kept.erase(kept.begin() + static_cast<int64_t>(kept.size() / 2));
  };
  step();
  size_t reserved = allocatorStatistics().reserved;
  for (int i = 0; i < 10; ++i)
    step();
  EXPECT_EQ(allocatorStatistics().reserved, reserved);
}

// Neighbours that are free become one block again.
TEST_F(AllocatorTest, JoinsNeighbours) {
  {
    at::Tensor warm = bytes(8 << 20);
  }
  size_t reserved = allocatorStatistics().reserved;
  {
    std::vector<at::Tensor> parts;
    for (int i = 0; i < 7; ++i)
      parts.push_back(bytes(1 << 20));
  }
  at::Tensor whole = bytes(8 << 20);
  EXPECT_EQ(allocatorStatistics().reserved, reserved);
}

TEST_F(AllocatorTest, RefusesWhatNobodyHas) { EXPECT_THROW(bytes(int64_t(1) << 52), c10::Error); }
} // namespace
