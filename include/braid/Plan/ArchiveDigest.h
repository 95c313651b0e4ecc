//===- ArchiveDigest.h - What identifies a weight file -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled program refers to its weights in the .pt file, a zip archive. The archive's central directory holds name,
// size, place and CRC-32 of every entry, so its hash changes with any of them and is quick to take of a large file.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_ARCHIVEDIGEST_H
#define BRAID_PLAN_ARCHIVEDIGEST_H

#include "braid/Plan/Result.h"

#include <cstdint>
#include <string>

namespace braid::plan {

struct ArchiveDigest {
  uint64_t bytes = 0;  // of the whole file
  std::string digest;  // xxh64 of the central directory, 16 hex digits
};

/// Errors say what is missing of a zip archive; zip64 is understood.
Result<ArchiveDigest> archiveDigest(const std::string &file);

} // namespace braid::plan

#endif // BRAID_PLAN_ARCHIVEDIGEST_H
