//===- Allocator.cpp - A caching allocator for tensors --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Allocator.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

using namespace braid::runtime;

namespace {
constexpr size_t alignment = 64; // of a cache line and of AVX-512

/// Before each block. Blocks of the range follow each other without gaps.
struct alignas(alignment) Header {
  size_t size;     // with the header
  size_t previous; // size of the block in front of this one, 0 for the first
  bool free;
};
static_assert(sizeof(Header) == alignment);

class CachingAllocator final : public c10::Allocator {
public:
  explicit CachingAllocator(char *begin, size_t bytes) : begin(begin), end(begin), limit(begin + bytes) {}

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0)
      return {nullptr, nullptr, &release, cpu};
    void *data = take(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, data, "cannot allocate ", bytes, " bytes: the process holds ",
                     read().allocated, " bytes of tensors");
    return {data, data, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *destination, const void *source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
  AllocatorStatistics read() {
    std::lock_guard lock(mutex);
    return statistics;
  }

private:
  // Blocks of up to this size are cut from slabs and kept by their exact size, without being split or joined.
  static constexpr size_t largestSmall = 16384, slabSize = size_t(256) << 10;

  static void release(void *data);

  void *take(size_t bytes) {
    if (bytes > static_cast<size_t>(limit - begin))
      return nullptr;
    size_t size = (bytes + alignment - 1) / alignment * alignment + sizeof(Header);
    std::lock_guard lock(mutex);
    Header *block = size <= largestSmall ? takeSmall(size) : takeLarge(size);
    if (!block)
      return nullptr;
    statistics.allocated += block->size;
    statistics.peak = std::max(statistics.peak, statistics.allocated);
    return block + 1;
  }

  Header *takeSmall(size_t size) {
    Header *&list = small[size / alignment];
    if (Header *block = list) {
      std::memcpy(&list, block + 1, sizeof(Header *));
      return block;
    }
    if (size > slabLeft) {
      slab = reinterpret_cast<char *>(takeLarge(slabSize));
      if (!slab)
        return slabLeft = 0, nullptr;
      slab += sizeof(Header);
      slabLeft = slabSize - sizeof(Header);
    }
    auto *block = reinterpret_cast<Header *>(slab);
    *block = {size, 0, false};
    slab += size;
    slabLeft -= size;
    return block;
  }

  Header *takeLarge(size_t size) {
    Header *block = fromFree(size);
    if (!block)
      block = extend(size);
    if (block)
      block->free = false;
    return block;
  }

  void give(void *data) {
    Header *block = static_cast<Header *>(data) - 1;
    std::lock_guard lock(mutex);
    statistics.allocated -= block->size;
    if (block->size <= largestSmall) {
      std::memcpy(data, &small[block->size / alignment], sizeof(Header *));
      small[block->size / alignment] = block;
      return;
    }
    Header *after = next(block);
    if (after && after->free) {
      freeBlocks.erase({after->size, after});
      join(block, after);
    }
    if (block->previous) {
      Header *before = reinterpret_cast<Header *>(reinterpret_cast<char *>(block) - block->previous);
      if (before->free) {
        freeBlocks.erase({before->size, before});
        join(before, block);
        block = before;
      }
    }
    block->free = true;
    freeBlocks.insert({block->size, block});
  }

  /// The smallest free block that fits, the first in memory among equals; what it has too much stays free.
  Header *fromFree(size_t size) {
    auto found = freeBlocks.lower_bound({size, nullptr});
    if (found == freeBlocks.end())
      return nullptr;
    Header *block = found->second;
    freeBlocks.erase(found);
    if (block->size - size > largestSmall) {
      Header *rest = reinterpret_cast<Header *>(reinterpret_cast<char *>(block) + size);
      *rest = {block->size - size, size, true};
      if (last == block)
        last = rest;
      else
        next(rest)->previous = rest->size;
      block->size = size;
      freeBlocks.insert({rest->size, rest});
    }
    return block;
  }

  /// A new block behind all others, which takes a free one at the end with it.
  Header *extend(size_t size) {
    char *start = end;
    if (last && last->free) {
      freeBlocks.erase({last->size, last});
      start = reinterpret_cast<char *>(last);
    }
    if (size > static_cast<size_t>(limit - start)) {
      if (start != end)
        freeBlocks.insert({last->size, last});
      return nullptr;
    }
    auto *block = reinterpret_cast<Header *>(start);
    *block = {size, start != end ? block->previous : last ? last->size : 0, false};
    last = block;
    end = start + size;
    statistics.reserved = std::max(statistics.reserved, static_cast<size_t>(end - begin));
    return block;
  }

  Header *next(Header *block) {
    return block == last ? nullptr : reinterpret_cast<Header *>(reinterpret_cast<char *>(block) + block->size);
  }
  void join(Header *first, Header *second) {
    first->size += second->size;
    if (last == second)
      last = first;
    else
      next(first)->previous = first->size;
  }

  char *begin, *end, *limit;
  Header *last = nullptr;
  std::set<std::pair<size_t, Header *>> freeBlocks; // by size, then place
  Header *small[largestSmall / alignment + 1] = {}; // a list for each size, linked through the blocks' contents
  char *slab = nullptr;
  size_t slabLeft = 0;
  AllocatorStatistics statistics;
  std::mutex mutex;
};

CachingAllocator *installed = nullptr;

void CachingAllocator::release(void *data) {
  if (data)
    installed->give(data);
}
} // namespace

void braid::runtime::installAllocator() {
#if defined(__SANITIZE_ADDRESS__)
  return;
#else
  if (installed)
    return;
  // Addresses only: pages come with their first use. Four times the memory leaves room for fragments.
  size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t huge = size_t(2) << 20;
  size_t bytes = std::bit_ceil(memory) * 4;
  void *range = mmap(nullptr, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return;
  auto start = (reinterpret_cast<uintptr_t>(range) + huge - 1) / huge * huge;
  madvise(reinterpret_cast<void *>(start), bytes, MADV_HUGEPAGE);
  installed = new CachingAllocator(reinterpret_cast<char *>(start), bytes); // lives as long as its tensors
  c10::SetAllocator(c10::DeviceType::CPU, installed, /*priority=*/100);
#endif
}

AllocatorStatistics braid::runtime::allocatorStatistics() {
  return installed ? installed->read() : AllocatorStatistics{};
}
