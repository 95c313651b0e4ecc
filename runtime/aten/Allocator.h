//===- Allocator.h - A caching allocator for tensors -------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step allocates and releases the same sizes again and again, and glibc gives large blocks back to the
// system each time: faulting their pages in costs more than computing their contents. This allocator keeps one range of
// addresses, backed by huge pages, and hands out the smallest free block that fits, split to size; neighbours that are
// free are joined. Nothing is given back before the process ends: the peak of a step is needed again by the next one.
//
// Under AddressSanitizer tensors stay with its own allocator, which sees uses after release.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_ALLOCATOR_H
#define BRAID_RUNTIME_ATEN_ALLOCATOR_H

#include <cstddef>

namespace braid::runtime {

/// Makes every later CPU tensor of this process come from the caching allocator, where the system lends a range of
/// addresses to it; else changes nothing. Call once, before threads start.
void installAllocator();

struct AllocatorStatistics {
  size_t allocated = 0; // bytes in use by tensors
  size_t peak = 0;      // the most that was in use at once
  size_t reserved = 0;  // bytes of the range that were ever in use
};
AllocatorStatistics allocatorStatistics();

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_ALLOCATOR_H
