//===- Archive.cpp - The directory of a weight file -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of zip archives: PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16 and 4.5.3.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/Archive.h"
#include "braid/Plan/Support/Text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>

namespace braid::plan {

static constexpr uint64_t endBytes = 22, locatorBytes = 20, end64Bytes = 56, entryBytes = 46, localBytes = 30,
                          maxComment = 65535;
static constexpr std::string_view saveAgain = "; save the model again with torch.jit.save";

namespace {
class DirectoryReader {
public:
  explicit DirectoryReader(std::string_view archive) : archive(archive) {}

  Result<ArchiveDirectory> read() {
    if (archive.empty())
      return error("the file is empty");
    if (Status status = findDirectory(); !status)
      return Error{status.error()};
    ArchiveDirectory result{archive.size(), digest(), {}};
    uint64_t at = start;
    for (uint64_t entry = 0; entry < entries; ++entry) {
      std::optional<ArchiveRecord> record = readEntry(at);
      if (!record)
        return error("the archive's directory is damaged at entry " + std::to_string(entry) + " of " +
                     std::to_string(entries));
      result.records.push_back(std::move(*record));
    }
    return result;
  }

private:
  Error error(const std::string &what) const { return Error{what + std::string(saveAgain)}; }

  bool holds(uint64_t at, uint64_t count) const { return at <= archive.size() && count <= archive.size() - at; }
  bool startsWith(uint64_t at, std::string_view signature) const {
    return holds(at, signature.size()) && archive.substr(at, signature.size()) == signature;
  }
  /// A little-endian number; the caller has seen that the archive holds it.
  uint64_t number(uint64_t at, int count) const {
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; --i)
      value = value << 8 | static_cast<unsigned char>(archive[at + i]);
    return value;
  }

  Status findDirectory() {
    uint64_t tail = archive.size() - std::min<uint64_t>(archive.size(), endBytes + maxComment);
    std::string_view last = archive.substr(tail);
    size_t end = last.size() < endBytes ? std::string_view::npos
                                        : last.rfind(std::string_view("PK\5\6", 4), last.size() - endBytes);
    if (end == std::string_view::npos) {
      if (archive.substr(0, 2) != "PK")
        return error("this is no TorchScript file: it is no zip archive");
      return error("the archive is cut off or damaged: the file's " + std::to_string(archive.size()) +
                   " bytes do not end with its directory");
    }
    end += tail;
    entries = number(end + 10, 2);
    size = number(end + 12, 4);
    start = number(end + 16, 4);
    if (entries == UINT16_MAX || size == UINT32_MAX || start == UINT32_MAX) {
      uint64_t end64 = end >= locatorBytes && startsWith(end - locatorBytes, std::string_view("PK\6\7", 4))
                           ? number(end - locatorBytes + 8, 8)
                           : UINT64_MAX;
      if (!holds(end64, end64Bytes) || !startsWith(end64, std::string_view("PK\6\6", 4)))
        return error("the archive is damaged: the place of its directory is not recorded");
      entries = number(end64 + 32, 8);
      size = number(end64 + 40, 8);
      start = number(end64 + 48, 8);
    }
    if (!holds(start, size) || entries > size / entryBytes)
      return error("the archive is cut off or damaged: its directory of " + std::to_string(entries) +
                   " records points outside of the file's " + std::to_string(archive.size()) + " bytes");
    return {};
  }

  std::string digest() const { return hex(XXH64(archive.data() + start, size, 0)); }

  /// The entry at `at`, which moves behind it.
  std::optional<ArchiveRecord> readEntry(uint64_t &at) const {
    if (!startsWith(at, std::string_view("PK\1\2", 4)) || !holds(at, entryBytes))
      return std::nullopt;
    ArchiveRecord record;
    record.isStored = number(at + 10, 2) == 0;
    record.crc = static_cast<uint32_t>(number(at + 16, 4));
    uint64_t packed = number(at + 20, 4), header = number(at + 42, 4);
    record.bytes = number(at + 24, 4);
    uint64_t nameBytes = number(at + 28, 2), extraBytes = number(at + 30, 2), commentBytes = number(at + 32, 2);
    uint64_t extra = at + entryBytes + nameBytes, next = extra + extraBytes + commentBytes;
    if (next > start + size)
      return std::nullopt;
    record.name = archive.substr(at + entryBytes, nameBytes);
    // The zip64 field holds, in this order, those of the three that do not fit into 32 bits.
    for (uint64_t stop = extra + extraBytes; extra + 4 <= stop;) {
      uint64_t tag = number(extra, 2), field = extra + 4, fieldEnd = field + number(extra + 2, 2);
      if (fieldEnd > stop)
        return std::nullopt;
      if (tag == 1)
        for (uint64_t *value : {&record.bytes, &packed, &header})
          if (*value == UINT32_MAX && field + 8 <= fieldEnd) {
            *value = number(field, 8);
            field += 8;
          }
      extra = fieldEnd;
    }
    if (!startsWith(header, std::string_view("PK\3\4", 4)) || !holds(header, localBytes))
      return std::nullopt;
    record.offset = header + localBytes + number(header + 26, 2) + number(header + 28, 2);
    if (!holds(record.offset, packed) || (record.isStored && record.bytes != packed))
      return std::nullopt;
    at = next;
    return record;
  }

  std::string_view archive;
  uint64_t entries = 0, start = 0, size = 0; // of the central directory
};
} // namespace

Result<ArchiveDirectory> readArchiveDirectory(std::string_view archive) { return DirectoryReader(archive).read(); }

} // namespace braid::plan
