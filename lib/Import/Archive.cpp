//===- Archive.cpp - The .pt file, mapped ---------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of zip archives: PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16 and 4.5.3.
//
//===----------------------------------------------------------------------===//

#include "Archive.h"
#include "ImportError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"

#include <cstring>

using namespace llvm;

namespace braid::torchscript {

static constexpr StringLiteral saveAgain = "; save the model again with torch.jit.save";

namespace {
/// Little-endian fields of a range of the file; reading past the end fails the whole directory.
class Fields {
public:
  Fields(StringRef bytes, const std::string &file) : bytes(bytes), file(file) {}

  uint64_t get(uint64_t at, unsigned count) const {
    if (at > bytes.size() || count > bytes.size() - at)
      throw ImportError(file + ": the archive is cut off or damaged: its directory points outside of the file's " +
                        std::to_string(bytes.size()) + " bytes" + saveAgain.str());
    uint64_t value = 0;
    for (unsigned i = count; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  }
  StringRef text(uint64_t at, uint64_t count) const {
    get(at, 0);
    if (count > bytes.size() - at)
      get(bytes.size(), 1);
    return bytes.substr(at, count);
  }

private:
  StringRef bytes;
  const std::string &file;
};
} // namespace

std::shared_ptr<Archive> Archive::open(const std::string &file) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    throw ImportError(file + ": cannot be read: " + buffer.getError().message());
  std::shared_ptr<Archive> archive(new Archive());
  archive->file = file;
  archive->buffer = std::move(*buffer);
  archive->readDirectory();
  archive->checkContents();
  return archive;
}

void Archive::readDirectory() {
  StringRef bytes = buffer->getBuffer();
  if (bytes.empty())
    throw ImportError(file + ": the file is empty" + saveAgain.str());
  Fields fields(bytes, file);
  size_t end = bytes.rfind(StringRef("PK\5\6", 4));
  if (end == StringRef::npos)
    throw ImportError(file +
                      (bytes.starts_with("PK")
                           ? ": the archive is cut off: the file's " + std::to_string(bytes.size()) +
                                 " bytes do not end with its directory"
                           : ": this is no TorchScript file: it is no zip archive") +
                      saveAgain.str());
  uint64_t entries = fields.get(end + 10, 2), at = fields.get(end + 16, 4);
  if (entries == UINT16_MAX || at == UINT32_MAX) {
    if (end < 20 || fields.text(end - 20, 4) != StringRef("PK\6\7", 4))
      fields.get(bytes.size(), 1);
    uint64_t end64 = fields.get(end - 12, 8);
    entries = fields.get(end64 + 32, 8);
    at = fields.get(end64 + 48, 8);
  }
  for (uint64_t entry = 0; entry < entries; ++entry) {
    if (fields.text(at, 4) != StringRef("PK\1\2", 4))
      throw ImportError(file + ": the archive's directory is damaged at entry " + std::to_string(entry) + " of " +
                        std::to_string(entries) + saveAgain.str());
    Record record;
    record.isStored = fields.get(at + 10, 2) == 0;
    record.crc = fields.get(at + 16, 4);
    uint64_t packed = fields.get(at + 20, 4), header = fields.get(at + 42, 4);
    record.size = fields.get(at + 24, 4);
    uint64_t nameBytes = fields.get(at + 28, 2), extraBytes = fields.get(at + 30, 2);
    StringRef name = fields.text(at + 46, nameBytes);
    // The zip64 field holds, in this order, those of the three that do not fit into 32 bits.
    for (uint64_t extra = at + 46 + nameBytes, stop = extra + extraBytes; extra + 4 <= stop;) {
      uint64_t tag = fields.get(extra, 2), size = fields.get(extra + 2, 2), field = extra + 4;
      if (tag == 1)
        for (uint64_t *value : {&record.size, &packed, &header})
          if (*value == UINT32_MAX && field + 8 <= extra + 4 + size) {
            *value = fields.get(field, 8);
            field += 8;
          }
      extra += 4 + size;
    }
    record.offset = header + 30 + fields.get(header + 26, 2) + fields.get(header + 28, 2);
    fields.text(record.offset, packed);
    StringRef local = name.split('/').second;
    StringRef folder = local.split('/').first, number = local.split('/').second;
    record.isTensor = (folder == "data" || folder == "constants") && !number.empty() &&
                      number.find_first_not_of("0123456789") == StringRef::npos;
    records.emplace(local.str(), record);
    at += 46 + nameBytes + extraBytes + fields.get(at + 32, 2);
  }
  for (const auto &[name, record] : records)
    if (record.isTensor && record.isStored)
      recordsByOffset.emplace(record.offset, &record);
}

void Archive::checkContents() const {
  for (const auto &[name, record] : records) {
    if (leavesOut(record) || !record.isStored)
      continue;
    auto bytes = arrayRefFromStringRef(buffer->getBuffer().substr(record.offset, record.size));
    if (bytes.size() != record.size || crc32(bytes) != record.crc)
      throw ImportError(file + ": record '" + name + "' is damaged: its checksum differs from the directory's" +
                        saveAgain.str());
  }
  bool code = llvm::any_of(records, [](const auto &entry) { return StringRef(entry.first).starts_with("code/"); });
  if (!code || !records.count("data.pkl") || !records.count("constants.pkl"))
    throw ImportError(file +
                      (records.count("data.pkl")
                           ? ": this file holds tensors without a program, as torch.save writes them; trace "
                             "the model with torch.jit.trace and save that with torch.jit.save"
                           : ": this zip archive is no TorchScript file: it has no code/ and data.pkl") +
                      (records.count("data.pkl") ? "" : saveAgain.str()));
}

size_t Archive::read(uint64_t position, void *target, size_t count, const char *) const {
  StringRef bytes = buffer->getBuffer();
  if (position >= bytes.size())
    return 0;
  count = std::min<uint64_t>(count, bytes.size() - position);
  auto found = recordsByOffset.find(position);
  if (found != recordsByOffset.end() && found->second->size == count) {
    storages[target] = found->second;
    if (leavesOut(*found->second))
      return count;
  }
  std::memcpy(target, bytes.data() + position, count);
  return count;
}

std::optional<uint64_t> Archive::offsetOf(const void *storage) const {
  auto found = storages.find(storage);
  if (found == storages.end())
    return std::nullopt;
  return found->second->offset;
}

bool Archive::isLeftOut(const void *storage) const {
  auto found = storages.find(storage);
  return found != storages.end() && leavesOut(*found->second);
}

} // namespace braid::torchscript
