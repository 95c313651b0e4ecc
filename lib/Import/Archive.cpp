//===- Archive.cpp - The .pt file, mapped ---------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Archive.h"
#include "ImportError.h"

#include "braid/Plan/Support/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"

#include <cstring>

using namespace llvm;

namespace braid::torchscript {

static constexpr StringLiteral saveAgain = "; save the model again with torch.jit.save";

std::shared_ptr<Archive> Archive::open(const std::string &file) {
  if (plan::Status status = plan::checkRegularFile(file); !status)
    throw ImportError(status.error());
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
  plan::Result<plan::ArchiveDirectory> directory = plan::readArchiveDirectory(bytes);
  if (!directory)
    throw ImportError(file + ": " + directory.error());
  digest = directory->digest;
  for (plan::ArchiveRecord &record : directory->records) {
    std::string local = StringRef(record.name).split('/').second.str();
    records.emplace(std::move(local), std::move(record));
  }
  for (const auto &[name, record] : records)
    if (isTensor(name) && record.isStored)
      recordsByOffset.emplace(record.offset, &record);
}

bool Archive::isTensor(StringRef name) {
  auto [folder, number] = name.split('/');
  return (folder == "data" || folder == "constants") && !number.empty() &&
         number.find_first_not_of("0123456789") == StringRef::npos;
}

void Archive::checkContents() const {
  for (const auto &[name, record] : records) {
    if ((isTensor(name) && leavesOut(record)) || !record.isStored)
      continue;
    if (crc32(arrayRefFromStringRef(buffer->getBuffer().substr(record.offset, record.bytes))) != record.crc)
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
  if (found != recordsByOffset.end() && found->second->bytes == count) {
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
