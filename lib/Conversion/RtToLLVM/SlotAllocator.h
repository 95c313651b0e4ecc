//===- SlotAllocator.h - Places for owned handles ------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_RTTOLLVM_SLOTALLOCATOR_H
#define BRAID_LIB_CONVERSION_RTTOLLVM_SLOTALLOCATOR_H

#include "llvm/ADT/BitVector.h"

namespace braid {

/// A function's handles live in an array of the frame, so that one call releases all of them after a failure. A free
/// slot is null; slots are used again once their handle is released.
class SlotAllocator {
public:
  /// The first of `count` neighbouring slots: the results of one call.
  int32_t allocate(int32_t count) {
    int32_t start = 0;
    for (int32_t at = 0; at < static_cast<int32_t>(used.size()) && at - start < count; ++at)
      if (used.test(at))
        start = at + 1;
    if (start + count > static_cast<int32_t>(used.size()))
      used.resize(start + count);
    used.set(start, start + count);
    return start;
  }
  void free(int32_t slot) { used.reset(slot); }
  /// As many as were ever needed.
  int32_t size() const { return used.size(); }

private:
  llvm::BitVector used;
};

} // namespace braid

#endif // BRAID_LIB_CONVERSION_RTTOLLVM_SLOTALLOCATOR_H
