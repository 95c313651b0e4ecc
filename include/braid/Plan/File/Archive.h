//===- Archive.h - The directory of a weight file -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled program refers to its weights in the .pt file, a zip archive whose records are stored as they are. The
// archive's central directory holds name, size, place and CRC-32 of every record. Its hash therefore tells one weight
// file from another, quickly also for a large file; that the bytes are still those of the directory is for whoever
// reads a record to check.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_FILE_ARCHIVE_H
#define BRAID_PLAN_FILE_ARCHIVE_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

struct ArchiveRecord {
  std::string name;    // with the archive's own folder: "model/data/0"
  uint64_t offset = 0; // of its bytes in the file
  uint64_t bytes = 0;
  uint32_t crc = 0;
  bool isStored = true; // not compressed
};

struct ArchiveDirectory {
  uint64_t bytes = 0; // of the whole file
  std::string digest; // xxh64 of the central directory, 16 hex digits
  std::vector<ArchiveRecord> records;
};

/// Reads the directory of an archive that is in memory or mapped; zip64 is understood. All records lie within the
/// archive. Errors say what is wrong and are worded to stand behind the file's name.
Result<ArchiveDirectory> readArchiveDirectory(std::string_view archive);

} // namespace braid::plan

#endif // BRAID_PLAN_FILE_ARCHIVE_H
