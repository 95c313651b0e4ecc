//===- ArchiveDigest.cpp - What identifies a weight file ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of zip archives: PKWARE's APPNOTE.TXT, sections 4.3.14 to 4.3.16.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/ArchiveDigest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

namespace braid::plan {

static uint64_t little(const std::string &bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

static constexpr size_t endBytes = 22, locatorBytes = 20, end64Bytes = 56, maxComment = 65535;

namespace {
class ArchiveReader {
public:
  explicit ArchiveReader(const std::string &file) : stream(file, std::ios::binary) {
    if (stream.seekg(0, std::ios::end))
      size = static_cast<uint64_t>(stream.tellg());
  }
  bool isOpen() const { return stream.is_open() && stream.good(); }
  uint64_t bytes() const { return size; }

  std::optional<std::string> read(uint64_t at, uint64_t count) {
    if (at > size || count > size - at)
      return std::nullopt;
    std::string result(count, '\0');
    if (!stream.seekg(static_cast<std::streamoff>(at)) || !stream.read(result.data(), static_cast<std::streamsize>(count)))
      return std::nullopt;
    return result;
  }

private:
  std::ifstream stream;
  uint64_t size = 0;
};
} // namespace

/// The bytes of the central directory, or nothing.
static std::optional<std::string> centralDirectory(ArchiveReader &archive) {
  uint64_t tailBytes = std::min<uint64_t>(archive.bytes(), endBytes + maxComment);
  std::optional<std::string> tail = archive.read(archive.bytes() - tailBytes, tailBytes);
  if (!tail || tailBytes < endBytes)
    return std::nullopt;
  size_t end = tail->rfind(std::string_view("PK\5\6", 4), tailBytes - endBytes);
  if (end == std::string::npos)
    return std::nullopt;
  uint64_t bytes = little(*tail, end + 12, 4), offset = little(*tail, end + 16, 4);
  if (bytes == UINT32_MAX || offset == UINT32_MAX || little(*tail, end + 10, 2) == UINT16_MAX) {
    uint64_t endOffset = archive.bytes() - tailBytes + end;
    std::optional<std::string> locator =
        endOffset < locatorBytes ? std::nullopt : archive.read(endOffset - locatorBytes, locatorBytes);
    if (!locator || locator->compare(0, 4, "PK\6\7") != 0)
      return std::nullopt;
    std::optional<std::string> end64 = archive.read(little(*locator, 8, 8), end64Bytes);
    if (!end64 || end64->compare(0, 4, "PK\6\6") != 0)
      return std::nullopt;
    bytes = little(*end64, 40, 8);
    offset = little(*end64, 48, 8);
  }
  return archive.read(offset, bytes);
}

Result<ArchiveDigest> archiveDigest(const std::string &file) {
  ArchiveReader archive(file);
  if (!archive.isOpen())
    return Error{"cannot read " + file + ": " + (errno ? std::strerror(errno) : "no such file")};
  std::optional<std::string> directory = centralDirectory(archive);
  if (!directory)
    return Error{file + ", " + std::to_string(archive.bytes()) +
                 " bytes, is no complete zip archive: its central directory is missing or cut off; save the model "
                 "again with torch.jit.save"};
  static const char digits[] = "0123456789abcdef";
  ArchiveDigest result{archive.bytes(), std::string(16, '0')};
  uint64_t hash = XXH64(directory->data(), directory->size(), 0);
  for (int i = 15; i >= 0; --i, hash >>= 4)
    result.digest[i] = digits[hash & 15];
  return result;
}

} // namespace braid::plan
